//! Names of elements: any text is turned into a valid name.
//!
//! Two different names may become the same. The caller keeps the original of a changed name.

/// The difference between a written name and the given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a changed name must be kept elsewhere"]
pub(super) enum NameChange {
    Unchanged,
    Changed,
}

impl NameChange {
    pub(super) fn is_changed(self) -> bool {
        self == Self::Changed
    }
}

/// Appends a valid XML 1.0 name for `name`, without colons.
#[inline]
pub(super) fn push_name(out: &mut String, name: &str) -> NameChange {
    if is_plain(name) {
        out.push_str(name);
        return NameChange::Unchanged;
    }
    push_repaired(out, name)
}

fn push_repaired(out: &mut String, name: &str) -> NameChange {
    let mut change = NameChange::Unchanged;
    // Handles an empty name, and a first character that may stand in a name but not begin it.
    if name.chars().next().is_none_or(|first| is_inner(first) && !is_start(first)) {
        out.push('_');
        change = NameChange::Changed;
    }
    for c in name.chars() {
        if is_inner(c) {
            out.push(c);
        } else {
            out.push('_');
            change = NameChange::Changed;
        }
    }
    change
}

/// Returns whether a name is ASCII and valid as it is, like most names.
fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && bytes.iter().all(|&byte| PLAIN[usize::from(byte)])
}

/// ASCII characters allowed in names. A table, because the name of every tag is checked.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// Production [4], `NameStartChar`, without `:`.
fn is_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// Production [4a], `NameChar`, without `:`.
fn is_inner(c: char) -> bool {
    is_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' |
            '\u{203F}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_valid_name() {
        for (name, expected) in [
            ("hint", "hint"),
            ("styleGuide-2.0_x", "styleGuide-2.0_x"),
            ("ключ", "ключ"),
            ("漢字", "漢字"),
            ("a\u{301}", "a\u{301}"),
            ("", "_"),
            ("a b", "a_b"),
            (" a", "_a"),
            ("1st", "_1st"),
            ("-x", "_-x"),
            (".", "_."),
            ("\u{301}", "_\u{301}"),
            ("ns:tag", "ns_tag"),
            (":", "_"),
            ("a<b>", "a_b_"),
            ("e\"f'&", "e_f__"),
            ("\0", "_"),
            ("🎻", "🎻"),
            ("×÷", "__"),
            ("a\u{ffff}", "a_"),
        ] {
            let mut out = String::new();
            let change = push_name(&mut out, name);
            assert_eq!(
                (out.as_str(), change.is_changed()),
                (expected, name != expected),
                "{name:?}"
            );
        }
    }
}
