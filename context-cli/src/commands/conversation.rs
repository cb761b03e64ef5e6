//! A conversation as a request, read from a chat of the store or from a file.

use std::path::Path;

use context_runtime::transcript::{self, FileText, TranscriptChat, request_parts};
use context_runtime::{
    BranchName, ContextEngine, Diagnostic, DiagnosticCode, Error, ErrorKind, MessageId, Severity,
    model::ModelRequest,
};

use super::{existing_chat, source_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::file_format::FileFormat;
use crate::input;
use crate::missing;
use crate::progress::Progress;
use crate::sessions::SessionInput;

/// A conversation that can be sent.
pub(super) struct Conversation {
    /// The chat, or the file and the number of the conversation in it.
    pub(super) name: String,
    /// System prompt, messages and tools, as far as known.
    pub(super) request: ModelRequest,
    /// The ids of the messages, in order.
    pub(super) ids: Vec<MessageId>,
    /// Diagnostics about content that was left out.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The arguments that name conversations.
#[derive(clap::Args, Debug)]
pub(super) struct ConversationArgs {
    /// A chat of the store, or a file of any form that `import` reads; `-` is standard input
    #[arg(value_name = "FILE|CHAT", default_value = "-")]
    source: String,
    /// The format of the file
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    from: FileFormat,
    /// The conversation of the file, from 1 [default: all]
    #[arg(long, value_name = "N")]
    conversation: Option<usize>,
    /// The branch [default: the active one of a chat, the first of a file]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

impl ConversationArgs {
    /// Returns the file path.
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.source)
    }

    /// Reads the conversations: from a file, pipe or device if one of this name exists, else from a
    /// chat.
    pub(super) async fn read(&self, app: &App) -> Result<Vec<Conversation>, Failure> {
        let path = Path::new(&self.source);
        // `<(…)` of a shell and /dev/stdin are not regular files, so only folders are excluded.
        input::announce(&app.out, path, "a transcript");
        if self.source == "-" || std::fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            return self.of_file(&SessionInput::of_file(path).read(path, false)?, app);
        }
        let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
        match self.of_chat(app).await {
            // If a file name was given and neither file nor chat exists, the error names the file.
            // Any other error is reported as it is.
            Err(failure) if looks_like_a_file && is_nowhere(&failure) => {
                Err(missing::unreadable(path, std::io::ErrorKind::NotFound.into()))
            }
            read => Ok(vec![read?]),
        }
    }

    async fn of_chat(&self, app: &App) -> Result<Conversation, Failure> {
        let store = app.store_to_read().await?;
        let _reading = Progress::new(&app.out, format!("reading {}", self.source));
        let chat = existing_chat(store.history(), &app.chat(&self.source)).await?;
        let mut builder = ContextEngine::builder(store)
            .user(app.user.clone())
            .chat(self.source.as_str())
            .existing();
        if let Some(branch) = &self.branch {
            builder = builder.branch(branch.as_str());
        }
        let resolved = builder.open().await?.resolve().await?;
        let source = source_of(&self.source, &chat.metadata)?;
        let mut request = source.as_ref().map(request_parts).unwrap_or_default();
        let turn = resolved.request();
        request.system.splice(0..0, turn.system);
        request.messages = turn.messages;
        let read = resolved.messages.iter().filter(|node| node.message().is_ok());
        let ids = read.map(|node| node.id.clone()).collect();
        Ok(Conversation {
            name: self.source.clone(),
            request,
            ids,
            diagnostics: resolved.diagnostics,
        })
    }

    fn of_file(&self, file: &FileText, app: &App) -> Result<Vec<Conversation>, Failure> {
        let read = transcript::read(file, self.from.of_transcript(), app.now())?;
        let broken = read.broken.listed().iter().map(|broken| {
            let problem = format!("left out: {}", broken.error.problem());
            Diagnostic::new(
                DiagnosticCode::BrokenInput,
                Severity::Warning,
                format!("line {}", broken.line),
                problem,
            )
        });
        let broken: Vec<_> = broken.collect();
        let count = read.chats.len();
        let chats = read.chats.into_iter().enumerate();
        let wanted = chats.filter(|(index, _)| self.conversation.is_none_or(|n| n == index + 1));
        let mut conversations: Vec<_> = wanted
            .map(|(index, chat)| {
                let name = match count {
                    1 => file.shown().to_owned(),
                    _ => format!("conversation {} of {}", index + 1, file.shown()),
                };
                self.of_transcript(name, chat)
            })
            .collect::<Result<_, _>>()?;
        if let Some(first) = conversations.first_mut() {
            first.diagnostics.extend(broken);
        }
        match (conversations.is_empty(), self.conversation) {
            (true, Some(number)) => {
                let file = file.shown();
                Err(Failure::Usage(format!(
                    "{file} has {count} conversations; there is no number {number}"
                )))
            }
            _ => Ok(conversations),
        }
    }

    fn of_transcript(&self, name: String, chat: TranscriptChat) -> Result<Conversation, Failure> {
        let first = chat.tree.branches().next().map(|(name, _)| name.clone());
        let branch = self.branch.as_deref().map(BranchName::from).or(first);
        let chain = match &branch {
            None => Default::default(),
            Some(branch) => chat
                .tree
                .chain(branch)
                .ok_or_else(|| Error::not_found("find", "branch", branch).with("file", &name))?,
        };
        let mut request = request_parts(&chat.source);
        request.messages = chain.messages();
        let read = chain.iter().filter(|node| node.message().is_ok());
        let ids = read.map(|node| node.id.clone()).collect();
        Ok(Conversation { name, request, ids, diagnostics: chat.diagnostics })
    }
}

/// Runs work for each conversation. If it fails for one of several, the failure is reported, the
/// others continue, and the exit status is 1. If there is only one conversation, its failure is the
/// command's failure.
pub(super) fn each(
    conversations: Vec<Conversation>,
    app: &mut App,
    mut work: impl FnMut(Conversation, &mut App) -> Result<(), Failure>,
) -> Result<Outcome, Failure> {
    let only = conversations.len() == 1;
    let mut done = Outcome::Success;
    for conversation in conversations {
        match work(conversation, app) {
            Err(failure) if only || failure.ends_the_output() => return Err(failure),
            Err(failure) => {
                app.out.failure(&failure);
                done = Outcome::Findings;
            }
            Ok(()) => {}
        }
    }
    Ok(done)
}

/// Returns whether the chat, or the store, does not exist.
fn is_nowhere(failure: &Failure) -> bool {
    match failure {
        Failure::NoStore { .. } => true,
        Failure::Store(error) => {
            error.kind() == ErrorKind::NotFound && error.get("branch").is_none()
        }
        _ => false,
    }
}
