//! Counting for a call: the model's counter, its window, and the learned calibration.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::CacheState;
use context_core::model::{Budget, TokenCounter};
use context_core::runtime::PrepareInput;
use context_core::{Diagnostic, Error, Result};
use context_tokens::{
    CacheRules, CachedCounter, Calibrated, Calibration, Calibrations, Modalities, WindowSource,
};

use super::parts::{PREPARE, Parts};
use super::readable::ReadableCounter;
use super::session::lock;

/// The window that is assumed for a model with an unknown window. Nearly all models have at least
/// this.
const ASSUMED_WINDOW: u64 = 32_768;
/// The maximum number of models with cached data.
const MODELS: usize = 64;
/// The smallest output limit that is accepted from a refusal. A refusal that names fewer tokens may
/// mean something else, so it does not affect later calls.
const LEAST_CAP: u64 = 1_024;

/// Counters by model, each of which counts a message once, and what was learned about counters and
/// models.
#[derive(Debug)]
pub(super) struct Counters {
    known: Mutex<HashMap<String, KnownModel>>,
    calibrations: Mutex<Calibrations>,
    /// The maximum output of models, as their refusals reported it.
    output: Mutex<HashMap<String, u64>>,
    /// The models whose assumed window was reported.
    assumed: Mutex<HashSet<String>>,
}

/// The counter of a model, and its modalities and the rules of its provider's prompt cache, if they
/// are known.
#[derive(Clone, Debug)]
struct KnownModel {
    counter: Arc<dyn TokenCounter>,
    modalities: Option<Arc<Modalities>>,
    cache_rules: Option<Arc<CacheRules>>,
    cache_read: f64,
}

/// The counter and related data of one call.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    pub(super) model: String,
    /// The counter before calibration.
    pub(super) counter: Arc<dyn TokenCounter>,
    /// The modalities of the model, if they are known.
    pub(super) modalities: Option<Arc<Modalities>>,
    /// The rules of the provider's prompt cache, if they are known.
    pub(super) cache_rules: Option<Arc<CacheRules>>,
    /// The price of a token read from the cache, relative to other input.
    pub(super) cache_read: f64,
    pub(super) calibration: Calibration,
    /// The maximum output of the model, if a refusal reported it.
    pub(super) output_cap: Option<u64>,
}

impl Counting {
    /// Returns the calibrated counter.
    pub(super) fn calibrated(&self) -> Calibrated {
        Calibrated::new(Arc::clone(&self.counter), self.calibration)
    }

    /// Returns the minimum length of a cached prefix in tokens, or 0 if it is not known.
    pub(super) fn minimum(&self) -> u64 {
        self.cache_rules.as_ref().map_or(0, |rules| rules.minimum)
    }
}

impl KnownModel {
    fn new(parts: &Parts, model: &str) -> Self {
        let model = parts.models.model(model);
        let modalities = model.modalities().map(Arc::new);
        let plain =
            parts.counter.as_ref().map_or_else(|| Arc::new(model.counter()) as _, Arc::clone);
        let sent: Arc<dyn TokenCounter> = match &modalities {
            Some(known) => Arc::new(ReadableCounter::new(plain, Arc::clone(known))),
            None => plain,
        };
        let cache_rules = model.cache_rules().map(Arc::new);
        let cache_read = model.cache_read_share().unwrap_or(CacheState::default().read);
        let counter = Arc::new(CachedCounter::new(sent));
        Self { counter, modalities, cache_rules, cache_read }
    }
}

impl Counters {
    pub(super) fn new(calibrations: Calibrations) -> Self {
        Self {
            known: Mutex::default(),
            calibrations: Mutex::new(calibrations),
            output: Mutex::default(),
            assumed: Mutex::default(),
        }
    }

