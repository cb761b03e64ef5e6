//! Acknowledgements: lines on the standard output of the recorded process.

use std::io::{self, Write};

/// The beginning of the line of an acknowledgement.
const BEGIN: &str = "acknowledged ";

/// Writes an acknowledgement: a program that reads the line may rely on what it says, even if power
/// is lost now. To be called by [`PowerTest::write`](super::PowerTest::write), with a text without
/// line feeds.
pub fn acknowledge(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{BEGIN}{text}\n").as_bytes())?;
    out.flush()
}

/// Returns the acknowledgements among lines that were written together.
pub(super) fn acknowledgements(bytes: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let found: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix(BEGIN)).map(str::to_owned).collect();
    found.into_iter()
}
