//! Taking an answer that arrives as events.

use context_core::model::AnswerDelta;

use super::ModelCall;

impl ModelCall<'_> {
    /// Takes the data of the next event of a streamed reply, and returns what it adds to the
    /// answer. Events that mean nothing to the provider's wire form add nothing. The end of the
    /// events is noticed by [`next`](Self::next), or told to
    /// [`events_ended`](Self::events_ended).
    ///
    /// An event that cannot be read breaks the answer off. The error is a matter of the recovery,
    /// as for a lost connection.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// use context_runtime::model::AnswerDelta;
    /// use context_runtime::{DefaultContextRuntime, Message, ModelCall, PrepareInput, provider};
    ///
    /// let runtime = DefaultContextRuntime::builder().model("gpt-4o").build()?;
    /// let input = PrepareInput::new(("ada", "lisbon"), "turn", "openai", "gpt-4o")
    ///     .messages([Message::from("Two tickets to Lisbon, please.")]);
    /// let mut call = ModelCall::new(&runtime, provider("openai")?, input);
    /// while let Some(request) = call.next().await? {
    ///     // The program sends `request.body()` with `"stream": true`, and reads the events.
    ///     for event in [
    ///         r#"{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Window"}}]}"#,
    ///         r#"{"choices": [{"index": 0, "delta": {"content": " or aisle?"}, "finish_reason": "stop"}]}"#,
    ///         "[DONE]",
    ///     ] {
    ///         for delta in call.event(event) {
    ///             if let AnswerDelta::Text(text) = delta {
    ///                 print!("{text}");
    ///             }
    ///         }
    ///     }
    /// }
    /// assert_eq!(call.message().map(|answer| answer.plain_text()).as_deref(), Some("Window or aisle?"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn event(&mut self, data: &str) -> Vec<AnswerDelta> {
        let mut deltas = Vec::new();
        if self.restarted() {
            deltas.push(AnswerDelta::Restarted);
        }
        let stream = self.stream.get_or_insert_with(|| self.codec.answer_stream());
        match stream.push(data) {
            Ok(added) => deltas.extend(added),
            Err(_) => self.events_ended(),
        }
        self.record.shown |= !deltas.is_empty();
        deltas
    }

    /// Takes the end of a streamed reply: the connection was closed, or lost. Does nothing if no
    /// event arrived.
    pub fn events_ended(&mut self) {
        if let Some(stream) = self.stream.take() {
            let mut answer = stream.finish();
            if !answer.complete && answer.error.is_none() {
                answer.error = Some(self.broken_off());
            }
            self.answered(Ok(answer));
        }
    }

    /// Returns once that the deltas of the answer before are void.
    pub(super) fn restarted(&mut self) -> bool {
        std::mem::take(&mut self.record.restarted)
    }
}
