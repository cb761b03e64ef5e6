//! The values of a message: those that its readers may have seen, and those that an answer holds.

use context_core::{Message, Role};

use super::sections::{Leaf, LeafKind, Path, Section, SectionPlace, leaves, sections};
use super::shape::ValueKind;
use super::tokens::{MAX_PHRASE, Token, phrases, tokens, whole};

/// A value of a message, and its place.
pub(super) struct Located<'a, 't> {
    pub(super) section: &'a Section<'a>,
    /// The position in the JSON of the section.
    pub(super) json: Option<(&'a Path<'a>, &'a Leaf<'a>)>,
    /// The text that holds the token: the section, or the string or number in its JSON.
    pub(super) text: &'t str,
    pub(super) token: Token<'t>,
    /// Whether the value is a whole string or number of JSON.
    pub(super) is_whole: bool,
}

/// Calls `found` with each value that is to be seen in a text of a message.
pub(super) fn seen(message: &Message, found: &mut impl FnMut(Located<'_, '_>)) {
    for section in &sections(message) {
        let told = matches!(message.role, Role::User | Role::System)
            && matches!(section.place, SectionPlace::Text);
        seen_in(section, told, found);
    }
}

/// Calls `found` with each value in a text. `told` texts are searched for phrases too.
pub(super) fn seen_in(section: &Section<'_>, told: bool, found: &mut impl FnMut(Located<'_, '_>)) {
    each_text(section, &mut |json, text| {
        let located = |token, is_whole| Located { section, json, text, token, is_whole };
        let whole = json.and_then(|(_, leaf)| whole_leaf(leaf.kind, text));
        if let Some(token) = whole {
            found(located(token, true));
        }
        tokens(text, &mut |token| {
            if whole.is_none_or(|whole| whole.value != token.value) {
                found(located(token, false));
            }
        });
        if told {
            phrases(text, &mut |token| found(located(token, false)));
        }
    });
}

/// Calls `linked` with each value of an answer: its texts and the arguments of its calls. If
/// `linked` returns `true`, the values inside the value are passed over.
pub(super) fn answered(message: &Message, linked: &mut impl FnMut(Located<'_, '_>) -> bool) {
    let of_model = |section: &&Section<'_>| {
        matches!(section.place, SectionPlace::Text | SectionPlace::Call(_))
    };
    for section in sections(message).iter().filter(of_model) {
        each_text(section, &mut |json, text| {
            if json.is_some_and(|(_, leaf)| leaf.kind == LeafKind::Key) {
                return;
            }
            let located = |token, is_whole| Located { section, json, text, token, is_whole };
            let whole = json.and_then(|(_, leaf)| whole_leaf(leaf.kind, text));
            if whole.is_some_and(|token| linked(located(token, true))) {
                return;
            }
            // Quoted texts come first, and a chunk comes right before its pieces.
            let (mut quoted, mut chunk) = (Vec::<(usize, usize)>::new(), (0, 0));
            tokens(text, &mut |token| {
                let range = (token.start, token.end());
                let near = quoted.get(quoted.partition_point(|quoted| quoted.1 < range.1));
                let inside = |outer: (usize, usize)| outer.0 <= range.0 && range.1 <= outer.1;
                if inside(chunk) || near.is_some_and(|near| inside(*near)) {
                    return;
                }
                if linked(located(token, false)) {
                    match token.quoted {
                        true => quoted.push(range),
                        false => chunk = range,
                    }
                }
            });
        });
    }
}

fn whole_leaf(kind: LeafKind, text: &str) -> Option<Token<'_>> {
    match kind {
        LeafKind::Key => None,
        LeafKind::String if text.len() > MAX_PHRASE && text.contains(' ') => None,
        LeafKind::String | LeafKind::Number => whole(text, 0, text.len()),
    }
}

/// Calls `found` with the text of a section, or with each string, number and key of its JSON.
fn each_text<'a>(
    section: &'a Section<'a>,
    found: &mut impl FnMut(Option<(&Path<'a>, &Leaf<'a>)>, &str),
) {
    match section.is_json {
        true => leaves(section.text, &mut |path, leaf| found(Some((path, &leaf)), &leaf.text)),
        false => found(None, section.text),
    }
}

/// Returns whether an answer is asked for the source of a value, given whether a tool result holds
/// the value as a whole string. Words of prose are too many.
pub(super) fn is_asked_for(value: &Located<'_, '_>, is_known: bool) -> bool {
    value.token.kind != ValueKind::Word || value.is_whole || value.token.quoted || is_known
}
