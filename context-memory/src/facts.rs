//! Facts: relations between a subject and an object, with the time they were true and their
//! sources.
//!
//! A [`Statement`] says that a subject has a relation to an object: *Ada works at Initech*. It is
//! one record of the store, with the message it comes from, and it is immutable. A [`Fact`] is
//! derived from all statements about a subject and a relation each time it is read:
//!
//! * Consecutive statements with the same object are one fact with all their sources: repeating a
//!   statement adds a source.
//! * For a relation that holds [one](Cardinality::One) value, a later value ends the earlier one,
//!   which stays in the history with [its successor](Fact::superseded_by). A relation that holds
//!   [many](Cardinality::Many) values keeps them side by side.
//! * The time when something was true ([`from`](Fact::from), [`until`](Fact::until)) and the time
//!   when it was learned ([`recorded_at`](Fact::recorded_at)) are separate, so statements that
//!   arrive late are placed correctly in time.
//!
//! Since no derived data is stored, the order in which statements arrive makes no difference,
//! writers cannot conflict, and forgetting leaves no trace: if the message about Ada's new job is
//! forgotten, her old job no longer counts as ended. A statement of a narrower scope supersedes one
//! of a wider scope only for readers that see both.
//!
//! Statements come from the application ([`Facts::state`]) or, with a [`FactExtractor`], from
//! captured messages. Without an extractor nothing is captured. Names are compared after the case
//! folding of search; there is no dictionary, so `Bob` and `Robert` are different. For one subject
//! and relation the 1,000 newest statements are read.

mod ask;
mod capture;
mod day;
mod extract;
mod fact;
mod model;
mod names;
mod provider;
mod read;
mod statement;
mod statement_record;
mod store;
mod timeline;

pub use extract::{Extracted, ExtractedFact, FactExtractor};
pub use fact::Fact;
pub use model::ModelExtractor;
pub use statement::{Cardinality, Statement};
pub use store::{Facts, StatementOutcome};
