//! An agent that books flights.

use context_runtime::{Part, Reasoning, Role, assistant, user};
use serde_json::json;

use super::{BOOKING, BRANCHES, Demo, branch, call, failed_step, message, say, step};

const ANSWER: &str =
    "There are three ways on Friday. The **morning flight** fits both of your wishes:

| Flight | Leaves | Arrives | Seats | Fare |
|---|---|---|---:|---:|
| TP 531 | 07:05 | 09:45 | 9 | €118 |
| LH 1166 | 12:40 | 15:25 | 2 | €164 |
| TP 539 | 19:20 | 22:00 | 14 | €97 |

1. TP 531 allows a change until the day before.
2. The evening flight is `basic economy`: no bag, no change.

Shall I hold two seats on TP 531?";

pub(super) async fn write(demo: &Demo) {
    let mut engine = demo.chat(BOOKING, "Two seats to Lisbon").await;
    let system = "You book flights for the staff of a small office. Ask before you pay. \
                  Policy: economy only, and no `basic economy` for trips with luggage.";
    let flights = json!({"flights": [
        {"flight": "TP 531", "leaves": "07:05", "arrives": "09:45", "cabin": "economy", "seats": 9, "fare": 118},
        {"flight": "LH 1166", "leaves": "12:40", "arrives": "15:25", "cabin": "economy", "seats": 2, "fare": 164},
        {"flight": "TP 539", "leaves": "19:20", "arrives": "22:00", "cabin": "basic economy", "seats": 14, "fare": 97},
    ]});
    let search = call(
        "call-1",
        "search_flights",
        json!({"from": "FRA", "to": "LIS", "date": "2026-03-06", "seats": 2}),
    );
    let thought = Reasoning {
        text: "Both travel with luggage, so `basic economy` is out. I look at the whole day, then \
               name the cheapest that the policy allows."
            .into(),
        ..Reasoning::default()
    };
    let found = Part::ToolResult(search.result(flights.to_string()));
    let parts = [
        Part::Reasoning(thought),
        Part::text("I look for seats on Friday."),
        Part::ToolCall(search),
    ];
    say(
        &mut engine,
        [
            message(Role::System, [Part::text(system)]).with_id("b-system"),
            user("Two seats to Lisbon on Friday, please. We both have a suitcase, and I have to be there by ten.")
                .with_id("b-ask"),
            message(Role::Assistant, parts).with_id("b-search"),
            message(Role::Tool, [found]),
            assistant(ANSWER).with_id("b-answer"),
        ],
    )
    .await;
    let held = json!({"flight": "TP 531", "seats": 2, "hold": true});
    let [tried, refused] = failed_step(
        "",
        "call-2",
        "hold_seats",
        held,
        "409 Conflict: 1 seat left in this fare. Another office took the others a minute ago.",
    );
    let [again, done] = step(
        "Only one seat is left at that fare. The next fare class has both seats together.",
        "call-3",
        "hold_seats",
        json!({"flight": "TP 531", "seats": 2, "hold": true, "fare_class": "M"}),
        r#"{"reservation_id":"EHGLP3","seats":["14A","14B"],"fare":132,"held_until":"2026-03-02T18:00:00Z"}"#,
    );
    say(&mut engine, [user("Yes, hold them.").with_id("b-ask-2"), tried, refused, again, done])
        .await;
    say(
        &mut engine,
        [
            assistant(
                "Both seats are held until 18:00: **14A and 14B**, reservation `EHGLP3`, €132 each.",
            )
            .with_id("b-held"),
            user("Good. Pay with the office card.").with_id("b-pay"),
        ],
    )
    .await;
    engine.checkpoint("before payment").await.unwrap();
    let [pay, paid] = step(
        "",
        "call-4",
        "pay_reservation",
        json!({"reservation_id": "EHGLP3", "method": "office-card", "amount": 264, "currency": "EUR"}),
        r#"{"status":"paid","receipt":"R-20260302-117"}"#,
    );
    let end = assistant("Paid: €264, receipt R-20260302-117. The tickets are in your mail.");
    say(&mut engine, [pay, paid, end.with_id("b-end")]).await;
    branch(&mut engine, "b-answer", "evening-flight").await;
    say(
        &mut engine,
        [
            user("What if we fly in the evening?"),
            assistant(
                "Then only TP 539 is left, and its fare has no bag: the policy rules it out.",
            ),
        ],
    )
    .await;
    engine.switch_branch("main").await.unwrap();
}

/// Writes a chat whose search was tried in many ways.
pub(super) async fn write_branches(demo: &Demo) {
    let mut engine = demo.chat(BRANCHES, "Fares for the spring fair").await;
    let question = |n: usize| user(format!("Stage {n}: what does the fair cost us?"));
    for n in 1..=6 {
        let answer = format!("Stage {n}: eleven people, {} euros in all.", 900 + 140 * n);
        let messages =
            [question(n).with_id(format!("s{n}")), assistant(answer).with_id(format!("a{n}"))];
        say(&mut engine, messages).await;
    }
    let ways = [
        ("by-train", 1),
        ("by-night-train", 1),
        ("by-bus", 1),
        ("two-cars", 2),
        ("one-van", 2),
        ("fewer-people", 2),
        ("hotel-at-the-fair", 3),
        ("hotel-in-town", 3),
        ("hostel", 3),
        ("a-day-later", 4),
        ("a-day-earlier", 4),
        ("without-sunday", 4),
        ("group-fare", 5),
        ("early-booking", 5),
        ("miles", 5),
        ("a-very-long-name-for-the-way-that-was-tried-last-and-given-up-again-the-next-morning", 6),
        ("sponsor", 6),
    ];
    for (name, after) in ways {
        branch(&mut engine, &format!("a{after}"), name).await;
        let ask = user(format!("And {}?", name.replace('-', " ")));
        say(&mut engine, [ask, assistant("That is a little less, and takes longer.")]).await;
    }
    engine.switch_branch("main").await.unwrap();
}
