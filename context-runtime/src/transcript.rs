//! Files of other programs: read as chats, and written back in their form.
//!
//! [`read`] makes chats of a file; [`transfer::TreePlan`](crate::transfer::TreePlan) writes the
//! [`Tree`](crate::transfer::Tree) of such a chat to a store.

use context_core::ModelRequest;
pub use context_transcript::{
    BrokenLines, ChatContent, ExportedChat, FileLayout, FileText, FormProblem, Format, LineError,
    MarkdownDocument, ReadTranscript, SOURCE_BRANCH, SourceError, TranscriptChat, TranscriptError,
    TranscriptSource, is_log_entry, locate_by_id, measures, read, syntax_problem, to_file_text,
};

use crate::plugins::codecs::message_codec;

/// Returns the parts of a file's request body other than the messages: system prompt, tools, tool
/// choice, answer format and the maximum number of output tokens. A file that is no request body,
/// or one of a form whose codec is off, has none.
pub fn request_parts(source: &TranscriptSource) -> ModelRequest {
    let mut request = ModelRequest::default();
    let body = source
        .body_without_messages()
        .and_then(|(codec, body)| message_codec(codec).ok()?.lift(&body).ok());
    if let Some(lifted) = body {
        let read = lifted.request;
        (request.system, request.tools, request.tool_choice) =
            (read.system, read.tools, read.tool_choice);
        (request.output, request.max_output_tokens) = (read.output, read.max_output_tokens);
    }
    request
}
