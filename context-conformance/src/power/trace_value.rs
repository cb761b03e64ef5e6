//! Values in the log of strace: strings, buffers, descriptors and numbers.

use std::path::PathBuf;

/// Decodes a string in hexadecimal. `None` if it is no string, or if strace has cut it.
pub(super) fn string(arg: &str) -> Option<Vec<u8>> {
    hexadecimal(arg.strip_prefix('"')?.strip_suffix('"')?)
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (bytes, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let byte = |[backslash, x, high, low]: &[u8; 4]| {
        let is_byte = (*backslash, *x) == (b'\\', b'x');
        let value = digit(*high)? * 16 + digit(*low)?;
        u8::try_from(value).ok().filter(|_| is_byte)
    };
    bytes.iter().map(byte).collect()
}

/// Decodes a path. `None` if it is not UTF-8.
pub(super) fn path(arg: &str) -> Option<PathBuf> {
    String::from_utf8(string(arg)?).ok().map(PathBuf::from)
}

/// Decodes the buffers of a vectored call.
pub(super) fn buffers(arg: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in arg.split("iov_base=").skip(1) {
        let end = part.find(", iov_len=")?;
        bytes.extend(string(&part[..end])?);
    }
    Some(bytes)
}

/// Decodes a descriptor and its path, if it has one.
pub(super) fn descriptor(arg: &str) -> Option<(i64, Option<PathBuf>)> {
    let Some((number, rest)) = arg.split_once('<') else { return Some((number(arg)?, None)) };
    let path = rest.split('>').next().and_then(hexadecimal);
    let path = path.and_then(|path| String::from_utf8(path).ok()).map(PathBuf::from);
    let number = if number == "AT_FDCWD" { -1 } else { number.parse().ok()? };
    Some((number, path))
}

/// Decodes a decimal number, without what strace adds behind it.
pub(super) fn number(arg: &str) -> Option<i64> {
    arg.split([' ', '<']).next()?.parse().ok()
}

/// Whether a list of flags contains one.
pub(super) fn has_flag(arg: &str, flag: &str) -> bool {
    arg.split(['|', ' ']).any(|known| known == flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_or_refused() {
        assert_eq!(string("\"\\x00\\xff\""), Some(vec![0, 255]));
        assert_eq!(string("\"\\x00\"..."), None);
        assert_eq!(string("0x7ffe"), None);
        let two = "[{iov_base=\"\\x61\", iov_len=1}, {iov_base=\"\\x62\\x63\", iov_len=2}]";
        assert_eq!(buffers(two), Some(b"abc".to_vec()));
        assert_eq!(descriptor("3<\\x2f\\x61>(deleted)"), Some((3, Some("/a".into()))));
        assert_eq!(descriptor("AT_FDCWD<\\x2f>"), Some((-1, Some("/".into()))));
        assert_eq!(descriptor("12"), Some((12, None)));
        assert_eq!(number("4096"), Some(4096));
        assert!(has_flag("O_RDWR|O_CREAT", "O_CREAT") && !has_flag("O_CREATE", "O_CREAT"));
    }
}
