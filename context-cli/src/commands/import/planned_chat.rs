//! The chats of a file, ready to be written.

use std::path::Path;

use context_runtime::transcript::{TranscriptChat, TranscriptSource};
use context_runtime::transfer::{TreePlan, TreeWritten};
use context_runtime::{
    CancelSignal, ChatRef, Diagnostic, Metadata, Timestamp,
    store::{HistoryStore, NewChat},
};

use crate::app::App;
use crate::error::Failure;

/// The names of a file.
pub(in crate::commands) struct FileName {
    /// The name as given, for messages.
    pub(in crate::commands) shown: String,
    /// The name without folders.
    pub(in crate::commands) name: String,
}

impl FileName {
    pub(in crate::commands) fn of(path: &Path) -> Self {
        let shown = if path.as_os_str() == "-" {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let name = path
            .file_name()
            .map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        Self { shown, name }
    }
}

/// A conversation that is ready to be written.
pub(in crate::commands) struct PlannedChat {
    pub(in crate::commands) chat: String,
    pub(in crate::commands) messages: usize,
    pub(in crate::commands) branches: usize,
    pub(in crate::commands) diagnostics: Vec<Diagnostic>,
    /// The name that the conversation has as long as the file has no others.
    name_alone: Option<String>,
    source: TranscriptSource,
    plan: TreePlan,
}

impl PlannedChat {
    /// Plans the conversations of a file. A single one gets the name; several are numbered.
    pub(in crate::commands) fn of_file(
        app: &App,
        chats: Vec<TranscriptChat>,
        name: &str,
        at: Timestamp,
    ) -> Result<Vec<Self>, Failure> {
        let several = chats.len() > 1;
        let planned = |chat: TranscriptChat| {
            let TranscriptChat { source, title, tree, diagnostics, .. } = chat;
            let chat = match several {
                true => format!("{name}-{:04}", source.index + 1),
                false => name.to_owned(),
            };
            let mut new = NewChat::new(app.chat(&chat), at);
            new.title = title;
            new.metadata = Metadata::default().with(TranscriptSource::KEY, source.to_json());
            Ok(Self {
                chat,
                messages: tree.nodes().len(),
                branches: tree.branches().len().max(1),
                diagnostics,
                name_alone: (several && source.index == 0).then(|| name.to_owned()),
                plan: TreePlan::new(new, &tree)?,
                source,
            })
        };
        chats.into_iter().map(planned).collect()
    }

    /// Writes the missing part of the chat. The first conversation of a file that now has several
    /// keeps the name that it got when it was the only one.
    pub(in crate::commands) async fn write(
        &mut self,
        history: &dyn HistoryStore,
        interrupt: &CancelSignal,
        progress: impl FnMut(usize) + Send,
    ) -> Result<TreeWritten, Failure> {
        if let Some(name) = self.name_alone.take() {
            let alone = ChatRef::new(self.plan.chat().chat.user.clone(), name.as_str());
            let stored = history.chat(&alone).await?;
            let source =
                stored.and_then(|chat| TranscriptSource::of(&chat.metadata).ok().flatten());
            if source.is_some_and(|source| source.is_same_conversation(&self.source)) {
                self.plan = self.plan.clone().with_chat(alone);
                self.chat = name;
            }
        }
        Ok(self.plan.write(history, interrupt, progress).await?)
    }
}
