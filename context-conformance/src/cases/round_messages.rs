//! Cases about nodes that stand for messages, and are found by message in all rounds of the user.

use context_core::store::{MessageNode, RoundPrune};
use context_core::trajectory::{
    AgentRef, Changes, MessageLink, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval,
};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::same;
use crate::round_fixture::RoundFixture;
use crate::verdict::Check;

cases!("round_messages":
    found_among_all_rounds_in_order if Trajectories,
    of_one_user_and_chat if Trajectories,
    gone_with_their_node if Trajectories,
    stay_as_nodes_change if Trajectories,
    any_name_can_be_linked if Trajectories,
);

async fn found(
    fixture: &ChatFixture,
    user: &str,
    chat: &str,
    message: &str,
) -> Check<Vec<MessageNode>> {
    Ok(fixture
        .trajectories()?
        .nodes_of_message(&user.into(), &chat.into(), &message.into())
        .await?)
}

/// Creates a round in which a question and `more` conclusions stand for the message.
async fn linked(
    fixture: &ChatFixture,
    agent: AgentRef,
    round: u32,
    more: u32,
    link: &MessageLink,
) -> Check<RoundFixture> {
    let mut round_fixture = RoundFixture::new(fixture, agent.round(round));
    let query = round_fixture.asks(NewQuery::new("why?").message(link.clone()))?;
    for i in 0..more {
        let state = NewNode::new(NodeBody::state(format!("{i}")), [query]).append();
        round_fixture
            .add(state.message(MessageLink::new("chat", "other")).message(link.clone()))?;
    }
    round_fixture.record().await?;
    Ok(round_fixture)
}

async fn found_among_all_rounds_in_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let link = MessageLink::new("chat", "m");
    let places = [
        ("s", 10, 0, 0),
        ("t", 0, 0, 0),
        ("s", 0, 10, 0),
        ("s", 0, 2, 11),
        ("s", 2, 0, 0),
        ("B", 0, 0, 1),
    ];
    let mut expected = Vec::new();
    for (session, agent, round, more) in places {
        let agent = AgentRef::new("ada", session, agent);
        linked(&fixture, agent.clone(), round, more, &link).await?;
        expected.extend((0..=more).map(|i| MessageNode::new(agent.clone(), NodeId::new(round, i))));
    }
    expected.sort();
    same("the nodes of a message", &found(&fixture, "ada", "chat", "m").await?, &expected)?;
    same("those of another", &found(&fixture, "ada", "chat", "other").await?.len(), &12)?;
    same("those of one without", &found(&fixture, "ada", "chat", "none").await?, &Vec::new())
}

async fn of_one_user_and_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (user, chat, message) in
        [("ada", "chat", "m"), ("bob", "chat", "m"), ("ada", "other", "m"), ("ada", "chat", "M")]
    {
        let agent = AgentRef::main(user, format!("{chat} {message}"));
        linked(&fixture, agent, 0, 0, &MessageLink::new(chat, message)).await?;
    }
    for (user, chat, message, expected) in [
        ("ada", "chat", "m", 1),
        ("bob", "chat", "m", 1),
        ("ada", "other", "m", 1),
        ("bob", "other", "m", 0),
        ("eve", "chat", "m", 0),
    ] {
        let nodes = found(&fixture, user, chat, message).await?;
        same(format!("nodes of {message} in {chat} of {user}"), &nodes.len(), &expected)?;
        let theirs = nodes.iter().all(|node| node.agent.user == *user);
        same("whose they are", &theirs, &true)?;
    }
    Ok(())
}

async fn gone_with_their_node(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let link = MessageLink::new("chat", "m");
    let agent = fixture.agent("s");
    let mut round_fixture = linked(&fixture, agent.clone(), 0, 2, &link).await?;
    linked(&fixture, agent.clone(), 1, 0, &link).await?;
    round_fixture.remove(NodeId::new(0, 1), NodeRemoval::Leaf)?;
    round_fixture.record().await?;
    let node = |round, ordinal| MessageNode::new(agent.clone(), NodeId::new(round, ordinal));
    let left = vec![node(0, 0), node(0, 2), node(1, 0)];
    same("after a node was removed", &found(&fixture, "ada", "chat", "m").await?, &left)?;
    let _pruned = fixture.trajectories()?.prune_rounds(&RoundPrune::of_user("ada")).await?;
    same("after the rounds were", &found(&fixture, "ada", "chat", "m").await?, &Vec::new())?;
    linked(&fixture, agent.clone(), 1, 0, &link).await?;
    same(
        "after one was recorded anew",
        &found(&fixture, "ada", "chat", "m").await?,
        &vec![node(1, 0)],
    )
}

async fn stay_as_nodes_change(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let link = MessageLink::new("chat", "m");
    let mut round_fixture = linked(&fixture, fixture.agent("s"), 0, 1, &link).await?;
    for i in 0..3 {
        round_fixture
            .change(NodeId::new(0, 1), &Changes::new().set("content", format!("changed {i}")))?;
        round_fixture.record().await?;
    }
    same("nodes of the message", &found(&fixture, "ada", "chat", "m").await?.len(), &2)?;
    fixture.history().delete_chat(&fixture.chat, None).await?;
    same("without its chat", &found(&fixture, "ada", "chat", "m").await?.len(), &2)?;
    round_fixture.matches_model("the chat was deleted").await
}

async fn any_name_can_be_linked(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let long = "é".repeat(256);
    let names = ["a\u{0}b", "a", "a:b", "é", " ", "%", "*", "a'b", "🦀", &long];
    for (i, name) in names.iter().enumerate() {
        linked(&fixture, fixture.agent("s"), i as u32, 0, &MessageLink::new(*name, *name)).await?;
    }
    for (i, name) in names.iter().enumerate() {
        let expected = vec![MessageNode::new(fixture.agent("s"), NodeId::new(i as u32, 0))];
        same(
            format!("the nodes of {name:?}"),
            &found(&fixture, "ada", name, name).await?,
            &expected,
        )?;
    }
    Ok(())
}
