//! The trait for embedding models, which map texts of similar meaning to similar vectors.

use std::fmt;

use async_trait::async_trait;

use crate::{CancelSignal, ModelError};

/// The purpose of an embedding. Some models place a question near its answer only if they are told
/// which of the two a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbedAs {
    /// The text is a query.
    Query,
    /// The text is a stored passage that may be found.
    Passage,
}

/// Computes embeddings of texts.
///
/// Contract with implementors: return one vector per text, in order. All vectors have one length
/// and finite components, and the same text always yields the same vector. End soon after the
/// signal is raised. Vectors of embedders with equal [`name`](Self::name)s are compared with each
/// other, so a name identifies one model at one length.
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
    /// Returns the model's name, which is stored with every vector.
    fn name(&self) -> &str;

    /// Returns the vectors of these texts.
    async fn embed(
        &self,
        texts: &[String],
        embed_as: EmbedAs,
        cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError>;
}
