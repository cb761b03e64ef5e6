//! Maintenance: check, erasure, users, vacuum.

use std::collections::BTreeSet;

use async_trait::async_trait;
use context_core::base::{BlobId, limits};
use context_core::store::{CheckReport, Cursor, Erasure, Finding, Maintenance, Page, Vacuumed};
use context_core::{CancelSignal, ChatRef, ErrorKind, Result, UserId};
use futures_util::FutureExt as _;

use crate::bucket::all;
use crate::keys::{Nonce, USERS, UploadName};
use crate::objects::Objects;
use crate::references::Reference;
use crate::user_keys::{ChatKeys, UserKeys};

/// The passes of an erasure over what calls at the same moment write.
const PASSES: usize = 3;

#[async_trait]
impl Maintenance for Objects {
    /// Reads every object, the bytes of all blobs among them. What dead processes left is no
    /// damage, and not reported.
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        const OPERATION: &str = "check";
        let mut report = CheckReport::default();
        for folder in self.bucket.folders(OPERATION, USERS).await? {
            self.check_user(&UserKeys::of_folder(&folder), cancel, &mut report).await?;
        }
        Ok(report)
    }

    /// Counts as erased blobs those whose bytes were there. A service that keeps versions of
    /// objects, or backups, keeps what this removes.
    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        const OPERATION: &str = "erase_user";
        limits::check_id(OPERATION, "user", user.as_str())?;
        self.check_writable(OPERATION)?;
        let keys = UserKeys::new(user);
        let mut erased = Erasure::default();
        let mut blobs = BTreeSet::new();
        for _ in 0..PASSES {
            cancel.check(OPERATION)?;
            // Chats first: a put that looks for its chat afterwards takes back what it wrote.
            let chats = self.bucket.list(OPERATION, &keys.chats(), None).await?;
            erased.chats += chats.len() as u64;
            self.bucket.delete(OPERATION, chats.into_iter().map(|chat| chat.key)).await?;
            cancel.check(OPERATION)?;
            let refs = self.bucket.list(OPERATION, &keys.refs(), None).await?;
            self.bucket.delete(OPERATION, refs.into_iter().map(|found| found.key)).await?;
            cancel.check(OPERATION)?;
            let rest = self.bucket.list(OPERATION, keys.root(), None).await?;
            let data = format!("/{}", UploadName::Data);
            let with_data = rest.iter().filter_map(|found| found.key.strip_suffix(&data));
            blobs.extend(with_data.filter_map(blob_of));
            self.bucket.delete(OPERATION, rest.into_iter().map(|found| found.key)).await?;
            erased.remaining = self.bucket.list(OPERATION, keys.root(), None).await?.len() as u64;
            if erased.remaining == 0 {
                break;
            }
        }
        erased.blobs = blobs.len() as u64;
        Ok(erased)
    }

    /// Reads one chat of each user, whatever the page.
    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        const OPERATION: &str = "users";
        limits::check_page(OPERATION, limit)?;
        let folders = self.bucket.folders(OPERATION, USERS).await?;
        let names = folders.iter().map(|folder| self.user_of(folder).boxed());
        let names = all(names.collect()).await?;
        let behind = |user: &UserId| after.is_none_or(|after| user.as_str() > after.as_str());
        let users: BTreeSet<_> = names.into_iter().flatten().filter(behind).collect();
        let items: Vec<_> = users.iter().take(limit).cloned().collect();
        let next =
            items.last().filter(|_| users.len() > limit).map(|last| Cursor::new(last.as_str()));
        Ok(Page { items, next })
    }

    /// Collects what dead processes left. Safe beside any other call.
    async fn vacuum(&self) -> Result<Vacuumed> {
        const OPERATION: &str = "vacuum";
        self.check_writable(OPERATION)?;
        let (mut before, mut after) = (0, 0);
        for folder in self.bucket.folders(OPERATION, USERS).await? {
            let user = UserKeys::of_folder(&folder);
            before += self.bytes_of(&user).await?;
            self.collect(&user).await?;
            after += self.bytes_of(&user).await?;
        }
        self.collect_files().await?;
        Ok(Vacuumed::new(before, after))
    }
}

/// Returns the blob of an upload, by the key of its folder.
fn blob_of(upload: &str) -> Option<BlobId> {
    upload.rsplit('/').nth(1)?.parse().ok()
}

