//! Secrets that are found.

use std::collections::BTreeSet;

use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning};
use context_core::{Json, Message, Metadata, Part, Role};
use context_secrets::{MaskReport, SecretFinder, SecretRuleError, UnmaskablePlace};
use serde_json::json;

use crate::corpus::corpus;

#[test]
fn every_kind_of_the_corpus_is_found_and_masked() {
    let finder = SecretFinder::default();
    let corpus = corpus();
    let kinds: BTreeSet<_> = corpus.iter().map(|sample| sample.kind).collect();
    assert!(kinds.len() >= 40, "{}", kinds.len());
    let known = SecretFinder::built_in_kinds();
    for sample in &corpus {
        let hits = finder.find(&sample.text);
        let found: Vec<_> = hits.iter().map(|hit| &sample.text[hit.range.clone()]).collect();
        assert_eq!(found, [&sample.secret], "{}: {}", sample.kind, sample.text);
        assert_eq!(hits[0].kind, sample.kind, "{}", sample.text);
        assert!(known.contains(&hits[0].kind));
        let (masked, counts) = finder.mask(&sample.text);
        assert!(!masked.contains(&sample.secret) && counts.of(sample.kind) == 1);
        let expected = sample.text.replace(&sample.secret, &format!("[secret:{}]", sample.kind));
        assert_eq!(masked, expected);
        assert_eq!(finder.mask(&masked).0, masked);
    }
    println!("{} samples of {} kinds; {} built-in", corpus.len(), kinds.len(), known.len());
}

#[test]
fn many_secrets_in_one_text_are_all_masked() {
    let finder = SecretFinder::default();
    let corpus = corpus();
    for glue in ["\n", " | ", "\n\n"] {
        let all: Vec<_> = corpus.iter().map(|sample| sample.text.as_str()).collect();
        let (masked, counts) = finder.mask(&all.join(glue));
        for sample in &corpus {
            assert!(!masked.contains(&sample.secret), "{}", sample.kind);
        }
        assert_eq!(counts.total(), corpus.len() as u64);
    }
}

#[test]
fn secrets_in_the_strings_of_json_are_masked_and_the_rest_stays_as_written() {
    let finder = SecretFinder::default();
    for sample in corpus() {
        let text = json!({ "command": sample.text, "n": 1.50, "list": [sample.text] });
        // An escape hides the secret from whoever searches the JSON itself.
        let first = sample.secret.chars().next().unwrap();
        let escaped = format!("\\u{:04x}{}", u32::from(first), &sample.secret[1..]);
        let escaped = escaped.replace('\n', "\\n");
        let written = text.to_string().replace("1.5", "1.50");
        let json = Json::from_text(written.replacen(&sample.secret, &escaped, 1)).unwrap();
        let mut report = MaskReport::default();
        let masked = finder.mask_json(&json, &mut report).unwrap();
        let value: serde_json::Value = masked.parse().unwrap();
        assert!(!value.to_string().contains(&json!(sample.secret).to_string().replace('"', "")));
        assert!(masked.as_str().contains("1.50"));
        assert_eq!(report.masked.of(sample.kind), 2, "{}: {masked}", sample.kind);
        assert_eq!(finder.mask_json(&masked, &mut MaskReport::default()), None);
    }
}

