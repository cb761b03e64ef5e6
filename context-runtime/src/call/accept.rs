//! Taking an answered call over into its chat.

use context_core::{Answer, Error, Result};

use super::ModelCall;
use crate::{ContextEngine, Resolved};

impl ContextEngine {
    /// Takes over an answered call. The answer becomes pending. Compactions made during the call
    /// are kept as a boundary, as [`compact`](Self::compact) does, so that the next call does not
    /// meet the same refusal. Nothing is written before the next save.
    ///
    /// `turn` is the resolve that the call was made of. Returns
    /// [`Invalid`](crate::ErrorKind::Invalid) if there is no answer yet, or if the turn or the call
    /// is of another chat.
    pub async fn accept<'c>(
        &mut self,
        turn: &Resolved,
        call: &'c ModelCall<'_>,
    ) -> Result<&'c Answer> {
        self.check_chat("accept", &turn.chat)?;
        self.check_chat("accept", call.chat())?;
        let unanswered = || {
            Error::invalid(
                "accept",
                "the call has no answer yet: ask it for `next` until there is none",
            )
        };
        let answer = call.answer().ok_or_else(unanswered)?;
        if let Some(rewrite) = call.rewrite() {
            self.compact(turn, rewrite, call.plans()).await?;
        }
        self.set([answer.message.clone()]);
        Ok(answer)
    }
}