impl Objects {
    /// Returns the user of a folder, who is named in each of the chats.
    async fn user_of(&self, folder: &str) -> Result<Option<UserId>> {
        let chats = UserKeys::of_folder(folder).chats();
        let Some(key) = self.bucket.first("users", &chats).await? else { return Ok(None) };
        let record = self.chat_record("users", &key).await?;
        Ok(record.map(|record| record.chat.chat.user))
    }

    async fn bytes_of(&self, user: &UserKeys) -> Result<u64> {
        let listed = self.bucket.list("vacuum", user.root(), None).await?;
        Ok(listed.iter().map(|found| found.bytes).sum())
    }

    async fn check_user(
        &self,
        user: &UserKeys,
        cancel: &CancelSignal,
        report: &mut CheckReport,
    ) -> Result<()> {
        const OPERATION: &str = "check";
        let found = self.references_of_user(OPERATION, user).await?;
        for listed in self.bucket.list(OPERATION, &user.chats(), None).await? {
            cancel.check(OPERATION)?;
            let record = match self.chat_record(OPERATION, &listed.key).await {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    report.findings.push(Finding::new(None, &listed.key, error.to_string()));
                    continue;
                }
                record => record?,
            };
            // Deleted meanwhile.
            let Some(record) = record else { continue };
            let chat = &record.chat.chat;
            if ChatKeys::new(chat).own() != listed.key {
                let problem = "the chat is under the key of another one";
                report.findings.push(Finding::new(Some(chat), &listed.key, problem));
            }
            report.chats += 1;
        }
        let mut checked = BTreeSet::new();
        for ((chat, id), references) in &found {
            cancel.check(OPERATION)?;
            let keys = ChatKeys { user: user.clone(), chat: chat.clone() };
            let life = match self.life(OPERATION, &keys).await {
                // Reported above.
                Err(error) if error.kind() == ErrorKind::Corrupt => continue,
                life => life?,
            };
            let Some(life) = life else { continue };
            for reference in references.all_of(life) {
                self.check_reference(&keys, id, reference, &mut checked, report).await?;
            }
        }
        report.blobs += checked.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len() as u64;
        Ok(())
    }

    /// Checks a reference, and its bytes unless they were checked before.
    async fn check_reference(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
        checked: &mut BTreeSet<(BlobId, Nonce)>,
        report: &mut CheckReport,
    ) -> Result<()> {
        const OPERATION: &str = "check";
        let first = checked.insert((*id, reference.upload));
        let problem = match self.look_at(keys, id, reference, first).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => error.to_string(),
            Err(error) => return Err(error),
            Ok(None) => return Ok(()),
            Ok(Some(problem)) => problem.to_owned(),
        };
        // What was removed since the listing is not damaged.
        if self.references(OPERATION, keys, id).await?.has(reference.nonce) {
            let chat = self.chat_record(OPERATION, &keys.own()).await?;
            let chat: Option<ChatRef> = chat.map(|record| record.chat.chat);
            report.findings.push(Finding::new(chat.as_ref(), format!("blob {id}"), problem));
        }
        Ok(())
    }

    /// Returns what is wrong with a reference.
    async fn look_at(
        &self,
        keys: &ChatKeys,
        id: &BlobId,
        reference: &Reference,
        with_bytes: bool,
    ) -> Result<Option<&'static str>> {
        const OPERATION: &str = "check";
        let Some(record) = self.ref_record(OPERATION, keys, id, reference).await? else {
            return Ok(Some("its reference is gone"));
        };
        self.later_type(OPERATION, keys, id, reference).await?;
        let uploads = self.uploads(OPERATION, &keys.user, id).await?;
        let Some(upload) = uploads.0.get(&reference.upload) else {
            return Ok(Some("its bytes are gone"));
        };
        if !upload.holds.contains_key(&reference.nonce) {
            return Ok(Some("nothing holds its bytes"));
        }
        if upload.bytes != Some(record.bytes) {
            return Ok(Some("its bytes are gone, or of another size"));
        }
        if !with_bytes {
            return Ok(None);
        }
        let data = keys.user.upload(id, &reference.upload, &UploadName::Data);
        let Some(bytes) = self.bucket.get(OPERATION, &data).await? else {
            return Ok(Some("its bytes are gone"));
        };
        if BlobId::of(&bytes) != *id {
            return Ok(Some("its bytes do not match its name"));
        }
        let is_whole = record.cut(&bytes, &(0..u64::MAX)).is_some();
        Ok((!is_whole).then_some("the checksums of its pieces differ"))
    }
}
