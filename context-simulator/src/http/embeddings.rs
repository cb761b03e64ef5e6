//! Embeddings without a model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::replies::{HttpReply, invalid};

/// The maximum number of texts per request, as for OpenAI.
const MOST_TEXTS: usize = 2_048;

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    input: Input,
    dimensions: Option<usize>,
    encoding_format: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Many(Vec<String>),
}

/// Returns a vector of this length in which texts that share words are close to each other: every
/// word, in lowercase, adds to one component. The norm is one, unless the text has no words. The
/// vector is the same in every process.
///
/// ```
/// use context_simulator::http::hashed_vector;
///
/// let near = |a: &str, b: &str| -> f32 {
///     hashed_vector(a, 64).iter().zip(hashed_vector(b, 64)).map(|(a, b)| a * b).sum()
/// };
/// assert!(near("a train to Lisbon", "the train to Lisbon") > near("a train to Lisbon", "prices are in euro"));
/// ```
pub fn hashed_vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    if dimensions == 0 {
        return vector;
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let hash = hash(&word.to_lowercase());
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        // The remainder is below `dimensions`, which is a `usize`.
        let place = usize::try_from(hash % dimensions as u64).unwrap_or_default();
        vector[place] += sign;
    }
    let norm = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|number| *number /= norm);
    }
    vector
}

/// FNV-1a with a final mixing step: without it, the upper bits carry little information about short
/// words.
fn hash(word: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = word
        .bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// Returns the reply to a body.
pub(super) fn reply(body: &str, dimensions: usize) -> HttpReply {
    let Ok(body) = serde_json::from_str::<Body>(body) else {
        return invalid("'$.input' is invalid. Please check the API reference.");
    };
    let texts = match body.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS || texts.iter().any(String::is_empty) {
        return invalid("'$.input' is invalid. Please check the API reference.");
    }
    let Some(model) = body.model else { return invalid("you must provide a model parameter") };
    let dimensions = body.dimensions.unwrap_or(dimensions);
    let in_base64 = body.encoding_format.as_deref() == Some("base64");
    let embeddings = texts.iter().enumerate().map(|(index, text)| {
        let vector = hashed_vector(text, dimensions);
        let embedding = match in_base64 {
            true => STANDARD
                .encode(vector.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
                .into(),
            false => Value::from(vector),
        };
        json!({"object": "embedding", "index": index, "embedding": embedding})
    });
    let data: Vec<Value> = embeddings.collect();
    let tokens: usize = texts.iter().map(|text| text.len().div_ceil(4)).sum();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    HttpReply::Json(200, json!({"object": "list", "data": data, "model": model, "usage": usage}))
}
