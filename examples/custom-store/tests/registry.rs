//! Opens the store by URL, as an application does.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Error, Result, Store};
use context_runtime::{
    ContextEngine,
    store::{OpenMode, StoreFactory, StoreRegistry},
    user,
};
use custom_store::RedbStore;

/// A factory for `redb:PATH`.
struct RedbFactory;

#[async_trait]
impl StoreFactory for RedbFactory {
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        // The error does not repeat the URL, since URLs of other schemes may contain a password.
        let path = url.strip_prefix("redb:").filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| Error::invalid("open", "the form is redb:PATH"))?;
        Ok(match mode {
            OpenMode::Read => Arc::new(RedbStore::open_read_only(path).await?),
            _ => Arc::new(RedbStore::open(path).await?),
        })
    }
}

#[tokio::test]
async fn it_opens_by_its_url() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("redb:{}", folder.path().join("chats.redb").display());
    let mut registry = StoreRegistry::default();
    registry.register("redb", RedbFactory);

    assert!(registry.open_read_only(&url).await.is_err_and(|error| error.is_not_found()));
    let store = registry.open(&url).await?;
    let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    chat.set([user("Two tickets to Lisbon, please.")]);
    let _saved = chat.save().await?;
    drop(chat);

    let store = registry.open_read_only(&url).await?;
    let mut chat =
        ContextEngine::builder(store).user("ada").chat("lisbon").existing().open().await?;
    assert_eq!(chat.resolve().await?.messages.len(), 1, "what was saved is there");
    chat.set([user("And back.")]);
    assert!(chat.save().await.is_err(), "it was opened to be read");
    Ok(())
}
