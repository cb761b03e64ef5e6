//! The address of a service, and the credentials for it.

use std::time::Duration;
use std::{env, fmt};

use context_http::{Client, ClientOptions, HttpError, Secret};

/// The variable of the address of OpenAI, or of a compatible service.
pub(crate) const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// The variable of the address of Anthropic.
pub(crate) const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The variable of the address of the Gemini API, as in Google's SDKs.
pub(crate) const GEMINI_BASE_URL: &str = "GOOGLE_GEMINI_BASE_URL";
/// The address of OpenAI.
const OPENAI: &str = "https://api.openai.com/v1";
/// The address of Anthropic.
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
/// The version of Anthropic's API that the codec supports.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// The address of the Gemini API.
const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta";
/// The versions of the Gemini API that an address may end in.
const GEMINI_VERSIONS: [&str; 3] = ["/v1beta", "/v1alpha", "/v1"];

/// A service: its address with everything in front of `chat/completions` and similar paths, a key
/// if it wants one, and its [client options](ClientOptions). `Debug` shows no key.
///
/// The options are a client's defaults except for the timeouts, because models think long: ten
/// minutes for the beginning of an answer, five for each further chunk, half an hour in total.
///
/// ```
/// use std::time::Duration;
///
/// use context_model_http::{Endpoint, Retries};
///
/// let endpoint = Endpoint::at("https://openrouter.ai/api/v1")
///     .key("sk-or-demo-123456")
///     .with(|options| options.retries(Retries::none()).total_timeout(Duration::from_secs(90)));
/// assert!(!format!("{endpoint:?}").contains("demo"));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Endpoint {
    address: String,
    key: Option<Key>,
    options: ClientOptions,
}

/// A key and the way it is sent.
#[derive(Clone)]
enum Key {
    /// Sent as the wire form defines.
    Own(Secret),
    /// Sent as `authorization: Bearer`, whatever the wire form.
    Bearer(Secret),
}

/// The header in which a wire form sends a key by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    OpenAi,
    Anthropic,
    Gemini,
}

/// An error of creating a model or an embedder.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A required environment variable is not set.
    #[error("{variable} is not set")]
    MissingVariable {
        /// The name of the variable.
        variable: &'static str,
    },
    /// The environment names no service for a model.
    #[error(
        "{variable} is not set, and the model {model} needs it: set it, or {base_url} for a service without a key{}",
        gateway_advice(base_url)
    )]
    MissingKey {
        /// The name of the model.
        model: String,
        /// The variable of the key.
        variable: &'static str,
        /// The variable of the address.
        base_url: &'static str,
    },
    /// A name is empty.
    #[error("the name of the {kind} is empty: give the name that the service uses")]
    EmptyName {
        /// `model` or `embedder`.
        kind: &'static str,
    },
    /// The address ends in the path that is appended to it.
    #[error(
        "the address ends in `{path}`, which the client appends: leave it out, as in `https://api.openai.com/v1`"
    )]
    FullPath {
        /// The path to leave out.
        path: &'static str,
    },
    /// The endpoint is not valid.
    #[error(transparent)]
    Http(#[from] HttpError),
}

context_core::readable_debug!(SetupError);

/// Returns the advice for a model of another provider than OpenAI, which a compatible gateway may
/// serve under the same name.
fn gateway_advice(base_url: &str) -> &'static str {
    match base_url {
        OPENAI_BASE_URL => "",
        _ => {
            "; for an OpenAI-compatible gateway, use `HttpModel::chat` and `Endpoint::openai_from_env`"
        }
    }
}

impl Endpoint {
    /// Creates an endpoint at this address, such as `http://localhost:11434/v1`, without a key.
    pub fn at(address: impl Into<String>) -> Self {
        let seconds = Duration::from_secs;
        let options = ClientOptions::default()
            .head_timeout(seconds(600))
            .idle_timeout(seconds(300))
            .total_timeout(seconds(1_800));
        Self { address: address.into(), key: None, options }
    }

