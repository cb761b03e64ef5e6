//! Streamed answers.

use context_core::model::{AnswerDelta, ModelErrorCode};
use context_core::{Answer, CancelSignal, ModelError, ModelRequest};
use context_http::{Event, HttpError};

use crate::{HttpModel, fault};

/// The names of events after which no event follows. Not every service closes the connection then.
const LAST: [&str; 4] =
    ["message_stop", "response.completed", "response.incomplete", "response.failed"];

impl HttpModel {
    pub(crate) async fn in_pieces(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        let fault = |error: HttpError| fault::of_model(&error, &self.client, &*self.codec);
        let sent = self.lowered(request, true)?;
        let incoming = self.client.open(&sent, cancel).await.map_err(fault)?;
        let kind = incoming.content_type().unwrap_or_default().to_ascii_lowercase();
        // Some servers do not stream, and send the whole answer.
        if kind.contains("json") {
            let answer = self.read(&incoming.whole(cancel).await.map_err(fault)?)?;
            answer.deltas().for_each(show);
            return Ok(answer);
        }
        let is_events = incoming.is_events();
        let mut events = incoming.events();
        let mut stream = self.codec.answer_stream();
        let mut has_begun = false;
        let broke = loop {
            let event = match events.next(cancel).await {
                Ok(Some(event)) => event,
                Ok(None) => break None,
                // The deltas so far were passed on; the call is over.
                Err(HttpError::Cancelled) => return Err(fault(HttpError::Cancelled)),
                Err(error) => break Some(fault(error)),
            };
            has_begun = true;
            match stream.push(&event.data) {
                Ok(deltas) => deltas.into_iter().for_each(&mut *show),
                Err(error) => break Some(self.error(ModelErrorCode::Unknown, &error.to_string())),
            }
            if is_last(&event) {
                break None;
            }
        };
        let mut answer = stream.finish();
        if !answer.complete && answer.error.is_none() {
            let ended = || match is_events || has_begun {
                true => {
                    self.error(ModelErrorCode::Network, "the stream ended before the answer did")
                }
                false => {
                    self.error(ModelErrorCode::Unknown, "the answer is not a stream of events")
                }
            };
            answer.error = Some(broke.unwrap_or_else(ended));
        }
        self.settled(answer)
    }
}

fn is_last(event: &Event) -> bool {
    event.data.trim() == "[DONE]" || event.name.as_deref().is_some_and(|name| LAST.contains(&name))
}
