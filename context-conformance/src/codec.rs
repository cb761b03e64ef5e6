//! Proves that a codec keeps the contract of [`ModelCodec`].
//!
//! ```
//! use context_conformance::codec::assert_codec_conforms;
//! use context_conformance::wire::check_request;
//! use context_core::model::ModelCodec;
//!
//! fn conforms(codec: &dyn ModelCodec) {
//!     assert_codec_conforms(codec, |body| check_request("openai", body));
//! }
//! ```
//!
//! Cases are random and the same in every run. `PROPTEST_CASES` says how many there are of each
//! property, 64 if it says nothing, and `CONTEXT_CONFORMANCE_SEED` where they begin. A failure
//! shows the smallest case found, with the damages that led to it.

mod hostile;

use std::fmt;

use context_codec_kit::JsonPatch;
use context_core::model::WireError;
use context_core::model::{LoweredRequest, ModelCodec};
use context_core::{Json, Message, ModelRequest, Part};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use crate::histories::{plain, requests};
use crate::property::{Broken, ask};
use crate::reported::Question;
use crate::wire::Violation;

/// Panics with the smallest case that breaks the contract: [`assert_sends_valid`] and
/// [`assert_reads_anything`].
pub fn assert_codec_conforms(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    assert_sends_valid(codec, &rules);
    assert_reads_anything(codec, &rules);
}

/// Panics with the smallest case if not:
///
/// * Whatever happened to a history, the body breaks none of the `rules`, or nothing is left to
///   send. The request stays as it is.
/// * The same request gives the same body and the same diagnostics.
/// * A body that was written can be read; written again as its source it is the same JSON value,
///   and sent again it is valid.
/// * A valid history of text and calls is written without anything to say about it.
pub fn assert_sends_valid(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    let _asked = Question::new("codec", codec.name(), "sends valid");
    let kit = Kit { codec, rules: &rules };
    kit.ask("a damaged history", requests(), |(request, _)| kit.sends_valid(request));
    kit.ask("a plain history", plain(), |history| {
        kit.says_nothing(&ModelRequest::new(history.clone()))
    });
}

/// Panics with the smallest case if not:
///
/// * No body, answer or event makes the codec panic.
/// * A body that is read is the same JSON value when it is written as its source.
/// * What could be read of an answer, or of one in events that break off anywhere, can be sent
///   back.
pub fn assert_reads_anything(codec: &dyn ModelCodec, rules: impl Fn(&Value) -> Vec<Violation>) {
    let _asked = Question::new("codec", codec.name(), "reads anything");
    let kit = Kit { codec, rules: &rules };
    kit.ask("a hostile body", hostile::bodies(), |body| kit.lifts_or_refuses(body));
    kit.ask("a hostile answer", hostile::events(), |events| kit.answers(events));
}

struct Kit<'a> {
    codec: &'a dyn ModelCodec,
    rules: &'a dyn Fn(&Value) -> Vec<Violation>,
}

impl Kit<'_> {
    fn ask<S: Strategy>(
        &self,
        what: &str,
        strategy: S,
        property: impl Fn(&S::Value) -> TestCaseResult,
    ) where
        S::Value: fmt::Debug,
    {
        if let Err(broken) = ask(&strategy, property) {
            let Broken { why, case, again } = broken;
            let case = case.map(|case| format!("{case:#?}\n")).unwrap_or_default();
            panic!(
                "the codec {} does not keep its contract with {what}: {why}\n{case}{again}",
                self.codec.name()
            );
        }
    }

    /// The body of a request, or nothing if nothing is left to send.
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

    /// What was written is read, and is the same when it is written as its source.
    fn round_trips(&self, body: &Json) -> TestCaseResult {
        let lifted = self
            .codec
            .lift(body)
            .map_err(|error| TestCaseError::fail(format!("not lifted: {error}")))?;
        let source = self.codec.lower_source(&lifted.request);
        prop_assert_eq!(value(&source.body)?, value(body)?);
        // Neither tools nor other settings have to be valid where they were read, but here they
        // are.
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
            // Too deep for a tree, a number of no size or no text: the bytes can tell, or a
            // comparison that parses none of them.
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

    /// What a provider said may be sent to it again. Blocks that only it understands go back as
    /// they came, whatever they are, so nothing within them counts.
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

/// Whether what stands at a path is one of these, or within one.
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
