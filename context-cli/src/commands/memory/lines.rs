//! Texts to remember, from JSON Lines. A file is read completely before any of it is written.

use std::collections::HashMap;

use context_runtime::transcript::FileText;
use context_runtime::{
    Message, MessageId, Role, Timestamp, limits, memory::CapturedMessage, model::MessageHash,
    trajectory::SessionId,
};
use serde::Deserialize;

use super::capture::SessionMessages;
use crate::error::Failure;
use crate::text::parse_time;

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    #[serde(default)]
    speaker: Option<String>,
    #[serde(default)]
    at: Option<String>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

/// Reads the texts of a file, grouped by session. Lines without a session get `session`; with
/// `only`, no other session is allowed.
pub(super) fn read(
    input: &FileText,
    session: &SessionId,
    only: bool,
    now: Timestamp,
) -> Result<Vec<SessionMessages>, Failure> {
    let mut sessions: Vec<SessionMessages> = Vec::new();
    let (mut places, mut names) = (HashMap::new(), HashMap::new());
    for (number, text) in (1..).zip(input.text().lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let broken = |problem: String| Failure::Line {
            file: input.shown().to_owned(),
            line: number,
            problem,
        };
        let line: Line = serde_json::from_str(text).map_err(|error| broken(reason(&error)))?;
        let own = line.session.as_deref().map_or_else(|| session.clone(), SessionId::from);
        if only && own != *session {
            return Err(broken(format!("its session differs from --session {session}")));
        }
        let refused = |error: context_runtime::Error| broken(error.message().to_owned());
        limits::check_id("add", "session", own.as_str()).map_err(refused)?;
        let name = line.message.as_deref().map(MessageId::from);
        let at = match &line.at {
            None => None,
            Some(at) => Some(parse_time(at).map_err(|error| broken(format!("`at` is {error}")))?),
        };
        let message = message(&own, line.text, name, &mut names);
        let message = said_by(message, line.speaker, at.unwrap_or(now)).map_err(refused)?;
        let place = *places.entry(own.clone()).or_insert_with(|| {
            sessions.push(SessionMessages { session: own, messages: Vec::new() });
            sessions.len() - 1
        });
        sessions[place].messages.push(message);
    }
    Ok(sessions)
}

/// The number of equal texts in a session.
type Names = HashMap<(SessionId, MessageHash), u32>;

/// Returns a text as a message. Without an id, the id is derived from the text and from the number
/// of equal texts before it in its session, as for the messages of turns. The id is therefore the
/// same each time.
pub(super) fn message(
    session: &SessionId,
    text: String,
    name: Option<MessageId>,
    names: &mut Names,
) -> CapturedMessage {
    let message = Message::text(Role::User, text);
    let name = name.unwrap_or_else(|| {
        let hash = message.hash();
        let count = names.entry((session.clone(), hash)).or_default();
        *count += 1;
        MessageId::from(if *count == 1 { hash.to_string() } else { format!("{hash}-{count}") })
    });
    CapturedMessage::new(name, message)
}

/// Sets the speaker and the time.
pub(super) fn said_by(
    mut message: CapturedMessage,
    speaker: Option<String>,
    at: Timestamp,
) -> context_runtime::Result<CapturedMessage> {
    limits::check_id("add", "message", message.id.as_str())?;
    speaker.iter().try_for_each(|speaker| limits::check_id("add", "speaker", speaker))?;
    (message.speaker, message.at) = (speaker, Some(at));
    Ok(message)
}

/// Returns the problem of a line without the position, which is reported separately.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned()
}
