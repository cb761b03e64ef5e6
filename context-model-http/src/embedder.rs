//! Embedders.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use async_trait::async_trait;
use context_core::model::{EmbedAs, Embedder, ModelErrorCode};
use context_core::{CancelSignal, ModelError};
use context_http::{Client, Request};
use serde::Serialize;

use crate::endpoint::KeyHeader;
use crate::vectors::{self, VectorsError};
use crate::{Endpoint, SetupError, fault};

/// The provider in errors.
const PROVIDER: &str = "openai";

/// The encoding of vectors on the wire. A server that supports only one encoding sends that one,
/// and it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VectorForm {
    /// No encoding is requested; servers usually send lists of numbers.
    #[default]
    Unsaid,
    /// Lists of numbers.
    Float,
    /// The bytes of little-endian 32-bit numbers in Base64: a third of the size, and exact.
    Base64,
}

/// An embedder at an [`Endpoint`] that is OpenAI's or compatible. Texts are sent in batches, one
/// after another. The reply is checked: as many vectors as texts, in their order, of one length, of
/// finite numbers. `Debug` shows no key.
///
/// ```
/// use context_core::model::Embedder;
/// use context_model_http::{Endpoint, HttpEmbedder};
///
/// let embedder = HttpEmbedder::new("nomic-embed-text", Endpoint::at("http://localhost:11434/v1"))?
///     .prefixes("search_query: ", "search_document: ");
/// assert_eq!(embedder.name(), "nomic-embed-text");
/// # Ok::<_, context_model_http::SetupError>(())
/// ```
#[must_use]
pub struct HttpEmbedder {
    client: Client,
    model: String,
    name: String,
    dimensions: Option<usize>,
    form: VectorForm,
    most_texts: usize,
    most_bytes: usize,
    prefixes: (String, String),
    /// The length of the first vectors received; all others must have it too.
    length: OnceLock<usize>,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'static str>,
}

impl HttpEmbedder {
    /// Creates an embedder for the model of this name.
    pub fn new(model: impl Into<String>, endpoint: Endpoint) -> Result<Self, SetupError> {
        let model = model.into();
        Ok(Self {
            client: endpoint.client(KeyHeader::OpenAi, ("embedder", &model))?,
            name: model.clone(),
            model,
            dimensions: None,
            form: VectorForm::default(),
            most_texts: 128,
            most_bytes: 256 << 10,
            prefixes: Default::default(),
            length: OnceLock::new(),
        })
    }

    /// Asks for vectors of this length, if the model supports shorter ones. The
    /// [name](Embedder::name) states the length, because vectors of different lengths are not
    /// compared.
    pub fn dimensions(mut self, length: usize) -> Self {
        self.dimensions = Some(length);
        self.name = format!("{}@{length}", self.model);
        self
    }

    /// Sets the embedder's name, which is stored with every vector. Default: the model's name, with
    /// the dimensions if some are asked for.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the requested encoding.
    pub fn form(mut self, form: VectorForm) -> Self {
        self.form = form;
        self
    }

    /// Limits a batch to this many texts and bytes, with at least one text. Default: 128 texts, 256
    /// KiB.
    pub fn batches(mut self, texts: usize, bytes: usize) -> Self {
        (self.most_texts, self.most_bytes) = (texts.max(1), bytes);
        self
    }

    /// Sets the prefixes of queries and of passages, for models that were trained with prefixes.
    pub fn prefixes(mut self, query: impl Into<String>, passage: impl Into<String>) -> Self {
        self.prefixes = (query.into(), passage.into());
        self
    }

    fn prefix(&self, embed_as: EmbedAs) -> &str {
        match embed_as {
            EmbedAs::Query => &self.prefixes.0,
            EmbedAs::Passage => &self.prefixes.1,
            _ => "",
        }
    }

    /// Returns the range of texts of each batch.
    fn batches_of(&self, texts: &[String]) -> Vec<Range<usize>> {
        let mut batches = Vec::new();
        let (mut start, mut bytes) = (0, 0_usize);
        for (at, text) in texts.iter().enumerate() {
            let is_full =
                at - start >= self.most_texts || bytes.saturating_add(text.len()) > self.most_bytes;
            if at > start && is_full {
                batches.push(start..at);
                (start, bytes) = (at, 0);
            }
            bytes = bytes.saturating_add(text.len());
        }
        if start < texts.len() {
            batches.push(start..texts.len());
        }
        batches
    }

    async fn batch(
        &self,
        texts: &[String],
        cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let encoding_format = match self.form {
            VectorForm::Unsaid => None,
            VectorForm::Float => Some("float"),
            VectorForm::Base64 => Some("base64"),
        };
        let body =
            Body { model: &self.model, input: texts, dimensions: self.dimensions, encoding_format };
        let fault = |error| {
            fault::of(&error, &self.client, PROVIDER, |status, body| {
                context_codec_kit::classify(PROVIDER, status, body)
            })
        };
        let request = Request::post("embeddings").json(&body).map_err(fault)?.repeatable(true);
        let reply = self.client.send(&request, cancel).await.map_err(fault)?;
        let read =
            vectors::read(&reply.body, texts.len()).and_then(|vectors| self.same_length(vectors));
        read.map_err(|error| {
            // A service may report a failure with a status of success.
            let text = reply.text();
            let mut error = match error {
                VectorsError::Error => {
                    context_codec_kit::classify(PROVIDER, Some(reply.status), &text)
                }
                error => ModelError::new(PROVIDER, ModelErrorCode::Unknown, error.to_string()),
            };
            fault::redact(&mut error, &self.client);
            error
        })
    }

    /// Returns the vectors, if they have the length of all vectors of this embedder.
    fn same_length(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, VectorsError> {
        for vector in &vectors {
            let found = vector.len();
            let expected = match self.dimensions {
                Some(length) => length,
                None => *self.length.get_or_init(|| found),
            };
            if found != expected {
                return Err(VectorsError::Length { expected, found });
            }
        }
        Ok(vectors)
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    /// Sends one batch after another. An error of one batch is the error of the whole call.
    async fn embed(
        &self,
        texts: &[String],
        embed_as: EmbedAs,
        cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let prefix = self.prefix(embed_as);
        let prefixed: Vec<String>;
        let texts = match prefix {
            "" => texts,
            prefix => {
                prefixed = texts.iter().map(|text| format!("{prefix}{text}")).collect();
                &prefixed
            }
        };
        let mut all = Vec::with_capacity(texts.len());
        for batch in self.batches_of(texts) {
            all.extend(self.batch(&texts[batch], cancel).await?);
        }
        Ok(all)
    }
}

impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEmbedder")
            .field("name", &self.name)
            .field("dimensions", &self.dimensions)
            .field("form", &self.form)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
