//! Facts: who has what to whom, from when until when, and who said so.
//!
//! A [`Statement`] says that a subject has a relation to an object: *Ada works at Initech*. It is
//! one record of the store, with the message it comes from, and it is never changed. What follows
//! from all statements of a subject and a relation is a [`Fact`], worked out whenever it is read:
//!
//! * Statements of one object that follow each other are one fact, with all their sources: saying
//!   something again adds a source.
//! * Of a relation that holds [one](Holds::One) value, a later value ends the earlier one, which
//!   stays in the history with [what came after it](Fact::superseded_by). A relation that holds
//!   [many](Holds::Many) keeps them beside each other.
//! * When something was true ([`from`](Fact::from), [`until`](Fact::until)) and when it was learned
//!   ([`recorded_at`](Fact::recorded_at)) are kept apart: what is learned late finds its place in
//!   time.
//!
//! Since nothing that is derived is stored, the order in which statements arrive makes no
//! difference, two writers cannot be in each other's way, and what is forgotten leaves nothing
//! behind: if the message is forgotten that said where Ada went, it is not said any more that she
//! left. A statement of a narrower scope supersedes one of a wider scope for those alone who see
//! both.
//!
//! Statements come from the program ([`Facts::state`]) or, if there is a [`FactExtractor`], from
//! captured messages; without one nothing is captured. Names are compared folded, as search folds
//! words; there is no dictionary, so `Bob` and `Robert` are two. Of one subject and relation the
//! 1,000 newest statements are read.

mod ask;
mod capture;
mod day;
mod extract;
mod fact;
mod kept;
mod model;
mod names;
mod notes;
mod provider;
mod read;
mod statement;
mod timeline;

pub use extract::{Extracted, ExtractedFact, FactExtractor};
pub use fact::Fact;
pub use model::ModelExtractor;
pub use notes::{Facts, Stated};
pub use statement::{Holds, Statement};
