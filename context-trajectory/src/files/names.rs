//! Folder names: a unique and portable name for any text.

/// The longest name in bytes that is written out. Longer names end in a hash.
const LONGEST: usize = 120;
/// The separator before the hash. It occurs nowhere else in a name.
const HASH_MARK: char = '~';
const HASH_DIGITS: usize = 40;

/// Returns the name of the folder for a text.
///
/// Lower-case letters, digits, `-` and `_` stand for themselves; every other byte becomes `%` and
/// two hexadecimal digits. Texts that differ only in case therefore get two folders, also on a
/// case-insensitive file system. A text that is a device name starts with an escape.
pub(super) fn folder_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let device = is_device(text);
    for (at, byte) in text.bytes().enumerate() {
        if is_plain(byte) && !(device && at == 0) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    if name.len() > LONGEST {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        name.truncate(LONGEST - HASH_DIGITS - 1);
        name.push(HASH_MARK);
        name.push_str(&hash[..HASH_DIGITS]);
    }
    name
}

/// Returns the text that a folder is named after, or `None` if the name is hashed or not a name of
/// this scheme.
pub(super) fn text_of(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        bytes.push(match byte {
            b'%' => (digit(rest.next())? * 16 + digit(rest.next())?) as u8,
            plain => plain,
        });
    }
    // A name that would be encoded differently does not belong to this scheme.
    String::from_utf8(bytes).ok().filter(|text| folder_name(text) == name)
}

/// Returns whether a name has the form of a hashed name.
pub(super) fn is_hashed(name: &str) -> bool {
    name.contains(HASH_MARK)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

/// Returns whether a name is reserved for a device on some systems, in any folder.
fn is_device(text: &str) -> bool {
    let numbered = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    matches!(text, "con" | "prn" | "aux" | "nul")
        || ["com", "lpt"].iter().any(|port| text.strip_prefix(port).is_some_and(numbered))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_readable_where_they_can_be() {
        let shown =
            ["ada", "Ada", "a.b", "..", "nul", "com7", "com77", "a/b c", "é", "~"].map(folder_name);
        let expected = [
            "ada",
            "%41da",
            "a%2eb",
            "%2e%2e",
            "%6eul",
            "%63om7",
            "com77",
            "a%2fb%20c",
            "%c3%a9",
            "%7e",
        ];
        assert_eq!(shown, expected);
        assert!(text_of("Ada").is_none() && text_of("a%2").is_none() && text_of("%41%").is_none());
        assert!(text_of(".git").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn any_text_has_a_folder_of_its_own(texts in prop::collection::vec("\\PC{1,8}|[aA.%~]{1,4}|[a-zA-Z/]{100,600}", 2..40)) {
            let mut names = HashMap::new();
            for text in &texts {
                let name = folder_name(text);
                prop_assert!(name.len() <= LONGEST
                    && name.bytes().all(|byte| is_plain(byte) || b"%~".contains(&byte)));
                let decoded = text_of(&name);
                prop_assert_eq!(decoded.is_none(), is_hashed(&name));
                prop_assert!(decoded.is_none_or(|decoded| decoded == *text));
                // The comparison ignores case safely, as names have no capitals.
                if let Some(other) = names.insert(name, text) {
                    prop_assert_eq!(other, text);
                }
            }
        }
    }
}
