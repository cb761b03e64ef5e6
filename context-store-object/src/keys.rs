//! The names of objects. A name has hashes and numbers, never the name of a user or a chat, since
//! services write keys into logs and bills.
//!
//! | key below the prefix | holds |
//! |---|---|
//! | `context-blobs` | the version of the layout |
//! | `users/U/chats/C` | a chat: its life, name, metadata and times |
//! | `users/U/tags/T/C` | nothing: chat C has the metadata entry T |
//! | `users/U/refs/C/ID/ref.N.L.P.AT` | reference N of a chat in life L to a blob that was put at `AT`, whose bytes are upload P: size, media type, checksums of the pieces |
//! | `users/U/refs/C/ID/used.N.AT` | nothing: the time of a later use |
//! | `users/U/refs/C/ID/type.N` | the media type, if the first put had none |
//! | `users/U/refs/C/ID/going.N` | nothing: reference N is about to be pruned |
//! | `users/U/blobs/ID/P/data` | the bytes, as they were put |
//! | `users/U/blobs/ID/P/hold.C.N` | nothing: reference N of chat C needs upload P |
//! | `users/U/blobs/ID/P/revoked.N` | nothing: hold N may be removed, for it may have no reference |
//! | `users/U/blobs/ID/P/closed` | nothing: upload P accepts no hold, for it may be removed |
//!
//! U, C and T are hashes of a user, a chat and a metadata entry. N, L and P are random and never
//! used twice.

use std::fmt;
use std::str::FromStr;

use context_core::base::BlobId;
use context_core::{Error, ErrorKind, Result, Timestamp};

/// The object that makes a prefix a store.
pub(crate) const LAYOUT: &str = "context-blobs";
/// The folder of all users.
pub(crate) const USERS: &str = "users";

/// A random number that is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Nonce(u128);

impl Nonce {
    pub(crate) fn new(operation: &'static str) -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::new(ErrorKind::Unavailable, operation, "the system has no random numbers")
                .with_source(error)
        })?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    /// Returns half of the digits as a number.
    pub(crate) fn low(self) -> u64 {
        (self.0 & u128::from(u64::MAX)) as u64
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A name that no key of ours has.
#[derive(Debug)]
pub(crate) struct UnknownName;

impl FromStr for Nonce {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let digits = digits(text, 32)?;
        u128::from_str_radix(digits, 16).map(Self).map_err(|_| UnknownName)
    }
}

/// Refuses what is not this many hexadecimal digits as they are written here.
fn digits(text: &str, count: usize) -> Result<&str, UnknownName> {
    let known = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_number = text.len() == count && text.bytes().all(known);
    is_number.then_some(text).ok_or(UnknownName)
}

/// Returns the name of a thing in a key: half of its hash.
pub(crate) fn hashed(name: &str) -> String {
    let mut hash = BlobId::of(name.as_bytes()).to_string();
    hash.truncate(32);
    hash
}

/// A time as digits that are sorted as the times are.
struct Digits(Timestamp);

const SIGN: u64 = 1 << 63;

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0.as_micros().cast_unsigned() ^ SIGN)
    }
}

impl FromStr for Digits {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let digits = u64::from_str_radix(digits(text, 16)?, 16).map_err(|_| UnknownName)?;
        Ok(Self(Timestamp::from_micros((digits ^ SIGN).cast_signed())))
    }
}

/// The name of an object in the folder of a chat's references to a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefName {
    Reference { nonce: Nonce, life: Nonce, upload: Nonce, at: Timestamp },
    Used { nonce: Nonce, at: Timestamp },
    Type { nonce: Nonce },
    Going { nonce: Nonce },
}

