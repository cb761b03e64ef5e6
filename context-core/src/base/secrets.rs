//! Masking of API keys in text that is logged, stored or forwarded, such as provider errors and
//! model output.
//!
//! Keys are recognized only by their public prefix, or by a label that only keys follow. Prose
//! about tokens and passwords is unchanged, and so is a secret that looks like an ordinary word.

/// Public prefixes of secrets. After its prefix such a secret contains a digit, which words do not.
const PREFIXES: [&str; 24] = [
    "sk-",
    "sk_",
    "pk-",
    "pk_live_",
    "rk-",
    "rk_live_",
    "AIza",
    "AKIA",
    "ASIA",
    "xai-",
    "gsk_",
    "hf_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "eyJ",
    "pplx-",
];

/// The beginning and end of a private key block.
const BLOCK: (&str, &str, &str) = ("-----BEGIN ", "PRIVATE KEY-----", "-----END ");

/// Maximum length of the block's name in bytes, such as `ENCRYPTED `.
const LONGEST_NAME: usize = 32;

/// Labels before secrets of any form.
const LABELS: [&str; 7] =
    ["bearer ", "x-api-key: ", "x-api-key=", "api_key=", "apikey=", "api-key: ", "?key="];

/// Words after a label that are not secrets.
const PLAIN: [&str; 7] =
    ["authentication", "authorization", "token", "tokens", "scheme", "header", "auth"];

/// Number of characters after the prefix within which a secret has its first digit. The limit keeps
/// the time linear.
const DIGIT_WITHIN: usize = 64;

/// Minimum length of a secret after its prefix, in bytes.
const SHORTEST: usize = 8;

/// Truncates keys in a text after the prefix that identifies their type. Idempotent.
///
/// ```
/// use context_core::base::secrets::mask;
///
/// assert_eq!(mask("set OPENAI_API_KEY to sk-proj-abc123def456"), "set OPENAI_API_KEY to sk-…");
/// assert_eq!(mask("the token: field is required"), "the token: field is required");
/// ```
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        // A secret does not start in the middle of a word.
        let is_word_start =
            !c.is_ascii_alphanumeric() || !out.ends_with(|last: char| last.is_ascii_alphanumeric());
        // Checking only there keeps a long run of characters from being scanned again for each of
        // its characters.
        if let Some((prefix, length)) = is_word_start.then(|| secret(rest)).flatten() {
            out.push_str(&rest[..prefix]);
            out.push('…');
            at += length;
        } else {
            out.push(c);
            at += c.len_utf8();
        }
    }
    out
}

/// Detects a secret at the start of the text. Returns the length of the part that may be shown, and
/// the total length.
fn secret(rest: &str) -> Option<(usize, usize)> {
    let labelled = LABELS.iter().find(|label| {
        rest.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label))
    });
    if let Some(label) = labelled {
        let length = token(&rest[label.len()..]);
        let word = &rest[label.len()..label.len() + length];
        return (length >= 6 && !PLAIN.contains(&word))
            .then_some((label.len(), label.len() + length));
    }
    if let Some(found) = private_key(rest) {
        return Some(found);
    }
    let prefix = PREFIXES.iter().find(|prefix| rest.starts_with(**prefix))?;
    let behind = &rest[prefix.len()..];
    let random = |c: char| c.is_ascii_digit() || "*•".contains(c);
    behind.chars().take(DIGIT_WITHIN).take_while(|c| is_key(*c)).find(|c| random(*c))?;
    let length = token(behind);
    (length >= SHORTEST).then_some((prefix.len(), prefix.len() + length))
}

/// Detects a private key block at the start of the text. The key is truncated, including the end of
/// the block, as far as the lines contain only Base64 or the escaped line feeds of a JSON string.
fn private_key(rest: &str) -> Option<(usize, usize)> {
    let (begin, label, end) = BLOCK;
    let named = rest.strip_prefix(begin)?;
    let name = (0..=LONGEST_NAME)
        .find(|at| named.get(*at..).is_some_and(|rest| rest.starts_with(label)))?;
    let start = begin.len() + name + label.len();
    let body = &rest[start..];
    let has = |c: char| c.is_ascii_alphanumeric() || "+/=\\\r\n".contains(c);
    let run = body.find(|c| !has(c)).unwrap_or(body.len());
    // A word after the last line of a truncated block is not part of the key.
    let run = match body[run..].starts_with(end) || run == body.len() {
        true => run,
        false => body[..run].rfind('\n').unwrap_or(0),
    };
    (run >= SHORTEST).then_some((start, start + run))
}

/// Returns whether secrets may contain this character.
fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_*.~+/=…•".contains(c)
}

/// Returns the length of the run of key characters. Providers shorten keys with stars. A final full
/// stop belongs to the sentence.
fn token(text: &str) -> usize {
    let run = &text[..text.find(|c| !is_key(c)).unwrap_or(text.len())];
    run.trim_end_matches(['.', '…']).len()
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn what_looks_like_the_beginning_of_keys_costs_no_more_than_other_text() {
        for text in ["sk-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "bearer ", "xapi_key="] {
            let long = text.repeat(100_000);
            assert!(mask(&long).len() <= long.len());
        }
    }

    #[test]
    fn keys_are_cut_off_and_words_stay() {
        for (text, masked) in [
            (
                "Incorrect API key provided: sk-proj-abcDEF123456.",
                "Incorrect API key provided: sk-….",
            ),
            ("key sk-ant-api03-********wxyz, ok", "key sk-…, ok"),
            ("AIzaSyA1234567890abcdef is bad", "AIza… is bad"),
            ("Authorization: Bearer abc.def-123456", "Authorization: Bearer …"),
            ("use bearer authentication", "use bearer authentication"),
            ("GET /v1?key=abcdef123456&alt=sse", "GET /v1?key=…&alt=sse"),
            ("a task-oriented risk-averse model", "a task-oriented risk-averse model"),
            ("schlüssel „sk-1234567890“", "schlüssel „sk-…“"),
            ("sk-learn-contrib and hf_transformers", "sk-learn-contrib and hf_transformers"),
            ("aws AKIAIOSFODNN7EXAMPLE, slack xoxb-123456789012-abc", "aws AKIA…, slack xoxb-…"),
            ("gho_16C7e42F292c6912E7 glpat-a1b2c3d4e5", "gho_… glpat-…"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", "jwt eyJ…!"),
            (
                "token: field is required, the password too",
                "token: field is required, the password too",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKCAQ==\n-----END RSA PRIVATE KEY-----\nthen",
                "-----BEGIN RSA PRIVATE KEY-----…-----END RSA PRIVATE KEY-----\nthen",
            ),
            (
                r#"{"key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----"}"#,
                r#"{"key":"-----BEGIN PRIVATE KEY-----…-----END PRIVATE KEY-----"}"#,
            ),
            (
                "a -----BEGIN PRIVATE KEY----- line begins it",
                "a -----BEGIN PRIVATE KEY----- line begins it",
            ),
        ] {
            assert_eq!(mask(text), masked);
            assert_eq!(mask(masked), masked);
        }
    }
}
