//! Reading a chain from the cache, if the store confirms that it is current.

use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Result};

use super::Shared;
use super::chains::{Key, reaches};
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
        let cached = match self.chains.get(&key, window) {
            Some(cached) => cached,
            None => match self.loads.join(&key, self.load(&key, chat, end, window)).await {
                Load::Performed(result) => return result,
                Load::Shared(Some(chain)) if !chain.is_empty() && reaches(&chain, window) => chain,
                Load::Shared(_) => return self.load(&key, chat, end, window).await,
            },
        };
        match self.renew(&key, cached, chat, end).await? {
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
        self.chains.miss();
        let read = self.inner.history().chain(chat, end, window).await;
        match &read {
            Ok(chain) => self.chains.put(key, chain),
            Err(_) => self.chains.forget(key),
        }
        read
    }

    /// Returns the cached chain with the messages that followed, or the whole chain if the cached
    /// one is not current.
    async fn renew(
        &self,
        key: &Key,
        cached: Chain,
        chat: &ChatRef,
        end: &ChainEnd,
    ) -> Result<Option<Chain>> {
        let Some(head) = cached.head() else { return Ok(None) };
        let after = Window::After { message: head.clone(), generation: cached.generation() };
        let news = match self.inner.history().chain(chat, end, &after).await {
            Ok(news) => news,
            Err(error) => {
                self.chains.forget(key);
                return Err(error);
            }
        };
        if news.is_whole() {
            self.chains.miss();
            self.chains.forget(key);
            self.chains.put(key, &news);
            return Ok(Some(news));
        }
        if news.generation() != cached.generation()
            || news.skipped() != cached.skipped() + cached.len() as u64
        {
            // The answer does not fit the cached chain, so the chain is read as if nothing were
            // cached.
            self.chains.forget(key);
            return Ok(None);
        }
        self.chains.hit();
        if news.is_empty() {
            return Ok(Some(cached));
        }
        let mut chain = cached;
        chain.extend(&news);
        self.chains.put(key, &chain);
        Ok(Some(chain))
    }
}
