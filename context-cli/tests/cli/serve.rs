//! `serve` answers programs until it is asked to end, and loses nothing that it acknowledged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::harness::Bench;

#[test]
fn a_token_is_shown_once_and_its_line_is_what_the_file_needs() {
    let bench = Bench::new();
    let record = bench.records("serve --new-token ada --admin").remove(0);
    let (token, line) = (record["token"].as_str().unwrap(), record["line"].as_str().unwrap());
    assert_eq!(token.len(), 48);
    assert!(line.starts_with("ada sha256:") && line.ends_with(" admin"), "{line}");
    assert!(!line.contains(token));
    let text = bench.run("serve --new-token ada");
    assert!(text.out.starts_with("ada sha256:") && !text.out.contains("token"), "{text:?}");
    assert!(text.err.contains("token: "), "the token itself is beside the line: {text:?}");
}

#[test]
fn a_service_that_others_could_reach_needs_tokens() {
    let bench = Bench::new();
    let refused = |line: &str, said: &str| {
        let ran = bench.run(line);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
        assert!(!ran.err.contains("my-password"), "{ran:?}");
    };
    refused("serve --address 0.0.0.0", "0.0.0.0 is not of this machine: it needs --tokens");
    bench.file("tokens.txt", "# none yet\n");
    refused("serve --tokens tokens.txt", "has no token: make one with --new-token");
    bench.file("tokens.txt", "ada my-password\n");
    refused("serve --tokens tokens.txt", "line 1 of the tokens");
}

#[test]
fn the_description_is_printed_without_a_store() {
    let bench = Bench::new();
    let description: serde_json::Value =
        serde_json::from_str(&bench.ok("serve --describe")).unwrap();
    assert_eq!(description["openapi"], "3.1.0");
    assert!(!bench.path().join("context.db").exists());
}

#[cfg(unix)]
mod running {
    use rustix::process::Signal;
    use serde_json::{Value, json};

    use crate::harness::Bench;
    use crate::served::{Served, say};

    #[test]
    fn messages_of_programs_are_there_after_it_ended_however_it_ended() {
        let bench = Bench::new();
        for (at, signal) in [Signal::INT, Signal::TERM, Signal::KILL].into_iter().enumerate() {
            let served = Served::start(&bench, &[], None);
            let (status, answer) =
                served.ask("POST", "/v1/chats/trip/messages", &say(&format!("m{at}")));
            assert_eq!((status, &answer["branch"]), (200, &json!("main")), "{answer}");
            let expected = (signal != Signal::KILL).then_some(0);
            assert_eq!(served.end(signal), expected, "{signal:?}");
        }
        let log = bench.ok("log trip");
        assert!(["m0", "m1", "m2"].iter().all(|text| log.contains(text)), "{log}");
    }

    /// The signal was listened to only when the first connection was being waited for, so that a
    /// supervisor who asked right after the address was printed, or while the first answer was on
    /// its way, killed the service.
    #[test]
    fn a_service_that_says_its_address_ends_when_it_is_asked_to() {
        let bench = Bench::new();
        for round in 0..10 {
            let served = Served::start(&bench, &[], None);
            assert_eq!(served.end(Signal::TERM), Some(0), "round {round}");
        }
    }

    #[test]
    fn each_token_sees_the_chats_of_its_user() {
        let bench = Bench::new();
        let records = ["ada", "bob"]
            .map(|user| bench.records(&format!("serve --new-token {user}")).remove(0));
        let lines: Vec<_> = records.iter().map(|it| it["line"].as_str().unwrap()).collect();
        bench.file("tokens.txt", lines.join("\n"));
        let [ada, bob] = records.map(|record| record["token"].as_str().unwrap().to_owned());
        let mut served = Served::start(&bench, &["--tokens", "tokens.txt"], Some(&ada));
        assert_eq!(served.ask("POST", "/v1/chats/trip/messages", &say("Hi.")).0, 200);
        served.token = Some(bob);
        assert_eq!(served.ask("GET", "/v1/chats/trip", &json!({})).0, 404);
        served.token = None;
        assert_eq!(served.ask("GET", "/v1/chats/trip", &json!({})).0, 401);
        assert_eq!(served.end(Signal::TERM), Some(0));
        assert!(bench.ok("--user ada chats").contains("trip"));
    }

    /// The commands of the page, as they stand there but for the port.
    #[test]
    fn the_commands_of_the_page_do_what_it_says() {
        let page = include_str!("../../../docs/http.md");
        let bench = Bench::new();
        let served = Served::start(&bench, &[], None);
        let mut blocks = page.split("```");
        let mut ran = 0;
        while let Some(block) = blocks.next() {
            let Some(command) = block.strip_prefix("sh\n").filter(|it| it.starts_with("curl"))
            else {
                continue;
            };
            let command = command.replace("localhost:8080", &served.address);
            let shell = std::process::Command::new("sh").arg("-c").arg(&command).output();
            let output = shell.expect("there is a shell");
            if output.status.code() == Some(127) {
                eprintln!("there is no curl: the commands of docs/http.md are not run");
                return;
            }
            let answer: Value = serde_json::from_slice(&output.stdout).expect(&command);
            let _between = blocks.next();
            let expected = blocks.next().and_then(|next| next.strip_prefix("json\n"));
            match expected {
                Some(expected) => {
                    assert_eq!(answer, serde_json::from_str::<Value>(expected).unwrap());
                }
                None => assert!(answer["messages"].is_array(), "{command}: {answer}"),
            }
            ran += 1;
        }
        assert_eq!(ran, 2, "the page has two requests");
        assert_eq!(served.end(Signal::INT), Some(0));
    }

    /// The program of the page and of `examples/http`.
    #[test]
    fn a_python_program_holds_a_conversation() {
        let program = include_str!("../../../examples/http/turn.py");
        let page = include_str!("../../../docs/http.md");
        let shown = page.split("```python\n").nth(1).and_then(|it| it.split("```").next());
        assert!(program.contains(shown.unwrap()), "the page shows a part of the program");
        let bench = Bench::new();
        let file = bench.file("turn.py", program);
        let served = Served::start(&bench, &[], None);
        let url = format!("http://{}", served.address);
        let ran = std::process::Command::new("python3").arg(file).arg(url).output();
        let Ok(ran) = ran else {
            eprintln!("there is no python3: examples/http/turn.py is not run");
            return;
        };
        let said = String::from_utf8_lossy(&ran.stdout);
        let failed = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(said.trim(), "It is 18 °C (Lisbon) in Lisbon.", "{failed}");
        assert_eq!(served.end(Signal::INT), Some(0));
        assert!(bench.ok("log lisbon").contains("18 °C"), "tool results are stored");
    }

    #[test]
    fn a_store_that_may_not_be_changed_is_read() {
        let bench = Bench::with_sample();
        let served = Served::start(&bench, &["--read-only"], None);
        assert_eq!(served.ask("GET", "/v1/chats/notes/messages?limit=3", &json!({})).0, 200);
        let (status, problem) = served.ask("POST", "/v1/chats/notes/messages", &say("Hi."));
        assert_eq!(status, 403, "{problem}");
        assert_eq!(served.end(Signal::INT), Some(0));
    }
}
