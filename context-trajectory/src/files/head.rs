//! The head file next to a graph file, which lets listings skip the graph.
//!
//! The head file records how much of the graph file it covers. The graph file is authoritative:
//! lines behind that position are read from it, and a head file that cannot be read or does not
//! match is ignored.

use std::borrow::Cow;
use std::path::Path;

use context_core::trajectory::{RoundHead, RoundRef};
use context_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::form::{FORM, LineReader, round_of};
use super::paths::{RoundPaths, SessionFolder};
use crate::journal::{self, ReadPosition};

const NAME: &str = "context round head";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeadFile<'a> {
    form: Cow<'a, str>,
    version: u32,
    /// The number of bytes of the graph file that this head covers.
    bytes: u64,
    lines: u64,
    head: RoundHead,
}

/// Writes a head file, replacing the old one.
pub(super) fn write(
    operation: &'static str,
    paths: &RoundPaths,
    position: ReadPosition,
    head: &RoundHead,
    sync: bool,
) -> Result<()> {
    let ReadPosition { bytes, lines } = position;
    let file = HeadFile { form: NAME.into(), version: VERSION, bytes, lines, head: head.clone() };
    let text = serde_json::to_vec(&file).map_err(|error| {
        Error::invalid(operation, "the head cannot be written as JSON").with_source(error)
    })?;
    journal::replace(operation, &paths.head, &text, sync)
}

/// Returns the current head of a round, or `None` if the round does not exist.
pub(super) fn read(operation: &'static str, paths: &RoundPaths) -> Result<Option<RoundHead>> {
    let Some(bytes) = paths.bytes(operation)? else { return Ok(None) };
    if let Some((head, position)) =
        last_written(paths).filter(|(_, position)| position.bytes <= bytes)
    {
        if position.bytes == bytes {
            return Ok(Some(head));
        }
        match behind(operation, paths, position, Some(head)) {
            // The head file belongs to a graph file that was replaced.
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid) => {}
            read => return read,
        }
    }
    behind(operation, paths, ReadPosition::default(), None)
}

/// Returns the content of the head file, if it can be read.
fn last_written(paths: &RoundPaths) -> Option<(RoundHead, ReadPosition)> {
    let file = parse(&paths.head).filter(|file| file.head.round == paths.round)?;
    Some((file.head, ReadPosition { bytes: file.bytes, lines: file.lines }))
}

fn parse(path: &Path) -> Option<HeadFile<'static>> {
    let file: HeadFile<'static> =
        serde_json::from_slice(&journal::read_whole("read_head", path).ok()?).ok()?;
    (file.form == NAME && file.version == VERSION).then_some(file)
}

fn behind(
    operation: &'static str,
    paths: &RoundPaths,
    position: ReadPosition,
    mut head: Option<RoundHead>,
) -> Result<Option<RoundHead>> {
    let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
    let read = journal::read_behind(operation, &paths.graph, FORM, position, &mut |line, text| {
        head = Some(reader.head(line, text)?);
        Ok(())
    });
    match read {
        Ok(_) => Ok(head),
        // The file was removed in the meantime.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the round that the files say they belong to, or `None` if they do not say.
fn round_in(operation: &'static str, graph: &Path, head: &Path) -> Result<Option<RoundRef>> {
    if let Some(file) = parse(head) {
        return Ok(Some(file.head.round));
    }
    let mut round = None;
    let read = journal::read(operation, graph, FORM, &mut |_, text| {
        round = round.take().or_else(|| round_of(text));
        Ok(())
    });
    match read {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(round),
    }
}

/// Returns the session name of a folder, from the first round file that states it.
pub(super) fn session_in(
    operation: &'static str,
    folder: &SessionFolder,
) -> Result<Option<String>> {
    for numbers in &folder.rounds {
        let (graph, head) = folder.files(*numbers);
        if let Some(round) = round_in(operation, &graph, &head)? {
            return Ok(Some(round.agent.session.as_str().to_owned()));
        }
    }
    Ok(None)
}