impl RefName {
    /// Returns the reference that the object belongs to.
    pub(crate) fn nonce(&self) -> Nonce {
        match self {
            Self::Reference { nonce, .. }
            | Self::Used { nonce, .. }
            | Self::Type { nonce }
            | Self::Going { nonce } => *nonce,
        }
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference { nonce, life, upload, at } => {
                write!(f, "ref.{nonce}.{life}.{upload}.{}", Digits(*at))
            }
            Self::Used { nonce, at } => write!(f, "used.{nonce}.{}", Digits(*at)),
            Self::Type { nonce } => write!(f, "type.{nonce}"),
            Self::Going { nonce } => write!(f, "going.{nonce}"),
        }
    }
}

impl FromStr for RefName {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let parts: Vec<_> = name.split('.').collect();
        let at = |text: &str| text.parse::<Digits>().map(|digits| digits.0);
        match parts[..] {
            ["ref", nonce, life, upload, put] => Ok(Self::Reference {
                nonce: nonce.parse()?,
                life: life.parse()?,
                upload: upload.parse()?,
                at: at(put)?,
            }),
            ["used", nonce, used] => Ok(Self::Used { nonce: nonce.parse()?, at: at(used)? }),
            ["type", nonce] => Ok(Self::Type { nonce: nonce.parse()? }),
            ["going", nonce] => Ok(Self::Going { nonce: nonce.parse()? }),
            _ => Err(UnknownName),
        }
    }
}

/// The name of an object in the folder of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UploadName {
    Data,
    /// The hash of a chat, and the reference of that chat.
    Hold {
        chat: String,
        nonce: Nonce,
    },
    Revoked {
        nonce: Nonce,
    },
    Closed,
}

impl fmt::Display for UploadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("data"),
            Self::Hold { chat, nonce } => write!(f, "hold.{chat}.{nonce}"),
            Self::Revoked { nonce } => write!(f, "revoked.{nonce}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

impl FromStr for UploadName {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let parts: Vec<_> = name.split('.').collect();
        match parts[..] {
            ["data"] => Ok(Self::Data),
            ["hold", chat, nonce] => {
                Ok(Self::Hold { chat: chat.to_owned(), nonce: nonce.parse()? })
            }
            ["revoked", nonce] => Ok(Self::Revoked { nonce: nonce.parse()? }),
            ["closed"] => Ok(Self::Closed),
            _ => Err(UnknownName),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nonce() -> impl Strategy<Value = Nonce> {
        any::<u128>().prop_map(Nonce)
    }

    fn at() -> impl Strategy<Value = Timestamp> {
        any::<i64>().prop_map(Timestamp::from_micros)
    }

    fn ref_name() -> impl Strategy<Value = RefName> {
        prop_oneof![
            (nonce(), nonce(), nonce(), at()).prop_map(|(nonce, life, upload, at)| {
                RefName::Reference { nonce, life, upload, at }
            }),
            (nonce(), at()).prop_map(|(nonce, at)| RefName::Used { nonce, at }),
            nonce().prop_map(|nonce| RefName::Type { nonce }),
            nonce().prop_map(|nonce| RefName::Going { nonce }),
        ]
    }

    proptest! {
        #[test]
        fn names_are_read_as_they_are_written(name in ref_name(), chat: String, nonce in nonce()) {
            prop_assert_eq!(name.to_string().parse::<RefName>().ok(), Some(name));
            let chat = hashed(&chat);
            for name in [
                UploadName::Data,
                UploadName::Hold { chat, nonce },
                UploadName::Revoked { nonce },
                UploadName::Closed,
            ] {
                prop_assert_eq!(name.to_string().parse::<UploadName>().ok(), Some(name));
            }
        }

        #[test]
        fn times_are_sorted_as_text(one in at(), two in at()) {
            let (first, second) = (Digits(one).to_string(), Digits(two).to_string());
            prop_assert_eq!(one.cmp(&two), first.cmp(&second));
        }

        #[test]
        fn any_other_name_is_none_of_ours(name in "[a-z0-9.]{0,80}") {
            if let Ok(known) = name.parse::<RefName>() {
                prop_assert_eq!(known.to_string(), name.clone());
            }
            if let Ok(known) = name.parse::<UploadName>() {
                prop_assert_eq!(known.to_string(), name);
            }
        }
    }
}
