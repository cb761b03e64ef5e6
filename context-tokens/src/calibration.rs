//! Factors learned from what providers report.

use std::collections::BTreeMap;

use context_core::model::{TokenCount, Usage};
use serde::{Deserialize, Serialize};

/// How much a new report counts once there are several.
const WEIGHT: f64 = 0.2;
/// How far a factor goes from one.
const LIMIT: f64 = 0.5;

/// How far the estimates for one model are off, learned from reported usage.
///
/// After each answer, [`observe`](Self::observe) takes the estimate of the request and the usage
/// that was reported. The factor is a moving average of their ratios, never further from one than a
/// half; the interval narrows with the number of reports and the spread seen in them. It belongs to
/// the model, not to a history: compaction does not change it. It has a JSON form, to be stored.
///
/// Counts that are exact stay as they are.
///
/// ```
/// use context_core::model::{TokenCount, Usage};
/// use context_tokens::Calibration;
///
/// let mut calibration = Calibration::default();
/// let mut usage = Usage::default();
/// usage.input = 1_200;
/// for _ in 0..20 {
///     calibration.observe(TokenCount::estimate(1_000, 700, 1_600), &usage);
/// }
/// let count = calibration.apply(TokenCount::estimate(10_000, 7_000, 16_000));
/// assert_eq!(count.tokens(), 12_000);
/// assert!(count.low() > 11_000 && count.high() < 13_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Calibration {
    factor: f64,
    spread: f64,
    reports: u32,
}

/// The stored form, before it is checked.
#[derive(Deserialize)]
struct Stored {
    factor: f64,
    spread: f64,
    reports: u32,
}

impl From<Stored> for Calibration {
    fn from(stored: Stored) -> Self {
        let Stored { factor, spread, reports } = stored;
        if !factor.is_finite() || !spread.is_finite() || reports == 0 {
            return Self::default();
        }
        Self {
            factor: factor.clamp(1.0 - LIMIT, 1.0 + LIMIT),
            spread: spread.clamp(0.0, LIMIT),
            reports,
        }
    }
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0, spread: 0.0, reports: 0 }
    }
}

impl Calibration {
    /// Takes note of a report: the estimate as it was before any calibration, and what the provider
    /// said. A report of no input, or about a request estimated at nothing, says nothing.
    pub fn observe(&mut self, estimate: TokenCount, usage: &Usage) {
        let (estimated, real) = (estimate.tokens(), usage.total_input());
        if estimated == 0 || real == 0 {
            return;
        }
        let ratio = (real as f64 / estimated as f64).clamp(1.0 - LIMIT, 1.0 + LIMIT);
        let weight = WEIGHT.max(1.0 / (f64::from(self.reports) + 1.0));
        let off = (ratio - self.factor).abs();
        self.factor += weight * (ratio - self.factor);
        if self.reports > 0 {
            self.spread += WEIGHT * (off - self.spread);
        }
        self.reports = self.reports.saturating_add(1);
    }

    /// By how much an estimate is multiplied: from 0.5 to 1.5.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// How many reports there were.
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// How far the factor may be off: three times what was usual lately, and more while there are
    /// few reports.
    fn margin(&self) -> f64 {
        (3.0 * self.spread + 0.5 / (f64::from(self.reports) + 1.0)).clamp(0.02, LIMIT)
    }

    /// Corrects the count of a whole request or of a large part of one: the number and the
    /// interval.
    #[must_use]
    pub fn apply(&self, count: TokenCount) -> TokenCount {
        if self.reports == 0 || count.is_exact() {
            return count;
        }
        let (number, margin) = (count.tokens() as f64, self.margin());
        let at = |factor: f64| number * factor;
        TokenCount::estimate(
            at(self.factor).round() as u64,
            at(self.factor - margin).max(0.0).floor() as u64,
            at(self.factor + margin).ceil() as u64,
        )
    }

    /// Corrects the count of something small: a single text may be further off than all together,
    /// so the interval moves along and stays as wide as it is.
    #[must_use]
    pub fn scale(&self, count: TokenCount) -> TokenCount {
        if self.reports == 0 || count.is_exact() {
            return count;
        }
        let at = |tokens: u64| tokens as f64 * self.factor;
        TokenCount::estimate(
            at(count.tokens()).round() as u64,
            at(count.low()).floor() as u64,
            at(count.high()).ceil() as u64,
        )
    }
}

/// A calibration for each model.
///
/// ```
/// use context_core::model::{TokenCount, Usage};
/// use context_tokens::Calibrations;
///
/// let mut calibrations = Calibrations::default();
/// let mut usage = Usage::default();
/// usage.input = 900;
/// calibrations.observe("claude-sonnet-4-5", TokenCount::estimate(1_000, 700, 1_600), &usage);
/// assert_eq!(calibrations.get("claude-sonnet-4-5").factor(), 0.9);
/// assert_eq!(calibrations.get("gemini-2.5-pro").factor(), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibrations(BTreeMap<String, Calibration>);

impl Calibrations {
    /// Takes note of a report about a model.
    pub fn observe(&mut self, model: &str, estimate: TokenCount, usage: &Usage) {
        match self.0.get_mut(model) {
            Some(calibration) => calibration.observe(estimate, usage),
            None => self.0.entry(model.to_owned()).or_default().observe(estimate, usage),
        }
    }

    /// What was learned about a model; of one without reports, nothing.
    pub fn get(&self, model: &str) -> Calibration {
        self.0.get(model).copied().unwrap_or_default()
    }

    /// The models there were reports of.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Calibration)> {
        self.0.iter().map(|(model, calibration)| (model.as_str(), calibration))
    }
}
