//! The fragment that shows the files to the model.

use context_core::{Fragment, FragmentData, fragment};

const INSTRUCTIONS: &str = "Instructions for work in this project, from files: the most general first, the one \
nearest to the working folder last. Where two disagree, follow the later one.";

/// A file as the model sees it.
pub(super) struct ShownFile<'a> {
    pub(super) path: &'a str,
    /// The part that is kept.
    pub(super) text: &'a str,
    /// The number of bytes missing after the kept part, and the limit that is the reason.
    pub(super) missing: Option<(u64, usize)>,
}

/// Returns the fragment `project_instructions`: an introduction, and for each file a fragment
/// `file` of `path` and `text`.
pub(super) fn project_instructions<'a>(files: impl Iterator<Item = ShownFile<'a>>) -> Fragment {
    let mut files = files.map(|file| entry(&file).into()).peekable();
    let intro = files.peek().is_some().then(|| FragmentData::from(INSTRUCTIONS));
    fragment("project_instructions", intro.into_iter().chain(files))
}

fn entry(file: &ShownFile<'_>) -> Fragment {
    let mut text = file.text.trim_end().replace("\r\n", "\n");
    // Drops leading lines, not leading spaces: those may indent the first line.
    let blank = text.len() - text.trim_start_matches('\n').len();
    text.drain(..blank);
    if let Some((bytes, limit)) = file.missing {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&note(file.path, bytes, limit));
    }
    Fragment::new("file", FragmentData::map([("path", file.path), ("text", &text)]))
}

/// Returns the note that replaces missing text.
fn note(path: &str, bytes: u64, limit: usize) -> String {
    let (missing, limit) = (grouped(bytes), grouped(limit as u64));
    format!("[… {missing} bytes of {path} left out: over the limit of {limit} bytes]")
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_have_commas() {
        let numbers = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