#[test]
fn a_field_with_the_name_of_a_secret_is_masked_as_a_whole() {
    let finder = SecretFinder::default();
    let masked = |text: &str| {
        let json = Json::from_text(text).unwrap();
        finder.mask_json(&json, &mut MaskReport::default()).unwrap_or(json).as_str().to_owned()
    };
    let value = format!("a1B2{}", "c3D4e5");
    for (name, kind) in [
        ("password", "password"),
        ("dbPassword", "password"),
        ("apiKey", "api-key"),
        ("X-Api-Key", "api-key"),
        ("refresh_token", "token"),
        ("clientSecret", "secret"),
    ] {
        let text = format!(r#"{{"a": [1, "x"], "{name}" : "{value}"}}"#);
        let expected = format!(r#"{{"a": [1, "x"], "{name}" : "[secret:{kind}]"}}"#);
        assert_eq!(masked(&text), expected);
    }
    for name in ["next_page_token", "nextPageToken", "token_count", "passwords_seen", "compass"] {
        let text = format!(r#"{{"{name}":"{value}"}}"#);
        assert_eq!(masked(&text), text);
    }
}

#[test]
fn every_part_of_a_message_is_masked_except_what_a_provider_wants_back() {
    let finder = SecretFinder::default();
    let secret = format!("gh{}{}", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("the token is {secret} now");
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &text);
    let media = |source| Media {
        source,
        media_type: Some("text/plain".into()),
        name: Some(text.clone()),
        metadata: Metadata::default(),
    };
    let message = Message::new(
        Role::Assistant,
        [
            Part::text(&*text),
            Part::Reasoning(Reasoning { text: text.as_str().into(), ..Reasoning::default() }),
            Part::tool_call("c", "run", json!({ "line": text, "nested": { "list": [text] } })),
            Part::tool_result("c", &*text),
            Part::Document(media(MediaSource::Base64(encoded.as_str().into()))),
            Part::Document(media(MediaSource::Url(format!("data:text/plain;base64,{encoded}")))),
            Part::Image(media(MediaSource::Url(format!("https://x.org/?t={secret}")))),
            Part::Data(Data { name: "d".into(), value: json!({ "a": text }).into() }),
            Part::Unknown(json!({ "type": "new", "a": text }).into()),
        ],
    )
    .with_metadata(Metadata::default().with("note", &*text));
    let mut report = MaskReport::default();
    let masked = finder.mask_message(&message, &mut report).unwrap();
    let shown = serde_json::to_string(&masked).unwrap();
    assert!(!shown.contains(&secret) && !shown.contains(&encoded), "{shown}");
    assert_eq!((report.masked.of("github-token"), report.left_total()), (14, 0));
    assert_eq!(finder.mask_message(&masked, &mut MaskReport::default()), None);
    assert_eq!(Message::decode(&masked.encode()).unwrap(), masked);

    let signed = Message::new(
        Role::Assistant,
        [
            Part::Reasoning(Reasoning {
                text: text.as_str().into(),
                signature: Some("s".into()),
                ..Reasoning::default()
            }),
            Part::Opaque(OpaqueBlock { provider: "p".into(), value: json!({ "a": text }).into() }),
        ],
    );
    let mut report = MaskReport::default();
    assert_eq!(finder.mask_message(&signed, &mut report), None);
    assert!(report.masked.is_empty());
    for place in [UnmaskablePlace::SignedReasoning, UnmaskablePlace::OpaqueBlock] {
        assert_eq!(report.left[&place].of("github-token"), 1);
    }
}

#[test]
fn rules_of_a_program_are_checked_and_applied() {
    let refused = |builder: context_secrets::SecretFinderBuilder| builder.build().unwrap_err();
    let builder = SecretFinder::builder;
    assert!(matches!(refused(builder().literal("A", "longer")), SecretRuleError::BadName(_)));
    assert!(matches!(refused(builder().literal("a", "short")), SecretRuleError::ShortLiteral(_)));
    assert!(matches!(refused(builder().pattern("a", "(")), SecretRuleError::BadPattern { .. }));
    assert!(matches!(refused(builder().pattern("a", "b*")), SecretRuleError::EmptyPattern(_)));

    // A literal that occurs in marks does not change them.
    let finder = builder().literal("own", "secret").literal("number", "987654").build().unwrap();
    let (masked, _) = finder.mask("my secret is secrets");
    assert_eq!(masked, "my [secret:own] is [secret:own]s");
    assert_eq!(finder.mask(&masked).0, masked);
    let json = Json::from_text(r#"{"n": 1987654, "m": 12}"#).unwrap();
    let masked = finder.mask_json(&json, &mut MaskReport::default()).unwrap();
    assert_eq!(masked.as_str(), r#"{"n": "1[secret:number]", "m": 12}"#);

    let without = builder().without("password").build().unwrap();
    let text = "password = \"a1B2c3D4\"";
    assert_eq!(without.mask(text).0, text);
    assert!(!format!("{finder:?}").contains("987654"));
}
