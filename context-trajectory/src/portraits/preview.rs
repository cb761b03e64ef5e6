//! Reading the beginning of files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The number of bytes that are read of a file.
const BYTES: usize = 64 << 10;
/// The number of rows or lines that are shown.
const LINES: usize = 50;

/// Reads the beginning of files for portraits. Calls may block.
///
/// Paths come from programs and models. An application that must not let them choose which files
/// are read checks the paths here.
pub trait ReadPreview: fmt::Debug + Send + Sync + 'static {
    /// Returns at most `bytes` bytes from the start of a file.
    fn read(&self, path: &Path, bytes: usize) -> io::Result<Vec<u8>>;
}

/// Files of this machine below certain folders: regular files only, no devices and pipes, and no
/// links that lead elsewhere.
///
/// By default these are the files below the working folder. Otherwise any file that a tool happened
/// to name, such as a key file, would be sent to the model.
#[derive(Clone, Debug)]
pub struct HostPreviews(Vec<PathBuf>);

impl Default for HostPreviews {
    fn default() -> Self {
        Self::below(["."])
    }
}

impl HostPreviews {
    /// Reads files below these folders only.
    pub fn below(folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self(folders.into_iter().map(Into::into).collect())
    }
}

impl ReadPreview for HostPreviews {
    fn read(&self, path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
        let path = path.canonicalize()?;
        let below =
            |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| path.starts_with(folder));
        if !self.0.iter().any(below) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "not below a folder that is shown",
            ));
        }
        if !std::fs::metadata(&path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no plain file"));
        }
        let mut begin = Vec::new();
        File::open(path)?.take(bytes as u64).read_to_end(&mut begin)?;
        Ok(begin)
    }
}

/// Returns the first lines of a text file, or `None` for other files.
pub(super) fn lines(reader: &dyn ReadPreview, path: &str) -> Option<String> {
    let text = text(reader, Path::new(path)).ok().flatten()?;
    Some(first(&text, false).to_owned())
}

/// Returns the first rows of a csv or tsv file, or `None` for other files. A line feed within
/// quotes does not end a row.
pub(super) fn rows(reader: &dyn ReadPreview, path: &str) -> Option<String> {
    let extension = Path::new(path).extension()?.to_str()?;
    if !["csv", "tsv"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        return None;
    }
    let text = text(reader, Path::new(path)).ok().flatten()?;
    Some(first(&text, true).to_owned())
}

/// Returns the description in a skill's front matter, or else the text after the front matter.
pub(super) fn skill(reader: &dyn ReadPreview, path: &str) -> io::Result<String> {
    let folder = Path::new(path);
    let file = match folder.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("md") => folder.to_owned(),
        _ => folder.join("SKILL.md"),
    };
    let nothing = || io::Error::new(io::ErrorKind::InvalidData, "no text");
    let text = text(reader, &file)?.ok_or_else(nothing)?;
    let (front, body) = front_matter(&text);
    let description = described(front).unwrap_or_else(|| body.trim().to_owned());
    if description.is_empty() { Err(nothing()) } else { Ok(description) }
}

fn text(reader: &dyn ReadPreview, path: &Path) -> io::Result<Option<String>> {
    let mut bytes = reader.read(path, BYTES)?;
    bytes.truncate(BYTES);
    let cut = bytes.len() == BYTES;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The read limit cut a character in half.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).ok()
        }
        Err(_) => None,
    }
    .filter(|text| !text.contains('\0')))
}

fn first(text: &str, quotes: bool) -> &str {
    let (mut left, mut quoted) = (LINES, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if quotes => quoted = !quoted,
            '\n' if !quoted => left -= 1,
            _ => {}
        }
        if left == 0 {
            return &text[..at];
        }
    }
    text
}

/// Returns the text between the first two lines of three dashes, and the text after them.
fn front_matter(text: &str) -> (&str, &str) {
    let Some(rest) = text.strip_prefix("---").and_then(|rest| rest.split_once('\n')) else {
        return ("", text);
    };
    let mut at = 0;
    for line in rest.1.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&rest.1[..at], &rest.1[at + line.len()..]);
        }
        at += line.len();
    }
    ("", text)
}

/// Returns the value of `description`, quoted or not, on one line or on indented lines below it.
fn described(front: &str) -> Option<String> {
    let mut lines = front.lines();
    let value = lines.by_ref().find_map(|line| line.strip_prefix("description:"))?.trim();
    let mut words: Vec<&str> = match value {
        ">" | "|" | ">-" | "|-" | ">+" | "|+" => Vec::new(),
        _ => vec![value],
    };
    words.extend(lines.take_while(|line| line.starts_with([' ', '\t'])).map(str::trim));
    let description = words.join(" ");
    let description = description.trim();
    let bare =
        ['"', '\''].iter().find_map(|quote| description.strip_prefix(*quote)?.strip_suffix(*quote));
    let description = bare.unwrap_or(description).trim();
    (!description.is_empty()).then(|| description.to_owned())
}
