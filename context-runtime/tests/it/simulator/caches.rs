//! The cost of a conversation: how much of each request the provider had in its cache.

use context_runtime::{
    Message, PROVIDERS, Role,
    model::{CacheMarks, ModelRequest},
    provider,
};
use context_simulator::Served;

use super::{body, request, simulator, tool};

/// Returns a conversation of this many turns, some 500 tokens each.
fn turns(n: usize) -> Vec<Message> {
    let turn = |i: usize| {
        let said = format!("{i} {}", "word ".repeat(200));
        [Message::from(said.as_str()), Message::text(Role::Assistant, said)]
    };
    (0..n).flat_map(turn).chain([Message::from("Go on.")]).collect()
}

fn growing(name: &str, of: impl Fn(usize) -> ModelRequest) -> Vec<Served> {
    let simulator = simulator(name);
    for n in 2..8 {
        let reply = simulator.send(&body(name, &of(n)));
        assert_eq!(reply.status, 200, "{name}: {:?}", reply.content);
        let usage = reply.read(&*provider(name).unwrap()).unwrap().usage.unwrap();
        let served = simulator.log().pop().unwrap();
        assert_eq!(
            (usage.cache_read, usage.cache_write),
            (served.cache_read, served.cache_write),
            "{name}"
        );
    }
    simulator.log()
}

#[test]
fn a_conversation_that_only_grows_is_read_from_the_cache() {
    for name in PROVIDERS {
        let log =
            growing(name, |n| request(turns(n)).system("Be brief. ".repeat(500)).tools([tool()]));
        assert_eq!(log[0].cache_read, 0, "{name}");
        for pair in log.windows(2) {
            let [before, after] = pair else { continue };
            // Only the last message of the previous request is followed by something else.
            // Everything before is read from the cache.
            let shared = before.input.unwrap() - 100;
            assert!(after.cache_read > shared - 500, "{name}: {pair:#?}");
            assert!(after.cache_read < after.input.unwrap(), "{name}: {pair:#?}");
        }
    }
}

#[test]
fn another_system_prompt_loses_the_cache() {
    for name in PROVIDERS {
        let log = growing(name, |n| {
            request(turns(n)).system(format!("Turn {n}. {}", "Be brief. ".repeat(500)))
        });
        assert!(log.iter().all(|served| served.cache_read == 0), "{name}: {log:#?}");
    }
}

#[test]
fn without_marks_one_provider_keeps_nothing() {
    let log = growing("anthropic", |n| {
        request(turns(n)).system("Be brief. ".repeat(500)).cache(CacheMarks::Existing)
    });
    assert!(log.iter().all(|served| served.cache_read + served.cache_write == 0), "{log:#?}");
}

#[test]
fn what_changes_in_the_middle_is_read_again_from_there() {
    for name in PROVIDERS {
        let simulator = simulator(name);
        let ask = |messages: Vec<Message>| {
            let request = request(messages).system("Be brief. ".repeat(500));
            assert_eq!(simulator.send(&body(name, &request)).status, 200, "{name}");
            simulator.log().pop().unwrap()
        };
        let first = ask(turns(8));
        let mut changed = turns(8);
        changed[9] = Message::text(Role::Assistant, "Something else.");
        let second = ask(changed);
        assert!(second.cache_read > 0, "{name}: {second:?}");
        assert!(second.cache_read < first.input.unwrap() * 3 / 4, "{name}: {second:?}");
        let again = ask(turns(8));
        assert!(again.cache_read + 128 > first.input.unwrap(), "{name}: {again:?}");
    }
}
