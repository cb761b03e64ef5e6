//! Contract tests for implementations of [`ModelCodec`].
//!
//! ```
//! use context_conformance::codec::assert_codec_conforms;
//! use context_codec_kit::provider_rules::check_body;
//! use context_core::model::ModelCodec;
//!
//! fn conforms(codec: &dyn ModelCodec) {
//!     assert_codec_conforms(codec, |body| check_body("openai", body));
//! }
//! ```
//!
//! Cases are random and the same in every run. `PROPTEST_CASES` sets the number of cases per
//! property (default 64), and `CONTEXT_CONFORMANCE_SEED` the seed. A failure shows the smallest
//! failing case found, with the damages that led to it.
//!
//! To lower a request is to convert it from the canonical form to the provider's wire form. To lift
//! a body is the reverse.

mod hostile;

use std::fmt;

use context_codec_kit::JsonPatch;
use context_codec_kit::provider_rules::Violation;
use context_core::model::{LoweredRequest, ModelCodec, WireError};
use context_core::{Json, Message, ModelRequest, Part};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use crate::histories::{plain, requests};
use crate::property::{Counterexample, ask};
use crate::suite_check::SuiteCheck;
use crate::verdict::{Check, Stop};

/// Runs all checks, [`assert_sends_valid`] and [`assert_reads_anything`]. Panics with the smallest
/// case that breaks the contract.
pub fn assert_codec_conforms(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    let mut suite = SuiteCheck::new("codec", codec.name());
    let kit = Kit { codec, rules: &rules };
    kit.ask_to_send(&mut suite);
    kit.ask_to_read(&mut suite);
    suite.finish();
}

/// Checks lowering. Panics with the smallest case that breaks one of these properties:
///
/// * After any damage to a history, the body breaks none of the `rules`, or nothing is left to
///   send. Lowering does not change the request.
/// * The same request gives the same body and the same diagnostics.
/// * A lowered body can be lifted. Lowered again as its source, it is the same JSON value. Lowered
///   again to be sent, it is valid.
/// * A valid history of text and calls is lowered without diagnostics.
pub fn assert_sends_valid(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    let mut suite = SuiteCheck::new("codec", codec.name());
    let kit = Kit { codec, rules: &rules };
    kit.ask_to_send(&mut suite);
    suite.finish();
}

/// Checks lifting. Panics with the smallest case that breaks one of these properties:
///
/// * No body, answer or event makes the codec panic.
/// * A lifted body is the same JSON value when it is lowered as its source.
/// * The content read from an answer, or from a stream of events that breaks off anywhere, can be
///   sent back.
pub fn assert_reads_anything(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    let mut suite = SuiteCheck::new("codec", codec.name());
    let kit = Kit { codec, rules: &rules };
    kit.ask_to_read(&mut suite);
    suite.finish();
}

struct Kit<'a> {
    codec: &'a dyn ModelCodec,
    rules: &'a dyn Fn(&Value) -> Vec<Violation>,
}

