//! Two concurrent writers of one block: every acknowledged edit is kept.

use std::sync::Arc;

use context_conformance::FixedClock;
use context_core::memory::MemoryScope;
use context_memory::{BlockEdit, BlockError, BlockRule, Blocks, ScopeLevel};
use context_simulator::Random;
use proptest::prelude::*;

use crate::blocks::{append, replace};
use crate::slow::Slow;

/// Adds its own lines and changes them. Returns the acknowledged lines that were not changed since.
async fn write(blocks: Blocks, who: &str, seed: u64, edits: usize) -> (Vec<String>, usize) {
    let scope = MemoryScope::new("ada");
    let mut random = Random::new(seed);
    let (mut lines, mut done): (Vec<String>, usize) = (Vec::new(), 0);
    for number in 0..edits {
        let line = format!("<{who} {number}>");
        let (edit, old) = match random.below(4) {
            0 | 1 if !lines.is_empty() => {
                let old = random.below(lines.len());
                (replace(&lines[old], &line), Some(old))
            }
            // This edit does not commute: it may be refused, and then it changed nothing.
            2 => {
                let place = context_memory::InsertPosition::Line(0);
                (BlockEdit::Insert { place, text: line.clone() }, None)
            }
            _ => (append(&line), None),
        };
        match blocks.edit(&scope, "n", &edit, None).await {
            Ok(_) => {
                done += 1;
                match old {
                    Some(old) => lines[old] = line,
                    None => lines.push(line),
                }
            }
            Err(BlockError::Changed { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    (lines, done)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn no_acknowledged_edit_of_two_writers_is_lost(seeds in any::<[u64; 2]>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let clock = Arc::new(FixedClock::at(0));
            let blocks = Blocks::new(Arc::new(Slow::default()), clock).unwrap().keep_versions(100);
            let blocks = blocks.declare(BlockRule::new("n").scope_level(ScopeLevel::User)).unwrap();
            let (one, two) = tokio::join!(
                write(blocks.clone(), "one", seeds[0], 12),
                write(blocks.clone(), "two", seeds[1], 12),
            );
            let scope = MemoryScope::new("ada");
            let mut there: Vec<_> = blocks.view(&scope,
                "n").await.unwrap().text.lines().map(str::to_owned).collect();
            let mut expected = [one.0, two.0].concat();
            there.sort();
            expected.sort();
            assert_eq!(there, expected);
            // Each acknowledged edit is a version of its own.
            let versions = blocks.history(&scope, "n").await.unwrap();
            let numbers: Vec<_> = versions.iter().map(|version| version.version).collect();
            let newest_first: Vec<_> = (1..=(one.1 + two.1) as u64).rev().collect();
            assert_eq!(numbers, newest_first);
        });
    }
}
