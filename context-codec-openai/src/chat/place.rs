//! The kinds of parts that each role accepts.

/// The place of a part.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// A user message: all parts are accepted.
    User,
    /// An assistant message: texts and refusals.
    Assistant,
    /// A system or tool message: texts.
    Texts,
    /// The source form: any part.
    Source,
}

impl Place {
    pub(super) fn of(role: &str, for_source: bool) -> Self {
        match role {
            _ if for_source => Self::Source,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            _ => Self::Texts,
        }
    }

    pub(super) fn shows(self) -> bool {
        matches!(self, Self::User | Self::Source)
    }

    pub(super) fn refuses(self) -> bool {
        matches!(self, Self::Assistant | Self::Source)
    }
}
