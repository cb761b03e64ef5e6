//! Patterns with placeholders, matched against folded text.
//!
//! Folding unifies spellings: lower case, no quotes or back-ticks, single spaces, `_` as a space,
//! digits without group separators, and one name for the many names of the output limit. Patterns
//! are written in folded form. In a pattern `#` matches a whole number, `@` a size in bytes such as
//! `5 mb`, and `*` a gap.

/// Maximum length of a gap in bytes.
const GAP: usize = 120;

/// Maximum length of a number in bytes; twenty digits in groups take 26. Leading zeros do not
/// change the value, so only this limit bounds them.
const LONGEST_NUMBER: usize = 40;

/// Names of the output limit at various providers, folded, longest first.
const OUTPUT_LIMIT: [&str; 8] = [
    "max completion tokens",
    "max tokens to sample",
    "maximum output tokens",
    "max output tokens",
    "max new tokens",
    "maxoutputtokens",
    "max gen len",
    "maxtokens",
];

/// Returns the folded form of a text.
pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let number = out.ends_with(|last: char| last.is_ascii_digit());
        match c {
            '`' | '"' | '\'' | '\\' | '‘' | '’' | '“' | '”' | '«' | '»' => {}
            // A digit group separator. The number parser checks that three digits follow.
            '_' if number && chars.peek().is_some_and(char::is_ascii_digit) => {}
            '_' => push_space(&mut out),
            '，' => out.push(','),
            '：' => out.push(':'),
            '（' => out.push('('),
            '）' => out.push(')'),
            c if c.is_whitespace() || c.is_control() => push_space(&mut out),
            c => out.extend(c.to_lowercase()),
        }
    }
    for name in OUTPUT_LIMIT {
        if out.contains(name) {
            out = out.replace(name, "max tokens");
        }
    }
    out
}

fn push_space(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Returns whether the pattern occurs in the folded text.
pub(super) fn occurs(text: &str, pattern: &str) -> bool {
    captures(text, pattern).is_some()
}

/// Returns the numbers of the pattern's first match.
pub(super) fn captures(text: &str, pattern: &str) -> Option<Vec<u64>> {
    let first = pattern.split(['#', '@', '*']).next().unwrap_or_default();
    if first.is_empty() {
        return text.char_indices().find_map(|(at, _)| match_at(text, at, pattern));
    }
    text.match_indices(first).find_map(|(at, _)| match_at(text, at, pattern))
}

/// Returns the numbers if the pattern matches at `at`.
fn match_at(text: &str, at: usize, pattern: &str) -> Option<Vec<u64>> {
    // A number starts at its first digit, not in the middle.
    let inside = |at: usize| text[..at].ends_with(|c: char| c.is_ascii_digit());
    if pattern.starts_with(['#', '@']) && inside(at) {
        return None;
    }
    let (mut numbers, mut rest, mut pattern) = (Vec::new(), &text[at..], pattern);
    while let Some(next) = pattern.chars().next() {
        match next {
            '#' | '@' => {
                let (value, length) = if next == '#' { whole_number(rest)? } else { size(rest)? };
                numbers.push(value);
                rest = &rest[length..];
                pattern = &pattern[1..];
            }
            '*' => {
                pattern = &pattern[1..];
                rest = &rest[gap(rest, pattern)?..];
            }
            _ => {
                let end = pattern.find(['#', '@', '*']).unwrap_or(pattern.len());
                rest = rest.strip_prefix(&pattern[..end])?;
                pattern = &pattern[end..];
            }
        }
    }
    Some(numbers)
}

/// Returns the length of the gap before the next element of the pattern.
fn gap(rest: &str, pattern: &str) -> Option<usize> {
    let mut end = GAP.min(rest.len());
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let window = &rest[..end];
    let literal = pattern.split(['#', '@', '*']).next().unwrap_or_default();
    if !literal.is_empty() {
        return window.find(literal);
    }
    match pattern.chars().next() {
        Some('#') => window.find(|c: char| c.is_ascii_digit()),
        // A size has a unit. Numbers without a unit belong to the gap.
        Some('@') => window
            .char_indices()
            .filter(|(at, c)| {
                c.is_ascii_digit() && !window[..*at].ends_with(|c: char| c.is_ascii_digit())
            })
            .map(|(at, _)| at)
            .find(|at| size(&rest[*at..]).is_some()),
        _ => Some(0),
    }
}

/// Parses a whole number such as `200000`, `200,000` or `128k`, and returns its length in bytes.
fn whole_number(text: &str) -> Option<(u64, usize)> {
    let (value, length) = digits(text)?;
    let after = &text[length..];
    let (factor, letters) = match after.as_bytes() {
        [b'k', next, ..] if !next.is_ascii_alphabetic() => (1_000, 1),
        [b'm', next, ..] if !next.is_ascii_alphabetic() => (1_000_000, 1),
        b"k" => (1_000, 1),
        b"m" => (1_000_000, 1),
        _ => (1, 0),
    };
    Some((value.checked_mul(factor)?, length + letters))
}

/// Parses digits with separators in groups of three. The length is limited, because every group is
/// a possible start of a number.
fn digits(text: &str) -> Option<(u64, usize)> {
    let bytes = text.as_bytes();
    let (mut value, mut at) = (0_u64, 0);
    while at <= LONGEST_NUMBER {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() => {
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                at += 1;
            }
            Some(b',') if at > 0 && groups(&bytes[at + 1..]) => at += 1,
            _ => return (at > 0).then_some((value, at)),
        }
    }
    None
}

