//! Values that stand for a secret without being one: placeholders, types, names of variables.

/// Words that a value consists of where the real one is left out, or that describe it.
const WORDS: [&str; 44] = [
    "string",
    "str",
    "text",
    "varchar",
    "bytes",
    "object",
    "number",
    "integer",
    "boolean",
    "bool",
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "optional",
    "required",
    "redacted",
    "masked",
    "hidden",
    "removed",
    "placeholder",
    "example",
    "sample",
    "dummy",
    "changeme",
    "change",
    "your",
    "insert",
    "replace",
    "todo",
    "xxx",
    "secret",
    "password",
    "passwd",
    "token",
    "value",
    "here",
    "test",
    "foo",
    "bar",
    "baz",
    "default",
];

/// The number of bytes of a value that are looked at.
const SAMPLE: usize = 256;

fn sample(value: &str) -> &str {
    &value[..value.floor_char_boundary(SAMPLE)]
}

/// Returns whether a token is made of few different characters, such as `xxxx-xxxx`.
pub(crate) fn is_monotonous(value: &str) -> bool {
    let mut seen = [false; 256];
    sample(value).bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count() < 5
}

/// Returns whether a token has a digit, or letters of both cases, which words have not.
pub(crate) fn is_mixed(value: &str) -> bool {
    let any = |test: fn(&u8) -> bool| sample(value).as_bytes().iter().any(test);
    any(u8::is_ascii_digit) || (any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase))
}

/// Returns the Shannon entropy of the bytes of a value, in bits for each byte.
pub(crate) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    let bytes = sample(value).as_bytes();
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: &u32| f64::from(*count) / bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}

/// Returns whether the place of a password holds a reference to one, or a word for one.
pub(crate) fn is_stand_in(password: &str) -> bool {
    const NAMES: [&str; 8] =
        ["password", "pass", "passwd", "pwd", "pw", "secret", "token", "your_password"];
    NAMES.iter().any(|word| password.eq_ignore_ascii_case(word))
        || sample(password).bytes().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.'))
        || password.starts_with(['$', '{', '<', '[', '%', '*', '#'])
        || password.contains('…')
}

/// Returns whether a value reads like a description of a value, such as `<your key>`, `${TOKEN}` or
/// `your-api-key-1`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let value = sample(value);
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"_{}()".contains(&byte);
    let is_reference = value.starts_with(['<', '{', '[', '(', '*', '%', '#'])
        || ["${", "$("].iter().any(|start| value.starts_with(start))
        || value.strip_prefix('$').is_some_and(|rest| rest.bytes().all(name));
    is_reference
        || ["://", "...", "***", "…"].iter().any(|part| value.contains(part))
        || is_monotonous(value)
        || is_path(value)
        || is_of_words(value)
}

fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
        && (value.contains('.') || value.matches('/').count() > 1)
        && !value.ends_with('=')
}

/// Returns whether words for values make up a third of the letters.
fn is_of_words(value: &str) -> bool {
    let all = value.chars().filter(|c| c.is_alphabetic()).count();
    let parts = value.split(|c: char| !c.is_alphabetic()).filter(|part| !part.is_empty());
    let known = parts.filter(|part| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word)));
    let known: usize = known.map(str::len).sum();
    all > 0 && known * 3 >= all
}

/// Returns whether an unquoted value is code, such as `config.password` or `get_token`.
pub(crate) fn is_code(value: &str) -> bool {
    let value = sample(value);
    let letters =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_identifier = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && part.bytes().filter(u8::is_ascii_digit).count() * 4 <= part.len()
    };
    (value.contains('.') && value.split('.').all(is_identifier))
        || (value.contains('_') && value.trim_matches('_').split('_').all(letters))
        || value.contains("::")
        || value.contains("->")
}