    /// Returns the counter and related data of a model, or of the builder's model if none is named.
    pub(super) fn of(&self, parts: &Parts, model: Option<&str>) -> Counting {
        let model =
            model.filter(|model| !model.is_empty()).or(parts.model.as_deref()).unwrap_or_default();
        let calibration = lock(&self.calibrations).get(model);
        let output_cap = lock(&self.output).get(model).copied();
        let mut known = lock(&self.known);
        if known.len() >= MODELS && !known.contains_key(model) {
            known.clear();
        }
        let of_model =
            known.entry(model.to_owned()).or_insert_with(|| KnownModel::new(parts, model));
        let KnownModel { counter, modalities, cache_rules, cache_read } = of_model.clone();
        let model = model.to_owned();
        Counting { model, counter, modalities, cache_rules, cache_read, calibration, output_cap }
    }

    /// Returns the calibrations.
    pub(super) fn calibrations(&self) -> Calibrations {
        lock(&self.calibrations).clone()
    }

    /// Updates the calibration of a model from reported usage.
    pub(super) fn observe(
        &self,
        model: &str,
        estimate: context_core::model::TokenCount,
        usage: &context_core::model::Usage,
    ) {
        lock(&self.calibrations).observe(model, estimate, usage);
    }

    /// Returns whether the assumed window of a model has to be reported: once for each model.
    pub(super) fn reports_window(&self, model: &str) -> bool {
        let mut assumed = lock(&self.assumed);
        if assumed.len() >= MODELS {
            assumed.clear();
        }
        assumed.insert(model.to_owned())
    }

    /// Records that a model writes at most this many tokens.
    pub(super) fn cap_output(&self, model: &str, tokens: u64) {
        if tokens < LEAST_CAP {
            return;
        }
        let mut output = lock(&self.output);
        if output.len() >= MODELS && !output.contains_key(model) {
            output.clear();
        }
        let cap = output.entry(model.to_owned()).or_insert(tokens);
        *cap = tokens.min(*cap);
    }
}

/// Returns the budget of a call. The reserve is both kept free and requested as the maximum output.
/// An output limit that a refusal reported takes precedence even over the caller's value, since a
/// larger one would be refused again. Returns an error for a reserve that leaves no room.
pub(super) fn budget(
    parts: &Parts,
    input: &PrepareInput,
    counting: &Counting,
) -> Result<(Budget, Option<Diagnostic>)> {
    let name = &counting.model;
    let model = parts.models.model(name);
    let given = input.limits.window.or(parts.window);
    let window = given.or(model.window()).unwrap_or(ASSUMED_WINDOW);
    let reserve =
        input.request.max_output_tokens.or(parts.reserve).unwrap_or_else(|| model.reserve(window));
    let reserve = counting.output_cap.map_or(reserve, |cap| reserve.min(cap));
    let budget = model.budget(Some(window), Some(reserve)).map_err(|error| {
        Error::invalid(PREPARE, error.to_string())
            .with("model", name)
            .with("window", window)
            .with("reserve", reserve)
            .with_source(error)
    })?;
    let assumed = match (given, model.window_source()) {
        (Some(_), _) | (None, Some(WindowSource::Table)) => None,
        (None, Some(_)) => Some("the smallest known of its family"),
        (None, None) => Some("by default"),
    };
    let assumed = assumed.map(|basis| {
        let text =
            format!("the window of {name:?} is not known; {window} tokens are assumed, {basis}");
        Diagnostic::new(DiagnosticCode::UnknownWindow, Severity::Info, "model", text)
    });
    Ok((budget, assumed))
}

/// Returns the state of the provider's cache with its relative prices, from the prices of the
/// model. `write` is the price of a write for the chosen lifetime, if it is known.
pub(super) fn cache(
    parts: &Parts,
    counting: &Counting,
    messages: usize,
    write: Option<f64>,
) -> CacheState {
    let mut cache = CacheState::default();
    (cache.messages, cache.expected_calls) = (messages, parts.expected_calls);
    cache.read = counting.cache_read;
    let usual = || parts.models.model(&counting.model).cache_write_share(None);
    cache.write = write.or_else(usual).unwrap_or(cache.write);
    cache
}
