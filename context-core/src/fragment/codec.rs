//! Codecs between fragments and their stored form.
//!
//! A stored form consists of bytes, a kind and a version. The [`CodecRegistry`] finds the codec by
//! kind. Older versions are upgraded step by step. Forms that no codec knows (an unknown kind, a
//! newer version) are kept byte for byte and written back unchanged. Third parties implement
//! [`FragmentBody`] for a type of their own and register its [`BodyCodec`].
//!
//! The wire forms of providers are not stored forms; their codecs are in crates of their own.

mod builtin;
mod message;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use message::StoredMessageCodec;
pub(super) use message::encode as encode_message;

use crate::base::{CodecError, MisfitError};
use crate::fragment::{FragmentContent, FragmentKind};
use crate::{Encoded, Fragment, Json, Message};

/// Encodes and decodes one kind of fragment.
///
/// Contract with implementors: be pure. The same fragment yields the same bytes. Write one version;
/// read it and every older one. Do not write the fragment's id or metadata, which are stored
/// separately. Callers use a [`CodecRegistry`], which preserves unknown kinds.
pub trait FragmentCodec: Send + Sync + 'static {
    /// Returns the kind, unique in a registry.
    fn kind(&self) -> &str;

    /// Returns the version that is written.
    fn version(&self) -> u16;

    /// Encodes a fragment.
    fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError>;

    /// Decodes a fragment of this kind, of the current or an older version.
    fn decode(&self, encoded: &Encoded) -> Result<Fragment, CodecError>;
}

/// The codec of one fragment.
#[derive(Clone)]
pub(super) enum AttachedCodec {
    /// A codec of the registry, by kind.
    Named(Arc<str>),
    Own(Arc<dyn FragmentCodec>),
    Message(Arc<dyn StoredMessageCodec>),
}

impl AttachedCodec {
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Named(kind) => kind,
            Self::Own(codec) => codec.kind(),
            Self::Message(codec) => codec.name(),
        }
    }
}

impl PartialEq for AttachedCodec {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl fmt::Debug for AttachedCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// A serializable type that represents a kind of fragment.
///
/// ```
/// use context_core::{CodecRegistry, Fragment, FragmentData};
/// use context_core::base::MisfitError;
/// use context_core::fragment::{BodyCodec, FragmentBody};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Budget {
///     eur: u32,
/// }
///
/// impl FragmentBody for Budget {
///     const KIND: &'static str = "budget";
///     const VERSION: u16 = 1;
///
///     fn into_fragment(self) -> Fragment {
///         Fragment::new(Self::KIND, i64::from(self.eur))
///     }
///
///     fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
///         let Some(FragmentData::Number(number)) = fragment.data() else {
///             return Err(MisfitError::Shape { part: "its data", expected: "number" });
///         };
///         Ok(Self { eur: number.to_string().parse().map_err(|_| MisfitError::Other("no amount".into()))? })
///     }
/// }
///
/// let mut codecs = CodecRegistry::default();
/// codecs.register(BodyCodec::<Budget>::default());
/// let stored = codecs.encode(&Budget { eur: 300 }.into_fragment().with_codec(Budget::KIND))?;
/// assert_eq!((stored.kind(), stored.bytes().as_ref()), ("budget", br#"{"eur":300}"#.as_slice()));
/// assert_eq!(codecs.decode(&stored)?.name(), "budget");
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
pub trait FragmentBody: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Returns the kind, unique in a registry.
    const KIND: &'static str;
    /// The written version of the JSON form.
    const VERSION: u16;

    /// Converts the value into the fragment to render.
    fn into_fragment(self) -> Fragment;

    /// Converts a fragment into a value. Fails if the fragment holds something else. Parts that the
    /// kind does not know are an error, because they would be lost.
    fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError>;

    /// Upgrades the JSON of version `from` to version `from + 1`.
    fn upcast(from: u16, body: Json) -> Result<Json, CodecError> {
        let _ = body;
        Err(CodecError::NoUpcast { kind: Self::KIND.to_owned(), version: from })
    }
}

/// The codec of a [`FragmentBody`].
pub struct BodyCodec<T>(PhantomData<fn() -> T>);

impl<T> Default for BodyCodec<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: FragmentBody> FragmentCodec for BodyCodec<T> {
    fn kind(&self) -> &str {
        T::KIND
    }

    fn version(&self) -> u16 {
        T::VERSION
    }

    fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError> {
        let unsuitable = |source| unsuitable(fragment, T::KIND, source);
        let body = T::from_fragment(fragment).map_err(unsuitable)?;
        let bytes = serde_json::to_vec(&body).map_err(|error| unsuitable(error.into()))?;
        Ok(Encoded::new(T::KIND, T::VERSION, bytes))
    }

    fn decode(&self, encoded: &Encoded) -> Result<Fragment, CodecError> {
        encoded.expect_kind(T::KIND, T::VERSION)?;
        let malformed = |error| CodecError::malformed(encoded, error);
        let mut json: Json = serde_json::from_slice(encoded.bytes()).map_err(malformed)?;
        for version in encoded.version()..T::VERSION {
            json = T::upcast(version, json)?;
        }
        Ok(json.parse::<T>().map_err(malformed)?.into_fragment().with_codec(T::KIND))
    }
}

