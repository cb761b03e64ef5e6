//! Crashes at every byte, damage at every byte, and crashes during compaction of a file.

use std::path::Path;

use context_core::ErrorKind;
use context_core::store::{RoundQuery, TrajectoryStore};
use context_core::trajectory::{AgentRef, RoundRecord, RoundState};
use context_trajectory::FileChannel;

use super::{RoundFixture, at, graph_of, load, record};

/// Returns the round's state and file size after each commit, the graph file, and the fixtures.
async fn small_journal() -> (Vec<(RoundRecord, usize)>, Vec<u8>, Vec<RoundFixture>) {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    let (mut states, mut fixtures) = (Vec::new(), Vec::new());
    let mut fixture = RoundFixture::asked(&agent, 0);
    for step in 0..3 {
        record(&files, &mut fixture).await;
        let bytes = std::fs::metadata(graph_of(root.path())).unwrap().len() as usize;
        states.push((fixture.round.to_record(), bytes));
        fixtures.push(RoundFixture { round: fixture.round.clone(), changes: Vec::new() });
        fixture.act(fixture.query(), &format!("seen {step}"));
    }
    (states, std::fs::read(graph_of(root.path())).unwrap(), fixtures)
}

fn put(root: &Path, graph: &[u8]) {
    std::fs::create_dir_all(root.join("ada/s")).unwrap();
    std::fs::write(graph_of(root), graph).unwrap();
}

#[tokio::test]
async fn a_crash_at_any_byte_leaves_the_last_commit_that_is_whole() {
    let (states, graph, fixtures) = small_journal().await;
    let agent = AgentRef::main("ada", "s");
    let root = tempfile::tempdir().unwrap();
    for cut in 0..=graph.len() {
        put(root.path(), &graph[..cut]);
        // A line is complete without its line feed.
        let whole = states.iter().filter(|(_, bytes)| *bytes <= cut + 1).count();
        let expected: Vec<RoundRecord> =
            states[..whole].last().map(|(record, _)| record.clone()).into_iter().collect();
        let files = FileChannel::new(root.path());
        assert_eq!(load(&files, &agent).await, expected, "cut at {cut}");
        let heads = files.rounds(&RoundQuery::of_user("ada")).await.unwrap().items;
        assert_eq!(heads, expected.iter().map(|record| record.head.clone()).collect::<Vec<_>>());
        // Recording continues from there.
        let mut next = match whole.checked_sub(1) {
            Some(last) => RoundFixture { round: fixtures[last].round.clone(), changes: Vec::new() },
            None => RoundFixture::asked(&agent, 0),
        };
        next.act(next.query(), "again");
        record(&files, &mut next).await;
        assert_eq!(load(&FileChannel::new(root.path()), &agent).await, [next.round.to_record()]);
    }
}

#[tokio::test]
async fn damage_at_any_byte_is_told_and_never_written_over() {
    let (states, graph, _) = small_journal().await;
    let agent = AgentRef::main("ada", "s");
    let root = tempfile::tempdir().unwrap();
    let last_line = states[states.len() - 2].1;
    for place in 0..graph.len() {
        let mut damaged = graph.clone();
        damaged[place] ^= 1;
        put(root.path(), &damaged);
        let files = FileChannel::new(root.path());
        let loaded = files.load_rounds(&agent, 0..=0).await;
        let line = 1 + graph[..place].iter().filter(|byte| **byte == b'\n').count();
        // Damage at the end of the last line may look like an unfinished line, as after a crash.
        if let Ok(records) = &loaded {
            assert!(place >= last_line, "byte {place} of line {line}");
            assert!(states.iter().any(|(state, _)| [state.clone()] == records[..]));
            continue;
        }
        let error = loaded.unwrap_err();
        // With a damaged header the file looks like one of another program.
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported
            ),
            "{error}"
        );
        assert!(error.to_string().contains("agent-0.round-0.jsonl"), "{error}");
        let told =
            (line..=line + 1).any(|line| error.to_string().contains(&format!("line=\"{line}\"")));
        assert!(told, "line {line}: {error}");
        let mut fixture = RoundFixture::asked(&agent, 0);
        assert!(files.record_round(&fixture.commit()).await.is_err());
        assert_eq!(std::fs::read(graph_of(root.path())).unwrap(), damaged, "it is left as it was");
    }
}

#[tokio::test]
async fn a_line_that_stands_twice_or_is_missing_is_damage() {
    let (_, graph, _) = small_journal().await;
    let agent = AgentRef::main("ada", "s");
    let root = tempfile::tempdir().unwrap();
    let text = String::from_utf8(graph).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for place in 1..lines.len() {
        let mut twice = lines.clone();
        twice.insert(place, lines[place]);
        let mut missing = lines.clone();
        missing.remove(place);
        for damaged in [twice, missing] {
            put(root.path(), damaged.concat().as_bytes());
            let loaded = FileChannel::new(root.path()).load_rounds(&agent, 0..=0).await;
            match loaded {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
                // A missing last line cannot be detected.
                Ok(records) => assert_eq!((place, records.len()), (lines.len() - 1, 1)),
            }
        }
    }
}

