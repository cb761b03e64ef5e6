//! Names of records, made of what they are names of.

use context_core::MemoryId;

/// A name that nothing else of a kind has: a hash of these parts, in their order. It is the same in every process and version, since
/// stores keep it.
pub(crate) fn of(kind: &str, parts: &[&str]) -> MemoryId {
    let mut hasher = blake3::Hasher::new_derive_key("context-memory id, form 1");
    for part in std::iter::once(&kind).chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    MemoryId::from(&hash.as_str()[..32])
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_never_change_and_tell_parts_apart() {
        let name = super::of("episode", &["s", "m", "0"]);
        assert_eq!(name, "3f01d18de1ea430c0c7eae7a31f4f34b");
        assert_ne!(name, super::of("episode", &["sm", "", "0"]));
    }
}
