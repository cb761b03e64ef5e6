//! Reading files and standard input as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use context_runtime::transcript::FileText;

use crate::error::Failure;

/// The largest file or standard input that is read as a whole, in bytes.
pub(crate) const MAX_WHOLE: u64 = 256 << 20;

/// Reads everything up to a limit. Fails, without reading further, if there is more.
pub(crate) fn read_bounded(from: impl Read, shown: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let failed = |source| Failure::Read { file: shown.to_owned(), source };
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > limit {
        true => Err(Failure::TooLarge { file: shown.to_owned(), limit }),
        false => Ok(bytes),
    }
}

/// Reads a file, which must be text. `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<FileText, Failure> {
    let file = read_lossy(path)?;
    file.check_utf8()?;
    Ok(file)
}

/// Reads a file in which some lines may not be text.
pub(crate) fn read_lossy(path: &Path) -> Result<FileText, Failure> {
    let stdin = path.as_os_str() == "-";
    let shown = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let failed = |source| Failure::Read { file: shown.clone(), source };
    let bytes = match stdin {
        true => read_bounded(io::stdin().lock(), &shown, MAX_WHOLE)?,
        false => read_bounded(File::open(path).map_err(failed)?, &shown, MAX_WHOLE)?,
    };
    let name =
        path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok(FileText::from_bytes(name, bytes).shown_as(shown))
}

/// Returns the name of a file without extension, as a default name for the content.
pub(crate) fn stem(file: &FileText) -> String {
    match Path::new(file.name()).file_stem() {
        Some(stem) if file.name() != "-" => stem.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endless source is not read to its end.
    #[test]
    fn what_is_larger_than_the_limit_is_refused_with_the_limit() {
        let error = read_bounded(io::repeat(0), "zeros", 1 << 10).expect_err("it never ends");
        assert_eq!(
            error.to_string(),
            "zeros is larger than 1024 bytes, the most that is read as a whole"
        );
        assert!(read_bounded(io::repeat(0).take(1 << 10), "zeros", 1 << 10).is_ok());
    }
}