/// A loss of power may keep the length of a file and its last sectors, and lose others, which are
/// then NUL bytes. The file used to be reported as damaged, and the round could not be continued.
#[tokio::test]
async fn a_sector_that_never_reached_the_disk_ends_the_file() {
    const SECTOR: usize = 512;
    let (states, graph, fixtures) = small_journal().await;
    let agent = AgentRef::main("ada", "s");
    let root = tempfile::tempdir().unwrap();
    for begin in (0..graph.len()).step_by(SECTOR) {
        let mut holed = graph.clone();
        let end = graph.len().min(begin + SECTOR);
        holed[begin..end].fill(0);
        put(root.path(), &holed);
        let whole = states.iter().filter(|(_, bytes)| *bytes <= begin).count();
        let expected: Vec<RoundRecord> =
            states[..whole].last().map(|(record, _)| record.clone()).into_iter().collect();
        let files = FileChannel::new(root.path());
        assert_eq!(load(&files, &agent).await, expected, "the sector at {begin}");
        let mut next = match whole.checked_sub(1) {
            Some(last) => RoundFixture { round: fixtures[last].round.clone(), changes: Vec::new() },
            None => RoundFixture::asked(&agent, 0),
        };
        next.act(next.query(), "again");
        record(&files, &mut next).await;
        assert_eq!(load(&FileChannel::new(root.path()), &agent).await, [next.round.to_record()]);
    }
    // Other NUL bytes are damage.
    for begin in [700, 900] {
        let mut damaged = graph.clone();
        damaged[begin..begin + 3].fill(0);
        put(root.path(), &damaged);
        let files = FileChannel::new(root.path());
        let error = files.load_rounds(&agent, 0..=0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}

#[tokio::test]
async fn a_file_under_another_name_is_not_believed() {
    let (_, graph, _) = small_journal().await;
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("eve/s")).unwrap();
    std::fs::write(root.path().join("eve/s/agent-0.round-0.jsonl"), graph).unwrap();
    let files = FileChannel::new(root.path());
    let error = files.load_rounds(&AgentRef::main("eve", "s"), 0..=0).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(files.rounds(&RoundQuery::of_user("eve")).await.is_err());
}

/// The end of a round compacts its file: the new head is written first, then the new graph next to
/// the old one, which it replaces. A hard link to the old file shows its last state.
#[cfg(unix)]
#[tokio::test]
async fn a_crash_while_a_file_is_written_anew_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    let mut fixture = RoundFixture::asked(&agent, 0);
    let action = fixture.act(fixture.query(), "seen");
    record(&files, &mut fixture).await;
    for step in 0..30 {
        fixture.note(action, &format!("seen {step}"));
        record(&files, &mut fixture).await;
    }
    files.close().await.unwrap();
    let graph = graph_of(root.path());
    let head = graph.with_file_name("agent-0.round-0.meta.json");
    let old_head = std::fs::read(&head).unwrap();
    let second_name = root.path().join("old");
    std::fs::hard_link(&graph, &second_name).unwrap();
    fixture.round.set_state(RoundState::Closed, at(50));
    record(&files, &mut fixture).await;
    let (old, new) = (std::fs::read(&second_name).unwrap(), std::fs::read(&graph).unwrap());
    let new_head = std::fs::read(&head).unwrap();
    assert!(new.len() * 2 < old.len() && new.iter().filter(|byte| **byte == b'\n').count() == 2);
    let expected = fixture.round.to_record();
    let partial = graph.with_file_name(".agent-0.round-0.jsonl.partial0");
    for (graph_now, head_now) in
        [(&old, &old_head), (&old, &new_head), (&new, &old_head), (&new, &new_head)]
    {
        for half in [0, 1, new.len() / 2, new.len()] {
            std::fs::write(&graph, graph_now).unwrap();
            std::fs::write(&head, head_now).unwrap();
            std::fs::write(&partial, &new[..half]).unwrap();
            let files = FileChannel::new(root.path());
            assert_eq!(load(&files, &agent).await, std::slice::from_ref(&expected));
            let heads = files.rounds(&RoundQuery::of_user("ada")).await.unwrap().items;
            assert_eq!(heads, std::slice::from_ref(&expected.head));
            let mut next = RoundFixture { round: fixture.round.clone(), changes: Vec::new() };
            next.note(action, "later");
            record(&files, &mut next).await;
            assert_eq!(
                load(&FileChannel::new(root.path()), &agent).await,
                [next.round.to_record()]
            );
        }
    }
}

#[tokio::test]
async fn a_head_that_is_missing_or_damaged_costs_nothing_but_time() {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    let mut fixture = RoundFixture::asked(&agent, 0);
    let head = graph_of(root.path()).with_file_name("agent-0.round-0.meta.json");
    let mut heads = vec![Vec::new(), b"{}".to_vec()];
    for step in 0..6 {
        fixture.act(fixture.query(), &format!("seen {step}"));
        record(&files, &mut fixture).await;
        files.close().await.unwrap();
        heads.push(std::fs::read(&head).unwrap());
        // A power failure may bring back any earlier head.
        for old in &heads {
            std::fs::write(&head, old).unwrap();
            let listed = files.rounds(&RoundQuery::of_user("ada")).await.unwrap().items;
            assert_eq!(listed, [fixture.round.head()]);
        }
        std::fs::remove_file(&head).unwrap();
        assert_eq!(
            files.rounds(&RoundQuery::of_user("ada")).await.unwrap().items,
            [fixture.round.head()]
        );
    }
}
