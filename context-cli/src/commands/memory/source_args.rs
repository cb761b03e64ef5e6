//! The arguments that name memories by their origin.

use context_runtime::store::MemorySource;

#[derive(clap::Args, Debug)]
pub(super) struct SourceArgs {
    /// The memories from this message
    #[arg(long, value_name = "ID", requires = "in_session")]
    message: Option<String>,
    /// The session of the message
    #[arg(long = "in", id = "in_session", value_name = "SESSION", requires = "message")]
    in_session: Option<String>,
    /// The memories from any message of this session
    #[arg(long, value_name = "SESSION")]
    from_session: Option<String>,
}

impl SourceArgs {
    /// Returns the origin, if one is named.
    pub(super) fn source(self) -> Option<MemorySource> {
        match self.message.zip(self.in_session) {
            Some((message, session)) => Some(MemorySource::message(session, message)),
            None => self.from_session.map(MemorySource::session),
        }
    }
}
