//! The pieces of a request, and the options of a replay.

use std::sync::Arc;

use context_runtime::{
    Message, Part, Role, Timestamp,
    sent::{Fate, PieceKind, ReplayError, ReplayOptions, RequestOrigin, RequestReplay},
    store::{Chain, Node},
    tokens::WindowSource,
};

use super::live::{LiveChat, Step, stages, words};
use crate::runtime_kit::ByteCounter;

/// Returns a chat that no engine of this library made: questions, each with a call.
pub(super) fn imported(turns: usize, result: usize) -> Chain {
    let nodes = (0..turns).flat_map(|turn| {
        let call = Part::tool_call(format!("c{turn}"), "read_file", serde_json::json!({}));
        let result = Part::tool_result(format!("c{turn}"), words(result, turn));
        let messages = [
            Message::from(format!("Question {turn}")),
            Message::new(Role::Assistant, [call]),
            Message::new(Role::Tool, [result]),
            Message::text(Role::Assistant, format!("Answer {turn}")),
        ];
        messages.into_iter().enumerate().map(move |(at, message)| {
            let time = Timestamp::from_micros((turn * 4 + at) as i64 * 1_000_000);
            Arc::new(Node::new(format!("{turn}.{at}"), message, time))
        })
    });
    Chain::from_nodes(0, nodes)
}

pub(super) fn options() -> ReplayOptions {
    ReplayOptions::new("anthropic")
        .window(2_500)
        .reserve(100)
        .counter(Arc::new(ByteCounter))
        .stages(stages(&["microcompact", "snip", "truncate-head"]))
}

#[test]
fn requests_are_listed_with_their_answers() {
    let chain = imported(3, 100);
    let replay = RequestReplay::new(&chain, "", options()).unwrap();
    let listed: Vec<_> = replay
        .requests()
        .iter()
        .map(|it| (it.number, it.turn, it.answer.as_ref().unwrap().as_str(), it.newest.as_str()))
        .collect();
    let first = [(1, 1, "0.1", "0.0"), (2, 1, "0.3", "0.2"), (3, 2, "1.1", "1.0")];
    assert_eq!((&listed[..3], listed.len()), (&first[..], 6));
    assert_eq!(replay.request_of(&"1.1".into()), Some(3));
    assert_eq!(replay.request_of(&"1.0".into()), None);
    assert_eq!(replay.window_source(), WindowSource::Given);
    // A branch that ends with a question has one request more.
    let next = RequestReplay::new(&chain.prefix(9), "", options()).unwrap();
    assert_eq!(next.requests().last().unwrap().answer, None);
}

#[test]
fn pieces_add_up_and_cover_every_message() {
    let chain = imported(12, 600);
    let mut replay = RequestReplay::new(&chain, "Be short.", options()).unwrap();
    for number in 1..=replay.requests().len() {
        let report = replay.report(number).unwrap();
        let sum = report.tokens_of_pieces() + report.breakdown.framing;
        assert_eq!(sum, report.breakdown.total());
        let end = chain.position(&report.answer.clone().unwrap()).unwrap();
        let own: Vec<_> = report.pieces.iter().filter_map(|piece| piece.message.clone()).collect();
        let all: Vec<_> = chain.iter().take(end).map(|node| node.id.clone()).collect();
        assert_eq!(own, all, "request {number}");
        let sent = report.pieces.iter().filter_map(|piece| piece.position);
        let messages = replay.prepared(number).unwrap().request.messages.len();
        assert_eq!(sent.collect::<Vec<_>>(), (0..messages).collect::<Vec<_>>());
        let saved: u64 = report.pieces.iter().map(|piece| piece.before.tokens()).sum();
        let added = report.pieces.iter().filter(|piece| piece.fate == Fate::Added);
        let added: u64 = added.map(|piece| piece.tokens.tokens()).sum();
        let sent = report.tokens_of_pieces().tokens();
        assert_eq!(report.saved.tokens, (saved + added - sent).saturating_sub(added));
        assert_eq!(report.origin, RequestOrigin::Planned);
    }
}

