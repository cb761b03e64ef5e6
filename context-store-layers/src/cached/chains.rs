//! Reading a chain from the cache, if the store confirms that it is current.

use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Result};

use super::Shared;
use super::kept::{Key, reaches};
use super::loads::Load;

impl Shared {
    /// Returns the current window of a chain.
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

    /// Reads the window from the store and caches it.
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

    /// Returns the cached chain with the messages that followed, or the whole chain if the cached
    /// one is not current.
    async fn renew(
        &self,
        key: &Key,
        kept: Chain,
        chat: &ChatRef,
        end: &ChainEnd,
    ) -> Result<Option<Chain>> {
        let Some(head) = kept.head() else { return Ok(None) };
        let after = Window::After { message: head.clone(), generation: kept.generation() };
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
        if news.generation() != kept.generation()
            || news.skipped() != kept.skipped() + kept.len() as u64
        {
            // The answer does not fit the cached chain, so the chain is read as if nothing were
            // cached.
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
