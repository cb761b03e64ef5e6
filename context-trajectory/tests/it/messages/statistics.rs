//! Tests of the statistics of rounds and runs.

use context_core::Timestamp;
use context_core::model::Usage;
use context_trajectory::messages::{RunStatistics, TokenUsage, ToolTime, round_statistics};

use super::{ai, record, result, user};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000 + 250_000)
}

#[test]
fn rounds_are_counted_from_question_to_question() {
    let usage = TokenUsage {
        input_tokens: 150,
        input_cache_read_tokens: 25,
        output_tokens: 5,
        total_tokens: 155,
        ..TokenUsage::default()
    };
    let run = [
        ai("in front of all", "[]").with_usage(&usage),
        user("a").with_time(at(10)),
        user("b").with_time(at(11)),
        ai("c", r#"[{"name":"t","id":"1"}]"#).with_usage(&usage).with_time(at(13)),
        result("1", "r").with_time(at(19)),
        user("d"),
    ];
    insta::assert_json_snapshot!(round_statistics(&run, ToolTime::Between), @r#"
    [
      {
        "round": 0,
        "input_tokens": 150,
        "output_tokens": 5,
        "total_tokens": 155,
        "input_cache_read_tokens": 25,
        "input_cache_creation_tokens": 0,
        "output_reasoning_tokens": 0,
        "elapsed_sec": 3.0,
        "cache_hit_rate": 16.7
      },
      {
        "round": 1,
        "input_tokens": 0,
        "output_tokens": 0,
        "total_tokens": 0,
        "input_cache_read_tokens": 0,
        "input_cache_creation_tokens": 0,
        "output_reasoning_tokens": 0,
        "elapsed_sec": 0.0,
        "cache_hit_rate": 0.0
      }
    ]
    "#);
    assert_eq!(round_statistics(&run, ToolTime::Counted)[0].elapsed_sec, 9.0);
}

#[test]
fn the_time_of_a_message_that_stands_for_earlier_ones_counts_for_nothing() {
    let folded =
        record(r#"{"type":"HumanMessage","additional_kwargs":{"_folded":true}}"#).with_time(at(99));
    let checkpoint =
        user("so far").with("checkpoint", context_codec_kit::wire::truth()).with_time(at(99));
    for earlier in [folded, checkpoint] {
        let run = [earlier, user("a").with_time(at(10)), ai("b", "[]").with_time(at(14))];
        let rounds = round_statistics(&run, ToolTime::Between);
        assert_eq!((rounds.len(), rounds[0].elapsed_sec), (1, 4.0));
    }
}

#[test]
fn usage_is_read_in_either_form_and_means_what_ours_does() {
    let nested = record(
        r#"{"type":"AIMessage","usage_metadata":{"input_tokens":10.0,"output_tokens":4,"total_tokens":14,
            "input_token_details":{"cache_read":3,"cache_creation":2},"output_token_details":{"reasoning":1}}}"#,
    );
    let usage = nested.usage().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.input_cache_read_tokens, usage.output_reasoning_tokens),
        (10, 3, 1)
    );
    let ours = Usage::from(usage);
    assert_eq!((ours.input, ours.cache_read, ours.cache_write, ours.reasoning), (5, 3, 2, Some(1)));
    assert_eq!(TokenUsage::from(ours), usage);
    assert_eq!(ai("", "[]").usage(), None);
}

#[test]
fn calls_are_counted_by_kind() {
    let run = [
        user("u"),
        ai("", r#"[{"name":"t","id":"1"},{"name":"ask","id":"2"}]"#),
        record(
            r#"{"type":"AIMessage","content":"","invalid_tool_calls":[{"name":"ask","id":"3"}]}"#,
        ),
    ];
    let counted = RunStatistics::of(&run, |name| name == "ask");
    insta::assert_json_snapshot!(counted, @r#"
    {
      "num_turns": 2,
      "num_valid_tool_calls": 2,
      "num_invalid_tool_calls": 1,
      "hitl_count": 1
    }
    "#);
}
