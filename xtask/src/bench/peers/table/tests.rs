//! Tests of the tables with made-up figures.

use super::super::driver::Answer;
use super::super::race::{Figures, Row};
use super::{Report, duration, replace};

fn row(peer: &str, case: &'static str, figures: Option<Figures>) -> Row {
    let theirs = Answer {
        peer: peer.to_owned(),
        version: "1.0".to_owned(),
        sqlite: "3.50".to_owned(),
        journal_mode: "wal".to_owned(),
        synchronous: if peer == "b" { 2 } else { 1 },
        cpu_us: 0.0,
        wall_us: 0.0,
        skipped: figures.is_none().then(|| "it has none".to_owned()),
    };
    Row { case, n: 1_000, theirs, cpu: figures, wall: figures }
}

#[test]
fn each_peer_stands_beside_ours_of_its_own_durability() {
    let figures = |ours, ratio| Some(Figures { ours, theirs: ours * ratio, ratio });
    let mut report = Report::with_header("Measured.".to_owned());
    report.add(
        vec![row("a", "load", figures(50.0, 4.0)), row("a", "fork", figures(2_000.0, 30.0))],
        "A 1".into(),
    );
    report.add(vec![row("b", "load", figures(60.0, 0.5)), row("b", "fork", None)], "B 2".into());
    report.leave_out("c", "npm is missing");
    let text = report.markdown();
    let (_, cpu) = text.split_once("| CPU time").unwrap();
    let (cpu, _) = cpu.split_once("\n\n").unwrap();
    assert_eq!(
        cpu,
        " | messages | ours, NORMAL | ours, FULL | a, NORMAL | b, FULL |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n\
         | load | 1000 | 50 µs | 60 µs | 200 µs (4.0x) | 30 µs (0.5x) |\n\
         | fork | 1000 | 2.0 ms | — | 60 ms (30.0x) | — |"
    );
    assert!(text.contains("| b | 1.0 | B 2 | 3.50 | wal | FULL |"));
    assert!(text.ends_with("* b, fork: it has none\n* Left out: c: npm is missing"));
}

#[test]
fn only_the_tables_of_a_page_are_replaced() {
    let page = format!("# Peers\n\n{}\nold\n{}\n\nMore.\n", super::BEGIN, super::END);
    let new = replace(&page, "new").unwrap();
    assert!(new.starts_with("# Peers\n") && new.ends_with("\n\nMore.\n"));
    assert!(new.contains("\nnew\n") && !new.contains("old"));
    assert_eq!(replace(&new, "new").as_deref(), Some(new.as_str()));
    assert_eq!(replace("# Peers\n", "new"), None);
}

#[test]
fn durations_are_short() {
    assert_eq!(
        [3.1, 42.0, 4_200.0, 42_000.0].map(duration),
        ["3.1 µs", "42 µs", "4.2 ms", "42 ms"]
    );
}
