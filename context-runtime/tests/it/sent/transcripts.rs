//! Conversations of other programs, replayed as this library would send them.

use std::sync::Arc;

use context_runtime::{
    Timestamp,
    provider_rules::check_body,
    sent::{ReplayOptions, RequestOrigin, RequestReplay},
    store::{Chain, Node},
};
use serde_json::Value;

use crate::recorded_chats::{Chat, all_chats};

/// The number of conversations of each source that are replayed.
const CHATS: usize = 4;

fn chain(chat: Chat) -> Chain {
    let nodes = chat.messages.into_iter().enumerate();
    let nodes = nodes.map(|(at, message)| {
        let time = Timestamp::from_micros(at as i64 * 1_000_000);
        Arc::new(Node::new(format!("m{at}"), message, time))
    });
    Chain::from_nodes(0, nodes)
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_request_of_recorded_chats_is_planned_and_taken() {
    let chats = all_chats();
    let mut of_source = std::collections::HashMap::new();
    let (mut requests, mut cut) = (0, 0);
    for chat in chats {
        let source = chat.name.split('/').next().unwrap_or_default().to_owned();
        let count: &mut usize = of_source.entry(source).or_default();
        *count += 1;
        if *count > CHATS {
            continue;
        }
        let name = chat.name.clone();
        let chain = chain(chat);
        for provider in ["anthropic", "openai"] {
            let options = ReplayOptions::new(provider).window(12_000).reserve(1_000);
            let mut replay = RequestReplay::new(&chain, "", options).unwrap();
            let all = replay.requests().len();
            for number in (1..=all).step_by(5).chain([all]).filter(|number| *number > 0) {
                let report =
                    replay.report(number).unwrap_or_else(|error| panic!("{name}: {error:?}"));
                let body: Value = report.body.parse().unwrap();
                let broken = check_body(provider, &body);
                assert!(broken.is_empty(), "{name}, request {number}: {broken:#?}");
                let sum = report.tokens_of_pieces() + report.breakdown.framing;
                assert_eq!(sum, report.breakdown.total(), "{name}, request {number}");
                assert_eq!(report.origin, RequestOrigin::Planned);
                requests += 1;
                cut += usize::from(report.saved.tokens > 0);
            }
        }
    }
    println!("{requests} requests, {cut} of them cut");
    assert!(requests > 0 && cut > 0);
}
