//! Several writers of one folder.

use std::sync::Arc;

use context_core::store::{RecordOutcome, RoundCommit, TrajectoryStore};
use context_core::trajectory::{AgentRef, NewNode, NodeBody, Round};
use context_trajectory::FileChannel;

use super::{RoundFixture, at, load, record};

#[tokio::test]
async fn channels_see_each_other_also_when_files_are_written_anew() {
    let root = tempfile::tempdir().unwrap();
    let channels = [FileChannel::new(root.path()), FileChannel::new(root.path())];
    let agent = AgentRef::main("ada", "s");
    let mut fixture = RoundFixture::asked(&agent, 0);
    let action = fixture.act(fixture.query(), "seen");
    record(&channels[0], &mut fixture).await;
    let text = "x".repeat(4000);
    let mut largest = 0;
    // 100 times 4 kB, replaced each time: files are compacted while other channels have them open.
    for step in 0..100_usize {
        let stale = RoundCommit::new("stale", Vec::new(), fixture.round.head());
        fixture.note(action, &format!("{step} {text}"));
        let commit = fixture.commit();
        assert_eq!(channels[step % 2].record_round(&commit).await.unwrap(), RecordOutcome::Applied);
        assert_eq!(
            channels[(step + 1) % 2].record_round(&commit).await.unwrap(),
            RecordOutcome::Replayed
        );
        let outcome = channels[(step + 1) % 2].record_round(&stale).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Conflict { actual: fixture.round.revision() });
        largest = largest.max(std::fs::metadata(super::graph_of(root.path())).unwrap().len());
    }
    for channel in &channels {
        assert_eq!(load(channel, &agent).await, [fixture.round.to_record()]);
    }
    assert!(largest > 64 << 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_writers_lose_nothing() {
    const EACH: u32 = 25;
    let root = tempfile::tempdir().unwrap();
    let agent = AgentRef::main("ada", "s");
    let first = Arc::new(FileChannel::new(root.path()));
    record(&*first, &mut RoundFixture::asked(&agent, 0)).await;
    let writers = (0..8).map(|writer| {
        let (files, agent) = (FileChannel::new(root.path()), agent.clone());
        tokio::spawn(async move {
            let mut done = 0;
            while done < EACH {
                let record = load(&files, &agent).await.remove(0);
                let mut round = Round::from_record(record).unwrap();
                let query = round.query().unwrap().id;
                let file = NodeBody::file(format!("/{writer}/{done}"));
                let (_, changes) =
                    round.add(NewNode::new(file, [query]).edge("produces"), at(20)).unwrap();
                round.committed();
                let commit = RoundCommit::new(format!("{writer}.{done}"), changes, round.head());
                match files.record_round(&commit).await.unwrap() {
                    RecordOutcome::Applied => done += 1,
                    outcome => assert!(matches!(outcome, RecordOutcome::Conflict { .. })),
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let record = load(&*first, &agent).await.remove(0);
    assert_eq!((record.head.nodes, record.head.revision), (1 + 8 * EACH, 1 + u64::from(8 * EACH)));
    Round::from_record(record).unwrap();
}
