//! Encryption of chats: titles, and the values of metadata.
//!
//! Numbers that are *added* to metadata are the exception. A backend adds them within its
//! transaction, so that concurrent writers never lose a count, and it can only add numbers that it
//! can read. An `add` to a key therefore goes to a separate counter beside the encrypted value. The
//! numbers of the counter and the names of its fields are readable, and everything else in it is
//! encrypted. Decryption merges both.

use context_core::base::{JsonMap, sealed};
use context_core::store::{Chat, ChatPatch, ChatSummary, NewChat, TitleChange};
use context_core::{ChatRef, Error, Json, Metadata, Result};

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::record::{SealError, Sealer, seal_text, text_record};

/// The prefix of a counter's key.
const COUNTER: &str = "sealed+";
/// The prefix of a key that begins like a reserved one.
const ESCAPED: &str = "sealed=";
/// The depth down to which fields of counters are added one by one. Anything deeper is a single
/// value.
pub(super) const MOST_LEVELS: usize = 16;

pub(super) fn seal_new_chat(key: &EncryptionKey, mut new: NewChat) -> NewChat {
    new.title = new.title.map(|title| seal_text(key, &AssociatedData::title(&new.chat), &title));
    new.metadata = seal_values(key, &new.chat, &new.metadata);
    new
}

/// Returns an encrypted patch for the backend. Its amounts go to counters.
pub(super) fn seal_patch(key: &EncryptionKey, chat: &ChatRef, patch: &ChatPatch) -> ChatPatch {
    let title = match &patch.title {
        TitleChange::Set(title) => {
            TitleChange::Set(seal_text(key, &AssociatedData::title(chat), title))
        }
        unsealed => unsealed.clone(),
    };
    let counter = |name: &str| format!("{COUNTER}{name}");
    let set = patch.set.iter().map(|(name, _)| counter(name));
    let remove =
        patch.remove.iter().flat_map(|name| [stored_key(name), counter(name)]).chain(set).collect();
    let mut add = Metadata::default();
    for (name, amount) in patch.add.iter() {
        add.insert(counter(name), seal_amount(key, chat, name, &mut Vec::new(), amount));
    }
    ChatPatch { title, remove, set: seal_values(key, chat, &patch.set), add }
}

fn seal_values(key: &EncryptionKey, chat: &ChatRef, metadata: &Metadata) -> Metadata {
    let seal = |(name, value): (&str, &Json)| {
        let text = seal_text(key, &AssociatedData::metadata(chat, name), value.as_str());
        (stored_key(name), Json::from(text.as_str()))
    };
    metadata.iter().map(seal).collect()
}

/// Returns an amount with readable numbers and everything else encrypted.
fn seal_amount(
    key: &EncryptionKey,
    chat: &ChatRef,
    name: &str,
    path: &mut Vec<String>,
    amount: &Json,
) -> Json {
    if amount.parse::<serde_json::Number>().is_ok() {
        return amount.clone();
    }
    if path.len() < MOST_LEVELS
        && let Ok(fields) = amount.parse::<JsonMap>()
    {
        let mut sealed = JsonMap::with_capacity(fields.len());
        for (field, amount) in fields {
            path.push(field.clone());
            sealed.insert(field, seal_amount(key, chat, name, path, &amount));
            path.pop();
        }
        return Json::from_serialize(&sealed).unwrap_or_else(|_| amount.clone());
    }
    Json::from(seal_text(key, &AssociatedData::added(chat, name, path), amount.as_str()).as_str())
}

/// Returns the stored form of a metadata key.
fn stored_key(name: &str) -> String {
    let ours = [COUNTER, ESCAPED].iter().any(|prefix| name.starts_with(prefix));
    if ours { format!("{ESCAPED}{name}") } else { name.to_owned() }
}

