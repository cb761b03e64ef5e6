//! Laws of masking, for any text.

use std::sync::LazyLock;

use context_core::Json;
use context_secrets::{MaskReport, SecretFinder};
use proptest::prelude::*;

use crate::corpus::corpus;

/// Returns texts of pieces that matter to the finder: anchors, names, separators, secrets, marks.
fn texts() -> impl Strategy<Value = String> {
    static SAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
        corpus().into_iter().flat_map(|sample| [sample.text, sample.secret]).collect()
    });
    let pieces = [
        "ghp_",
        "sk-ant-",
        "sk-",
        "AKIA",
        "eyJ",
        "eyJhbGciOiJIUzI1NiJ9",
        ".",
        "://",
        "@",
        ":AA",
        "Q~",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "password",
        "token",
        "next_token",
        "api_key",
        "Bearer ",
        "Basic ",
        "bot",
        "=",
        ": ",
        "\"",
        "'",
        "\\\"",
        "\\n",
        "\n",
        " ",
        "-",
        "_",
        "%3D",
        "[secret:",
        "[secret:token]",
        "]",
        "${X}",
        "(",
        "<",
        "your",
        "string",
        "a1B2c3D4e5F6",
        "0123456789",
        "ABCDEFGH234567QZ",
        "é",
        "…",
        "日本",
        "secret",
        "page",
        "?sig=",
        "Private-Lines: 3\n",
        "M",
        "{",
        "}",
        ",",
    ];
    let piece = prop_oneof![
        3 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        2 => prop::sample::select(SAMPLES.as_slice()),
        1 => "[a-zA-Z0-9_.-]{1,40}",
        1 => ".{0,6}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500,
        ..ProptestConfig::default() })]

    #[test]
    fn masking_is_idempotent_and_hits_are_in_order_on_character_boundaries(text in texts()) {
        let finder = SecretFinder::default();
        let hits = finder.find(&text);
        let mut end = 0;
        for hit in &hits {
            prop_assert!(hit.range.start >= end && hit.range.end > hit.range.start);
            prop_assert!(text.get(hit.range.clone()).is_some());
            end = hit.range.end;
        }
        let (masked, counts) = finder.mask(&text);
        prop_assert_eq!(hits.is_empty(), counts.is_empty());
        if hits.is_empty() {
            prop_assert_eq!(&masked, &text);
        }
        // One pass is enough.
        prop_assert_eq!(counts.total(), hits.len() as u64);
        prop_assert_eq!(finder.find(&masked), vec![]);
    }

    #[test]
    fn json_stays_json_and_masking_it_is_idempotent(texts in prop::collection::vec(texts(), 1..4)) {
        let finder = SecretFinder::default();
        let fields = texts.iter().enumerate().map(|(i, text)| {
            let name = if i % 2 == 0 { text.clone() } else { "password".to_owned() };
            (name, serde_json::json!([text, { "token": text }, 12.5]))
        });
        let json = Json::from_serialize(&fields.collect::<serde_json::Map<_, _>>()).unwrap();
        let mut report = MaskReport::default();
        if let Some(masked) = finder.mask_json(&json, &mut report) {
            prop_assert!(!report.masked.is_empty());
            prop_assert!(masked.parse::<serde_json::Value>().is_ok());
            prop_assert_eq!(finder.mask_json(&masked, &mut MaskReport::default()), None);
        }
    }

    #[test]
    fn the_open_end_of_a_text_is_on_a_character_boundary(text in texts()) {
        let open = SecretFinder::default().open_from(&text);
        prop_assert!(text.is_char_boundary(open));
    }

    #[test]
    fn own_rules_keep_the_laws(text in texts()) {
        static OWN: LazyLock<SecretFinder> = LazyLock::new(|| {
            let builder = SecretFinder::builder().literal("own", "secret").literal("other", "a1B2c3");
            builder.pattern("digits", "[0-9]{4,}").build().unwrap()
        });
        let finder = &*OWN;
        let (masked, _) = finder.mask(&text);
        prop_assert_eq!(&finder.mask(&masked).0, &masked);
    }
}

/// The number of steps is bounded by the length of the text times a constant; a quadratic search
/// would not end within the time of a test.
#[test]
fn what_looks_like_the_beginning_of_secrets_is_searched_in_linear_time() {
    let finder = SecretFinder::default();
    for piece in [
        "sk-ant-",
        "eyJ",
        "eyJaaaaaaaaa.",
        "eyJ-",
        "1aaa1Q~",
        "12345678:AA",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "password=\"",
        "\"password\":'",
        "://a:",
        "a://b:",
        "Bearer ",
        "M.abcdef.",
        "Private-Lines: 9\n",
        "[secret:",
        "AKIA",
        "?sig=",
        "token",
        "x",
        "\\\"password",
    ] {
        let long = piece.repeat(60_000 / piece.len());
        let (masked, _) = finder.mask(&long);
        assert!(masked.len() <= long.len() + 100);
        finder.open_from(&long);
    }
}
