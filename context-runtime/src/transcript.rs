//! Files of other programs: read as chats, and written back in their form.
//!
//! [`read`] makes chats of a file; [`transfer::TreePlan`](crate::transfer::TreePlan) writes the
//! [`Tree`](crate::transfer::Tree) of such a chat to a store.

pub use context_transcript::{
    BrokenLines, ChatContent, ExportedChat, FileLayout, FileText, FormProblem, Format, LineError,
    ReadTranscript, SOURCE_BRANCH, SourceError, TranscriptChat, TranscriptError, TranscriptSource,
    is_log_entry, locate_by_id, measures, read, syntax_problem, to_file_text,
};