    /// Creates an endpoint for OpenAI.
    pub fn openai(key: impl Into<Secret>) -> Self {
        Self::at(OPENAI).key(key)
    }

    /// Creates an endpoint for Anthropic.
    pub fn anthropic(key: impl Into<Secret>) -> Self {
        Self::at(ANTHROPIC).key(key)
    }

    /// Creates an endpoint for the Gemini API.
    pub fn gemini(key: impl Into<Secret>) -> Self {
        Self::at(GEMINI).key(key)
    }

    /// Creates an endpoint for OpenAI, or for the service that the environment names instead:
    /// `OPENAI_API_KEY`, which only OpenAI itself needs, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`,
    /// `OPENAI_PROJECT_ID`.
    pub fn openai_from_env() -> Result<Self, SetupError> {
        Self::openai_from(|variable| env::var(variable).ok())
    }

    /// Creates the endpoint of [`openai_from_env`](Self::openai_from_env) from variables that
    /// `variables` looks up.
    pub fn openai_from(variables: impl Fn(&str) -> Option<String>) -> Result<Self, SetupError> {
        let get =
            |name: &str| variables(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let (address, key) = (get(OPENAI_BASE_URL), get("OPENAI_API_KEY"));
        if address.is_none() && key.is_none() {
            return Err(SetupError::MissingVariable { variable: "OPENAI_API_KEY" });
        }
        let mut endpoint = Self::at(address.unwrap_or_else(|| OPENAI.to_owned()));
        endpoint.key = key.map(|key| Key::Own(key.into()));
        for (variable, header) in
            [("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")]
        {
            if let Some(value) = get(variable) {
                endpoint = endpoint.header(header, value);
            }
        }
        Ok(endpoint)
    }

    /// Creates an endpoint for Anthropic, or for the service that the environment names instead:
    /// `ANTHROPIC_API_KEY` or else `ANTHROPIC_AUTH_TOKEN`, and `ANTHROPIC_BASE_URL`, which by
    /// convention ends before `/v1`.
    pub fn anthropic_from_env() -> Result<Self, SetupError> {
        Self::anthropic_from(|variable| env::var(variable).ok())
    }

    /// Creates the endpoint of [`anthropic_from_env`](Self::anthropic_from_env) from variables that
    /// `variables` looks up.
    pub fn anthropic_from(variables: impl Fn(&str) -> Option<String>) -> Result<Self, SetupError> {
        let get =
            |name: &str| variables(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let address = get(ANTHROPIC_BASE_URL).map(|address| {
            let address = address.trim_end_matches('/');
            if address.ends_with("/v1") || full_path(address).is_some() {
                address.to_owned()
            } else {
                format!("{address}/v1")
            }
        });
        let key = get("ANTHROPIC_API_KEY").map(|key| Key::Own(key.into()));
        let key =
            key.or_else(|| get("ANTHROPIC_AUTH_TOKEN").map(|token| Key::Bearer(token.into())));
        if address.is_none() && key.is_none() {
            return Err(SetupError::MissingVariable { variable: "ANTHROPIC_API_KEY" });
        }
        let mut endpoint = Self::at(address.unwrap_or_else(|| ANTHROPIC.to_owned()));
        endpoint.key = key;
        Ok(endpoint)
    }

    /// Creates an endpoint for the Gemini API, or for the service that the environment names
    /// instead: `GOOGLE_API_KEY` or else `GEMINI_API_KEY`, in the order of Google's SDKs, and
    /// `GOOGLE_GEMINI_BASE_URL`, which by convention ends before `/v1beta`.
    pub fn gemini_from_env() -> Result<Self, SetupError> {
        Self::gemini_from(|variable| env::var(variable).ok())
    }

    /// Creates the endpoint of [`gemini_from_env`](Self::gemini_from_env) from variables that
    /// `variables` looks up.
    pub fn gemini_from(variables: impl Fn(&str) -> Option<String>) -> Result<Self, SetupError> {
        let get =
            |name: &str| variables(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let address = get(GEMINI_BASE_URL).map(|address| {
            let address = address.trim_end_matches('/');
            let has_version = GEMINI_VERSIONS.iter().any(|version| address.ends_with(version));
            if has_version || full_path(address).is_some() {
                address.to_owned()
            } else {
                format!("{address}/v1beta")
            }
        });
        let key = get("GOOGLE_API_KEY").or_else(|| get("GEMINI_API_KEY"));
        if address.is_none() && key.is_none() {
            return Err(SetupError::MissingVariable { variable: "GEMINI_API_KEY" });
        }
        let mut endpoint = Self::at(address.unwrap_or_else(|| GEMINI.to_owned()));
        endpoint.key = key.map(|key| Key::Own(key.into()));
        Ok(endpoint)
    }

    /// Sets the key, sent in the way of the wire form: `authorization: Bearer` to OpenAI and
    /// compatible services, `x-api-key` to Anthropic, `x-goog-api-key` to the Gemini API.
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(Key::Own(key.into()));
        self
    }

    /// Sets the key, sent as `authorization: Bearer` whatever the wire form, as gateways want it.
    pub fn bearer(mut self, token: impl Into<Secret>) -> Self {
        self.key = Some(Key::Bearer(token.into()));
        self
    }

    /// Adds a header, such as `openai-organization` or `anthropic-beta`.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options = self.options.header(name, value);
        self
    }

    /// Adds a header whose value is never shown.
    pub fn secret_header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.options = self.options.secret_header(name, value);
        self
    }

