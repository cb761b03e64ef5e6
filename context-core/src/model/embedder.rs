//! The seam of embedders: texts as points, near each other if they mean something alike.

use std::fmt;

use async_trait::async_trait;

use crate::CancelSignal;
use crate::ModelError;

/// What a text is embedded for. Some models place a question and its answer near each other only if
/// they are told which is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbedAs {
    /// It is looked for.
    Query,
    /// It is kept, and may be found.
    Passage,
}

/// Turns texts into vectors.
///
/// Implementors: give as many vectors as there are texts, in their order, all of one length, of
/// finite numbers, the same each time; end soon after the signal is raised. Vectors of two
/// embedders that share a [`name`](Self::name) are compared with each other, so a name stands for
/// one model at one length.
///
/// ```
/// use async_trait::async_trait;
/// use context_core::{CancelSignal, ModelError};
/// use context_core::model::{EmbedAs, Embedder};
///
/// /// How often each vowel is in a text; a model would do better.
/// #[derive(Debug)]
/// struct Vowels;
///
/// #[async_trait]
/// impl Embedder for Vowels {
///     fn name(&self) -> &str {
///         "vowels-5"
///     }
///
///     async fn embed(
///         &self,
///         texts: &[String],
///         _: EmbedAs,
///         _: &CancelSignal,
///     ) -> Result<Vec<Vec<f32>>, ModelError> {
///         let count = |text: &String, vowel| text.chars().filter(|c| *c == vowel).count() as f32;
///         Ok(texts.iter().map(|text| "aeiou".chars().map(|vowel| count(text, vowel)).collect()).collect())
///     }
/// }
/// # assert_eq!(Vowels.name(), "vowels-5");
/// ```
#[async_trait]
pub trait Embedder: fmt::Debug + Send + Sync + 'static {
    /// The model's name, kept beside every vector.
    fn name(&self) -> &str;

    /// The vectors of these texts.
    async fn embed(
        &self,
        texts: &[String],
        embed_as: EmbedAs,
        cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError>;
}
