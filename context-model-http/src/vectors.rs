//! Parsing of a service's vectors.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Why a reply does not hold the requested vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VectorsError {
    /// The reply is an error.
    #[error("the service reports an error")]
    Error,
    /// The reply cannot be read.
    #[error("the reply is not a list of vectors")]
    Unreadable,
    /// The number of vectors is not the number of texts.
    #[error("there are {found} vectors for {expected} texts")]
    Count { expected: usize, found: usize },
    /// Two vectors are for the same text, or one is for no text.
    #[error("no text has the index {index}, or two vectors have")]
    Index { index: usize },
    /// A vector has another length.
    #[error("a vector has {found} numbers where others have {expected}")]
    Length { expected: usize, found: usize },
    /// A vector is empty.
    #[error("the vector at index {index} is empty")]
    Empty { index: usize },
    /// A number is not finite.
    #[error("the vector at index {index} has a number that is not finite")]
    NotFinite { index: usize },
}

#[derive(Deserialize)]
struct EmbeddingsReply<'a> {
    data: Option<Vec<Item>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vector,
}

/// A vector in either encoding.
struct Vector(Vec<f32>);

/// Reads the vectors of `expected` texts, in the order of the texts.
pub(crate) fn read(body: &[u8], expected: usize) -> Result<Vec<Vec<f32>>, VectorsError> {
    let reply: EmbeddingsReply<'_> =
        serde_json::from_slice(body).map_err(|_| VectorsError::Unreadable)?;
    let Some(items) = reply.data else {
        return Err(if reply.error.is_some() {
            VectorsError::Error
        } else {
            VectorsError::Unreadable
        });
    };
    if items.len() != expected {
        return Err(VectorsError::Count { expected, found: items.len() });
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; expected];
    for (at, item) in items.into_iter().enumerate() {
        let index = item.index.unwrap_or(at);
        let Vector(vector) = item.embedding;
        if vector.is_empty() {
            return Err(VectorsError::Empty { index });
        }
        if vector.iter().any(|number| !number.is_finite()) {
            return Err(VectorsError::NotFinite { index });
        }
        let slot = vectors
            .get_mut(index)
            .filter(|slot| slot.is_none())
            .ok_or(VectorsError::Index { index })?;
        *slot = Some(vector);
    }
    Ok(vectors.into_iter().flatten().collect())
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VectorVisitor;

        impl<'de> Visitor<'de> for VectorVisitor {
            type Value = Vector;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers, or bytes in Base64")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vector, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(Vector(numbers))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vector, E> {
                let error = || E::custom("not numbers in Base64");
                let bytes = STANDARD.decode(text).map_err(|_| error())?;
                let (numbers, rest) = bytes.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(error());
                }
                Ok(Vector(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
            }
        }

        deserializer.deserialize_any(VectorVisitor)
    }
}