impl Sealer {
    pub(super) fn open_chat(&self, operation: &'static str, mut chat: Chat) -> Result<Chat> {
        let failed = |kind: &'static str, name: &str, chat: &ChatRef| {
            let (name, chat) = (name.to_owned(), chat.chat.clone());
            move |error: SealError| error.of(operation, kind, &name).with("chat", chat)
        };
        if let Some(title) = &chat.title {
            let opened = self.open_text(&AssociatedData::title(&chat.chat), title);
            chat.title = Some(opened.map_err(failed("title", "", &chat.chat))?);
        }
        let (mut values, mut counters) = (Metadata::default(), Metadata::default());
        for (stored, value) in chat.metadata.iter() {
            if let Some(name) = stored.strip_prefix(COUNTER) {
                let amount = self.open_amount(&chat.chat, name, &mut Vec::new(), value);
                counters.insert(name, amount.map_err(failed("metadata", name, &chat.chat))?);
            } else {
                let name = stored.strip_prefix(ESCAPED).unwrap_or(stored);
                let value = self.open_json(&AssociatedData::metadata(&chat.chat, name), value);
                values.insert(name, value.map_err(failed("metadata", name, &chat.chat))?);
            }
        }
        chat.metadata = values;
        if !counters.is_empty() {
            ChatPatch { add: counters, ..ChatPatch::default() }.apply(&mut chat)?;
        }
        Ok(chat)
    }

    pub(super) fn open_summary(&self, mut summary: ChatSummary) -> Result<ChatSummary> {
        summary.chat = self.open_chat("list_chats", summary.chat)?;
        Ok(summary)
    }

    pub(super) fn open_json(&self, data: &AssociatedData, value: &Json) -> Result<Json, SealError> {
        match value.to_text().filter(|text| text.starts_with(sealed::TEXT_MARK)) {
            Some(text) => {
                Json::from_text(self.open_text(data, &text)?).map_err(|_| SealError::Broken)
            }
            None if self.allow_plain => Ok(value.clone()),
            None => Err(SealError::Plain),
        }
    }

    fn open_amount(
        &self,
        chat: &ChatRef,
        name: &str,
        path: &mut Vec<String>,
        amount: &Json,
    ) -> Result<Json, SealError> {
        if amount.parse::<serde_json::Number>().is_ok() {
            return Ok(amount.clone());
        }
        if path.len() < MOST_LEVELS
            && let Ok(fields) = amount.parse::<JsonMap>()
        {
            let mut opened = JsonMap::with_capacity(fields.len());
            for (field, amount) in fields {
                path.push(field.clone());
                opened.insert(field, self.open_amount(chat, name, path, &amount)?);
                path.pop();
            }
            return Json::from_serialize(&opened).map_err(|_| SealError::Broken);
        }
        self.open_json(&AssociatedData::added(chat, name, path), amount)
    }

    /// Returns the records in a chat's title and metadata, and an error for each that is not
    /// encrypted.
    pub(super) fn records_of(chat: &Chat) -> Vec<Result<Vec<u8>, SealError>> {
        let of = |text: &str| text_record(text).unwrap_or(Err(SealError::Plain));
        let mut records: Vec<_> = chat.title.iter().map(|title| of(title)).collect();
        for (name, value) in chat.metadata.iter() {
            match value.to_text() {
                Some(text) => records.push(of(&text)),
                None if name.starts_with(COUNTER) => {
                    let leaves =
                        texts_of(value, 0).into_iter().flat_map(|texts| strings(&texts, 0));
                    records.extend(leaves.map(|text| of(&text)));
                }
                None => records.push(Err(SealError::Plain)),
            }
        }
        records
    }

    /// Returns a patch that encrypts title and metadata again, or `None` if there is nothing to do.
    pub(super) fn reseal_chat(&self, stored: &Chat) -> Result<Option<ChatPatch>> {
        let is_old = |record: &Result<Vec<u8>, SealError>| {
            record.as_ref().map_or(true, |record| self.is_old(record))
        };
        if !Self::records_of(stored).iter().any(is_old) {
            return Ok(None);
        }
        self.reseal_values(stored).map(Some)
    }

    /// Counters keep their numbers, because setting them would lose concurrent additions. Only
    /// their other values are added again.
    fn reseal_values(&self, stored: &Chat) -> Result<ChatPatch> {
        let key = self.ring.current();
        let (mut values, mut add) = (stored.clone(), Metadata::default());
        for (counter, amount) in stored.metadata.iter() {
            let Some(name) = counter.strip_prefix(COUNTER) else { continue };
            values.metadata.remove(counter);
            if let Some(texts) = texts_of(amount, 0) {
                let opened = self.open_amount(&stored.chat, name, &mut Vec::new(), &texts);
                let opened = opened.map_err(|error| error.of("rotate", "metadata", name))?;
                add.insert(counter, seal_amount(key, &stored.chat, name, &mut Vec::new(), &opened));
            }
        }
        let opened = self.open_chat("rotate", values)?;
        let title =
            opened.title.map(|title| seal_text(key, &AssociatedData::title(&opened.chat), &title));
        let set = seal_values(key, &opened.chat, &opened.metadata);
        let title = title.map_or(TitleChange::Keep, TitleChange::Set);
        Ok(ChatPatch { title, set, add, ..ChatPatch::default() })
    }
}

/// Returns a counter without its numbers, or `None` if it has only numbers.
fn texts_of(amount: &Json, level: usize) -> Option<Json> {
    if amount.parse::<serde_json::Number>().is_ok() {
        return None;
    }
    let fields = amount.parse::<JsonMap>().ok().filter(|_| level < MOST_LEVELS);
    let Some(fields) = fields else { return Some(amount.clone()) };
    let texts =
        fields.iter().filter_map(|(field, amount)| Some((field, texts_of(amount, level + 1)?)));
    let texts: JsonMap = texts.map(|(field, texts)| (field.clone(), texts)).collect();
    Json::from_serialize(&texts).ok().filter(|_| !texts.is_empty())
}

/// Returns the texts of a counter.
fn strings(amount: &Json, level: usize) -> Vec<String> {
    match amount.parse::<JsonMap>() {
        Ok(fields) if level < MOST_LEVELS => {
            fields.values().flat_map(|amount| strings(amount, level + 1)).collect()
        }
        _ => vec![amount.to_text().unwrap_or_default()],
    }
}

/// Returns the error for a cursor that does not belong to this listing.
pub(super) fn bad_cursor(operation: &'static str) -> Error {
    Error::invalid(operation, "the cursor is not one of this listing")
}
