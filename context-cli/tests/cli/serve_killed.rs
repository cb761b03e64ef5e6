//! Two `serve` over one store, of which one is killed while clients write.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::served::{Served, send};

const CLIENTS: usize = 4;
/// The appends of each client. Every fifth goes to a chat that all share.
const APPENDS: usize = 50;
/// The times that an append is sent. Every second time it reaches the server that lives.
const ATTEMPTS: usize = 10;

#[test]
fn what_was_acknowledged_is_there_once_and_in_order_when_a_server_was_killed() {
    let bench = Bench::new();
    let first = Served::start(&bench, &[], None);
    let second = Served::start(&bench, &[], None);
    let addresses = [first.address.clone(), second.address.clone()];
    let (told, answers) = channel();
    let acknowledged: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (told, addresses) = (told.clone(), &addresses);
                scope.spawn(move || write(client, addresses, &told))
            })
            .collect();
        // A client that fails ends the wait for its answers.
        drop(told);
        assert_eq!(answers.iter().take(CLIENTS * APPENDS / 2).count(), CLIENTS * APPENDS / 2);
        assert_eq!(first.end(Signal::KILL), None);
        let port = addresses[0].rsplit_once(':').unwrap().1;
        let again = Served::start(&bench, &["--port", port], None);
        let written = clients.into_iter().map(|client| client.join().unwrap()).collect();
        assert_eq!(again.end(Signal::TERM), Some(0));
        written
    });

    for (client, chats) in acknowledged.iter().enumerate() {
        assert_eq!(chats.values().map(Vec::len).sum::<usize>(), APPENDS);
        for (chat, keys) in chats {
            let path = format!("/v1/chats/{chat}/messages?limit=1000");
            let (status, page) = second.ask("GET", &path, &json!({}));
            assert_eq!(status, 200, "{page}");
            let messages = page["messages"].as_array().unwrap().iter();
            let stored: Vec<_> = messages.map(|it| it["id"].as_str().unwrap()).collect();
            // In the shared chat, others may have written between two appends of this client.
            let own = format!("c{client}-");
            let of_client: Vec<_> =
                stored.iter().copied().filter(|id| id.starts_with(&own)).collect();
            let expected: Vec<_> =
                keys.iter().flat_map(|key| [format!("{key}-1"), format!("{key}-2")]).collect();
            assert_eq!(of_client, expected, "{chat}: nothing lost, doubled or out of order");
            for key in keys {
                let at = stored.iter().position(|id| *id == format!("{key}-1")).unwrap();
                assert_eq!(stored[at + 1], format!("{key}-2"), "an append is one piece");
            }
        }
    }
    assert_eq!(second.end(Signal::TERM), Some(0));
}

/// Appends pair after pair through both servers in turn. Returns the acknowledged keys by chat.
fn write(
    client: usize,
    addresses: &[String; 2],
    told: &Sender<()>,
) -> BTreeMap<String, Vec<String>> {
    let mut acknowledged = BTreeMap::<_, Vec<_>>::new();
    for number in 0..APPENDS {
        let key = format!("c{client}-{number}");
        let chat = if number % 5 == 0 { "shared".to_owned() } else { format!("own-{client}") };
        let body = json!({"messages": [
            {"role": "user", "text": format!("{key}?")},
            {"role": "assistant", "text": format!("{key}!")},
        ]});
        let path = format!("/v1/chats/{chat}/messages");
        let header = format!("idempotency-key: {key}\r\n");
        let answered = (0..ATTEMPTS).find_map(|attempt| {
            let address = &addresses[(client + number + attempt) % 2];
            send(address, "POST", &path, &header, &body).filter(|(status, _)| *status < 500)
        });
        let (status, answer): (u16, Value) = answered.expect("one of the servers lives");
        assert_eq!(status, 200, "{answer}");
        acknowledged.entry(chat).or_default().push(key);
        told.send(()).unwrap();
    }
    acknowledged
}