/// The codecs of a program, by kind.
///
/// ```
/// use context_core::{CodecRegistry, Encoded, hint};
///
/// let codecs = CodecRegistry::default();
/// let stored = codecs.encode(&hint("Prices are in EUR.").persisted())?;
/// assert_eq!(codecs.decode(&stored)?.data(), hint("Prices are in EUR.").data());
///
/// let unknown = Encoded::new("of-a-plugin", 3, "{}"); // preserved
/// let fragment = codecs.decode(&unknown)?;
/// assert_eq!(codecs.encode(&fragment)?, unknown);
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
#[derive(Clone)]
pub struct CodecRegistry {
    fragments: BTreeMap<String, Arc<dyn FragmentCodec>>,
    messages: BTreeMap<String, Arc<dyn StoredMessageCodec>>,
}

impl Default for CodecRegistry {
    /// Creates a registry with the codecs of this crate's [kinds](crate::fragment::kinds) and of
    /// free fragments.
    fn default() -> Self {
        let mut registry = Self { fragments: BTreeMap::new(), messages: BTreeMap::new() };
        registry.register(builtin::FreeCodec);
        crate::fragment::kinds::register_all(&mut registry);
        registry
    }
}

impl CodecRegistry {
    /// Registers a codec. Replaces and returns an earlier one of the same kind.
    pub fn register(&mut self, codec: impl FragmentCodec) -> Option<Arc<dyn FragmentCodec>> {
        self.fragments.insert(codec.kind().to_owned(), Arc::new(codec))
    }

    /// Registers a codec of messages. Replaces and returns an earlier one of the same name.
    pub fn register_message(
        &mut self,
        codec: impl StoredMessageCodec,
    ) -> Option<Arc<dyn StoredMessageCodec>> {
        self.messages.insert(codec.name().to_owned(), Arc::new(codec))
    }

    /// Registers the codec that is attached to a fragment, if the registry
    /// [lacks](Self::lacks_codec_of) it.
    pub fn adopt(&mut self, fragment: &Fragment) {
        if !self.lacks_codec_of(fragment) {
            return;
        }
        match &fragment.codec {
            Some(AttachedCodec::Own(codec)) => {
                self.fragments.insert(codec.kind().to_owned(), Arc::clone(codec));
            }
            Some(AttachedCodec::Message(codec)) => {
                self.messages.insert(codec.name().to_owned(), Arc::clone(codec));
            }
            _ => {}
        }
    }

    /// Returns whether a codec is attached to a fragment and none of its name is registered.
    pub fn lacks_codec_of(&self, fragment: &Fragment) -> bool {
        match &fragment.codec {
            Some(AttachedCodec::Own(codec)) => self.get(codec.kind()).is_none(),
            Some(AttachedCodec::Message(codec)) => !self.messages.contains_key(codec.name()),
            _ => false,
        }
    }

    /// Returns the codec of a kind.
    pub fn get(&self, kind: &str) -> Option<&dyn FragmentCodec> {
        self.fragments.get(kind).map(|codec| &**codec)
    }

    /// Encodes a context fragment with the codec that is attached to it, or with the one of its
    /// kind, or as a free fragment. An [untrusted](Fragment::untrusted) fragment is always encoded
    /// as a free one. An unknown stored form is written back unchanged.
    pub fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError> {
        if let FragmentContent::Unknown(encoded) = fragment.content() {
            return Ok(encoded.clone());
        }
        // The form of a kind cannot hold the untrusted mark, which must not be lost.
        let kind = match fragment.codec.as_ref().filter(|_| !fragment.is_untrusted()) {
            Some(AttachedCodec::Own(codec)) => return codec.encode(fragment),
            Some(AttachedCodec::Named(kind)) => kind,
            Some(AttachedCodec::Message(_)) | None => builtin::FreeCodec::KIND,
        };
        let codec = self.get(kind).ok_or_else(|| CodecError::NoCodec { kind: kind.to_owned() })?;
        codec.encode(fragment)
    }

    /// Decodes a stored fragment. Unknown kinds and newer versions are preserved as
    /// [`FragmentContent::Unknown`]. Malformed bytes are an error.
    pub fn decode(&self, encoded: &Encoded) -> Result<Fragment, CodecError> {
        match self.get(encoded.kind()).map(|codec| codec.decode(encoded)) {
            Some(Err(CodecError::NewerVersion { .. })) | None => Ok(Fragment::from_content(
                encoded.kind(),
                FragmentKind::Context,
                FragmentContent::Unknown(encoded.clone()),
            )
            .persisted()),
            Some(result) => result.map(Fragment::persisted),
        }
    }

    /// Decodes a stored message into its shown form. `None` if no codec
    /// [encoded](StoredMessageCodec) the message, which is shown as it is stored. Fails if the codec
    /// is not registered or cannot decode the message.
    pub fn decode_message(&self, stored: &Message) -> Result<Option<Message>, CodecError> {
        let Some(name) = stored.stored_codec() else { return Ok(None) };
        match self.messages.get(&name) {
            Some(codec) => message::decode(&**codec, stored).map(Some),
            None => Err(CodecError::NoCodec { kind: name }),
        }
    }
}

impl fmt::Debug for CodecRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.fragments.keys().chain(self.messages.keys())).finish()
    }
}

/// The error of a fragment that does not fit the codec of a kind.
fn unsuitable(fragment: &Fragment, kind: &str, source: MisfitError) -> CodecError {
    CodecError::Unsuitable { name: fragment.name().to_owned(), kind: kind.to_owned(), source }
}
