//! Blobs in S3, Google Cloud Storage, Azure or a folder.
//!
//! Results that are too large for a message, media and exports do not have to be in the database of
//! the conversation. [`ObjectBlobs`] keeps them as objects, and `SplitStore` of
//! `context-store-layers` joins it with any store of the history:
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::base::BlobId;
//! use context_core::store::{NewBlob, NewChat};
//! use context_core::{ChatRef, Store, Timestamp};
//! use context_store_layers::SplitStore;
//! use context_store_object::{ObjectBlobs, ObjectConfig};
//! use context_store_sqlite::{SqliteConfig, SqliteStore};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let place = tempfile::tempdir()?;
//! # let (chats, folder) = (place.path().join("chats.db"), place.path().join("blobs"));
//! let history = SqliteStore::open(SqliteConfig::new(chats)).await?;
//! // With the feature `s3`: ObjectConfig::from_url("s3://bucket/agents?region=eu-central-1")?
//! let files = ObjectBlobs::open(ObjectConfig::folder(folder)).await?;
//! let store = SplitStore::builder(Arc::new(history)).blobs(Arc::new(files)).build()?;
//!
//! let (chat, now) = (ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
//! let _ = store.history().create_chat(NewChat::new(chat.clone(), now)).await?;
//! let blobs = store.blobs().expect("of the folder");
//! blobs.put_blob(&chat, NewBlob::new("a long report", now).media_type("text/plain")).await?;
//! let bytes = blobs.read_blob(&chat, &BlobId::of(b"a long report"), 2..6, None).await?;
//! assert_eq!(bytes.as_deref(), Some(&b"long"[..]));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | service | URL |
//! |---|---|---|
//! | (always) | a folder | `file:PATH` |
//! | `s3` | Amazon S3 and what speaks its protocol | `s3://BUCKET/PREFIX` |
//! | `gcs` | Google Cloud Storage | `gs://BUCKET/PREFIX` |
//! | `azure` | Azure Blob Storage | `az://CONTAINER/PREFIX` |
//!
//! [`ObjectConfig::over`] takes any other service that the crate [`object_store`] can talk to.
//!
//! # Guarantees
//!
//! * **Nothing acknowledged is lost**, whatever runs at the same moment and wherever a process
//!   dies. No call takes a lock, and none waits for another one.
//! * **Chats of one user share bytes.** The bytes are kept as long as one reference exists. Two
//!   users never share any, and no key shows the name of a user or a chat.
//! * **A read returns the bytes that were put or an error.** Whole blobs are checked against their
//!   hash, ranges against a checksum of each 256 KiB.
//! * **What a dead process leaves is out of reach**, and collected by
//!   [`vacuum`](context_core::store::Maintenance::vacuum), which may run beside everything else.
//!   Parts of a large upload to S3 that was cut short are an exception: let the bucket end
//!   incomplete multipart uploads by a rule of its life cycle.
//!
//! # What it asks of a service
//!
//! That a listing has each object as soon as it is written, as S3, Google Cloud Storage, Azure and
//! a folder on one machine have it, and that an object can be created only if it does not exist.
//! The latter decides between calls that create one chat, and nothing else.
//!
//! # Costs
//!
//! Requests one after another, where some consist of several at once:
//!
//! | call | requests |
//! |---|---|
//! | a read of a whole blob, without a time of use | 2 |
//! | a read of a range, without a time of use | 3 |
//! | a put of new bytes | 6 |
//! | a put of a blob that the chat has | 5 |
//! | a removal | 8 |
//!
//! A time of use is one more object, which is written beside the read; an older one is deleted.
//! Pages of a listing cost three requests for each blob, sixteen at once.

mod blobs;
mod bucket;
mod chats;
mod collect;
mod config;
mod error;
mod history;
mod keys;
mod maintenance;
mod objects;
mod record;
mod references;
mod store;
mod uploads;
mod user_keys;

/// The crate that talks to the services.
pub use object_store;

pub use config::ObjectConfig;
pub use store::ObjectBlobs;
