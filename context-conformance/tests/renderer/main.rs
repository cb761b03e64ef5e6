//! Checks that the suite passes a correct renderer, and catches those that break one promise each.

mod lines;

use context_conformance::renderer::{
    assert_grows_with_depth, assert_reads_back, assert_renderer_conforms, assert_renders_soundly,
};
use context_core::BoxError;

use crate::lines::{Fault, Lines};

/// Returns the values of all lines: the last element of each array.
fn read(prompt: &str) -> Result<Vec<String>, BoxError> {
    let value = |line: &str| -> Result<Option<String>, BoxError> {
        let mut path: Vec<serde_json::Value> = serde_json::from_str(line)?;
        Ok(match path.pop().ok_or("a line without a value")? {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            value => Some(value.to_string()),
        })
    };
    prompt.lines().filter_map(|line| value(line).transpose()).collect()
}

#[test]
fn a_good_renderer_passes() {
    assert_renderer_conforms(&Lines::new(Fault::Nothing), &read);
}

macro_rules! caught {
    ($($fault:ident => $why:literal;)+) => {$(
        #[allow(non_snake_case)]
        #[test]
        #[should_panic(expected = $why)]
        fn $fault() {
            assert_renders_soundly(&Lines::new(Fault::$fault));
        }
    )+};
}

caught! {
    DropsNumbers => "has content, and is not in the prompt";
    DropsTheLastEntry => "has content, and is not in the prompt";
    SortsKeys => "stands before it";
    HidesMarks => "the same as if it were not";
    MarksOnlyAtTheTop => "the same as if it were not";
    Counts => "the prompt, rendered again";
    LooksAround => "rendered beside others and then alone";
    JoinsOtherwise => "made of pieces that were rendered one by one";
    SkipsEmptyPieces => "call `Pieces::end_piece` once for each";
    EndsLines => "a line break stands at the end";
    ShowsNothing => "the prompt of a fragment that holds null";
    ShowsMessages => "holds no data that can be rendered";
    NamesNobody => "expected the error fragment \"user\" holds no data that can be rendered";
    RefusesAsNotData => "expected the error data of \"fetched\" is still to be loaded";
}

#[test]
#[should_panic(expected = "grows with the square of its depth")]
fn indentation_without_end_is_caught() {
    assert_grows_with_depth(&Lines::new(Fault::Indents));
}

#[test]
#[should_panic(expected = "cannot be read")]
fn a_text_that_ends_its_place_is_caught() {
    assert_reads_back(&Lines::new(Fault::DoesNotEscape), &read);
}

#[test]
#[should_panic(expected = "given untrusted fragments: the text")]
fn a_text_of_which_a_part_is_lost_is_caught() {
    assert_reads_back(&Lines::new(Fault::Trims), &read);
}

#[test]
#[should_panic(expected = "given long names and texts")]
fn a_long_text_that_is_lost_is_caught() {
    assert_reads_back(&Lines::new(Fault::DropsLongTexts), &read);
}

#[test]
#[should_panic(expected = "fragments: [")]
fn a_failure_shows_the_fragments() {
    assert_renders_soundly(&Lines::new(Fault::DropsNumbers));
}

/// Aborts the process that runs it.
#[test]
#[ignore = "overflows its stack; run by the test below"]
fn recursion() {
    assert_renders_soundly(&Lines::new(Fault::Recurses));
}

#[test]
fn recursion_ends_the_test_program_and_says_why() {
    let (child, report) = reported("recursion", "deep");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success() && said.contains("walked by recursion"), "{said}");
    assert_eq!(report, ["deep_trees_need_no_stack begin in recursion"], "and in which case");
}

/// Fails.
#[test]
#[ignore = "breaks the contract; run by the test below"]
fn numbers_are_dropped() {
    assert_renderer_conforms(&Lines::new(Fault::DropsNumbers), &read);
}

#[test]
fn every_case_is_reported_also_after_one_that_fails() {
    let (child, report) = reported("numbers_are_dropped", "");
    assert!(!child.status.success());
    let of = |outcome| report.iter().filter(|line| line.contains(outcome)).count();
    assert_eq!((report.len(), of(" begin ")), (20, 10), "{report:?}");
    assert!(report[1].starts_with("content_is_shown_in_order fail "), "{report:?}");
    assert_eq!(of(" fail ") + of(" pass "), 10, "{report:?}");
    let (child, report) = reported("numbers_are_dropped", "long_texts");
    assert!(child.status.success(), "the cases that fail are not selected");
    assert_eq!(report.len(), 2, "{report:?}");
}

/// Runs an ignored test in another process, with the cases that have this text in their name.
/// Returns the lines of its report: the case, the outcome and the test.
fn reported(test: &str, case: &str) -> (std::process::Output, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report");
    let program = std::env::current_exe().expect("a test program");
    let child = std::process::Command::new(program)
        .args(["--ignored", "--exact", test])
        .env("CONTEXT_CONFORMANCE_REPORT", &file)
        .env("CONTEXT_CONFORMANCE_CASE", case)
        .output()
        .expect("it runs");
    let report = std::fs::read_to_string(file).expect("a report");
    let lines = report.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let text = |key: &str| line[key].as_str().expect("a text").to_owned();
        assert_eq!((text("subject"), text("group")), ("lines".into(), "renderer".into()));
        format!("{} {} in {}", text("case"), text("outcome"), text("test"))
    });
    (child, lines.collect())
}
