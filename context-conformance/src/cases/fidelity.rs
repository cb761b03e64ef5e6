//! Cases about fidelity: stored content comes back unchanged, byte for byte.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{Commit, ForkName, NewChat, Target};
use context_core::{Encoded, Json, Message, Metadata, Node, Role, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, ids, message, raw};
use crate::expect::same;
use crate::verdict::{Check, Stop};
use crate::visible_chat::summary;

cases!("fidelity":
    bodies_of_any_bytes,
    large_bodies,
    unknown_kinds_and_versions,
    every_field_of_a_message,
    odd_ids,
    odd_names_and_titles,
    odd_names_of_renamed_branches,
    metadata_order_and_digits,
);

/// Writes the messages in one commit and again in single commits, and reads them by every call.
async fn round_trip(case: &CaseContext, nodes: Vec<Arc<Node>>) -> Check {
    for per_commit in [nodes.len(), 1] {
        let fixture = case.fixture().await?;
        let mut expected = None;
        for part in nodes.chunks(per_commit) {
            let target = Target::Extend { branch: "main".into(), expected };
            expected = part.last().map(|node| node.id.clone());
            fixture.applied(Commit { target, nodes: part.to_vec(), ..fixture.stay() }).await?;
        }
        let chain = fixture.whole("main").await?;
        let asked: Vec<_> = nodes.iter().map(|node| node.id.clone()).collect();
        let slots = fixture.history().messages(&fixture.chat, &asked).await?;
        same(
            "how many messages came back",
            &(chain.len(), slots.len()),
            &(nodes.len(), nodes.len()),
        )?;
        for ((node, read), slot) in nodes.iter().zip(chain.iter()).zip(&slots) {
            same(format!("the bytes of {:?}", node.id), read.body().bytes(), node.body().bytes())?;
            same(format!("{:?} in the chain", node.id), read, node)?;
            let slot = slot.as_ref().map(|placed| &placed.node);
            same(format!("{:?} by its id", node.id), &slot, &Some(node))?;
        }
    }
    Ok(())
}

async fn bodies_of_any_bytes(case: &CaseContext) -> Check {
    let every_byte: Vec<u8> = (0..=255).collect();
    let bodies: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\0\0a\0",
        b"\xff\xfe",
        b"\xc3(",
        &every_byte,
        "👩‍👩‍👧 🏳️‍🌈".as_bytes(),
        "שלום עולם \u{202e}abc".as_bytes(),
        "e\u{301} é \u{feff}".as_bytes(),
        b"'; DROP TABLE message; --",
        b"{\"role\": broken",
        b"\r\n\t\x1b[31m",
    ];
    round_trip(
        case,
        bodies.iter().enumerate().map(|(i, body)| raw(&format!("b{i}"), *body)).collect(),
    )
    .await
}

async fn large_bodies(case: &CaseContext) -> Check {
    let body = |size: usize| (0..size).map(|i| (i % 251) as u8).collect::<Vec<_>>();
    let sizes = [65_535, 65_536, 1 << 20, (1 << 20) + 1, 8 << 20];
    round_trip(case, sizes.iter().map(|size| raw(&format!("b{size}"), body(*size))).collect()).await
}

async fn unknown_kinds_and_versions(case: &CaseContext) -> Check {
    let node = |id: &str, kind: NodeKind, name: &str, version| {
        let body = Encoded::new(name, version, &b"\x01\x02"[..]);
        Arc::new(Node::from_encoded(id.into(), kind, Timestamp::default(), body))
    };
    let long = "k".repeat(255);
    round_trip(
        case,
        vec![
            node("a", NodeKind::Message(Role::System), "from-the-future", u16::MAX),
            node("b", NodeKind::Message(Role::Tool), "message", 0),
            node("c", NodeKind::Boundary, "🦀", 1),
            node("d", NodeKind::Message(Role::Assistant), &long, 300),
        ],
    )
    .await
}

async fn every_field_of_a_message(case: &CaseContext) -> Check {
    let times = [0, -1, 1, i64::MAX, i64::MIN, 1_700_000_000_123_456];
    let tokens = [None, Some(0), Some(1), Some(u32::MAX), Some(65_536), None];
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool, Role::User, Role::User];
    let nodes =
        times.into_iter().zip(tokens).zip(roles).enumerate().map(|(i, ((at, tokens), role))| {
            let node =
                Node::new(format!("m{i}"), Message::text(role, "text"), Timestamp::from_micros(at));
            Arc::new(tokens.map_or(node.clone(), |tokens| node.with_tokens(tokens)))
        });
    round_trip(case, nodes.collect()).await
}

/// Returns ids that break careless queries, paths or keys.
fn odd() -> Vec<String> {
    let long = "é".repeat(256);
    let odd = [
        "'",
        "\"",
        "`",
        "a'b\"c",
        "%",
        "_",
        "\\",
        "/",
        "..",
        "a/b",
        "a:b",
        "a b",
        " ",
        "\n",
        "\r\n",
        "\t",
        "\u{0}",
        "a\u{0}b",
        "👩‍👩‍👧",
        "é",
        "e\u{301}",
        "A",
        "a",
        "null",
        "0",
        "00",
        "-1",
        "1e3",
        "{}",
        "*",
        "?",
        "$1",
        ":1",
        "--",
        "\u{202e}x",
        "\u{feff}",
        &long,
    ];
    odd.iter().map(|id| (*id).to_owned()).collect()
}

