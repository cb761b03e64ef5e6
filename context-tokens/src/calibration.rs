//! Correction factors learned from the usage that providers report.

use std::collections::BTreeMap;

use context_core::model::{TokenCount, Usage};
use serde::{Deserialize, Serialize};

/// The weight of a new report once there are several.
const WEIGHT: f64 = 0.2;
/// The largest distance of a factor from one.
const LIMIT: f64 = 0.5;

/// A model's correction factor for estimates, learned from reported usage.
///
/// After each answer, [`observe`](Self::observe) takes the estimate of the request and the reported
/// usage. The factor is a moving average of their ratios, at most one half away from one. The
/// interval narrows with the number of reports and widens with their spread. A calibration belongs
/// to the model, not to a history: compaction does not change it. It has a JSON form for storage.
///
/// Exact counts are not changed.
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
#[serde(from = "CalibrationForm")]
pub struct Calibration {
    factor: f64,
    spread: f64,
    reports: u32,
}

/// The stored form, before validation.
#[derive(Deserialize)]
struct CalibrationForm {
    factor: f64,
    spread: f64,
    reports: u32,
}

impl From<CalibrationForm> for Calibration {
    fn from(form: CalibrationForm) -> Self {
        let CalibrationForm { factor, spread, reports } = form;
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
    /// Records a report: the estimate before any calibration, and the reported usage. A report of
    /// no input, or about a request with an estimate of zero, is ignored.
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

    /// Returns the factor by which estimates are multiplied: from 0.5 to 1.5.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Returns the number of reports.
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// Returns how far the factor may be off: three times the recent spread, and more while there
    /// are few reports.
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

    /// Corrects the count of a small item. A single text may be further off than a whole request,
    /// so the interval is scaled with the count and does not narrow.
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

/// The calibrations of several models, by name.
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
    /// Records a report about a model.
    pub fn observe(&mut self, model: &str, estimate: TokenCount, usage: &Usage) {
        match self.0.get_mut(model) {
            Some(calibration) => calibration.observe(estimate, usage),
            None => self.0.entry(model.to_owned()).or_default().observe(estimate, usage),
        }
    }

    /// Returns the calibration of a model; the default one if there are no reports.
    pub fn get(&self, model: &str) -> Calibration {
        self.0.get(model).copied().unwrap_or_default()
    }

    /// Returns the models with reports, and their calibrations.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Calibration)> {
        self.0.iter().map(|(model, calibration)| (model.as_str(), calibration))
    }
}