#[test]
fn cuts_of_the_replay_stay_made() {
    let chain = imported(12, 600);
    let mut replay = RequestReplay::new(&chain, "Be short.", options()).unwrap();
    let mut left_out = std::collections::HashSet::new();
    for number in 1..=replay.requests().len() {
        let report = replay.report(number).unwrap();
        let now = report.pieces.iter().filter(|piece| piece.fate == Fate::LeftOut);
        let now: std::collections::HashSet<_> =
            now.map(|piece| piece.message.clone().unwrap()).collect();
        assert!(now.is_superset(&left_out), "request {number}");
        left_out = now;
    }
    assert!(!left_out.is_empty());
}

#[test]
fn old_messages_that_were_left_out_are_pieces_of_several() {
    let chain = imported(30, 600);
    let mut whole = RequestReplay::new(&chain, "", options()).unwrap();
    let last = whole.requests().len();
    let mut short = whole.with_options(options().left_out(5)).unwrap();
    let (whole, short) = (whole.report(last).unwrap(), short.report(last).unwrap());
    assert_eq!(whole.body, short.body);
    assert!(short.pieces.len() < whole.pieces.len());
    let messages = |report: &context_runtime::sent::RequestReport| {
        report.pieces.iter().map(|piece| piece.messages).sum::<usize>()
    };
    assert_eq!(messages(&whole), messages(&short));
}

#[test]
fn a_missing_result_is_repaired_and_said_so() {
    let call = Part::tool_call("c1", "read_file", serde_json::json!({}));
    let messages = [
        Message::from("Read it."),
        Message::new(Role::Assistant, [call]),
        Message::from("Never mind."),
    ];
    let nodes = messages.into_iter().enumerate();
    let nodes =
        nodes.map(|(at, it)| Arc::new(Node::new(format!("m{at}"), it, Timestamp::default())));
    let mut replay = RequestReplay::new(&Chain::from_nodes(0, nodes), "", options()).unwrap();
    let report = replay.report(2).unwrap();
    let repaired = report.pieces.iter().find(|piece| piece.fate == Fate::Repaired).unwrap();
    assert_eq!((repaired.kind, repaired.role), (PieceKind::Placeholder, Some(Role::Tool)));
    assert!(report.diagnostics.iter().any(|it| it.path.starts_with("m1")), "{report}");
}

#[test]
fn invalid_options_are_refused() {
    let chain = imported(1, 10);
    let refused = |options| RequestReplay::new(&chain, "", options).unwrap_err();
    assert!(matches!(refused(ReplayOptions::new("nobody")), ReplayError::Provider { .. }));
    let unknown = ReplayOptions::new("anthropic").model("my-own");
    assert!(matches!(refused(unknown), ReplayError::Budget { .. }));
    let full = options().reserve(2_500);
    assert!(matches!(refused(full), ReplayError::Budget { .. }));
    let policy = options().policies(["summarize"]).unwrap_err();
    assert_eq!(policy.to_string(), "there is no policy summarize for a replay");
    let part = chain.suffix(1);
    let error = RequestReplay::new(&part, "", options()).unwrap_err();
    assert!(matches!(error, ReplayError::NotWhole { skipped: 1 }));
    let mut replay = RequestReplay::new(&chain, "", options()).unwrap();
    let error = replay.report(3).unwrap_err();
    assert_eq!(error.to_string(), "there is no request 3: the branch has 2");
    assert!(matches!(replay.report(0), Err(ReplayError::NoRequest { .. })));
    assert!(matches!(replay.diff(2, 2), Err(ReplayError::Order { .. })));
}

#[tokio::test]
async fn a_report_as_people_read_it() {
    let mut live = LiveChat::new("anthropic", stages(&["microcompact", "snip"])).await;
    for result in [900, 700, 500, 600, 400] {
        live.step(&Step::Call(result, 40)).await;
    }
    let options = live.options(stages(&["microcompact", "snip"]));
    let mut replay =
        RequestReplay::new(&live.chain().await, live.prompt.as_str(), options).unwrap();
    let cut = (1..=replay.requests().len())
        .find(|number| replay.report(*number).unwrap().saved.tokens > 0)
        .unwrap();
    insta::assert_snapshot!("report", replay.report(cut).unwrap());
    insta::assert_snapshot!("next_report", replay.report(cut + 1).unwrap());
    insta::assert_snapshot!("difference", replay.diff(cut - 1, cut).unwrap());
    let json = serde_json::to_value(replay.report(cut).unwrap()).unwrap();
    assert_eq!(json["pieces"][0]["kind"], "system");
    assert_eq!(json["prefix"]["cause"]["cause"], "cut");
}
