//! File names for namespaces.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns a name for the file, table or key of a namespace: lowercase ASCII letters, digits and
/// `_`, at most 50 bytes, not beginning with a digit. The name is the same in every process of a
/// run, and different for each namespace.
pub fn file_name(namespace: &str) -> String {
    let mut hash = DefaultHasher::new();
    namespace.hash(&mut hash);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let readable: String = namespace.chars().take(32).map(plain).collect();
    format!("s_{readable}_{:x}", hash.finish() >> 4)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::file_name;

    #[test]
    fn odd_namespaces_become_plain_and_different_names() {
        let long = "x".repeat(300);
        let odd = ["", "a", "A", "a/b", "a b", "..", "ünïcode", "\0", &long, &long[1..]];
        let names: HashSet<String> = odd.into_iter().map(file_name).collect();
        assert_eq!(names.len(), odd.len());
        for name in names {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!(name.len() <= 50 && name.starts_with('s') && name.bytes().all(plain), "{name}");
        }
    }
}
