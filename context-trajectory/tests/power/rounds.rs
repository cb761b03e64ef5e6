//! The rounds that are recorded, and their state after each commit.

use context_core::store::RoundCommit;
use context_core::trajectory::{
    AgentRef, Changes, NewNode, NewQuery, NodeBody, Round, RoundRecord, RoundState,
};
use context_core::{Json, Timestamp};

/// The commits of a round, each with the state after it.
pub(crate) type Commits = Vec<(RoundCommit, RoundRecord)>;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// Returns a round with a question, actions with short and long results, and an end. With
/// `changes`, the first result is changed many times, so that a file of the round is compacted.
pub(crate) fn round(agent: &AgentRef, number: u32, actions: usize, changes: usize) -> Commits {
    let mut round = Round::new(agent.round(number), at(1));
    let mut commits = Commits::new();
    let mut commit = |round: &mut Round, changes| {
        round.committed();
        let head = round.head();
        let key = format!("key-{}", head.revision);
        commits.push((RoundCommit::new(key, changes, head), round.to_record()));
    };
    let (query, asked) = round.ask(NewQuery::new("why?"), at(10)).expect("a question");
    commit(&mut round, asked.into_iter().collect());
    let mut first = None;
    for n in 0..actions {
        let action = NodeBody::action("look", Json::from_text(r#"{"z":1.50}"#).expect("JSON"));
        let new = NewNode::new(action, [query]).edge("triggers").append();
        let (id, added) = round.add(new, at(20)).expect("an action");
        let output = format!("seen {n} ").repeat(if n % 3 == 1 { 300 } else { 2 });
        let changes = Changes::new().set("output", output).set("success", true);
        let changed = round.change(id, &changes, None, at(30)).expect("a result");
        first.get_or_insert(id);
        commit(&mut round, added.into_iter().chain(changed).collect());
    }
    for n in 0..changes {
        let changes = Changes::new().set("success", n % 2 == 0);
        let changed =
            round.change(first.expect("an action"), &changes, None, at(40)).expect("a change");
        commit(&mut round, changed.into_iter().collect());
    }
    round.set_state(RoundState::Closed, at(50));
    commit(&mut round, Vec::new());
    commits
}
