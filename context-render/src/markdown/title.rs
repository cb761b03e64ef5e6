//! Title case of names, for headings.

/// Words that are in lower case at every position.
const SMALL_WORDS: [&str; 8] = ["a", "the", "and", "or", "not", "but", "for", "of"];

/// Returns a name in title case, as Markdown headings show it: `style_guide` and `styleGuide`
/// become `Style Guide`.
///
/// Underscore, hyphen, full stop, colon and white space each become a space. A word also begins
/// where a capital follows a lower-case letter, and with the last capital of several if a
/// lower-case letter follows it or, after a lower-case letter, the name ends there. Each word is
/// written in lower case but for its first letter; `a`, `the`, `and`, `or`, `not`, `but`, `for` and
/// `of` are in lower case altogether, even at the beginning.
///
/// ```
/// use context_render::title_case;
///
/// assert_eq!(title_case("traveller profile"), "Traveller Profile");
/// assert_eq!(title_case("parseXMLFile"), "Parse Xml File");
/// assert_eq!(title_case("end_of_the_line"), "End of the Line");
/// ```
pub fn title_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut word = 0;
    let mut previous = None;
    // Whether the run of capitals before this character, if there is one, follows a lower-case
    // letter.
    let mut after_small = false;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '_' | '-' | '.' | ':') || c.is_whitespace() {
            end_word(&mut out, word);
            out.push(' ');
            word = out.len();
            (previous, after_small) = (None, false);
            continue;
        }
        if c.is_uppercase() {
            let small_before = previous.is_some_and(char::is_lowercase);
            let capital_before = previous.is_some_and(char::is_uppercase);
            let ends_capitals = chars.peek().map_or(after_small, |next| next.is_lowercase());
            if small_before || (capital_before && ends_capitals) {
                end_word(&mut out, word);
                out.push(' ');
                word = out.len();
            }
            after_small |= small_before;
        } else {
            after_small = false;
        }
        out.extend(c.to_lowercase());
        previous = Some(c);
    }
    end_word(&mut out, word);
    out
}

/// Capitalizes the word that begins at `start`.
fn end_word(out: &mut String, start: usize) {
    let word = &out[start..];
    if SMALL_WORDS.contains(&word) {
        return;
    }
    let Some(first) = word.chars().next() else { return };
    if first.is_ascii_lowercase() {
        let capital = first.to_ascii_uppercase();
        out.replace_range(start..=start, capital.encode_utf8(&mut [0; 4]));
    } else if !first.is_ascii() {
        let capital: String = first.to_uppercase().collect();
        out.replace_range(start..start + first.len_utf8(), &capital);
    }
}
