//! Reading a chain: from what is kept, if the store says that it still holds.

use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Result};

use super::Shared;
use super::kept::{Key, reaches};
use super::loads::Load;

impl Shared {
    /// The window of a chain as the store has it now.
    pub(super) async fn read(
        &self,
        chat: &ChatRef,
        end: &ChainEnd,
        window: &Window,
    ) -> Result<Chain> {
        let key = Key::new(chat, end);
        let kept = match self.kept.get(&key, window) {
            Some(kept) => kept,
            None => match self.loads.join(&key, self.load(&key, chat, end, window)).await {
                Load::Own(result) => return result,
                Load::Shared(Some(chain)) if !chain.is_empty() && reaches(&chain, window) => chain,
                Load::Shared(_) => return self.load(&key, chat, end, window).await,
            },
        };
        match self.renew(&key, kept, chat, end).await? {
            Some(chain) if reaches(&chain, window) => Ok(window.of(&chain)),
            _ => self.load(&key, chat, end, window).await,
        }
    }

    /// Reads what is asked for, and keeps it.
    async fn load(
        &self,
        key: &Key,
        chat: &ChatRef,
        end: &ChainEnd,
        window: &Window,
    ) -> Result<Chain> {
        self.kept.miss();
        let read = self.inner.history().chain(chat, end, window).await;
        match &read {
            Ok(chain) => self.kept.put(key, chain),
            Err(_) => self.kept.forget(key),
        }
        read
    }

    /// What is kept, with what has followed since; all of the chain, if what is kept no longer
    /// holds.
    async fn renew(
        &self,
        key: &Key,
        kept: Chain,
        chat: &ChatRef,
        end: &ChainEnd,
    ) -> Result<Option<Chain>> {
        let Some(head) = kept.head() else { return Ok(None) };
        let after = Window::After { message: head.clone(), edition: kept.edition() };
        let news = match self.inner.history().chain(chat, end, &after).await {
            Ok(news) => news,
            Err(error) => {
                self.kept.forget(key);
                return Err(error);
            }
        };
        if news.is_whole() {
            self.kept.miss();
            self.kept.forget(key);
            self.kept.put(key, &news);
            return Ok(Some(news));
        }
        if news.edition() != kept.edition() || news.skipped() != kept.skipped() + kept.len() as u64
        {
            // Not what was asked for: better read it as if nothing were kept.
            self.kept.forget(key);
            return Ok(None);
        }
        self.kept.hit();
        if news.is_empty() {
            return Ok(Some(kept));
        }
        let mut chain = kept;
        chain.extend(&news);
        self.kept.put(key, &chain);
        Ok(Some(chain))
    }
}