    /// Changes the client options: timeouts, retries, limits, proxy.
    pub fn with(mut self, change: impl FnOnce(ClientOptions) -> ClientOptions) -> Self {
        self.options = change(self.options);
        self
    }

    /// Creates a client for a model or an embedder of this name.
    pub(crate) fn client(
        self,
        key_header: KeyHeader,
        (kind, name): (&'static str, &str),
    ) -> Result<Client, SetupError> {
        if name.trim().is_empty() {
            return Err(SetupError::EmptyName { kind });
        }
        if let Some(path) = full_path(&self.address) {
            return Err(SetupError::FullPath { path });
        }
        let mut options = self.options;
        options = match (self.key, key_header) {
            (Some(Key::Own(key)), _) | (Some(Key::Bearer(key)), _) if key.is_empty() => options,
            (Some(Key::Own(key)), KeyHeader::Anthropic) => options.secret_header("x-api-key", key),
            (Some(Key::Own(key)), KeyHeader::Gemini) => {
                options.secret_header("x-goog-api-key", key)
            }
            (Some(Key::Own(key) | Key::Bearer(key)), _) => options.bearer(key),
            (None, _) => options,
        };
        if key_header == KeyHeader::Anthropic {
            options = options.header("anthropic-version", ANTHROPIC_VERSION);
        }
        Ok(Client::new(&self.address, options)?)
    }
}

/// Paths of services. An address that ends in one was probably copied as a whole.
const PATHS: [&str; 5] =
    ["chat/completions", "completions", "responses", "v1/messages", "embeddings"];

/// Returns the path that an address ends in.
fn full_path(address: &str) -> Option<&'static str> {
    let address = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let ends = |path: &str| {
        address
            .strip_suffix(path)
            .is_some_and(|before| before.ends_with('/') && !before.ends_with("//"))
    };
    let action = address.rsplit_once(':').map(|(_, action)| action);
    if matches!(action, Some("generateContent" | "streamGenerateContent")) {
        return Some("models/NAME:generateContent");
    }
    PATHS.into_iter().find(|path| ends(path))
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query may be a key, and so may the part before an `@`.
        let shown = self.address.split(['?', '#']).next().unwrap_or_default();
        let shown = match shown.rsplit_once('@') {
            Some((_, host)) => format!("…@{host}"),
            None => shown.to_owned(),
        };
        f.debug_struct("Endpoint")
            .field("address", &shown)
            .field("has_key", &self.key.is_some())
            .field("options", &self.options)
            .finish()
    }
}
