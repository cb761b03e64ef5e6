//! JSON in the style of Python's library: indented by four spaces, and with `NaN` and `Infinity`.

/// Formats JSON with one entry per line, indented by four spaces. Strings and digits stay as they
/// are.
pub(super) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", depth));
    };
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => text_length(rest),
            _ => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                out.push(c);
                let inner = rest.trim_start_matches([' ', '\t', '\n', '\r']);
                if let Some(close) = inner.chars().next().filter(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                    rest = &inner[1..];
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    out
}

/// Replaces the values `NaN`, `Infinity` and `-Infinity` by strings. Returns the number of
/// replacements.
pub(super) fn without_nan(json: &str) -> (String, usize) {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let (mut out, mut count) = (String::with_capacity(json.len()), 0);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let word = WORDS.into_iter().find(|word| rest.starts_with(word));
        let length = match (c, word) {
            ('"', _) => text_length(rest),
            (_, Some(word)) => word.len(),
            _ => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        if word.is_some() {
            count += 1;
            out.extend(["\"", token, "\""]);
        } else {
            out.push_str(token);
        }
        rest = behind;
    }
    (out, count)
}

/// Returns the length of the leading JSON string with its quotes, or of the rest if it is not
/// closed.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_become_texts_where_they_are_values() {
        let (text, count) =
            without_nan(r#"{"NaN": [NaN, -Infinity, 1.50], "a": "NaN \" Infinity"}"#);
        assert_eq!(text, r#"{"NaN": ["NaN", "-Infinity", 1.50], "a": "NaN \" Infinity"}"#);
        assert_eq!(count, 2);
        // Incomplete text must not panic.
        assert_eq!(without_nan("[\"NaN").1, 0);
    }

    #[test]
    fn values_stand_on_lines() {
        let text = pretty(r#"{"a":[1.50,{},[ ],"x: {\" ,"],"b":{"c":null}}"#);
        let expected = "{\n    \"a\": [\n        1.50,\n        {},\n        [],\n        \"x: {\\\" ,\"\n    ],\n    \"b\": {\n        \"c\": null\n    }\n}";
        assert_eq!(text, expected);
    }
}
