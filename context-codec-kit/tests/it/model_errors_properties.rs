//! Properties of the classification: no body panics, and the ends of a long one are read.

use context_core::model::ModelErrorCode;
use proptest::prelude::*;

use crate::model_errors::{IMAGES, RATES, WINDOWS};

/// Pieces that bodies are made of, and pieces they should not be made of.
fn piece() -> impl Strategy<Value = String> {
    let known: Vec<String> =
        WINDOWS.iter().chain(&IMAGES).chain(&RATES).map(|row| row.2.to_owned()).collect();
    prop_oneof![
        proptest::sample::select(known),
        "[\\[\\]{}\"'\\\\:,<>]{0,40}",
        "\\PC{0,40}",
        "[0-9,._ kmb-]{0,30}",
        proptest::sample::select(vec![
            "\\ud800",
            "\\u",
            "\\",
            "{\"message\":\"",
            "<title>",
            "</title",
            "max_tokens",
            "sk-",
            "retry in ",
            "maximum context length is 99999999999999999999 tokens",
            "上下文长度",
            "image exceeds 18446744073709551615 GB",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn nothing_a_provider_says_does_harm(
        pieces in proptest::collection::vec(piece(), 0..12),
        status in proptest::option::of(any::<u16>()),
        cut in any::<prop::sample::Index>(),
    ) {
        let body = pieces.concat();
        let at = (0..=cut.index(body.len() + 1)).rev().find(|at| body.is_char_boundary(*at))
            .unwrap_or(0);
        let error = context_codec_kit::classify("anyone", status, &body[..at]);
        prop_assert!(error.message.chars().count() <= 501);
        prop_assert!(error.provider_code.as_ref().is_none_or(|code| code.chars().count() <= 101));
        prop_assert_eq!(&error, &context_codec_kit::classify("anyone", status, &body[..at]));
    }

    #[test]
    fn depth_costs_nothing(open in "[\\[{]", depth in 1_usize..60_000) {
        let body = format!("{{\"a\":{}", format!("{open}\"a\":").repeat(depth));
        let error = context_codec_kit::classify("anyone", Some(400), &body);
        prop_assert_eq!(error.code, ModelErrorCode::InvalidRequest);
    }
}
