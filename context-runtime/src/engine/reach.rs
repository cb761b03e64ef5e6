//! The part of the branch that an engine reads: what a model is shown, and further back only for
//! what needs it.

use context_core::{Error, Result};

use super::ContextEngine;
use super::view::{Reach, Source, View};

impl ContextEngine {
    /// Returns the branch, brought up to date, with what a model is shown of it. A view that is
    /// known reads only new messages. The whole branch if that is not enough: a compaction is
    /// pending, or a pending message changes one from before the part.
    pub(super) async fn view(&mut self) -> Result<&mut View> {
        // A compaction names all messages that it hides.
        let reach = if self.compaction.is_some() { Reach::Whole } else { Reach::Boundary };
        self.read_view(reach).await?;
        if self.pending_reach_back().await? {
            self.read_view(Reach::Whole).await?;
        }
        Ok(self.view.as_mut().expect("just read"))
    }

    /// Returns the whole branch, brought up to date.
    pub(super) async fn whole_view(&mut self) -> Result<&mut View> {
        self.read_view(Reach::Whole).await
    }

    /// Returns the branch as the caller last saw it, or reads it if it was never read, or if the
    /// caller's own messages were grafted since. A save compares against it, so that a conflict is
    /// one against what the caller saw.
    pub(super) async fn known_view(&mut self) -> Result<&mut View> {
        if self.view.as_ref().is_none_or(View::is_behind) {
            self.view().await?;
        }
        let view = self.view.as_mut().expect("just read");
        view.take_ahead();
        Ok(view)
    }

    /// Returns the whole branch as the caller last saw it.
    pub(super) async fn known_whole_view(&mut self) -> Result<&mut View> {
        if self.view.as_ref().is_some_and(View::is_behind) {
            self.view().await?;
        }
        let known = self.view.as_ref().filter(|view| !view.is_whole());
        if let Some(head) = known.and_then(View::head).cloned() {
            let source = Source { history: self.parts.history(), chat: &self.chat };
            let path = source.path(&head).await;
            let path = path.map(|view| self.view.iter().fold(view, View::sharing));
            self.view = path.map(Some).or_else(|error| match error {
                // The message is gone, and with it what the caller saw.
                gone if gone.is_not_found() => Ok(None),
                error => Err::<_, Error>(error),
            })?;
            self.share();
        }
        match self.view {
            Some(_) => self.known_view().await,
            None => self.whole_view().await,
        }
    }

    async fn read_view(&mut self, reach: Reach) -> Result<&mut View> {
        if let (None, Some(cache)) = (&self.view, &self.parts.cache) {
            self.view = cache.get(&self.chat, &self.branch);
        }
        let source = Source { history: self.parts.history(), chat: &self.chat };
        let view = source.read(self.view.take(), &self.branch, reach).await?;
        let view = self.view.insert(view);
        if let Some(cache) = &self.parts.cache {
            cache.put(&self.chat, &self.branch, view);
        }
        Ok(view)
    }

    /// Returns whether pending messages may change a message from before the part that was read.
    async fn pending_reach_back(&mut self) -> Result<bool> {
        let Some(view) = self.view.as_mut().filter(|view| !view.is_whole()) else {
            return Ok(false);
        };
        if self.pending.seeks_answer() && view.newest_assistant().is_none() {
            return Ok(true);
        }
        let named: Vec<_> = self.pending.named().collect();
        let unknown = view.unknown(&named);
        if unknown.is_empty() {
            return Ok(false);
        }
        let found = self.parts.history().messages(&self.chat, &unknown).await?;
        if found.iter().any(Option::is_some) {
            return Ok(true);
        }
        view.note_absent(unknown);
        Ok(false)
    }
}
