//! Cases about nodes that stand for messages, and are found by message in all rounds of the user.

use context_core::store::{MessageNode, RoundPrune};
use context_core::trajectory::{
    AgentRef, Changes, MessageLink, NewNode, NewQuery, NodeBody, NodeId, Removal,
};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::Desk;
use crate::diary::Diary;
use crate::expect::same;
use crate::lab::Lab;

cases!("round_messages":
    found_among_all_rounds_in_order if Trajectories,
    of_one_user_and_chat if Trajectories,
    gone_with_their_node if Trajectories,
    stay_as_nodes_change if Trajectories,
    any_name_can_be_linked if Trajectories,
);

async fn found(desk: &Desk, user: &str, chat: &str, message: &str) -> Checked<Vec<MessageNode>> {
    Ok(desk.trajectories()?.nodes_of_message(&user.into(), &chat.into(), &message.into()).await?)
}

/// Creates a round in which a question and `more` conclusions stand for the message.
async fn linked(
    desk: &Desk,
    agent: AgentRef,
    round: u32,
    more: u32,
    link: &MessageLink,
) -> Checked<Diary> {
    let mut diary = Diary::new(desk, agent.round(round));
    let query = diary.asks(NewQuery::new("why?").message(link.clone()))?;
    for i in 0..more {
        let state = NewNode::new(NodeBody::state(format!("{i}")), [query]).append();
        diary.add(state.message(MessageLink::new("chat", "other")).message(link.clone()))?;
    }
    diary.record().await?;
    Ok(diary)
}

async fn found_among_all_rounds_in_order(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
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
        linked(&desk, agent.clone(), round, more, &link).await?;
        expected.extend((0..=more).map(|i| MessageNode::new(agent.clone(), NodeId::new(round, i))));
    }
    expected.sort();
    same("the nodes of a message", &found(&desk, "ada", "chat", "m").await?, &expected)?;
    same("those of another", &found(&desk, "ada", "chat", "other").await?.len(), &12)?;
    same("those of one without", &found(&desk, "ada", "chat", "none").await?, &Vec::new())
}

async fn of_one_user_and_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for (user, chat, message) in
        [("ada", "chat", "m"), ("bob", "chat", "m"), ("ada", "other", "m"), ("ada", "chat", "M")]
    {
        let agent = AgentRef::main(user, format!("{chat} {message}"));
        linked(&desk, agent, 0, 0, &MessageLink::new(chat, message)).await?;
    }
    for (user, chat, message, expected) in [
        ("ada", "chat", "m", 1),
        ("bob", "chat", "m", 1),
        ("ada", "other", "m", 1),
        ("bob", "other", "m", 0),
        ("eve", "chat", "m", 0),
    ] {
        let nodes = found(&desk, user, chat, message).await?;
        same(format!("nodes of {message} in {chat} of {user}"), &nodes.len(), &expected)?;
        let theirs = nodes.iter().all(|node| node.agent.user == *user);
        same("whose they are", &theirs, &true)?;
    }
    Ok(())
}

async fn gone_with_their_node(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let link = MessageLink::new("chat", "m");
    let agent = desk.agent("s");
    let mut diary = linked(&desk, agent.clone(), 0, 2, &link).await?;
    linked(&desk, agent.clone(), 1, 0, &link).await?;
    diary.remove(NodeId::new(0, 1), Removal::Leaf)?;
    diary.record().await?;
    let node = |round, ordinal| MessageNode::new(agent.clone(), NodeId::new(round, ordinal));
    let left = vec![node(0, 0), node(0, 2), node(1, 0)];
    same("after a node was removed", &found(&desk, "ada", "chat", "m").await?, &left)?;
    let _pruned = desk.trajectories()?.prune_rounds(&RoundPrune::of_user("ada")).await?;
    same("after the rounds were", &found(&desk, "ada", "chat", "m").await?, &Vec::new())?;
    linked(&desk, agent.clone(), 1, 0, &link).await?;
    same("after one was recorded anew", &found(&desk, "ada", "chat", "m").await?, &vec![node(1, 0)])
}

async fn stay_as_nodes_change(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let link = MessageLink::new("chat", "m");
    let mut diary = linked(&desk, desk.agent("s"), 0, 1, &link).await?;
    for i in 0..3 {
        diary.change(NodeId::new(0, 1), &Changes::new().set("content", format!("changed {i}")))?;
        diary.record().await?;
    }
    same("nodes of the message", &found(&desk, "ada", "chat", "m").await?.len(), &2)?;
    desk.history().delete_chat(&desk.chat, None).await?;
    same("without its chat", &found(&desk, "ada", "chat", "m").await?.len(), &2)?;
    diary.is_kept("the chat was deleted").await
}

async fn any_name_can_be_linked(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let long = "é".repeat(256);
    let names = ["a\u{0}b", "a", "a:b", "é", " ", "%", "*", "a'b", "🦀", &long];
    for (i, name) in names.iter().enumerate() {
        linked(&desk, desk.agent("s"), i as u32, 0, &MessageLink::new(*name, *name)).await?;
    }
    for (i, name) in names.iter().enumerate() {
        let expected = vec![MessageNode::new(desk.agent("s"), NodeId::new(i as u32, 0))];
        same(format!("the nodes of {name:?}"), &found(&desk, "ada", name, name).await?, &expected)?;
    }
    Ok(())
}
