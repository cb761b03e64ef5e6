//! The small file beside a round's graph: its head, so that listings need not read graphs.
//!
//! It says how far into the graph's file it has seen. The graph counts: what is behind that place
//! is read from there, and a head that cannot be read, or does not fit, is as good as none.

use std::borrow::Cow;
use std::path::Path;

use context_core::trajectory::RoundHead;
use context_core::trajectory::RoundRef;
use context_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::form::{FORM, Source, round_of};
use super::place::{Place, SessionFolder};
use crate::journal::{self, Seen};

const NAME: &str = "context round head";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeadFile<'a> {
    form: Cow<'a, str>,
    version: u32,
    /// How much of the graph's file it speaks for.
    bytes: u64,
    lines: u64,
    head: RoundHead,
}

/// Puts a head in its place.
pub(super) fn write(
    operation: &'static str,
    place: &Place,
    seen: Seen,
    head: &RoundHead,
    sync: bool,
) -> Result<()> {
    let Seen { bytes, lines } = seen;
    let file = HeadFile { form: NAME.into(), version: VERSION, bytes, lines, head: head.clone() };
    let text = serde_json::to_vec(&file).map_err(|error| {
        Error::invalid(operation, "the head cannot be written as JSON").with_source(error)
    })?;
    journal::replace(operation, &place.head, &text, sync)
}

/// The head of a round as it is now; none if there is no such round.
pub(super) fn read(operation: &'static str, place: &Place) -> Result<Option<RoundHead>> {
    let Some(bytes) = place.bytes(operation)? else { return Ok(None) };
    if let Some((head, seen)) = last_written(place).filter(|(_, seen)| seen.bytes <= bytes) {
        if seen.bytes == bytes {
            return Ok(Some(head));
        }
        match behind(operation, place, seen, Some(head)) {
            // It speaks for a file that is not there any more.
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid) => {}
            read => return read,
        }
    }
    behind(operation, place, Seen::default(), None)
}

/// What the file says, if it can be read.
fn last_written(place: &Place) -> Option<(RoundHead, Seen)> {
    let file = parse(&place.head).filter(|file| file.head.round == place.round)?;
    Some((file.head, Seen { bytes: file.bytes, lines: file.lines }))
}

fn parse(path: &Path) -> Option<HeadFile<'static>> {
    let file: HeadFile<'static> =
        serde_json::from_slice(&journal::read_whole("read_head", path).ok()?).ok()?;
    (file.form == NAME && file.version == VERSION).then_some(file)
}

fn behind(
    operation: &'static str,
    place: &Place,
    seen: Seen,
    mut head: Option<RoundHead>,
) -> Result<Option<RoundHead>> {
    let source = Source { operation, path: &place.graph, round: &place.round };
    let read = journal::read_behind(operation, &place.graph, FORM, seen, &mut |line, text| {
        head = Some(source.head(line, text)?);
        Ok(())
    });
    match read {
        Ok(_) => Ok(head),
        // Somebody removed it in this moment.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The round that the files of a place say they are of; none if they say nothing.
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

/// What the session of a folder is called, as the first of its rounds that says it does.
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