/// Returns whether exactly three digits follow.
fn groups(after: &[u8]) -> bool {
    let count = after.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    count == 3
}

/// Parses a number with a byte unit. Providers mean 1,048,576 bytes by MB.
fn size(text: &str) -> Option<(u64, usize)> {
    const UNITS: [(&str, u64); 8] = [
        ("bytes", 1),
        ("kib", 1 << 10),
        ("kb", 1 << 10),
        ("mib", 1 << 20),
        ("mb", 1 << 20),
        ("gib", 1 << 30),
        ("gb", 1 << 30),
        ("b", 1),
    ];
    let (value, mut length) = digits(text)?;
    // Fractions are dropped: a limit may be reported slightly too low, never too high.
    if let Some(fraction) = text[length..].strip_prefix('.') {
        length +=
            1 + fraction.len() - fraction.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    }
    let after = &text[length..];
    let spaces = after.len() - after.trim_start_matches(' ').len();
    let (unit, factor) = UNITS.iter().find(|(unit, _)| {
        let rest = after[spaces..].strip_prefix(unit);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })?;
    Some((value.checked_mul(*factor)?, length + spaces + unit.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_makes_one_wording_of_many() {
        assert_eq!(fold("The `max_output_tokens`\n  isn’t \"OK\""), "the max tokens isnt ok");
        assert_eq!(fold("maxOutputTokens 200_000"), "max tokens 200000");
    }

    #[test]
    fn numbers_are_read_however_they_are_written() {
        for (text, number) in [
            ("at 200000.", 200_000),
            ("at 200,000, or", 200_000),
            ("at 1,048,576", 1_048_576),
            ("at 128k tokens", 128_000),
            ("at 1m", 1_000_000),
            ("at 4096kings", 4_096),
            ("at 1,8192]", 1),
        ] {
            assert_eq!(captures(text, "at #"), Some(vec![number]), "{text}");
        }
        assert_eq!(captures("at 99999999999999999999999", "at #"), None);
        assert_eq!(captures(&format!("at {}1", "000,".repeat(20)), "at #"), None);
        assert_eq!(captures("at 5 mb or 2.5mb, 7 bytes", "@*@*@"), Some(vec![5 << 20, 2 << 20, 7]));
    }

    #[test]
    fn gaps_are_short_and_patterns_match_later_occurrences() {
        assert_eq!(captures("limit none; limit 7", "limit #"), Some(vec![7]));
        assert!(occurs("a and then b", "a*b"));
        let far = format!("a{}b", "-".repeat(GAP + 1));
        assert!(!occurs(&far, "a*b"));
        assert!(occurs("长度 很 长", "长*长"));
        assert_eq!(captures("12345 tokens", "# tokens"), Some(vec![12_345]));
    }
}
