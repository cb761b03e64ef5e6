//! The binary form of a chat: a JSON header, followed by the packed nodes, revisions and fragment
//! bodies.
//!
//! Version 3 of the layout: `u32` CRC-32 of everything after it, `u32` length of the header
//! (little-endian), header, nodes ([`pack`]), revisions ([`pack`]), concatenated bodies of
//! fragments and of their versions. Version 2 had no versions of fragments and no log of
//! references.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::ChatState;
use crate::pack;
use context_core::base::{CheckpointName, CommitKey, FragmentId};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, Chat, Checkpoint, Committed, FragmentLog, FragmentVersion, Lease, NewChat, RefLog,
    Revision, StoredFragment,
};
use context_core::{
    BranchName, ChatRef, Encoded, Error, ErrorKind, MessageId, Metadata, Result, Timestamp,
};

const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Header {
    v: u32,
    chat: ChatRef,
    title: Option<String>,
    metadata: Metadata,
    active: BranchName,
    created_at: Timestamp,
    updated_at: Timestamp,
    number: u64,
    changes: u64,
    /// The index of each node's parent.
    parents: Vec<Option<usize>>,
    nodes: usize,
    /// The time of replacement of each revision.
    replaced: Vec<Timestamp>,
    revisions: usize,
    branches: Vec<(BranchName, Option<MessageId>, u64, Timestamp)>,
    checkpoints: Vec<(CheckpointName, MessageId, Timestamp)>,
    fragments: Vec<FragmentHeader>,
    /// Missing in bytes of version 2.
    #[serde(default)]
    versions: Option<Vec<VersionHeader>>,
    #[serde(default, skip_serializing_if = "RefLog::is_empty")]
    refs: RefLog,
    keys: Vec<KeyHeader>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
}

/// A key, the digest of its commit, and the resulting branch and head.
type KeyHeader = (CommitKey, [u8; 32], Option<BranchName>, Option<MessageId>);

#[derive(Serialize, Deserialize)]
struct FragmentHeader {
    id: Option<FragmentId>,
    kind: String,
    version: u16,
    metadata: Metadata,
    bytes: usize,
}

/// A version of a fragment. Without a fragment, it is a removal.
#[derive(Serialize, Deserialize)]
struct VersionHeader {
    number: u64,
    place: u64,
    id: Option<FragmentId>,
    fragment: Option<FragmentHeader>,
    at: Option<Timestamp>,
    message: Option<MessageId>,
}

