//! The corpus of a target: inputs that libFuzzer found to reach other code than the documents do.
//!
//! A file per target in `corpus`, a line per input, with escapes as in Rust source. `cargo xtask
//! fuzz --keep` writes the files, and keeps them small.

use std::path::Path;

/// Returns the inputs of a target, or none if it has no file.
///
/// # Panics
///
/// If the file cannot be read, or has another escape than those that the task writes.
pub(crate) fn read(target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    match std::fs::read_to_string(path.with_extension("txt")) {
        Ok(text) => text.lines().map(unescaped).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => panic!("the corpus of {target}: {error}"),
    }
}

fn unescaped(line: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(line.len()), line.as_bytes());
    while let [first, behind @ ..] = rest {
        (rest, _) = match (first, behind) {
            (b'\\', [b'x', high, low, behind @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit");
                (behind, bytes.push((digit(*high) << 4 | digit(*low)) as u8))
            }
            (b'\\', [named, behind @ ..]) => {
                let byte = match named {
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b'\'' | b'"' | b'\\' => *named,
                    _ => panic!("another escape: {line}"),
                };
                (behind, bytes.push(byte))
            }
            _ => (behind, bytes.push(*first)),
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::unescaped;

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(unescaped(&bytes.escape_ascii().to_string()), bytes);
        }
    }
}
