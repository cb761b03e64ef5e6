//! Chats drawn in every form.

use context_runtime::{ContextEngine, Message, Part, Role, assistant, user};
use insta::assert_snapshot;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::Scene;
use crate::cli::Cli;
use crate::output::Output;

#[test]
fn every_form_of_drawing() {
    let message = |i: usize| {
        let role = if i.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": format!("\"{i}\"]; <b>")})
    };
    let scene = Scene::with_chat("long", &json!((0..24).map(message).collect::<Vec<_>>()));
    let _moved = scene.records("fork long --at m6 --name \"]-->x");
    let _set = scene.records("checkpoint long {half} --at m3");
    assert_snapshot!(
        "graph",
        scene.show(&[
            "graph long",
            "graph long --messages -n 3 --reverse",
            "graph long --format mermaid",
            "graph long --format dot --reverse",
            "graph long --branch \"]-->x -n 2",
            "graph long --branch none",
            "graph nothing"
        ])
    );
    let text = scene.show(&["graph long --format json"]);
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(lines.len(), 24);
    let records = scene.records("graph long");
    assert_eq!(serde_json::from_str::<Value>(lines[11]).expect("JSON"), records[11]);
    let on_path = |line: &str| {
        scene.records(line).iter().filter(|record| record["on_path"] == json!(true)).count()
    };
    assert_eq!([on_path("graph long"), on_path("graph long --branch \"]-->x")], [24, 6]);
    let newest = scene.records("graph long -n 2 --reverse");
    let ids: Vec<_> = newest.iter().map(|record| record["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["m24", "m23", "m22", "m21"]);
    let drawn = &scene.records("graph long --format mermaid")[0];
    assert_eq!((&drawn["v"], &drawn["format"]), (&json!(1), &json!("mermaid")));
    assert!(drawn["text"].as_str().is_some_and(|text| text.starts_with("flowchart TD\n")));
}

impl Scene {
    /// Adds turns to the active branch: question, tools that are called, answer.
    fn talk(&self, chat: &str, turns: &[(&str, &[&str], &str)]) {
        self.runtime.block_on(async {
            let builder = ContextEngine::builder(self.store.clone()).user("local").chat(chat);
            let builder = builder.clock(self.host.clone()).ids(self.host.clone());
            let mut engine = builder.open().await.expect("an engine");
            for (question, tools, answer) in turns {
                engine.set([user(*question)]);
                for tool in *tools {
                    let call = Part::tool_call("c", *tool, json!({"to": "Lisbon"}));
                    let result = Part::tool_result("c", "10:05, 12:40");
                    engine.set([
                        assistant(Message::new(Role::Assistant, [call])),
                        Message::new(Role::Tool, [result]).into(),
                    ]);
                }
                engine.set([assistant(*answer)]).save().await.expect("saved");
            }
        });
    }

    /// Starts a branch at a message and makes it the active one.
    fn branch(&self, chat: &str, name: &str, at: &str) {
        let _made = self.records(&format!("fork {chat} --at {at} --name {name}"));
        let _moved = self.records(&format!("branches {chat} --switch {name}"));
    }

    /// Draws as on a terminal.
    fn on_screen(&self, line: &str, columns: usize, color: &str) -> String {
        let args = ["context", "--color", color].into_iter().chain(line.split_whitespace());
        let cli = Cli::read(args).expect("the command line is right");
        let set = |output: Output| output.on_a_terminal().with_columns(Some(columns));
        let (result, out, beside) = self.run_read(cli, false, set);
        assert!(result.is_ok(), "{beside}");
        assert!(color == "always" || out.lines().all(|line| line.width() <= columns), "{out}");
        out.replace('\u{1b}', "ESC")
    }
}

/// A chat about a journey, with 18 branches: alternatives, an answer that was asked for again, and
/// branches of branches.
fn journey() -> Scene {
    const TURNS: [(&str, &[&str], &str); 9] = [
        ("Which trains go to Lisbon on Friday?", &["trains", "fares"], "10:05 and 12:40."),
        (
            "What does the 10:05 cost for two people with a railcard, and is there a dining car?",
            &["fares"],
            "84.50 in second class.",
        ),
        ("Two seats at the window, please.", &["seats"], "Seats 41 and 42 in coach 6."),
        (
            "And a hotel near the station, not above 120 a night.",
            &["hotels", "hotels", "map"],
            "There are three: Estrela, Oriente and Parque.",
        ),
        ("Take the Oriente, three nights.", &["book"], "Booked: Oriente, 5 to 8 June."),
        ("What can we do there when it rains?", &["weather", "events"], "The aquarium."),
        ("Book the aquarium for Saturday at ten.", &["book"], "Booked for 10:00."),
        ("Now the way back on Monday.", &["trains"], "The 09:30 and the 15:15."),
        ("The later one.", &["book"], "Booked: 15:15, seats 11 and 12."),
    ];
    let scene = Scene::new();
    scene.talk("trip", &TURNS);
    for (name, at, question) in [
        ("by-plane", "n1", "Is a plane cheaper?"),
        ("night-train", "n6", "Is there a night train?"),
        ("night-train-beds", "n48", "With beds for four?"),
        ("first-class", "n10", "In first class?"),
        ("further-out", "n22", "Something cheaper, further out?"),
        ("estrela", "n22", "Take the Estrela."),
        ("parque", "n22", "Take the Parque, with breakfast."),
        ("parque-late", "n66", "Can we leave at two in the afternoon?"),
        ("parque-suite", "n66", "Is the suite free?"),
        ("four-nights", "n26", "Make it four nights."),
        ("museums", "n32", "Which museums are open on Sunday?"),
        ("fado", "n32", "Where do we hear fado?"),
        ("fado-alfama", "n86", "Something smaller, in the Alfama."),
        ("back-early", "n40", "The earlier one."),
        ("back-by-bus", "n40", "Is there a bus?"),
    ] {
        scene.branch("trip", name, at);
        scene.talk("trip", &[(question, &["search"], "Yes.")]);
    }
    scene.branch("trip", "retry", "n43");
    scene.talk("trip", &[]);
    let _moved = scene.records("branches trip --switch main");
    scene.talk("trip", &[("Thanks! Put it all into the calendar.", &["calendar"], "Done.")]);
    scene.branch("trip", "surprise", "n44");
    scene.talk("trip", &[("Now a present for our host.", &["search"], "Port wine.")]);
    let _moved = scene.records("branches trip --switch main");
    let _set = scene.records("checkpoint trip paid --at n26");
    let _pinned = scene.records("pin trip n11");
    assert_eq!(scene.records("branches trip").len(), 18);
    scene
}

#[test]
fn eighteen_branches_fit_a_terminal() {
    let scene = journey();
    let lines = ["graph trip", "graph trip --reverse", "graph trip --branch parque-suite -n 3"];
    for (name, columns, color) in [
        ("branches_80", 80, "never"),
        ("branches_120", 120, "never"),
        ("branches_colour", 80, "always"),
        ("branches_40", 40, "never"),
    ] {
        let shown = lines.map(|line| scene.on_screen(line, columns, color)).join("\n");
        assert_snapshot!(name, shown);
    }
}

#[test]
fn wide_and_combining_characters_keep_the_width() {
    let scene = Scene::new();
    scene.talk("tabi", &[
        ("金曜日にリスボンへ行く電車はどれですか。二人分の料金と、食堂車があるかどうかも教えてください。", &["trains"], "十時五分"),
        ("🚆🚆🚆 👍🏽 🇵🇹 ❤️ e\u{301}a\u{308}o\u{302} 🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆🚆", &[], "👍"),
    ]);
    scene.branch("tabi", "リスボン-二人-食堂車", "n4");
    scene.talk("tabi", &[("नमस्ते, كيف حالك؟ Ça va?", &[], "bem")]);
    let drawn = [80, 60, 33, 20, 9].map(|columns| scene.on_screen("graph tabi", columns, "never"));
    assert_snapshot!("wide", drawn.join("\n"));
}

#[test]
fn a_thousand_messages_are_folded() {
    let scene = Scene::new();
    let turns: Vec<(String, String)> =
        (1..=250).map(|i| (format!("Question {i}?"), format!("Answer {i}."))).collect();
    let turns: Vec<(&str, &[&str], &str)> =
        turns.iter().map(|(q, a)| (q.as_str(), ["search"].as_slice(), a.as_str())).collect();
    scene.talk("long", &turns);
    scene.branch("long", "aside", "n404");
    scene.talk("long", &turns[..8]);
    let _moved = scene.records("branches long --switch main");
    let _set = scene.records("checkpoint long middle --at n600");
    assert_eq!(scene.records("graph long").len(), 1032);
    let lines = ["graph long", "graph long -n 4 --reverse", "graph long --format mermaid"];
    assert_snapshot!("thousand", scene.show(&lines));
    let lines = |line: &str| scene.show(&[line]).lines().count() - 2;
    assert_eq!([lines("graph long --full"), lines("graph long --messages")], [258, 1032]);
}

/// Also where a compaction left its boundary.
#[test]
fn boundaries_are_marked() {
    let scene = Scene::new();
    let long = "All that is to be said of it. ".repeat(60);
    scene.talk("long", &[("One?", &[], &long), ("Two?", &[], &long), ("Three?", &[], &long)]);
    let _compacted = scene.records("compact long --window 1400");
    scene.talk("long", &[("Four?", &[], "Yes.")]);
    assert_snapshot!("boundary", scene.show(&["graph long", "graph long --format mermaid"]));
}
