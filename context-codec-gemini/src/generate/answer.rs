//! Whole answers.

use context_codec_kit::wire;
use context_core::model::{AnswerDelta, WireError};
use context_core::{Answer, Json};
use serde_json::value::RawValue;

use super::assembly::Assembly;
use super::event::Event;

/// Lifts an answer, an error, or the list of a stream's events.
pub(super) fn lift(body: &Json) -> Result<Answer, WireError> {
    let mut assembly = Assembly::default();
    match wire::kind(body) {
        "an object" => drop(assembly.push(body.as_str(), "")?),
        "a list" => drop(push_events(body.as_str(), &mut assembly)?),
        _ => return Err(wire::wrong_type(body, "", "an object")),
    }
    Ok(assembly.answer())
}

/// Pushes the elements of a list as events: all up to the last one that counts, or none.
pub(super) fn push_events(
    list: &str,
    assembly: &mut Assembly,
) -> Result<Vec<AnswerDelta>, WireError> {
    let elements: Vec<&RawValue> = wire::read(list, "")?;
    if assembly.is_over() {
        return Ok(Vec::new());
    }
    let mut events = Vec::with_capacity(elements.len());
    for (i, element) in elements.into_iter().enumerate() {
        let event = Event::read(element.get(), &format!("[{i}]"))?;
        let ends = event.ends();
        events.push(event);
        if ends {
            break;
        }
    }
    Ok(events.into_iter().flat_map(|event| assembly.take(event)).collect())
}
