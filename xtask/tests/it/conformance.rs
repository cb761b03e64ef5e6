//! What the conformance table says.

use xtask::conformance::table::Table;
use xtask::conformance::{Line, Outcome};

fn line(subject: &str, group: &str, case: &str, outcome: Outcome, reason: Option<&str>) -> Line {
    Line {
        suite_version: 1,
        subject: subject.into(),
        group: group.into(),
        case: case.into(),
        outcome,
        reason: reason.map(Into::into),
        seed: 7,
    }
}

#[test]
fn a_table_counts_and_names_what_is_not_well() {
    let lines = [
        line("one", "commit", "first", Outcome::Pass, None),
        line("one", "commit", "stale", Outcome::Fail, Some("head moved")),
        line("one", "durability", "reopen", Outcome::Skip, Some("not durable")),
        line("two", "commit", "first", Outcome::Pass, None),
        line("two", "commit", "stale", Outcome::Pass, None),
    ];
    let expect = "\
suite v1                             one                     two
commit                       1, 1 FAILED                       2
durability                 0 + 1 skipped                       -
total          1 + 1 skipped, 1 FAILED                       2
skipped by one (not durable): reopen
FAILED one commit::stale: head moved
  again: cargo xtask conformance --group commit --case stale --seed 0x7
";
    let table = Table::new(&lines);
    let squeezed = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(squeezed(&table.to_string()), squeezed(expect));
    assert!(table.has_failures());
    assert!(!Table::new(&lines[3..]).has_failures());
}

#[test]
fn a_line_of_the_kit_is_understood() {
    let text = r#"{"suite_version":1,"subject":"one","group":"commit","case":"first","outcome":"skip","reason":"not durable","seed":7}"#;
    let read: Line = serde_json::from_str(text).unwrap();
    assert_eq!(read, line("one", "commit", "first", Outcome::Skip, Some("not durable")));
}