impl Kit<'_> {
    fn ask_to_send(&self, suite: &mut SuiteCheck) {
        suite.case("damaged_histories_are_sent_valid", || {
            self.ask("a damaged history", requests(), |(request, _)| self.sends_valid(request))
        });
        suite.case("plain_histories_need_no_diagnostics", || {
            let says_nothing =
                |history: &Vec<_>| self.says_nothing(&ModelRequest::new(history.clone()));
            self.ask("a plain history", plain(), says_nothing)
        });
    }

    fn ask_to_read(&self, suite: &mut SuiteCheck) {
        suite.case("hostile_bodies_are_lifted_or_refused", || {
            self.ask("a hostile body", hostile::bodies(), |body| self.lifts_or_refuses(body))
        });
        suite.case("hostile_answers_can_be_sent_back", || {
            self.ask("a hostile answer", hostile::events(), |events| self.answers(events))
        });
    }

    fn ask<S: Strategy>(
        &self,
        label: &str,
        strategy: S,
        property: impl Fn(&S::Value) -> TestCaseResult,
    ) -> Check
    where
        S::Value: fmt::Debug,
    {
        ask(&strategy, property).map_err(|Counterexample { why, case, reproduction }| {
            let case = case.map(|case| format!("{case:#?}\n")).unwrap_or_default();
            Stop::Fail(format!(
                "the codec {} does not keep its contract with {label}: {why}\n{case}{reproduction}",
                self.codec.name()
            ))
        })
    }

    /// Returns the body of a request, or `None` if nothing is left to send.
    fn lower(&self, request: &ModelRequest) -> Result<Option<LoweredRequest>, TestCaseError> {
        match self.codec.lower(request) {
            Ok(lowered) => Ok(Some(lowered)),
            Err(WireError::NothingToSend) => Ok(None),
            Err(error) => Err(TestCaseError::fail(format!("not lowered: {error}"))),
        }
    }

    fn valid(&self, body: &Json) -> TestCaseResult {
        self.valid_but_for(body, &[])
    }

    fn valid_but_for(&self, body: &Json, echoes: &[Value]) -> TestCaseResult {
        let value = value(body)?;
        let mut broken = (self.rules)(&value);
        broken.retain(|violation| !is_within(&value, &violation.path, echoes));
        let shown: String = broken.iter().map(|violation| format!("  {violation}\n")).collect();
        prop_assert!(broken.is_empty(), "the body breaks rules:\n{shown}{value:#}");
        Ok(())
    }

    fn sends_valid(&self, request: &ModelRequest) -> TestCaseResult {
        let before = request.clone();
        let Some(lowered) = self.lower(request)? else { return Ok(()) };
        prop_assert_eq!(request, &before);
        self.valid(&lowered.body)?;
        let again = self.lower(request)?;
        prop_assert_eq!(Some(&lowered), again.as_ref());
        self.round_trips(&lowered.body)
    }

    /// Checks that a lowered body can be lifted, and is the same when it is lowered as its source.
    fn round_trips(&self, body: &Json) -> TestCaseResult {
        let lifted = self
            .codec
            .lift(body)
            .map_err(|error| TestCaseError::fail(format!("not lifted: {error}")))?;
        let source = self.codec.lower_source(&lifted.request);
        prop_assert_eq!(value(&source.body)?, value(body)?);
        // Lifted tools and settings need not be valid in general. Here they are, since they come
        // from a valid body.
        match self.lower(&lifted.request)? {
            Some(lowered) => self.valid(&lowered.body),
            None => Err(TestCaseError::fail("nothing is left of a valid body")),
        }
    }

    fn says_nothing(&self, request: &ModelRequest) -> TestCaseResult {
        let Some(lowered) = self.lower(request)? else {
            return Err(TestCaseError::fail("nothing is left of a valid history"));
        };
        prop_assert!(
            lowered.diagnostics.is_empty(),
            "{:#?}\n{}",
            lowered.diagnostics,
            lowered.body
        );
        Ok(())
    }

    fn lifts_or_refuses(&self, body: &Json) -> TestCaseResult {
        let _ = self.codec.lift_answer(body);
        let Ok(lifted) = self.codec.lift(body) else { return Ok(()) };
        let source = self.codec.lower_source(&lifted.request);
        match (value(&source.body), value(body)) {
            (Ok(source), Ok(body)) => prop_assert_eq!(source, body),
            // A body that is too deep for a tree, or holds a number out of range or an invalid
            // string, cannot be parsed. Its bytes are compared instead, or compared without
            // parsing.
            _ => {
                let is_same = source.body.compact() == body.compact()
                    || JsonPatch::between(&source.body, body).is_none();
                prop_assert!(is_same, "{} is not {}", source.body, body);
            }
        }
        let _ = self.codec.lower(&lifted.request);
        Ok(())
    }

    fn answers(&self, events: &[String]) -> TestCaseResult {
        let mut stream = self.codec.answer_stream();
        for event in events {
            let _ = stream.push(event);
            self.may_be_sent_back(stream.answer().message)?;
        }
        self.may_be_sent_back(stream.finish().message)?;
        for event in events {
            let whole = Json::from_text(event.as_str()).ok();
            if let Some(Ok(answer)) = whole.map(|json| self.codec.lift_answer(&json)) {
                self.may_be_sent_back(answer.message)?;
            }
            let _ = self.codec.lift_error(Some(400), event);
        }
        Ok(())
    }

    /// Checks that the content of an answer may be sent back. Blocks that only their provider
    /// understands go back unchanged, so violations within them do not count.
    fn may_be_sent_back(&self, answer: Message) -> TestCaseResult {
        let opaque = |part: &Part| match part {
            Part::Opaque(block) => block.value.parse::<Value>().ok(),
            _ => None,
        };
        let echoes: Vec<Value> = answer.parts.iter().filter_map(opaque).collect();
        let request = ModelRequest::new([Message::from("Hello"), answer])
            .model("a-model")
            .max_output_tokens(1_000);
        match self.lower(&request)? {
            Some(lowered) => self.valid_but_for(&lowered.body, &echoes),
            None => Err(TestCaseError::fail("what the user said is lost")),
        }
    }
}

/// Whether the value at `path` is one of `echoes`, or lies within one.
fn is_within(body: &Value, path: &str, echoes: &[Value]) -> bool {
    let mut value = body;
    for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let next = match value {
            Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Value::Object(map) => map.get(step),
            _ => None,
        };
        match next {
            Some(next) if echoes.contains(next) => return true,
            Some(next) => value = next,
            None => return false,
        }
    }
    false
}

fn value(json: &Json) -> Result<Value, TestCaseError> {
    json.parse().map_err(|error| TestCaseError::fail(format!("{error}: {json}")))
}