async fn odd_ids(case: &CaseContext) -> Check {
    let odd = odd();
    round_trip(case, odd.iter().map(|id| message(id)).collect()).await?;
    // The ids as users and chats next to each other, which must not be confused.
    let fixture = ChatFixture::new(case.open("odd").await?, "ada", "chat");
    for (i, id) in odd.iter().enumerate() {
        let theirs = fixture.other(id, &odd[odd.len() - 1 - i]);
        theirs.create().await?;
        theirs.applied(theirs.extend("", [format!("m{i}").as_str()])).await?;
    }
    for (i, id) in odd.iter().enumerate() {
        let theirs = fixture.other(id, &odd[odd.len() - 1 - i]);
        theirs.expect_chain("main", &[&format!("m{i}")]).await?;
        let listed = summary(&theirs).await?.map(|item| (item.chat.chat, item.messages));
        same(
            format!("the chat of user {id:?} in the listing"),
            &listed,
            &Some((theirs.chat.clone(), 1)),
        )?;
    }
    Ok(())
}

async fn odd_names_and_titles(case: &CaseContext) -> Check {
    let odd = odd();
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut expected = vec!["main".to_owned()];
    for (i, name) in odd.iter().enumerate() {
        let new = format!("on-{i}");
        fixture.applied(fixture.fork(name, "a", [new.as_str()])).await?;
        fixture.expect_chain(name, &["a", &new]).await?;
        fixture
            .history()
            .set_checkpoint(&fixture.chat, &name.as_str().into(), &new.into(), fixture.at())
            .await?;
        let mut keyed = fixture.stay();
        keyed.key = Some(name.as_str().into());
        fixture.applied(keyed).await?;
        let mut fragment = crate::chat_fixture::stored("", name);
        fragment.id = Some(name.as_str().into());
        fixture.fragments().put_fragments(&fixture.chat, &[fragment], fixture.at()).await?;
        expected.push(name.clone());
    }
    let names: Vec<_> =
        fixture.heads().await?.into_iter().map(|(name, _)| name.to_string()).collect();
    same("the branches", &names, &expected)?;
    let mut sorted = odd.clone();
    sorted.sort();
    let checkpoints = fixture.history().checkpoints(&fixture.chat).await?;
    let checkpoints: Vec<_> =
        checkpoints.iter().map(|checkpoint| checkpoint.name.to_string()).collect();
    same("the checkpoints", &checkpoints, &sorted)?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    let fragments: Vec<_> = fragments.iter().flat_map(|f| &f.id).map(ToString::to_string).collect();
    same("the fragments", &fragments, &odd)?;

    let name = ForkName::NextVersionOf("it's\n".into());
    let fork =
        Commit { target: Target::Fork { name, at: None, activate: false }, ..fixture.stay() };
    same(
        "a version of an odd name",
        &fixture.applied(fork).await?.branch,
        &Some("it's\n-v2".into()),
    )?;
    for title in ["", "\u{0}", "Ünï 👩‍👩‍👧 \n\"'", &"é".repeat(2048)] {
        let chat = fixture.other("titles", &format!("{title:.10}.")).chat;
        let new =
            NewChat { title: Some(title.to_owned()), ..NewChat::new(chat.clone(), fixture.at()) };
        let _ = fixture.history().create_chat(new).await?;
        let read = fixture.history().chat(&chat).await?.and_then(|chat| chat.title);
        same("a title", &read, &Some(title.to_owned()))?;
    }
    same("the chain of main", &ids(&fixture.whole("main").await?), &vec!["a".to_owned()])
}

async fn odd_names_of_renamed_branches(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.fork("side", "a", ["x"])).await?;
    let mut name = "side".to_owned();
    for new in odd() {
        fixture
            .history()
            .rename_branch(&fixture.chat, &name.into(), &new.as_str().into(), fixture.at())
            .await?;
        fixture.expect_chain(&new, &["a", "x"]).await?;
        let names: Vec<_> =
            fixture.heads().await?.into_iter().map(|(name, _)| name.to_string()).collect();
        same("the branches", &names, &vec!["main".to_owned(), new.clone()])?;
        name = new;
    }
    for name in odd() {
        let id = format!("of {name:.100}");
        fixture.applied(fixture.fork(&format!("{name:.200}+"), "a", [id.as_str()])).await?;
        let branch = format!("{name:.200}+").as_str().into();
        let _deleted = fixture
            .history()
            .delete_branch(&fixture.chat, &branch, Some(&id.into()), fixture.at())
            .await?;
    }
    same("how many branches are left", &fixture.heads().await?.len(), &2)
}

async fn metadata_order_and_digits(case: &CaseContext) -> Check {
    let fixture = ChatFixture::new(case.open("metadata").await?, "ada", "chat");
    let texts = [
        r#"{"z":1,"a":{"y":2,"b":3}}"#,
        "12345678901234567890123",
        "1.50",
        "1E400",
        r#""\u0000 \ud83e\udd80""#,
        r#""🦀""#,
        "null",
        "[ 1 ,  2 ]",
    ];
    let mut metadata = Metadata::default();
    for (i, text) in texts.iter().enumerate() {
        let json = Json::from_text(*text).map_err(|error| Stop::Fail(error.to_string()))?;
        metadata.insert(format!("{} key.{i}", texts.len() - i), json);
    }
    let new =
        NewChat { metadata: metadata.clone(), ..NewChat::new(fixture.chat.clone(), fixture.at()) };
    let _ = fixture.history().create_chat(new).await?;
    let entries = |metadata: &Metadata| -> Vec<String> {
        metadata.iter().map(|(key, value)| format!("{key} = {value}")).collect()
    };
    let read = fixture.history().chat(&fixture.chat).await?.map(|chat| entries(&chat.metadata));
    same("metadata, in order and as it was written", &read, &Some(entries(&metadata)))
}
