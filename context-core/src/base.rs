//! The foundation of all other modules: ids, time, errors, diagnostics, cancelling, JSON, limits.

mod blob_id;
pub(crate) mod cancel;
pub(crate) mod diagnostic;
pub mod display;
pub(crate) mod encoded;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod id;
pub(crate) mod json;
pub(crate) mod json_string;
pub mod limits;
pub mod sealed;
pub mod secrets;

pub use blob_id::BlobId;
pub use cancel::{CancelSource, Cancelled};
pub use diagnostic::{CodeName, CodeNameError, DiagnosticCode, Severity};
pub use encoded::{CodecError, MisfitError};
pub use error::write_readable;
pub use id::{
    CheckpointName, CommitKey, FragmentId, LeaseOwner, MemoryId, SnapshotId, StreamId, StreamWriter,
};
pub use json::JsonMap;
