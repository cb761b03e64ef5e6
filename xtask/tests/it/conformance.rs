//! Tests of the conformance table.

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
suite v1                           one  two
commit                     1, 1 FAILED    2
durability                    0+1 skip    -
total               1+1 skip, 1 FAILED    2
provision                     temp dir    -
skipped by one (not durable): reopen
FAILED one commit::stale: head moved
  again: cargo xtask conformance --group commit --case stale --seed 0x7
";
    let table = Table::new(&lines).provisions([("one", "temp dir")]);
    assert_eq!(table.to_string(), expect);
    assert!(table.has_failures());
    assert!(!Table::new(&lines[3..]).has_failures());
}

#[test]
fn a_wide_table_goes_on_below_and_equal_skips_share_a_line() {
    let names = [
        "inmem",
        "sqlite",
        "postgres",
        "redis",
        "redis-cluster",
        "cached",
        "traced",
        "retry",
        "split",
        "stack",
        "encrypted",
        "custom-store",
    ];
    let mut lines = Vec::new();
    for name in names {
        lines.extend(
            (0..57).map(|n| line(name, "commit", &format!("case-{n}"), Outcome::Pass, None)),
        );
        let search =
            |case: &str| line(name, "search", case, Outcome::Skip, Some("no full-text search"));
        lines.extend(["words", "phrases", "pages", "ranks"].map(search));
    }
    let text = Table::new(&lines).to_string();
    assert!(
        text.lines().all(|line| line.len() <= 120 || line.starts_with("skipped by ")),
        "{text}"
    );
    let heads: Vec<_> = text.lines().filter(|line| line.starts_with("suite v1")).collect();
    let shown: Vec<_> = heads.iter().flat_map(|head| head.split_whitespace().skip(2)).collect();
    assert_eq!(shown, names, "every subject once, in their order");
    let skips: Vec<_> = text.lines().filter(|line| line.starts_with("skipped by")).collect();
    let expect = format!("skipped by {} (no full-text search): words, phrases, pages, ranks", {
        let mut sorted = names;
        sorted.sort_unstable();
        sorted.join(", ")
    });
    assert_eq!(skips, [expect]);
}

#[test]
fn a_line_of_the_kit_is_understood() {
    let text = r#"{"suite_version":1,"subject":"one","group":"commit","case":"first","outcome":"skip","reason":"not durable","seed":7}"#;
    let read: Line = serde_json::from_str(text).unwrap();
    assert_eq!(read, line("one", "commit", "first", Outcome::Skip, Some("not durable")));
}
