//! Properties of rendered Markdown for every tree: untrusted text never becomes structure and reads
//! back, and names never become structure.

use context_conformance::renderer::{
    PromptReader, assert_renderer_conforms, fragments, name, text,
};
use context_core::{BoxError, Fragment, FragmentData, Renderer};
use context_render::{MarkdownRenderer, title_case};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd, TextMergeStream};

use crate::markdown_reader::{Token, options, read};

fn is_nothing(data: &FragmentData) -> bool {
    match data {
        FragmentData::Null => true,
        FragmentData::List(list) => list.as_slice().is_empty(),
        FragmentData::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// Returns a text in the form that Markdown can express.
fn expressible(text: &str) -> String {
    text.replace('\0', "\u{FFFD}").replace("\r\n", "\n").replace('\r', "\n")
}

fn visible(name: &str) -> String {
    let is_hidden = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    match name.trim_matches(|c: char| c.is_whitespace() || c.is_control()) {
        "" => "(unnamed)".to_owned(),
        name => name.replace(is_hidden, " "),
    }
}

/// The tokens that must be read back.
struct Expected {
    tokens: Vec<Token>,
}

impl Expected {
    /// `untrusted`: every section is marked.
    fn of(fragments: &[Fragment], untrusted: bool) -> Vec<Token> {
        let mut expected = Self { tokens: Vec::new() };
        for fragment in fragments.iter().filter(|fragment| !data_of(fragment).is_empty()) {
            let mark = if untrusted || fragment.is_untrusted() { " (untrusted)" } else { "" };
            let title = format!("{}{mark}", visible(&title_case(fragment.name())));
            let text = scalar(data_of(fragment));
            expected.tokens.push(Token::Section(title, text.clone().unwrap_or_default()));
            if text.is_none() {
                expected.children(data_of(fragment));
            }
        }
        expected.tokens
    }

    fn children(&mut self, data: &FragmentData) {
        self.tokens.push(Token::Enter);
        self.items(data);
        self.tokens.push(Token::Leave);
    }

    fn items(&mut self, data: &FragmentData) {
        match data {
            FragmentData::Fragment(fragment) => self.fragment(fragment),
            FragmentData::Map(map) => map.iter().for_each(|(key, value)| match value {
                FragmentData::Fragment(fragment) if fragment.name() == key => {
                    self.fragment(fragment)
                }
                value => self.item(Some((key, false)), value),
            }),
            FragmentData::List(list) => list.iter().for_each(|item| match item {
                FragmentData::Fragment(fragment) => self.fragment(fragment),
                FragmentData::Map(map) if is_pair(map.values()) => self.items(item),
                item => self.item(None, item),
            }),
            other => panic!("no container: {other:?}"),
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        self.item(Some((fragment.name(), fragment.is_untrusted())), data_of(fragment));
    }

    fn item(&mut self, label: Option<(&str, bool)>, data: &FragmentData) {
        if data.is_empty() {
            return;
        }
        let text = scalar(data);
        let behind = match (&text, label) {
            (Some(text), None) if text.is_empty() => "\"\"".to_owned(),
            (Some(text), None) => text.clone(),
            (None, None) => String::new(),
            (text, Some((_, untrusted))) => {
                let mark = if untrusted { " (untrusted)" } else { "" };
                match text.as_deref() {
                    None | Some("") => format!("{mark}:"),
                    Some(text) => format!("{mark}: {text}"),
                }
            }
        };
        self.tokens.push(Token::Item(label.map(|(name, _)| visible(name)), behind));
        if text.is_none() {
            self.children(data);
        }
    }
}

fn is_pair<'a>(values: impl Iterator<Item = &'a FragmentData>) -> bool {
    let mut values = values.skip_while(|value| value.is_empty());
    values.next().is_some() && values.all(is_nothing)
}

fn data_of(fragment: &Fragment) -> &FragmentData {
    fragment.data().expect("made of data")
}

fn scalar(data: &FragmentData) -> Option<String> {
    match data {
        FragmentData::Bool(value) => Some(value.to_string()),
        FragmentData::Number(number) => Some(number.to_string()),
        FragmentData::Text(text) => Some(expressible(text)),
        _ => None,
    }
}

/// Replaces trusted text in the fragments by text without Markdown.
fn tamed(fragments: &[Fragment]) -> Vec<Fragment> {
    fragments.iter().map(tame_fragment).collect()
}

fn tame_fragment(fragment: &Fragment) -> Fragment {
    match fragment.is_untrusted() {
        true => fragment.clone(),
        false => Fragment::new(fragment.name(), tame(data_of(fragment))),
    }
}

fn tame(data: &FragmentData) -> FragmentData {
    match data {
        FragmentData::Text(text) => {
            text.chars().filter(char::is_ascii_alphabetic).collect::<String>().into()
        }
        FragmentData::Fragment(fragment) => tame_fragment(fragment).into(),
        FragmentData::List(list) => FragmentData::list(list.iter().map(tame)),
        FragmentData::Map(map) => {
            FragmentData::map(map.iter().map(|(key, value)| (key.clone(), tame(value))))
        }
        scalar => scalar.clone(),
    }
}

fn leaves(tokens: Vec<Token>) -> Vec<Token> {
    let is_leaf = |token: &Token| match token {
        Token::Section(_, text) => !text.is_empty(),
        Token::Item(_, text) => !text.is_empty() && !text.ends_with(':'),
        Token::Enter | Token::Leave => false,
    };
    let mut leaves: Vec<_> = tokens.into_iter().filter(is_leaf).collect();
    leaves.sort_by_key(|token| format!("{token:?}"));
    leaves
}

struct Markdown;

impl PromptReader for Markdown {
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError> {
        let text = |token| match token {
            Token::Section(_, text) | Token::Item(None, text) => Some(text),
            Token::Item(Some(_), text) => {
                let text = text.strip_prefix(" (untrusted)").unwrap_or(&text).strip_prefix(':')?;
                Some(text.strip_prefix(' ').unwrap_or(text).to_owned())
            }
            Token::Enter | Token::Leave => None,
        };
        Ok(read(prompt)
            .into_iter()
            .filter_map(text)
            .map(|text| self.expected_text(&text))
            .collect())
    }

    /// An empty item is written as two quotes.
    fn expected_text(&self, text: &str) -> String {
        if text == "\"\"" { String::new() } else { expressible(text) }
    }

    fn reads_trusted(&self) -> bool {
        false
    }
}

#[test]
fn the_contract_is_kept() {
    assert_renderer_conforms(&MarkdownRenderer::new(), &Markdown);
    assert_renderer_conforms(&MarkdownRenderer::new().group(true), &Markdown);
}

proptest! {
    #[test]
    fn untrusted_text_reads_back_in_its_place(fragments in fragments()) {
        let text = MarkdownRenderer::new().untrusted(true).render(&fragments).unwrap();
        prop_assert_eq!(read(&text), Expected::of(&fragments, true), "{}", text);
    }

    #[test]
    fn untrusted_text_changes_nothing_around_it(fragments in fragments()) {
        let fragments = tamed(&fragments);
        let text = MarkdownRenderer::new().render(&fragments).unwrap();
        prop_assert_eq!(read(&text), Expected::of(&fragments, false), "{}", text);
    }

    #[test]
    fn untrusted_text_stays_in_its_place_at_any_depth(hostile in text(), name in name(),
        levels in 60_usize..70) {
        let deep = |text: &str| {
            let inner = FragmentData::list([text.into(),
                FragmentData::map([(name.as_str(), text), ("k", text)]), "end".into()]);
            let around = |inner, n| match n % 3 {
                0 => FragmentData::map([("k", inner), ("l", "after".into())]),
                1 => FragmentData::list([inner, "after".into()]),
                _ => Fragment::new(name.as_str(), inner).into(),
            };
            let deep = Fragment::new("f", (0..levels).fold(inner, around)).untrusted();
            let tokens = read(&MarkdownRenderer::new().render(&[deep,
                Fragment::new("g", "h")]).unwrap());
            let shape = |token| match token {
                Token::Item(label, _) => Token::Item(label, String::new()),
                other => other,
            };
            tokens.into_iter().map(shape).collect::<Vec<_>>()
        };
        prop_assert_eq!(deep(&hostile), deep("x"));
    }

    #[test]
    fn what_follows_untrusted_text_is_read_as_without_it(hostile in text(), name in name()) {
        let around = |inner: &str| {
            let inner = Fragment::new(name.as_str(), inner).untrusted();
            let list = FragmentData::list([
                FragmentData::from("*a* [x] [^1] `b`"),
                inner.clone().into(),
                FragmentData::map([("k", "*a* [x] [^1] `b`\n***\n[x]"), ("l", "c")]),
            ]);
            let after = "*a* [x] [^1] `b`\n\n| a |\n|---|\n| b |\n\n[^1]: note";
            let all = [inner.clone(), Fragment::new("list", list), inner,
                Fragment::new("after", after)];
            MarkdownRenderer::new().render(&all).unwrap()
        };
        // The events of the block that an untrusted text is in.
        let events = |text: &str| -> Vec<_> {
            let events = Parser::new_ext(text, options()).map(Event::into_static);
            let mut after_mark = false;
            events.filter(|event| {
                match event {
                    Event::Text(text) if text.contains("(untrusted)") => after_mark = true,
                    Event::Start(Tag::Item) => after_mark = false,
                    Event::Start(Tag::Heading { .. }) => after_mark = false,
                    _ => {}
                }
                !after_mark
            }).collect()
        };
        prop_assert_eq!(events(&around(&hostile)), events(&around("x")), "{}", around(&hostile));
    }

    #[test]
    fn trusted_text_of_a_section_is_not_touched(name in name(), text in text()) {
        let markdown = MarkdownRenderer::new().render(&[Fragment::new(name.as_str(),
            text.as_str())]).unwrap();
        let heading = MarkdownRenderer::new().render(&[Fragment::new(name, "")]).unwrap();
        prop_assert!(!heading.contains(['\n', '\r']));
        let line_end = if text.is_empty() { "" } else { "\n" };
        prop_assert_eq!(markdown, format!("{heading}{line_end}{text}"));
    }

    #[test]
    fn trusted_text_stays_in_its_item(texts in prop::collection::vec(text(), 3), name in name()) {
        let [first, second, third] = texts.as_slice() else { unreachable!("three texts") };
        let deep = FragmentData::list([first.as_str(), second.as_str()]);
        let map = FragmentData::map([(name, third.as_str()), ("k".into(), "v")]);
        let items = [first.as_str().into(), map, deep, "end".into()];
        let list = Fragment::new("f", FragmentData::list(items));
        let text = MarkdownRenderer::new().render(&[list, Fragment::new("after", "x")]).unwrap();
        // Although the texts have structure of their own, the outer levels hold only the
        // renderer's.
        let mut depth = 0;
        let mut outer = Vec::new();
        for event in Parser::new(&text) {
            depth -= usize::from(matches!(event, Event::End(_)));
            match &event {
                Event::Start(tag) if depth < 2 => outer.push(format!("{tag:?}")),
                Event::Text(text) if depth < 3 => outer.push(text.to_string()),
                _ => {}
            }
            depth += usize::from(matches!(event, Event::Start(_)));
        }
        let is_outer = |event: &str| {
            event.starts_with("Heading") || event.starts_with("List") || event == "Item"
        };
        outer.retain(|event| is_outer(event));
        let expected = ["Heading", "List", "Item", "Item", "Item", "Item", "Heading"];
        let is_expected = outer.len() == expected.len() && outer.iter().zip(expected).all(|(event,
            expected)| event.starts_with(expected));
        prop_assert!(is_expected, "{outer:?} {text}");
    }

    #[test]
    fn trusted_text_in_an_item_is_the_same_markdown(
        text in prop_oneof![text(), "[-a#>*` \n\t]{1,12}"],
    ) {
        // The width of a tab depends on its column, and the parser does not treat a carriage return
        // as a line end everywhere.
        let text = text.replace('\t', " ").replace('\r', "\n");
        // Skips texts that cannot begin an item unchanged, and those whose first spaces belong to
        // the item's marker.
        let first = text.split(['\n', '\r']).next().unwrap_or_default();
        let spaces = first.len() - first.trim_start_matches(' ').len();
        if first.trim_matches([' ', '-']).is_empty() || (1..4).contains(&spaces) {
            return Ok(());
        }
        let list = Fragment::new("list", FragmentData::list([text.as_str()]));
        let rendered = MarkdownRenderer::new().render(&[list]).unwrap();
        let kept = |event: Event<'_>| match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => None,
            // The parser keeps the white space in front of a line inside code, but not inside a
            // list.
            Event::Code(code) => Some(Event::Code(code.replace(' ', "").into())),
            other => Some(other.into_static()),
        };
        let inner: Vec<_> = TextMergeStream::new(Parser::new(&rendered)).skip(5).filter_map(kept)
            .collect();
        let inner = &inner[..inner.len().saturating_sub(2)];
        let alone: Vec<_> = TextMergeStream::new(Parser::new(&text)).filter_map(kept).collect();
        prop_assert_eq!(inner, alone, "{:?}", rendered);
    }

    #[test]
    fn grouping_loses_nothing(fragments in fragments()) {
        let plain = MarkdownRenderer::new().untrusted(true);
        let grouped = plain.clone().group(true);
        let read = |markdown: &MarkdownRenderer| leaves(read(&markdown.render(&fragments)
            .unwrap()));
        prop_assert_eq!(read(&grouped), read(&plain));
    }

    #[test]
    fn a_title_is_one_line_with_all_letters(name in name()) {
        let title = title_case(&name);
        prop_assert!(!title.contains(['\n', '\r']));
        let letters = |text: &str| text.to_lowercase().chars().filter(|c| c.is_alphanumeric())
            .count();
        prop_assert!(letters(&title) >= letters(&name));
    }
}
