//! Fragments beneath their builders: stored forms, kinds of your own, pieces that renderers make.
//!
//! Everyday fragments need none of this: [`fragment`](crate::fragment), [`hint`](crate::hint),
//! [`role`](crate::role) and [`kinds`](crate::kinds) make them.

pub use context_core::{
    Arrangement, CodecError, CodecRegistry, DEFAULT_LOAD_TIMEOUT, Encoded, FRAGMENTS_SCHEMA, Form,
    FragmentBody, FragmentCodec, FragmentError, FragmentKind, LazyData, Loader, MAX_JSON_DEPTH,
    MisfitError, OnFailure, Piece, Pieces, RenderError, Reuse,
};
