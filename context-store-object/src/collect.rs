//! The collection of what dead processes left.
//!
//! Everything here may run beside any other call: an object is removed only if no call that is
//! still running can come to rely on it. The order of steps says why in each case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use context_core::base::BlobId;
use context_core::{Error, ErrorKind, Result};
use futures_util::FutureExt as _;

use crate::bucket::all;
use crate::keys::{Nonce, UploadName};
use crate::objects::Objects;
use crate::references::References;
use crate::uploads::Uploads;
use crate::user_keys::{ChatKeys, UserKeys};

const OPERATION: &str = "vacuum";
/// The age from which on something is left over that nothing else tells from work in progress: the
/// index entry of a chat that does not exist yet, and a file that is being written. Far more than
/// any call takes.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

impl Objects {
    /// Removes what nobody can reach of a user.
    pub(crate) async fn collect(&self, user: &UserKeys) -> Result<()> {
        self.collect_references(user).await?;
        self.collect_holds(user).await?;
        self.collect_tags(user).await
    }

    /// Removes references of lives that are over, and notes about references that are gone. A life
    /// never comes back, and a note is written for a reference that is there.
    async fn collect_references(&self, user: &UserKeys) -> Result<()> {
        let found = self.references_of_user(OPERATION, user).await?;
        let calls = found.iter().map(|((chat, id), references)| {
            let keys = ChatKeys { user: user.clone(), chat: chat.clone() };
            self.collect_references_to(keys, id, references).boxed()
        });
        all(calls.collect()).await?;
        Ok(())
    }

    async fn collect_references_to(
        &self,
        keys: ChatKeys,
        id: &BlobId,
        references: &References,
    ) -> Result<()> {
        let stray = references.stray_notes();
        let stray: Vec<_> = stray.map(|note| keys.user.reference(&keys.chat, id, note)).collect();
        self.bucket.delete(OPERATION, stray).await?;
        let lives = references.lives();
        if lives.is_empty() {
            return Ok(());
        }
        // Read after the listing, so it is the life of each reference that was listed, if that life
        // is not over.
        let now = self.life(OPERATION, &keys).await?;
        for life in lives.into_iter().filter(|life| Some(*life) != now) {
            self.remove_references(OPERATION, &keys, id, references, life).await?;
        }
        Ok(())
    }

    /// Removes holds without a reference, and bytes without a hold.
    async fn collect_holds(&self, user: &UserKeys) -> Result<()> {
        let mut found: BTreeMap<BlobId, Uploads> = BTreeMap::new();
        for listed in self.bucket.list(OPERATION, &user.blobs(), None).await? {
            let mut parts = listed.key.rsplit('/');
            let (name, upload, id) = (parts.next(), parts.next(), parts.next());
            if let (Some(name), Some(upload), Some(Ok(id))) = (name, upload, id.map(str::parse)) {
                found.entry(id).or_default().add(upload, name, &listed);
            }
        }
        let known: BTreeSet<Nonce> = self
            .references_of_user(OPERATION, user)
            .await?
            .values()
            .flat_map(|references| references.nonces())
            .collect();
        let calls = found
            .iter()
            .map(|(id, uploads)| self.collect_holds_on(user, id, uploads, &known).boxed());
        all(calls.collect()).await?;
        Ok(())
    }

    async fn collect_holds_on(
        &self,
        user: &UserKeys,
        id: &BlobId,
        uploads: &Uploads,
        known: &BTreeSet<Nonce>,
    ) -> Result<()> {
        for (upload, state) in &uploads.0 {
            for (nonce, chat) in state.holds.iter().filter(|(nonce, _)| !known.contains(nonce)) {
                self.revoke(user, id, *upload, *nonce, chat).await?;
            }
        }
        self.settle(OPERATION, user, id).await?;
        Ok(())
    }

    /// Removes a hold if it has no reference. The mark comes first: a put that writes its reference
    /// after this has looked for it sees the mark, and starts over. The mark goes with the bytes.
    async fn revoke(
        &self,
        user: &UserKeys,
        id: &BlobId,
        upload: Nonce,
        nonce: Nonce,
        chat: &str,
    ) -> Result<()> {
        let mark = user.upload(id, &upload, &UploadName::Revoked { nonce });
        self.bucket.put(OPERATION, &mark, "").await?;
        let keys = ChatKeys { user: user.clone(), chat: chat.to_owned() };
        if self.references(OPERATION, &keys, id).await?.has(nonce) {
            return Ok(());
        }
        let hold = user.upload(id, &upload, &UploadName::Hold { chat: chat.to_owned(), nonce });
        self.bucket.delete(OPERATION, [hold]).await
    }

    /// Removes old index entries of chats that do not exist.
    async fn collect_tags(&self, user: &UserKeys) -> Result<()> {
        let oldest = micros(oldest());
        let tags = self.bucket.list(OPERATION, &user.tags(), None).await?;
        for tag in tags.iter().filter(|tag| tag.written_at < oldest) {
            let Some(chat) = tag.key.rsplit('/').next() else { continue };
            if self.chat_record(OPERATION, &user.chat(chat)).await?.is_none() {
                self.bucket.delete(OPERATION, [tag.key.clone()]).await?;
            }
        }
        Ok(())
    }

    /// Removes old files that were never finished, if objects are files.
    pub(crate) async fn collect_files(&self) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let oldest = oldest();
        let work = move || remove_unfinished(&folder, oldest);
        let done = tokio::task::spawn_blocking(work).await.map_err(|error| {
            Error::new(ErrorKind::Bug, OPERATION, "a task panicked").with_source(error)
        })?;
        done.map_err(|error| {
            let retry = context_core::Retry::of_io(&error);
            Error::new(ErrorKind::Unavailable, OPERATION, "the folder cannot be read")
                .with_retry(retry)
                .with_source(error)
        })
    }
}

/// Returns the time before which something unfinished was left over.
fn oldest() -> SystemTime {
    SystemTime::now().checked_sub(LEFT_OVER).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Removes the files whose name has the `#` that the client puts behind the name of a file until it
/// is complete. No object has it in its name.
fn remove_unfinished(folder: &Path, oldest: SystemTime) -> std::io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            // Removed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_string_lossy().contains('#')
                && metadata.modified()? < oldest
            {
                std::fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}
