//! Checks of requests before they are sent: what would be repaired, and what a provider refuses.

use context_runtime::model::{ModelRequest, WireError};
use context_runtime::provider_rules::{PROVIDERS, RequestCheck, Rule, check_body, check_request};
use context_runtime::{Message, Part, Role, provider};
use serde_json::{Value, json};

fn codes(check: &RequestCheck) -> Vec<&str> {
    check.lowered.diagnostics.iter().map(|repair| repair.code.as_str()).collect()
}

#[test]
fn a_sound_history_is_accepted_unchanged_by_every_provider() {
    let history = [
        Message::from("When does the train leave?"),
        Message::new(Role::Assistant, [Part::tool_call("toolu_1", "timetable", json!({}))]),
        Message::new(Role::Tool, [Part::tool_result("toolu_1", "10:05")]),
        Message::text(Role::Assistant, "At 10:05."),
        Message::from("And back?"),
    ];
    let request = ModelRequest::new(history).model("any").max_output_tokens(500);
    for name in PROVIDERS {
        let check = check_request(&*provider(name).unwrap(), &request).unwrap();
        assert!(check.is_accepted_unchanged(), "{name}: {check:#?}");
    }
}

#[test]
fn a_damaged_history_is_accepted_with_the_repairs_named() {
    let history = [
        Message::from("When does the train leave?"),
        Message::new(Role::Assistant, [Part::tool_call("toolu_1", "timetable", json!({}))]),
        Message::from("Never mind."),
    ];
    let request = ModelRequest::new(history).model("any").max_output_tokens(500);
    for name in PROVIDERS {
        let check = check_request(&*provider(name).unwrap(), &request).unwrap();
        assert!(check.is_accepted() && !check.is_accepted_unchanged(), "{name}: {check:#?}");
        assert_eq!(codes(&check)[0], "tool_result_injected", "{name}");
    }
}

#[test]
fn what_no_codec_repairs_is_a_violation_with_its_path() {
    let request = ModelRequest::new([Message::from("Hello!")]).max_output_tokens(500);
    for name in ["openai", "anthropic"] {
        let check = check_request(&*provider(name).unwrap(), &request).unwrap();
        let found: Vec<_> = check.violations.iter().map(|v| (v.rule, v.path.as_str())).collect();
        assert_eq!(found, [(Rule::Missing, "model")], "{name}");
        let body: Value = check.lowered.body.parse().unwrap();
        assert_eq!(check_body(name, &body), check.violations, "{name}");
    }
}

#[test]
fn a_request_without_content_is_the_error_of_the_codec() {
    for name in PROVIDERS {
        let empty = ModelRequest::new([Message::from(" ")]).model("any");
        let refused = check_request(&*provider(name).unwrap(), &empty);
        assert!(matches!(refused, Err(WireError::NothingToSend)), "{name}: {refused:?}");
    }
}
