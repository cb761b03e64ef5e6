//! The history, and the deletion of shadows with their chats.

use context_core::{ChatRef, Result, Store, Timestamp};

use super::{Shared, shadow};
use crate::call::Call;
use crate::forward::forward;

impl Shared {
    fn inner(&self) -> &dyn Store {
        &*self.main
    }

    /// Passes a call to the inner store.
    async fn make_call<T, W>(&self, _: Call<'_>, work: impl Fn() -> W) -> Result<T>
    where
        W: Future<Output = Result<T>>,
    {
        work().await
    }

    /// Deletes a chat, then its data in other stores. Remains of an earlier chat of that name are
    /// deleted as well, even if no chat exists now.
    async fn delete(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        let deleted = self.main.history().delete_chat(chat, idle_since).await?;
        let now = self.main.history().chat(chat).await?;
        for other in self.others() {
            shadow::sweep(&**other, chat, now.as_ref()).await?;
        }
        Ok(deleted)
    }
}

forward! {
    HistoryStore for Shared:
        create_chat chat list_chats update_chat chat_size commit branches activate_branch
            rename_branch delete_branch
        set_checkpoint checkpoints delete_checkpoint chain messages all_messages revisions;
    {
        async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
            self.delete(chat, idle_since).await
        }
    }
}
