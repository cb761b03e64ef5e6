//! Commits, and their idempotence under encryption.
//!
//! A backend recognizes a repeated commit by its bytes. Encryption is deterministic, so with the
//! same key a repeated commit is identical. After a rotation it is not. In that case, messages that
//! are stored with the same text are sent in their stored form, and a commit with a key is
//! encrypted with each older key until the backend recognizes it. The backend always decides under
//! its own concurrency control.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::FragmentId;
use context_core::store::{
    Commit, CommitOutcome, FragmentLog, FragmentLogStore, FragmentStore, FragmentVersion,
    StoredFragment,
};
use context_core::{ChatRef, ErrorKind, MessageId, Node, Result, Timestamp};

use super::chats::seal_patch;
use super::forms::{known_id, nameless_id, seal_fragment, seal_node, stored_id};
use super::keys::EncryptionKey;
use super::layer::Layer;
use crate::abilities::Abilities as _;

impl Layer {
    pub(super) async fn sealed_commit(&self, mut commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        let _writing = self.writing(&commit.chat).await;
        if let Some(patch) = &commit.patch {
            commit.patch = Some(self.settled("commit", &commit.chat, patch).await?.into_owned());
        }
        let chat = &commit.chat;
        let names = self.fragment_names(chat, &commit.fragments).await?;
        let sealer = self.sealer_to_write(&chat.user)?;
        let ring = &sealer.ring;
        let sealed = seal_commit(ring.current(), &commit, &names);
        let history = self.inner.history();
        match history.commit(sealed.clone()).await {
            Ok(CommitOutcome::Exists { ids }) => match self.as_stored(&commit, &sealed).await? {
                Some(stored) => history.commit(stored).await,
                None => Ok(CommitOutcome::Exists { ids }),
            },
            Err(refused) if refused.kind() == ErrorKind::Invalid && commit.key.is_some() => {
                for older in ring.older() {
                    let done = history.commit(seal_commit(older, &commit, &names)).await;
                    // Any other failure says more than that this key is the wrong one.
                    if !matches!(&done, Err(error) if error.kind() == ErrorKind::Invalid) {
                        return done;
                    }
                }
                Err(refused)
            }
            done => done,
        }
    }

    /// Returns the commit with the stored bytes of those new messages that are stored with the same
    /// text, or `None` if no message differs.
    async fn as_stored(&self, commit: &Commit, sealed: &Commit) -> Result<Option<Commit>> {
        let ids: Vec<MessageId> = commit.nodes.iter().map(|node| node.id.clone()).collect();
        let found = self.inner.history().messages(&commit.chat, &ids).await?;
        let sealer = self.sealer(&commit.chat.user)?;
        let mut same = sealed.clone();
        let mut differs = false;
        for ((plain, sent), stored) in commit.nodes.iter().zip(&mut same.nodes).zip(found) {
            let Some(stored) =
                stored.map(|placed| placed.node).filter(|stored| !stored.same_content(sent))
            else {
                continue;
            };
            // A message that cannot be decrypted does not have the same text.
            let opened = sealer.open_node("commit", &commit.chat, &stored);
            if opened.is_ok_and(|opened| opened.same_content(plain)) {
                *sent = stored;
                differs = true;
            }
        }
        Ok(differs.then_some(same))
    }

    /// Returns the stored id of each of these fragments. A stored fragment without an id keeps its
    /// stored id, which may come from an older key.
    async fn fragment_names(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
    ) -> Result<Vec<FragmentId>> {
        let sealer = self.sealer_to_write(&chat.user)?;
        let mut known = HashMap::new();
        if fragments.iter().any(|fragment| fragment.id.is_none()) {
            for stored in self.inner.fragments().fragments(chat).await? {
                let opened = sealer.open_fragment(chat, &stored);
                if let (Some(id), Ok(StoredFragment { id: None, body, .. })) = (stored.id, opened) {
                    known
                        .insert((body.kind().to_owned(), body.version(), body.bytes().clone()), id);
                }
            }
        }
        let name = |fragment: &StoredFragment| match &fragment.id {
            Some(id) => stored_id(id),
            None => {
                let StoredFragment { body, .. } = fragment;
                let known =
                    known.get(&(body.kind().to_owned(), body.version(), body.bytes().clone()));
                known.cloned().unwrap_or_else(|| nameless_id(sealer.ring.current(), chat, fragment))
            }
        };
        Ok(fragments.iter().map(name).collect())
    }
}

fn seal_commit(key: &EncryptionKey, commit: &Commit, names: &[FragmentId]) -> Commit {
    let chat = &commit.chat;
    let seal = |nodes: &[Arc<Node>]| nodes.iter().map(|node| seal_node(key, chat, node)).collect();
    Commit {
        nodes: seal(&commit.nodes),
        amendments: seal(&commit.amendments),
        redactions: seal(&commit.redactions),
        fragments: seal_fragments(key, chat, &commit.fragments, names),
        patch: commit.patch.as_ref().map(|patch| seal_patch(key, chat, patch)),
        ..commit.clone()
    }
}

fn seal_fragments(
    key: &EncryptionKey,
    chat: &ChatRef,
    fragments: &[StoredFragment],
    names: &[FragmentId],
) -> Vec<StoredFragment> {
    let named = fragments.iter().zip(names);
    named.map(|(fragment, name)| seal_fragment(key, chat, name.clone(), fragment)).collect()
}

impl Layer {
    /// Decrypts fragments of a chat.
    pub(super) fn open_fragments(
        &self,
        chat: &ChatRef,
        sealed: &[StoredFragment],
    ) -> Result<Vec<StoredFragment>> {
        let sealer = self.sealer(&chat.user)?;
        sealed.iter().map(|fragment| sealer.open_fragment(chat, fragment)).collect()
    }
}

#[async_trait]
impl FragmentStore for Layer {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        self.open_fragments(chat, &self.inner.fragments().fragments(chat).await?)
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        fragments.iter().try_for_each(|fragment| fragment.check("put_fragments"))?;
        let _writing = self.writing(chat).await;
        let names = self.fragment_names(chat, fragments).await?;
        let sealer = self.sealer_to_write(&chat.user)?;
        let sealed = seal_fragments(sealer.ring.current(), chat, fragments, &names);
        self.inner.fragments().put_fragments(chat, &sealed, at).await
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        self.inner.fragments().remove_fragment(chat, &stored_id(id), at).await
    }
}

#[async_trait]
impl FragmentLogStore for Layer {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        let stored = self.inner.require_fragment_log()?.fragment_log(chat).await?;
        let sealer = self.sealer(&chat.user)?;
        let open = |version: &FragmentVersion| {
            let mut version = version.clone();
            version.id = version.id.as_ref().and_then(known_id);
            if let Some(fragment) = &mut version.fragment {
                *fragment = sealer.open_fragment(chat, fragment)?;
            }
            Ok(version)
        };
        Ok(FragmentLog::new(stored.versions().iter().map(open).collect::<Result<_>>()?))
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        self.inner.require_fragment_log()?.clear_fragment_log(chat).await
    }
}
