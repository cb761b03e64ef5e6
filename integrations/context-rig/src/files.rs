//! The files of a session: blobs, and one message without parts for each name.

use std::io;

use bytes::Bytes;
use context_runtime::store::{
    BlobId, BlobStore, ChainEnd, Commit, CommitOutcome, NewBlob, NewChat, Node, Target, Window,
};
use context_runtime::{BranchName, ChatRef, Message, MessageId, Role};
use serde::{Deserialize, Serialize};

use crate::error::{invalid, of_store};
use crate::store::{FILES, RigStore};

/// The metadata key of the message that stands for a file.
const FILE: &str = "rig_file";
/// The number of times that a write is repeated because another file was written meanwhile.
const ATTEMPTS: usize = 64;

/// A file: its name, and the blob with its bytes.
#[derive(Deserialize, Serialize)]
struct File {
    name: String,
    blob: String,
}

impl RigStore {
    pub(crate) async fn read_file(&self, name: &str) -> io::Result<Vec<u8>> {
        let chat = self.files();
        let found = self.store.history().messages(&chat, &[id_of(name)]).await;
        let found = match found {
            Err(error) if error.is_not_found() => None,
            found => found.map_err(of_store)?.pop().flatten(),
        };
        let placed = found.ok_or(io::ErrorKind::NotFound)?;
        let message = placed.node.message().map_err(invalid)?;
        let file = message.metadata.get(FILE).and_then(|file| file.parse::<File>().ok());
        let blob = file.and_then(|file| file.blob.parse::<BlobId>().ok());
        let blob = blob.ok_or(io::ErrorKind::InvalidData)?;
        let now = Some(self.clock.now());
        let bytes = self.blobs()?.read_blob(&chat, &blob, 0..u64::MAX, now).await;
        Ok(bytes.map_err(of_store)?.ok_or(io::ErrorKind::NotFound)?.to_vec())
    }

    pub(crate) async fn write_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (chat, now) = (self.files(), self.clock.now());
        let history = self.store.history();
        let mut new = NewChat::new(chat.clone(), now);
        new.title = Some("Files of rig's sessions".to_owned());
        let _ = history.create_chat(new).await.map_err(of_store)?;
        let blob = NewBlob::new(Bytes::copy_from_slice(bytes), now);
        let blob = self.blobs()?.put_blob(&chat, blob).await.map_err(of_store)?;
        let file = File { name: name.to_owned(), blob: blob.id.to_string() };
        let file = serde_json::to_value(file).map_err(invalid)?;
        let mut message = Message::new(Role::System, []);
        message.metadata.insert(FILE, file);
        let node = std::sync::Arc::new(Node::new(id_of(name), message, now));
        for _ in 0..ATTEMPTS {
            let known = history.messages(&chat, std::slice::from_ref(&node.id)).await;
            let is_known = known.map_err(of_store)?.pop().flatten().is_some();
            let commit = if is_known {
                let redactions = vec![node.clone()];
                Commit { redactions, ..Commit::new(chat.clone(), Target::Stay, now) }
            } else {
                let branch = BranchName::from("main");
                let end = ChainEnd::Branch(branch.clone());
                let chain = history.chain(&chat, &end, &Window::Last(1)).await;
                let expected = chain.map_err(of_store)?.head().cloned();
                let target = Target::Extend { branch, expected };
                Commit { nodes: vec![node.clone()], ..Commit::new(chat.clone(), target, now) }
            };
            match history.commit(commit).await.map_err(of_store)? {
                CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => return Ok(()),
                _ => {} // another file was written meanwhile, or the same one
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    fn files(&self) -> ChatRef {
        ChatRef::new(self.user.clone(), FILES)
    }

    fn blobs(&self) -> io::Result<&dyn BlobStore> {
        self.store.blobs().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

/// Returns the id of the message that stands for a file. A name may be longer than an id.
fn id_of(name: &str) -> MessageId {
    MessageId::from(BlobId::of(name.as_bytes()).to_string())
}
