//! Tests of the conformance table.

use xtask::conformance::report::{Line, Outcome, outcomes};
use xtask::conformance::report_folder::ReportFolder;
use xtask::conformance::table::Table;

fn line(subject: &str, group: &str, case: &str, outcome: Outcome, reason: Option<&str>) -> Line {
    Line {
        suite_version: 1,
        subject: subject.into(),
        group: group.into(),
        case: case.into(),
        test: None,
        outcome,
        reason: reason.map(Into::into),
        seed: 7,
        krate: format!("context-store-{subject}"),
        provision: if subject == "one" { "temp dir" } else { "-" }.into(),
    }
}

#[test]
fn a_table_counts_and_names_what_is_not_well() {
    let lines = [
        line("one", "commit", "first", Outcome::Pass, None),
        line("one", "commit", "stale", Outcome::Fail, Some("head moved\nexpected 1\nsaw 2")),
        line("one", "durability", "reopen", Outcome::Skip, Some("not durable")),
        line("two", "commit", "first", Outcome::Pass, None),
        line("two", "commit", "stale", Outcome::Pass, None),
    ];
    let below = "\
skipped by one (not durable): reopen
FAILED one commit::stale: head moved
    expected 1
    saw 2
  again: cargo xtask conformance --subject context-store-one --group commit --case stale --seed 0x7
";
    let expect = "\
suite v1                           one  two
commit                     1, 1 FAILED    2
  first                             ok   ok
  stale                         FAILED   ok
durability                    0+1 skip    -
  reopen                          skip    -
total               1+1 skip, 1 FAILED    2
provision                     temp dir    -
";
    let table = || Table::new(&lines).again("cargo xtask conformance".into());
    assert_eq!(table().to_string(), format!("{expect}{below}"));
    let groups = expect.lines().filter(|line| !line.starts_with(' '));
    let groups: String = groups.map(|line| format!("{line}\n")).collect();
    assert_eq!(table().brief(true).to_string(), format!("{groups}{below}"));
}

#[test]
fn a_block_has_the_rows_of_its_subjects_and_a_long_reason_is_cut() {
    let long = "x\n".repeat(300);
    let lines: Vec<_> = (0..12)
        .map(|n| {
            let (subject, group) = (format!("subject-{n}"), format!("group-{n}"));
            line(&subject, &group, "case", Outcome::Fail, Some(&long))
        })
        .collect();
    let text = Table::new(&lines).to_string();
    assert!(text.contains("    (270 more lines, which the test prints)\n"), "{text}");
    let (first, rest) = text.split_once("\n\n").expect("two blocks");
    assert!(first.contains("\ngroup-0 ") && !first.contains("\ngroup-11"), "{first}");
    assert!(rest.contains("\ngroup-11 ") && !rest.contains("\ngroup-0 "), "{rest}");
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
    let text = Table::new(&lines).brief(true).to_string();
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
fn a_report_tells_in_which_case_its_program_ended() {
    let line = |case: &str, test: &str, outcome: &str| {
        format!(
            r#"{{"suite_version":1,"subject":"one","group":"renderer","case":"{case}"{test},"outcome":"{outcome}","reason":null,"seed":7}}"#
        )
    };
    let test = r#","test":"plain""#;
    let report = [
        line("first", "", "begin"),
        line("first", test, "begin"),
        line("first", "", "pass"),
        line("second", "", "begin"),
        line("second", "", "skip"),
    ];
    let read = outcomes(&report.join("\n")).unwrap();
    let read: Vec<_> =
        read.iter().map(|line| (&*line.case, line.test.as_deref(), line.outcome)).collect();
    let expect = [
        ("first", None, Outcome::Pass),
        ("second", None, Outcome::Skip),
        ("first", Some("plain"), Outcome::Fail),
    ];
    assert_eq!(read, expect);
    assert!(outcomes("{}").is_err(), "a report of another version is no report");
}

#[test]
fn a_report_folder_has_a_page_data_and_badges() {
    let lines = [
        line("one", "commit", "first", Outcome::Pass, None),
        line("one", "commit", "stale", Outcome::Fail, Some("<b>head</b> \"moved\"\u{1b}[31m")),
        line("two/b", "commit", "first", Outcome::Pass, None),
        line("two/b", "durability", "reopen", Outcome::Skip, Some("not durable")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("proof");
    ReportFolder::new(&lines, "2026-11-29").write(&folder).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();

    let data: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!((&data["contract"], &data["day"]), (&1.into(), &"2026-11-29".into()));
    let one = &data["subjects"][0];
    assert_eq!((&one["subject"], &one["crate"]), (&"one".into(), &"context-store-one".into()));
    assert_eq!((&one["passed"], &one["failed"]), (&1.into(), &1.into()));
    assert_eq!(one["cases"][1]["outcome"], "fail");
    assert_eq!(data["subjects"][1]["cases"][1]["reason"], "not durable");

    let page = read("report.html");
    assert!(page.contains("<td>commit::stale<td class=\"fail\">failed"), "{page}");
    assert!(page.contains("&lt;b&gt;head&lt;/b&gt; &quot;moved&quot;\\u{1b}[31m"), "{page}");
    assert!(!page.contains("<b>") && !page.contains("http"), "{page}");

    let badges = ["badge.svg", "badge-one.svg", "badge-two-b.svg"].map(read);
    assert!(badges[0].contains(">contract 1<") && badges[0].contains(">1 failed<"), "{badges:?}");
    assert!(badges[2].contains(">1 passed<"), "{badges:?}");
}
