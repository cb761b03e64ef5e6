//! The choice of a model's wire form and service by its name and the environment.

use std::env;

use context_http::Retries;

use crate::endpoint::{ANTHROPIC_BASE_URL, GEMINI_BASE_URL, OPENAI_BASE_URL};
use crate::{Endpoint, HttpModel, SetupError};

impl HttpModel {
    /// Creates the model of this name at the service that the environment names.
    ///
    /// | name | wire form | endpoint |
    /// |---|---|---|
    /// | `claude-…` | [Messages](Self::messages) | [`Endpoint::anthropic_from_env`] |
    /// | `gemini-…` | [generateContent](Self::generate_content) | [`Endpoint::gemini_from_env`] |
    /// | any other | [Chat Completions](Self::chat) | [`Endpoint::openai_from_env`] |
    ///
    /// The name is sent as it is, and no prefix chooses the wire form: gateways have models such as
    /// `anthropic/claude-sonnet-4.5` and `openai/gpt-5`, which go over Chat Completions to
    /// `OPENAI_BASE_URL`. For another combination, call the constructor of the wire form.
    ///
    /// The model sends each request once, because a `ModelCall` of the facade retries by itself. A
    /// program that calls the model directly sets [`retries`](Self::retries).
    ///
    /// ```no_run
    /// use context_model_http::{HttpModel, Retries};
    ///
    /// let for_calls = HttpModel::from_env("gemini-2.5-flash")?;
    /// let for_scripts = HttpModel::from_env("gpt-5")?.retries(Retries::default());
    /// # Ok::<_, context_model_http::SetupError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`MissingKey`](SetupError::MissingKey) if the environment has neither a key nor
    /// an address for the model, and if the endpoint is not valid.
    pub fn from_env(name: &str) -> Result<Self, SetupError> {
        Self::from_variables(name, |variable| env::var(variable).ok())
    }

    /// Creates the model of [`from_env`](Self::from_env) from variables that `variables` looks up.
    ///
    /// # Errors
    ///
    /// The errors of [`from_env`](Self::from_env).
    pub fn from_variables(
        name: &str,
        variables: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SetupError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(SetupError::EmptyName { kind: "model" });
        }
        let lowercase = name.to_ascii_lowercase();
        let model = if lowercase.starts_with("claude-") {
            let endpoint = Endpoint::anthropic_from(variables);
            Self::messages(name, needed_by(name, ANTHROPIC_BASE_URL, endpoint)?)
        } else if lowercase.starts_with("gemini-") {
            let endpoint = Endpoint::gemini_from(variables);
            Self::generate_content(name, needed_by(name, GEMINI_BASE_URL, endpoint)?)
        } else {
            let endpoint = Endpoint::openai_from(variables);
            Self::chat(name, needed_by(name, OPENAI_BASE_URL, endpoint)?)
        };
        Ok(model?.retries(Retries::none()))
    }
}

/// Adds the model to the error of a missing variable.
fn needed_by(
    model: &str,
    base_url: &'static str,
    endpoint: Result<Endpoint, SetupError>,
) -> Result<Endpoint, SetupError> {
    endpoint.map_err(|error| match error {
        SetupError::MissingVariable { variable } => {
            SetupError::MissingKey { model: model.to_owned(), variable, base_url }
        }
        other => other,
    })
}
