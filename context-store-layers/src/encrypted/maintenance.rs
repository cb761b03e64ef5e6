//! Maintenance of an encrypted store: that of the inner store, and a check that decrypts every
//! record.

use std::path::Path;

use async_trait::async_trait;
use context_core::base::limits;
use context_core::store::{
    ChatQuery, CheckReport, Cursor, Erasure, Finding, Maintenance, PageWalk, StoreFacts, Vacuumed,
};
use context_core::{CancelSignal, ChatRef, ErrorKind, Result, UserId};

use super::layer::Layer;
use super::record::SealError;

#[async_trait]
impl Maintenance for Layer {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let maintenance = self.maintenance()?;
        let mut report = maintenance.check(cancel).await?;
        let mut after = None;
        let mut walk = PageWalk::new("users", "user");
        loop {
            let page = match maintenance.users(limits::MAX_PAGE, after.as_ref()).await {
                // If the store cannot list its users, an operator who knows them checks each user
                // separately.
                Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(report),
                page => page?,
            };
            after = walk.next(&page)?;
            for user in page.items {
                report.findings.extend(self.check_records(&user, cancel).await?);
            }
            if after.is_none() {
                return Ok(report);
            }
        }
    }

    async fn users(
        &self,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<context_core::store::Page<UserId>> {
        self.maintenance()?.users(limit, after).await
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        // The keys go first: from then on nobody can read what a copy of the rows holds.
        self.drop_keys(user)?;
        self.maintenance()?.erase_user(user, cancel).await
    }

    async fn facts(&self) -> Result<StoreFacts> {
        self.maintenance()?.facts().await
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        self.maintenance()?.vacuum().await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        self.maintenance()?.backup(to).await
    }
}

impl Layer {
    /// Decrypts every record of a user and reports those that cannot be decrypted. Checks `cancel`
    /// between chats.
    pub(super) async fn check_records(
        &self,
        user: &UserId,
        cancel: &CancelSignal,
    ) -> Result<Vec<Finding>> {
        let sealer = self.sealer(user)?;
        let mut findings = Vec::new();
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = self.inner.history().list_chats(&query).await?;
            let next = walk.next(&page)?;
            for summary in page.items {
                cancel.check("check")?;
                let chat = summary.chat.chat.clone();
                if let Err(error) = sealer.open_chat("check", summary.chat) {
                    findings.push(Finding::new(
                        Some(&chat),
                        "title and metadata",
                        error.to_string(),
                    ));
                }
                match self.check_chat(&chat, &mut findings).await {
                    // The chat was deleted in the meantime.
                    Err(error) if error.is_not_found() => {}
                    checked => checked?,
                }
            }
            query.after = next;
            if query.after.is_none() {
                break;
            }
        }
        self.check_rounds(user, cancel, &mut findings).await?;
        Ok(findings)
    }

    async fn check_chat(&self, chat: &ChatRef, findings: &mut Vec<Finding>) -> Result<()> {
        let mut report = |about: String, problem: &dyn std::fmt::Display| {
            findings.push(Finding::new(Some(chat), about, problem.to_string()));
        };
        let (history, sealer) = (self.inner.history(), self.sealer(&chat.user)?);
        let mut after = None;
        let mut walk = PageWalk::new("all_messages", "message");
        loop {
            let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for placed in page.items {
                let about = || format!("message {}", placed.node.id);
                match sealer.open_node("check", chat, &placed.node) {
                    Err(error) => report(about(), &error),
                    Ok(node)
                        if node.role().is_some()
                            && node.body().kind() == context_core::Message::KIND =>
                    {
                        node.message().err().iter().for_each(|error| report(about(), error));
                    }
                    Ok(_) => {}
                }
                if placed.node.revision > 0 {
                    for revision in history.revisions(chat, &placed.node.id).await? {
                        if let Err(error) = sealer.open_revision(chat, revision) {
                            report(format!("a revision of message {}", placed.node.id), &error);
                        }
                    }
                }
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        for stored in self.inner.fragments().fragments(chat).await? {
            if let Err(error) = sealer.open_fragment(chat, &stored) {
                report("a fragment".to_owned(), &error);
            }
        }
        if let Some(log) = self.inner.fragment_log() {
            let stored = log.fragment_log(chat).await?;
            for fragment in stored.versions().iter().filter_map(|it| it.fragment.as_ref()) {
                if let Err(error) = sealer.open_fragment(chat, fragment) {
                    report("a version of a fragment".to_owned(), &error);
                }
            }
        }
        if self.inner.blobs().is_some() {
            let (found, broken) = self.all_blobs(chat).await?;
            broken.iter().for_each(|(id, error)| report(format!("stored blob {id}"), error));
            for found in found {
                match self.read_whole(chat, &found).await {
                    Ok(bytes) if context_core::base::BlobId::of(&bytes) != found.id => {
                        report(format!("blob {}", found.id), &"its bytes do not match its id");
                    }
                    Ok(_) => {}
                    Err(error) if error.is_not_found() => {}
                    Err(error) => report(format!("blob {}", found.id), &error),
                }
            }
        }
        let Some(streams) = self.inner.streams() else { return Ok(()) };
        let mut after = None;
        let mut walk = PageWalk::new("streams", "stream");
        loop {
            let page = streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for stream in page.items {
                if let Some(error) = self.sealed_chunk(chat, &stream.id).await? {
                    report(format!("stream {}", stream.id), &error);
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the error of the first chunk of a stream that cannot be decrypted.
    async fn sealed_chunk(
        &self,
        chat: &ChatRef,
        id: &context_core::base::StreamId,
    ) -> Result<Option<SealError>> {
        let mut offset = 0;
        while let Some(part) =
            self.streams()?.read_stream(chat, id, offset, limits::MAX_PAGE).await?
        {
            for (i, chunk) in (0..).zip(&part.chunks) {
                if let Err(error) = self.open_chunk(chat, id, offset.saturating_add(i), chunk) {
                    return Ok(Some(error));
                }
            }
            if part.chunks.is_empty() {
                break;
            }
            offset = part.next();
        }
        Ok(None)
    }
}
