//! Learning from reported usage.

use std::sync::Arc;

use context_core::model::{TokenCount, TokenCounter, Usage};
use context_core::{Message, ModelRequest};
use context_tokens::{Calibrated, Calibration, Calibrations, ModelCounter};
use proptest::prelude::*;

fn reported(input: u64, cache_read: u64, cache_write: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.cache_read, usage.cache_write) = (input, cache_read, cache_write);
    usage
}

fn guess(tokens: u64) -> TokenCount {
    TokenCount::estimate(tokens, tokens / 10 * 7, (tokens / 10).saturating_mul(16))
}

#[test]
fn cached_input_is_input() {
    let (mut apart, mut whole) = (Calibration::default(), Calibration::default());
    apart.observe(guess(1_000), &reported(100, 1_000, 100));
    whole.observe(guess(1_000), &reported(1_200, 0, 0));
    assert_eq!(apart, whole);
    assert!((apart.factor() - 1.2).abs() < 1e-9);
}

#[test]
fn a_factor_is_limited_to_a_half() {
    let mut calibration = Calibration::default();
    for _ in 0..100 {
        calibration.observe(guess(1_000), &reported(1_000_000, 0, 0));
    }
    assert_eq!(calibration.factor(), 1.5);
    for _ in 0..100 {
        calibration.observe(guess(1_000), &reported(1, 0, 0));
    }
    assert!((calibration.factor() - 0.5).abs() < 1e-6);
}

#[test]
fn nonsense_is_passed_over() {
    let mut calibration = Calibration::default();
    calibration.observe(guess(1_000), &reported(0, 0, 0));
    calibration.observe(TokenCount::ZERO, &reported(1_000, 0, 0));
    assert_eq!(calibration, Calibration::default());
    assert_eq!(calibration.apply(guess(500)), guess(500));
    let stored = r#"{"factor": 900.0, "spread": -3.0, "reports": 2}"#;
    let read: Calibration = serde_json::from_str(stored).unwrap();
    assert_eq!(read.factor(), 1.5);
}

#[test]
fn the_interval_narrows_with_agreement_and_widens_with_spread() {
    let width = |calibration: &Calibration| {
        let count = calibration.apply(guess(100_000));
        count.high() - count.low()
    };
    let mut calibration = Calibration::default();
    let mut before = u64::MAX;
    for _ in 0..12 {
        calibration.observe(guess(1_000), &reported(1_100, 0, 0));
        assert!(width(&calibration) <= before);
        before = width(&calibration);
    }
    let mut uneasy = calibration;
    for round in 0..12 {
        uneasy.observe(guess(1_000), &reported(if round % 2 == 0 { 800 } else { 1_400 }, 0, 0));
    }
    assert!(width(&uneasy) > 3 * before);
    // The observed values lie within the interval.
    let count = uneasy.apply(guess(1_000));
    assert!(count.low() <= 800 && 1_400 <= count.high(), "{count}");
}

#[test]
fn exact_counts_stay() {
    let mut calibration = Calibration::default();
    calibration.observe(guess(1_000), &reported(1_300, 0, 0));
    assert_eq!(calibration.apply(TokenCount::exact(70)), TokenCount::exact(70));
    let counter = Calibrated::new(Arc::new(ModelCounter::for_model("gpt-4o")), calibration);
    assert_eq!(counter.count("hello world"), TokenCount::exact(2));
}

#[test]
fn models_are_apart_and_stored() {
    let mut calibrations = Calibrations::default();
    calibrations.observe("a", guess(1_000), &reported(1_250, 0, 0));
    calibrations.observe("b", guess(1_000), &reported(750, 0, 0));
    let stored = serde_json::to_string(&calibrations).unwrap();
    let read: Calibrations = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, calibrations);
    assert_eq!(
        (read.get("a").factor(), read.get("b").factor(), read.get("c").factor()),
        (1.25, 0.75, 1.0)
    );
    assert_eq!(read.models().count(), 2);
}

#[test]
fn a_calibrated_counter_comes_closer() {
    let plain: Arc<dyn TokenCounter> = Arc::new(ModelCounter::for_model("claude-sonnet-4-5"));
    let history = ModelRequest::new([Message::from("word ".repeat(4_000))]);
    let estimate = plain.count_request(&history).total();
    let real = estimate.tokens() * 9 / 10;
    let mut calibration = Calibration::default();
    for _ in 0..10 {
        calibration.observe(plain.count_request(&history).total(), &reported(real, 0, 0));
    }
    let learned = Calibrated::new(plain, calibration).count_request(&history).total();
    assert!(learned.tokens().abs_diff(real) < real / 100, "{learned} and {real}");
    assert!(learned.high() - learned.low() < (estimate.high() - estimate.low()) / 3);
    assert!((learned.low()..=learned.high()).contains(&real));
}

proptest! {
    #[test]
    fn whatever_is_reported_a_factor_is_sound(reports in prop::collection::vec((any::<u64>(),
        any::<u64>()), 0..40), count in any::<u64>()) {
        let mut calibration = Calibration::default();
        for (estimate, real) in reports {
            calibration.observe(guess(estimate / 2), &reported(real, real, 0));
        }
        prop_assert!((0.5..=1.5).contains(&calibration.factor()));
        for counted in [calibration.apply(guess(count / 2)), calibration.scale(guess(count / 2))] {
            prop_assert!(counted.low() <= counted.tokens() && counted.tokens() <= counted.high());
        }
    }
}
