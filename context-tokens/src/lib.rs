//! Token counts of texts, messages and requests, and their cost.
//!
//! # Who depends on this crate
//!
//! Applications reach it as `context_runtime::tokens`. Policies and other plug-ins need only the
//! trait [`TokenCounter`] in `context-core`.
//!
//! | | |
//! |---|---|
//! | [`Vocabulary`] | counts with a published vocabulary: exact, in time linear in the length of any text |
//! | [`ModelCounter`] | counts for a model: exact for OpenAI's published vocabularies, an estimate with its interval for others |
//! | [`CachedCounter`] | counts each message once |
//! | [`Calibration`], [`Calibrated`] | learn from reported usage how far estimates are off |
//! | [`ImageRule`] | counts the tokens of images by published formulas |
//! | [`ModelTable`], [`Cost`] | windows, prices, modalities and cache rules of models, dated and replaceable |
//! | [`Estimate`], [`Budget`] | size up a request: tokens per fragment, prompt, tools, messages and in total, cost, room left |
//!
//! ```
//! use context_core::{Message, ModelRequest};
//! use context_tokens::{Estimate, ModelTable};
//!
//! let model = ModelTable::builtin().model("claude-sonnet-4-5");
//! let request = ModelRequest::new([Message::from("Two tickets to Lisbon.")]).system("You book trips.");
//! let estimate = Estimate::new(&request, &model.counter(), &model);
//! assert!(estimate.total.low() < estimate.total.high()); // no vocabulary is published
//! assert_eq!(estimate.fits(), Some(true));
//! println!("{} tokens, {}", estimate.total, estimate.input_cost.unwrap());
//! ```

mod cache;
mod cache_rules;
mod calibrated;
mod calibration;
mod cost;
mod counter;
mod estimate;
mod images;
mod media;
mod modality;
mod model;
mod prices;
mod table;
mod vocabulary;
mod window;

pub use cache::{CachedCounter, DEFAULT_CAPACITY};
pub use cache_rules::{CacheLifetime, CacheRules};
pub use calibrated::Calibrated;
pub use calibration::{Calibration, Calibrations};
pub use context_core::model::{
    Budget, Framing, MediaKind, Pressure, RequestTokens, Share, TokenCount, TokenCounter,
};
pub use cost::Cost;
pub use counter::ModelCounter;
pub use estimate::{Estimate, FragmentTokens};
pub use images::ImageRule;
pub use modality::{Modalities, Modality};
pub use model::Model;
pub use prices::{LongPrices, Prices};
pub use table::{AS_OF, ModelTable, TableError};
pub use vocabulary::Vocabulary;
pub use window::{BudgetError, WindowSource};
