//! Reading files and standard input as text.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use context_runtime::transcript::FileText;
use serde::de::IgnoredAny;

use crate::error::Failure;
use crate::missing;
use crate::output::Output;

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

/// Returns whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Says that a command reads from the terminal, and how to end that: otherwise it would seem to
/// hang. `content` is what is expected.
pub(crate) fn announce(out: &Output, path: &Path, content: &str) {
    let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
    if is_stdin(path) && io::stdin().is_terminal() {
        out.note(format_args!("reading {content} from the terminal; end with {end}"));
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
    let stdin = is_stdin(path);
    let shown = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let failed = |source| missing::unreadable(path, source);
    let bytes = match stdin {
        true => read_bounded(io::stdin().lock(), &shown, MAX_WHOLE)?,
        false => read_bounded(File::open(path).map_err(failed)?, &shown, MAX_WHOLE)?,
    };
    let name =
        path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok(FileText::from_bytes(name, bytes).shown_as(shown))
}

/// Reads a file that another program may be writing to. An incomplete last line of JSON Lines is
/// left out.
pub(crate) fn read_growing(path: &Path) -> Result<FileText, Failure> {
    let shown = path.display().to_string();
    let failed = |source| missing::unreadable(path, source);
    let mut bytes = read_bounded(File::open(path).map_err(failed)?, &shown, MAX_WHOLE)?;
    let name =
        path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    bytes.truncate(complete_length(&name, &bytes));
    Ok(FileText::from_bytes(name, bytes).shown_as(shown))
}

/// Returns the length of a file without its last line, if the file is JSON Lines and the line is
/// incomplete.
fn complete_length(name: &str, bytes: &[u8]) -> usize {
    let is_json = |line: &[u8]| serde_json::from_slice::<IgnoredAny>(line).is_ok();
    let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let is_named = [".jsonl", ".ndjson"].iter().any(|end| name.to_lowercase().ends_with(end));
    let has_lines = || {
        let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        start > 0 && first.is_some_and(is_json)
    };
    let last = &bytes[start..];
    let is_complete = last.trim_ascii().is_empty() || is_json(last);
    if is_complete || !(is_named || has_lines()) { bytes.len() } else { start }
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

    #[test]
    fn only_an_incomplete_last_line_of_lines_is_left_out() {
        let length = |name, text: &str| complete_length(name, text.as_bytes());
        assert_eq!(length("a.jsonl", "{}\n{\"a\""), 3);
        assert_eq!(length("a.JSONL", "{\"a\""), 0);
        assert_eq!(length("a.json", "{}\n{\"a\""), 3);
        for (name, text) in [
            ("a.jsonl", "{}\n{}"),
            ("a.jsonl", "{}\n"),
            ("a.jsonl", "{\"a\n{}\n \n"),
            ("a.json", "{\n\"a\": 1"),
            ("a.json", "[{}, {"),
            ("a.json", ""),
        ] {
            assert_eq!(length(name, text), text.len(), "{text}");
        }
        let partial = b"{}\n{\"a\": \"\xc3";
        assert_eq!(complete_length("a.jsonl", partial), 3);
    }

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
