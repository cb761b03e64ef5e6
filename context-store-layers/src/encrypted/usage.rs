//! The keys in use, with the number of records of each.

use std::collections::BTreeMap;

use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, PageWalk};
use context_core::{CancelSignal, Result, UserId};

use super::keys::KeyId;
use super::layer::Layer;
use super::record::{SealError, Sealer, form_record, key_of, text_record};
use super::round_forms;

/// The number of records by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyUsage {
    /// By the name of the key, including keys that the ring does not have.
    pub records: BTreeMap<KeyId, u64>,
    /// Records stored without encryption.
    pub plain: u64,
    /// Damaged records, whose key cannot be determined.
    pub broken: u64,
}

impl KeyUsage {
    fn count(&mut self, sealed: Result<impl AsRef<[u8]>, SealError>) {
        match sealed.and_then(|sealed| key_of(sealed.as_ref())) {
            Ok(key) => *self.records.entry(key).or_default() += 1,
            Err(SealError::Plain) => self.plain += 1,
            Err(_) => self.broken += 1,
        }
    }

    fn add(&mut self, other: Self) {
        for (key, records) in other.records {
            *self.records.entry(key).or_default() += records;
        }
        self.plain += other.plain;
        self.broken += other.broken;
    }
}

impl Layer {
    pub(super) async fn key_usage(&self, user: &UserId, cancel: &CancelSignal) -> Result<KeyUsage> {
        let mut usage = KeyUsage::default();
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = self.inner.history().list_chats(&query).await?;
            let next = walk.next(&page)?;
            for summary in page.items {
                cancel.check("key_usage")?;
                match self.key_usage_of(&summary.chat).await {
                    // The chat was deleted in the meantime.
                    Err(error) if error.is_not_found() => {}
                    of_chat => usage.add(of_chat?),
                }
            }
            query.after = next;
            if query.after.is_none() {
                break;
            }
        }
        let count = |record| {
            let inspected = round_forms::inspect(&record, |sealed| usage.count(sealed));
            usage.broken += u64::from(inspected.is_err());
            Ok(())
        };
        self.each_stored_round("key_usage", user, cancel, count).await?;
        Ok(usage)
    }

    async fn key_usage_of(&self, stored: &Chat) -> Result<KeyUsage> {
        let (chat, history) = (&stored.chat, self.inner.history());
        let mut usage = KeyUsage::default();
        Sealer::records_of(stored).into_iter().for_each(|record| usage.count(record));
        let mut after = None;
        let mut walk = PageWalk::new("all_messages", "message");
        loop {
            let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for placed in page.items {
                usage.count(form_record(placed.node.body()));
                if placed.node.revision > 0 {
                    let revisions = history.revisions(chat, &placed.node.id).await?;
                    revisions
                        .iter()
                        .for_each(|revision| usage.count(form_record(revision.node.body())));
                }
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        for fragment in self.inner.fragments().fragments(chat).await? {
            usage.count(form_record(&fragment.body));
        }
        if let Some(log) = self.inner.fragment_log() {
            // The newest version of a fragment is the fragment, which is counted.
            let current = self.inner.fragments().fragments(chat).await?;
            let log = log.fragment_log(chat).await?;
            let versions = log.versions().iter().filter_map(|version| version.fragment.as_ref());
            for earlier in versions.filter(|version| !current.contains(version)) {
                usage.count(form_record(&earlier.body));
            }
        }
        if let Some(blobs) = self.inner.blobs() {
            let mut after = None;
            let mut walk = PageWalk::new("blobs", "blob");
            loop {
                let page = blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
                let next = walk.next(&page)?;
                for blob in page.items {
                    let name = blob.media_type.as_deref().and_then(text_record);
                    usage.count(name.unwrap_or(Err(SealError::Plain)));
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
        }
        let Some(streams) = self.inner.streams() else { return Ok(usage) };
        let mut after = None;
        let mut walk = PageWalk::new("streams", "stream");
        loop {
            let page = streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            for stream in page.items {
                let mut offset = 0;
                while let Some(part) =
                    streams.read_stream(chat, &stream.id, offset, limits::MAX_PAGE).await?
                    && !part.chunks.is_empty()
                {
                    part.chunks.iter().for_each(|chunk| usage.count(Ok(chunk)));
                    offset = part.next();
                }
            }
            after = next;
            if after.is_none() {
                return Ok(usage);
            }
        }
    }
}
