//! Fragments below their builders: stored forms, custom kinds, and the pieces that renderers make.
//!
//! Most programs only need the builders: [`fragment()`](fn@crate::fragment), [`hint`](crate::hint),
//! [`role`](crate::role) and [`kinds`](crate::kinds).

pub use context_core::base::{CodecError, MisfitError};
pub use context_core::fragment::{
    Arrangement, DEFAULT_LOAD_TIMEOUT, FRAGMENTS_SCHEMA, Form, FragmentBody, FragmentCodec,
    FragmentError, FragmentKind, LazyData, Loader, MAX_JSON_DEPTH, OnFailure, Piece, Pieces,
    RenderError, Reuse, StoredMessageCodec,
};
pub use context_core::{CodecRegistry, Encoded};