impl ChatState {
    /// Serializes the chat to bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut nodes = Vec::new();
        self.nodes.iter().for_each(|placed| pack::pack(&placed.node, &mut nodes));
        let parent =
            |placed: &PlacedNode| placed.parent.as_ref().and_then(|id| self.index.get(id)).copied();
        let mut revisions = Vec::new();
        let all = || self.revisions.values().flatten();
        all().for_each(|revision| pack::pack(&revision.node, &mut revisions));
        let fragment = |fragment: &StoredFragment| FragmentHeader {
            id: fragment.id.clone(),
            kind: fragment.body.kind().to_owned(),
            version: fragment.body.version(),
            metadata: fragment.metadata.clone(),
            bytes: fragment.body.bytes().len(),
        };
        let version = |version: &FragmentVersion| VersionHeader {
            number: version.number,
            place: version.place,
            id: version.id.clone(),
            fragment: version.fragment.as_ref().map(fragment),
            at: version.at,
            message: version.message.clone(),
        };
        let versions = self.fragment_log.versions();
        let header = Header {
            v: VERSION,
            chat: self.chat.chat.clone(),
            title: self.chat.title.clone(),
            metadata: self.chat.metadata.clone(),
            active: self.chat.active.clone(),
            created_at: self.chat.created_at,
            updated_at: self.chat.updated_at,
            number: self.number,
            changes: self.changes,
            parents: self.nodes.iter().map(parent).collect(),
            nodes: nodes.len(),
            replaced: all().map(|revision| revision.replaced_at).collect(),
            revisions: revisions.len(),
            branches: self
                .branches
                .iter()
                .map(|branch| {
                    (branch.name.clone(), branch.head.clone(), branch.length, branch.created_at)
                })
                .collect(),
            checkpoints: self
                .checkpoints
                .values()
                .map(|point| (point.name.clone(), point.message.clone(), point.created_at))
                .collect(),
            fragments: self.fragments.iter().map(fragment).collect(),
            versions: Some(versions.iter().map(version).collect()),
            refs: self.ref_log.clone(),
            keys: self
                .keys
                .iter()
                .map(|(key, (digest, at))| {
                    (key.clone(), *digest, at.branch.clone(), at.head.clone())
                })
                .collect(),
            lease: self.lease.clone(),
        };
        let header = serde_json::to_vec(&header).expect("text keys and valid raw values");
        let mut out = Vec::with_capacity(8 + header.len() + nodes.len() + revisions.len());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&u32::try_from(header.len()).unwrap_or(u32::MAX).to_le_bytes());
        for part in [&header, &nodes, &revisions] {
            out.extend_from_slice(part);
        }
        let earlier = versions.iter().filter_map(|version| version.fragment.as_ref());
        for fragment in self.fragments.iter().chain(earlier) {
            out.extend_from_slice(fragment.body.bytes());
        }
        let sum = crc32fast::hash(&out[4..]);
        out[..4].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Deserializes the bytes of [`to_bytes`](Self::to_bytes). Bodies are slices of `bytes`.
    ///
    /// [`ErrorKind::Corrupt`] for damaged bytes, [`ErrorKind::Unsupported`] for bytes of a newer
    /// version.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        let mut reader = Reader(bytes.into());
        let sum = reader.take(4)?;
        if sum != crc32fast::hash(&reader.0).to_le_bytes()[..] {
            return Err(corrupt("checksum"));
        }
        let length = reader.take(4)?;
        let length = u32::from_le_bytes(length[..].try_into().map_err(|_| corrupt("cut short"))?);
        let header = reader.take(usize::try_from(length).map_err(|_| corrupt("cut short"))?)?;
        let header: Header = serde_json::from_slice(&header)
            .map_err(|error| corrupt("header").with_source(error))?;
        if header.v > VERSION {
            let error = Error::new(ErrorKind::Unsupported, OPERATION, "written by a newer version");
            return Err(error.with("version", header.v).with("known", VERSION));
        }
        let unpack = |bytes: Bytes| {
            pack::unpack(&bytes).map_err(|error| corrupt("nodes").with_source(error))
        };
        let nodes = unpack(reader.take(header.nodes)?)?;
        let revisions = unpack(reader.take(header.revisions)?)?;
        if nodes.len() != header.parents.len() || revisions.len() != header.replaced.len() {
            return Err(corrupt("number of messages"));
        }
        let mut placed: Vec<PlacedNode> = Vec::with_capacity(nodes.len());
        for (node, parent) in nodes.into_iter().zip(header.parents) {
            let parent = match parent {
                None => None,
                Some(parent) => Some(placed.get(parent).ok_or_else(|| corrupt("parents"))?),
            };
            let (id, depth) =
                (parent.map(|p| p.node.id.clone()), parent.map_or(0, |p| p.depth + 1));
            placed.push(PlacedNode::new(node, id, depth));
        }
        let mut chat = Chat::new(NewChat {
            title: header.title,
            metadata: header.metadata,
            ..NewChat::new(header.chat, header.created_at)
        });
        chat.active = header.active;
        chat.updated_at = header.updated_at;
        let mut state = Self::new(chat, header.number);
        state.changes = header.changes;
        state.nodes = placed;
        state.reindex();
        for (node, at) in revisions.into_iter().zip(header.replaced) {
            state.revisions.entry(node.id.clone()).or_default().push(Revision::new(node, at));
        }
        let branch = |(name, head, length, at)| Branch::new(name, head, length, false, at);
        state.branches = header.branches.into_iter().map(branch).collect();
        for branch in &mut state.branches {
            branch.active = branch.name == state.chat.active;
        }
        let point = |(name, message, at): (CheckpointName, _, _)| {
            (name.clone(), Checkpoint::new(name, message, at))
        };
        state.checkpoints = header.checkpoints.into_iter().map(point).collect::<BTreeMap<_, _>>();
        for header in header.fragments {
            state.fragments.push(header.read(&mut reader)?);
        }
        state.fragment_log = match header.versions {
            None => FragmentLog::unrecorded((1..).zip(state.fragments.iter().cloned())),
            Some(versions) => {
                let read = versions.into_iter().map(|version| version.read(&mut reader));
                FragmentLog::new(read.collect::<Result<_>>()?)
            }
        };
        let key = |(key, digest, branch, head)| (key, (digest, Committed::new(branch, head)));
        state.ref_log = header.refs;
        state.lease = header.lease;
        state.keys = header.keys.into_iter().map(key).collect();
        Ok(state)
    }
}

impl FragmentHeader {
    fn read(self, reader: &mut Reader) -> Result<StoredFragment> {
        let Self { id, kind, version, metadata, bytes } = self;
        let body = Encoded::new(kind, version, reader.take(bytes)?);
        Ok(StoredFragment { id, metadata, body })
    }
}

impl VersionHeader {
    fn read(self, reader: &mut Reader) -> Result<FragmentVersion> {
        let Self { number, place, id, fragment, at, message } = self;
        let version = match (fragment, id) {
            (Some(fragment), _) => FragmentVersion::stored(number, place, fragment.read(reader)?),
            (None, Some(id)) => FragmentVersion::removed(number, place, id, Timestamp::default()),
            (None, None) => return Err(corrupt("versions of fragments")),
        };
        Ok(version.written(at, message))
    }
}

const OPERATION: &str = "read";

fn corrupt(part: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, OPERATION, "a stored chat is not what was written")
        .with("part", part)
}

/// The bytes that have not been read yet.
struct Reader(Bytes);

impl Reader {
    fn take(&mut self, n: usize) -> Result<Bytes> {
        if n > self.0.len() {
            return Err(corrupt("cut short"));
        }
        Ok(self.0.split_to(n))
    }
}
