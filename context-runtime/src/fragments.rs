//! Fragments beneath their builders: stored forms, kinds of your own, pieces that renderers make.
//!
//! Everyday fragments need none of this: [`fragment`](crate::fragment), [`hint`](crate::hint),
//! [`role`](crate::role) and [`kinds`](crate::kinds) make them.

pub use context_core::base::{CodecError, MisfitError};
pub use context_core::fragment::{
    Arrangement, DEFAULT_LOAD_TIMEOUT, FRAGMENTS_SCHEMA, Form, FragmentBody, FragmentCodec,
    FragmentError, FragmentKind, LazyData, Loader, MAX_JSON_DEPTH, OnFailure, Piece, Pieces,
    RenderError, Reuse,
};
pub use context_core::{CodecRegistry, Encoded};
