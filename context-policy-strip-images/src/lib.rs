//! A compaction policy that removes media from a conversation, oldest first, and leaves a note in
//! the place of each.
//!
//! Media are images, documents and sound, in messages of any role and in tool results, given as
//! data, by address or by a provider's file id. Ids, error flags, texts and thoughts stay as they
//! are. Media that tools produced are removed before media that a user attached.
//!
//! [`StripImages`] is a [`CompactionPolicy`](context_core::CompactionPolicy), which makes room, and
//! a [`RecoveryPolicy`](context_core::history::RecoveryPolicy), which answers a provider that
//! refuses images or a request of too many bytes. Where a provider names limits, only the media
//! beyond them are removed. An image that is too large is scaled down instead if the application
//! supplies a [`Rescale`]. Nothing here decodes an image: sizes are read from its first bytes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Message, Metadata, Part, Role};
//! use context_core::history::HistoryView;
//! use context_core::message::{Media, MediaSource};
//! use context_core::model::{TokenCount, TokenCounter};
//! use context_policy_strip_images::StripImages;
//!
//! # #[derive(Debug)]
//! # struct Bytes;
//! # impl TokenCounter for Bytes {
//! #     fn name(&self) -> &str { "bytes" }
//! #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
//! # }
//! let chart = Media {
//!     source: MediaSource::Url("https://example.com/chart.png".into()),
//!     media_type: Some("image/png".into()),
//!     name: Some("chart.png".into()),
//!     metadata: Metadata::default(),
//! };
//! let history = [Arc::new(Message::new(Role::User, [Part::text("Why the dip?"), Part::Image(chart)]))];
//! let plan = StripImages::new().all(&HistoryView::new(&history, &Bytes)).into_plan().ok_or("no media")?;
//! let sent = plan.apply(&history)?.messages;
//! assert_eq!(sent[0].plain_text(), "Why the dip?\n[image removed: chart.png]");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod marker;
mod media_item;
mod policy;
mod rescale;
mod size;

pub use marker::Marker;
pub use policy::StripImages;
pub use rescale::{Rescale, Rescaled};
