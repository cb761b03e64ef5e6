//! The encrypted form of messages and fragments, which includes kind and version.
//!
//! The plain text of a record is a byte of flags, the version, the length of the kind, the kind,
//! and the bytes.

use std::sync::Arc;

use context_core::base::{FragmentId, sealed};
use context_core::message::PlacedNode;
use context_core::store::{Revision, StoredFragment};
use context_core::{ChatRef, Encoded, Metadata, Node, Result};

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::record::{SealError, Sealer, seal, seal_text};

/// The version of the encrypted form.
const VERSION: u16 = 1;

/// A flag for a message without a token count. The backend stores the message's weight in its
/// place, so that windows by tokens are cut in the same way.
const UNCOUNTED: u8 = 1;

/// The prefix of the stored id of a fragment without an id.
const NAMELESS: &str = "sealed:";
/// The prefix of an id that begins like a reserved one.
const ESCAPED: &str = "sealed=";

pub(super) fn seal_node(key: &EncryptionKey, chat: &ChatRef, node: &Node) -> Arc<Node> {
    let data = AssociatedData::message(chat, &node.id, node.kind);
    let flags = if node.tokens.is_none() { UNCOUNTED } else { 0 };
    let body = seal_form(key, &data, flags, node.body());
    let tokens = node.tokens.unwrap_or_else(|| u32::try_from(node.weight()).unwrap_or(u32::MAX));
    Arc::new(with_body(node, body).with_tokens(tokens))
}

fn with_body(node: &Node, body: Encoded) -> Node {
    let mut sealed = Node::from_encoded(node.id.clone(), node.kind, node.created_at, body);
    (sealed.revision, sealed.tokens) = (node.revision, node.tokens);
    sealed
}

fn seal_form(key: &EncryptionKey, data: &AssociatedData, flags: u8, form: &Encoded) -> Encoded {
    let mut text = Vec::with_capacity(form.bytes().len() + form.kind().len() + 5);
    text.push(flags);
    text.extend_from_slice(&form.version().to_le_bytes());
    // The limits keep kinds shorter.
    text.extend_from_slice(&u16::try_from(form.kind().len()).unwrap_or(u16::MAX).to_le_bytes());
    text.extend_from_slice(form.kind().as_bytes());
    text.extend_from_slice(form.bytes());
    Encoded::new(sealed::KIND, VERSION, seal(key, data, &text))
}

impl Sealer {
    pub(super) fn open_node(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        node: &Arc<Node>,
    ) -> Result<Arc<Node>> {
        let data = AssociatedData::message(chat, &node.id, node.kind);
        let opened = self.open_form(&data, node.body());
        let (flags, body) =
            opened.map_err(|error| error.of(operation, "message", node.id.as_str()))?;
        let Some(flags) = flags else { return Ok(node.clone()) };
        let mut opened = with_body(node, body);
        if flags & UNCOUNTED != 0 {
            opened.tokens = None;
        }
        Ok(Arc::new(opened))
    }

    pub(super) fn open_placed(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        mut placed: PlacedNode,
    ) -> Result<PlacedNode> {
        placed.node = self.open_node(operation, chat, &placed.node)?;
        Ok(placed)
    }

    pub(super) fn open_revision(&self, chat: &ChatRef, mut revision: Revision) -> Result<Revision> {
        revision.node = self.open_node("revisions", chat, &revision.node)?;
        Ok(revision)
    }

    /// Decrypts a form. Returns its flags, or `None` if it was not encrypted, and the form.
    fn open_form(
        &self,
        data: &AssociatedData,
        form: &Encoded,
    ) -> Result<(Option<u8>, Encoded), SealError> {
        if form.kind() != sealed::KIND {
            return if self.allow_plain { Ok((None, form.clone())) } else { Err(SealError::Plain) };
        }
        if form.version() != VERSION {
            return Err(SealError::NewerForm(u8::try_from(form.version()).unwrap_or(u8::MAX)));
        }
        let text = self.open(data, form.bytes())?;
        let read = || {
            let (&flags, rest) = text.split_first()?;
            let (version, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let (kind, bytes) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
            let start = text.len() - bytes.len();
            Some((
                flags,
                u16::from_le_bytes(*version),
                std::str::from_utf8(kind).ok()?.to_owned(),
                start,
            ))
        };
        let (flags, version, kind, start) = read().ok_or(SealError::Broken)?;
        let bytes = bytes::Bytes::from(text).slice(start..);
        Ok((Some(flags), Encoded::new(kind, version, bytes)))
    }

    /// Returns the fragment as callers know it.
    pub(super) fn open_fragment(
        &self,
        chat: &ChatRef,
        stored: &StoredFragment,
    ) -> Result<StoredFragment> {
        const OPERATION: &str = "fragments";
        let name = stored.id.as_ref().map_or("", |id| id.as_str());
        let failed = |error: SealError| error.of(OPERATION, "fragment", name);
        let Some(id) = &stored.id else {
            return if self.allow_plain {
                Ok(stored.clone())
            } else {
                Err(failed(SealError::Plain))
            };
        };
        let (_, body) =
            self.open_form(&AssociatedData::fragment(chat, id), &stored.body).map_err(failed)?;
        let mut metadata = Metadata::default();
        for (key, value) in stored.metadata.iter() {
            let data = AssociatedData::fragment_metadata(chat, id, key);
            metadata.insert(key, self.open_json(&data, value).map_err(failed)?);
        }
        Ok(StoredFragment { id: known_id(id), metadata, body })
    }
}

/// Encrypts a fragment under its stored id.
pub(super) fn seal_fragment(
    key: &EncryptionKey,
    chat: &ChatRef,
    id: FragmentId,
    fragment: &StoredFragment,
) -> StoredFragment {
    let body = seal_form(key, &AssociatedData::fragment(chat, &id), 0, &fragment.body);
    let value = |name: &str, json: &context_core::Json| {
        seal_text(key, &AssociatedData::fragment_metadata(chat, &id, name), json.as_str())
            .as_str()
            .into()
    };
    let metadata =
        fragment.metadata.iter().map(|(name, json)| (name.to_owned(), value(name, json))).collect();
    StoredFragment { id: Some(id), metadata, body }
}

/// Returns the stored id of a fragment.
pub(super) fn stored_id(id: &FragmentId) -> FragmentId {
    let ours = [NAMELESS, ESCAPED].iter().any(|prefix| id.as_str().starts_with(prefix));
    if ours { format!("{ESCAPED}{id}").into() } else { id.clone() }
}

/// Returns the stored id of a fragment without an id: a keyed hash of its content.
pub(super) fn nameless_id(
    key: &EncryptionKey,
    chat: &ChatRef,
    fragment: &StoredFragment,
) -> FragmentId {
    let form = seal_form(key, &AssociatedData::fragment_name(chat), 0, &fragment.body);
    let hash = blake3::hash(form.bytes());
    format!("{NAMELESS}{}", &hash.to_hex()[..40]).into()
}

pub(super) fn known_id(stored: &FragmentId) -> Option<FragmentId> {
    match stored.as_str().strip_prefix(ESCAPED) {
        Some(id) => Some(id.into()),
        None => (!stored.as_str().starts_with(NAMELESS)).then(|| stored.clone()),
    }
}
