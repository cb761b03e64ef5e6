//! Dialogues with questions about them, from any source.

/// A dialogue and the questions about it.
pub(crate) struct Dialogue {
    pub(crate) name: String,
    pub(crate) turns: Vec<Turn>,
    pub(crate) questions: Vec<Question>,
}

/// A turn of a dialogue.
pub(crate) struct Turn {
    /// Unique in the dialogue.
    pub(crate) id: String,
    /// Its session.
    pub(crate) session: String,
    pub(crate) speaker: Option<String>,
    /// The time in microseconds since 1970-01-01 UTC.
    pub(crate) at: i64,
    pub(crate) text: String,
}

/// A question, and the turns that contain its answer.
pub(crate) struct Question {
    pub(crate) category: String,
    pub(crate) text: String,
    pub(crate) evidence: Vec<String>,
}
