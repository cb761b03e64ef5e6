//! Tests of cleaning: the records that can be replayed.

use context_core::base::DiagnosticCode;
use context_trajectory::messages::{
    Cleaned, Cleaning, MISSING_RESULT, MessageRecord, RecordKind, clean, to_messages,
};
use proptest::prelude::*;

use super::{ai, any, lines, record, result, user};

const ONE: &str = r#"[{"name":"t","args":{},"id":"1"}]"#;
const TWO: &str = r#"[{"name":"t","args":{},"id":"1"},{"name":"t","args":{},"id":"2"}]"#;
const TWICE: &str = r#"[{"name":"t","args":{},"id":"1"},{"name":"t","args":{},"id":"1"}]"#;
const NAMELESS: &str = r#"[{"name":"t","args":{},"id":"  "}]"#;

fn shown(records: &[MessageRecord], how: Cleaning) -> String {
    lines(&clean(records.to_vec(), how).records)
}

#[test]
fn a_whole_conversation_stays_but_for_what_the_application_says() {
    let system = record(r#"{"type":"SystemMessage","content":"s"}"#);
    let run = [system.clone(), user("u"), ai("c", ONE), system, result("1", "r"), ai("a", "[]")];
    for how in [Cleaning::Drop, Cleaning::Repair] {
        let Cleaned { records, diagnostics, .. } = clean(run.to_vec(), how);
        assert_eq!(records, [&run[1], &run[2], &run[4], &run[5]].map(Clone::clone));
        assert_eq!(diagnostics, []);
    }
}

#[test]
fn one_missing_result_takes_the_turn_or_is_filled() {
    let run = [user("u"), ai("c", TWO), result("2", "r"), user("v")];
    insta::assert_snapshot!(shown(&run, Cleaning::Drop), @r#"
    Human: u
    Human: v
    "#);
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    Human: u
    AI: c ->1 ->2
    Tool: r <-2
    Tool: [no result: the call was interrupted or its result was lost] <-1 (made)
    Human: v
    "#);
    let repaired = clean(run.to_vec(), Cleaning::Repair);
    let codes: Vec<_> = repaired.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [DiagnosticCode::ToolResultInjected]);
    assert!(repaired.records[3].is_error() && repaired.records[3].text() == MISSING_RESULT);
}

#[test]
fn a_result_that_comes_late_goes_or_moves_to_its_call() {
    let run = [user("u"), ai("c", ONE), user("v"), result("1", "r")];
    insta::assert_snapshot!(shown(&run, Cleaning::Drop), @r#"
    Human: u
    Human: v
    "#);
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    Human: u
    AI: c ->1
    Tool: r <-1
    Human: v
    "#);
    // A late result replaces the stub of an earlier repair.
    let mut early = clean(run[..3].to_vec(), Cleaning::Repair).records;
    early.push(run[3].clone());
    assert_eq!(shown(&early, Cleaning::Repair), shown(&run, Cleaning::Repair));
}

#[test]
fn second_results_and_results_of_nobody_go_or_get_a_call() {
    let run = [
        user("u"),
        result("9", "lost"),
        ai("c", TWO),
        result("1", "r"),
        result("1", "again"),
        result("2", "s"),
    ];
    insta::assert_snapshot!(shown(&run, Cleaning::Drop), @r#"
    Human: u
    AI: c ->1 ->2
    Tool: r <-1
    Tool: s <-2
    "#);
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    Human: u
    AI:  ->9 (made)
    Tool: lost <-9
    AI: c ->1 ->2
    Tool: r <-1
    Tool: s <-2
    AI:  ->1 (made)
    Tool: again <-1
    "#);
}

#[test]
fn two_calls_of_one_id_need_two_results() {
    let run = [ai("c", TWICE), result("1", "r")];
    assert_eq!(shown(&run, Cleaning::Drop), "");
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    AI: c ->1 ->1
    Tool: r <-1
    Tool: [no result: the call was interrupted or its result was lost] <-1 (made)
    "#);
    let both = [ai("c", TWICE), result("1", "r"), result("1", "s")];
    assert_eq!(clean(both.to_vec(), Cleaning::Drop).records, both);
}

#[test]
fn a_call_without_an_id_cannot_be_answered_until_it_has_one() {
    let run = [user("u"), ai("c", NAMELESS), result(" ", "r"), user("v")];
    insta::assert_snapshot!(shown(&run, Cleaning::Drop), @r#"
    Human: u
    Human: v
    "#);
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    Human: u
    AI: c ->call_1_0
    Tool: r <-call_1_0
    Human: v
    "#);
}

#[test]
fn an_invalid_call_and_its_failed_result_stay() {
    let invalid = record(
        r#"{"type":"AIMessage","content":"c","invalid_tool_calls":[{"name":"t","args":"{","id":"1","error":"bad"}]}"#,
    );
    let run = [user("u"), invalid, result("1", "not run"), ai("a", "[]")];
    for how in [Cleaning::Drop, Cleaning::Repair] {
        assert_eq!(clean(run.to_vec(), how).records, run);
    }
    let alone = &run[..2];
    assert_eq!(clean(alone.to_vec(), Cleaning::Drop).records, alone);
    insta::assert_snapshot!(shown(alone, Cleaning::Repair), @r#"
    Human: u
    AI: c
    Tool: [no result: the call was interrupted or its result was lost] <-1 (made)
    "#);
}

#[test]
fn calls_in_a_vendors_form_count() {
    let run = [record(
        r#"{"type":"AIMessage","content":"","additional_kwargs":{"tool_calls":[{"id":"1","function":{"name":"t","arguments":"{}"}}]}}"#,
    )];
    assert_eq!(shown(&run, Cleaning::Drop), "");
    insta::assert_snapshot!(shown(&run, Cleaning::Repair), @r#"
    AI:  ->1
    Tool: [no result: the call was interrupted or its result was lost] <-1 (made)
    "#);
}

fn said(records: &[MessageRecord]) -> Vec<(RecordKind, String)> {
    let kept = records
        .iter()
        .filter(|record| record.kind() != RecordKind::System && !record.is_synthetic());
    let mut said: Vec<_> = kept.map(|record| (record.kind(), record.text())).collect();
    said.sort_by(|a, b| (a.0.as_str(), &a.1).cmp(&(b.0.as_str(), &b.1)));
    said
}

fn pairs_valid(records: &[MessageRecord], invalid_too: bool) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut optional: Vec<String> = Vec::new();
    for record in records {
        if record.kind() == RecordKind::Tool {
            let id = record.tool_call_id().unwrap_or_default().trim().to_owned();
            let taken = [&mut open, &mut optional].into_iter().any(|ids| {
                ids.iter().position(|open| *open == id).map(|at| ids.remove(at)).is_some()
            });
            if !taken || id.is_empty() {
                return false;
            }
        } else {
            if !open.is_empty() {
                return false;
            }
            let ids = |calls: Vec<context_trajectory::messages::CallRecord>| -> Vec<String> {
                calls.iter().map(|call| call.key().unwrap_or_default().to_owned()).collect()
            };
            let is_ai = record.kind() == RecordKind::Ai;
            open = if is_ai { ids(record.calls()) } else { Vec::new() };
            optional = if is_ai { ids(record.invalid_calls()) } else { Vec::new() };
            if invalid_too {
                open.append(&mut optional);
            }
        }
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_cleaned_is_clean(records in proptest::collection::vec(any::record(), 0..9)) {
        for how in [Cleaning::Drop, Cleaning::Repair] {
            let once = clean(records.clone(), how).records;
            prop_assert!(pairs_valid(&once, how == Cleaning::Repair), "{}", lines(&once));
            prop_assert_eq!(&clean(once.clone(), how).records, &once);
            prop_assert!(to_messages(&once).is_ok());
        }
        let repaired = clean(records.clone(), Cleaning::Repair).records;
        prop_assert_eq!(said(&repaired), said(&records), "{}", lines(&repaired));
    }
}
