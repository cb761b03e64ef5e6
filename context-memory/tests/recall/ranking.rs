//! Tests of the order of recalled memories.

use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope, RecallQuery};
use context_core::{MemoryProvider, Message, Role, Timestamp};

use crate::kit::{ada, episodic, minute, never, turn};

/// Checks which of several messages by the user is recalled first.
#[track_caller]
fn first(said: &[&str], question: &str, expected: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found = runtime.block_on(async {
        let memory = episodic();
        for (at, text) in said.iter().enumerate() {
            memory.capture(&turn(&ada("s"), at * 2, &[text]), &never()).await.unwrap();
        }
        let recalled =
            memory.recall(&RecallQuery::new(ada("t"), question), &never()).await.unwrap();
        recalled.memories.into_iter().next().map(|memory| memory.text)
    });
    assert_eq!(found.as_deref(), Some(expected), "{question}");
}

#[test]
fn an_answer_has_what_is_asked_for() {
    let said =
        ["The grinder was worth it.", "The grinder was $89, I think.", "I like the grinder."];
    first(&said, "How much was the grinder?", said[1]);
    let said = ["My sister is far away.", "My sister moved to Oslo.", "My sister and I talk."];
    first(&said, "Where does my sister live now?", said[1]);
}

#[test]
fn one_sentence_that_answers_beats_a_long_turn_with_all_the_words() {
    let long = "The espresso was late. The machine is shiny. We talked about the warranty of a car. The months went by. \
                Espresso is what I drink. My machine hums.";
    let short = "Anyway, the weather is bad. The warranty of the espresso machine is 19 months. See you soon.";
    first(&[long, short], "How long is the warranty of the espresso machine?", short);
}

#[test]
fn short_names_are_those_of_what_they_stand_for() {
    let said =
        ["I ended up in the ER that night.", "The room was dark.", "It was an emergency landing."];
    first(&said, "Have I been to the emergency room?", said[0]);
    let said = ["The World Trade Organization wrote to me.", "My trade is what I write about."];
    first(&said, "What did the WTO write?", said[0]);
}

#[test]
fn forms_of_a_word_are_the_word() {
    first(
        &["We went hiking.", "I bought two kittens."],
        "What did she buy?",
        "I bought two kittens.",
    );
}

#[tokio::test]
async fn a_reply_answers_what_was_asked_before_it() {
    let memory = episodic();
    let said = [
        "Do you play any instruments?",
        "Yes, clarinet, since I was nine.",
        "I heard of a festival.",
        "Which one?",
        "Instruments are expensive.",
        "They are.",
    ];
    memory.capture(&turn(&ada("s"), 0, &said), &never()).await.unwrap();
    let query = RecallQuery::new(ada("t"), "Which instruments are played?");
    let recalled = memory.recall(&query, &never()).await.unwrap();
    let texts: Vec<_> =
        recalled.memories.iter().take(3).map(|memory| memory.text.as_str()).collect();
    assert!(texts.contains(&said[1]), "{texts:?}");
}

#[tokio::test]
async fn who_is_named_is_who_is_asked_about() {
    let memory = episodic();
    let say = |id: &str, who: &str, text: &str| {
        CapturedMessage::new(id, Message::text(Role::User, text)).speaker(who).at(minute(0))
    };
    let said = vec![
        say("1", "Caroline Reis", "I adopted a dog."),
        say("2", "Melanie", "I adopted a dog as well, a big one."),
    ];
    memory.capture(&CapturedTurn::new(ada("s"), "t", minute(0), said), &never()).await.unwrap();
    for (who, expected) in [("Caroline", "1"), ("Melanie", "2")] {
        let query = RecallQuery::new(ada("t"), format!("What pet did {who} adopt, a dog?"));
        let recalled = memory.recall(&query, &never()).await.unwrap();
        let source = recalled.memories[0].source.as_ref().unwrap();
        assert_eq!(source.message.as_ref().unwrap(), expected, "{who}");
    }
}

#[tokio::test]
async fn when_it_was_said_counts_if_one_asks() {
    let memory = episodic();
    const DAY: i64 = 24 * 60;
    for (at, text) in [
        (0, "I was at the dentist."),
        (40 * DAY, "I was at the dentist.  "),
        (41 * DAY, "It rained."),
    ] {
        let id = format!("m{at}");
        let said = CapturedMessage::new(id, Message::text(Role::User, text)).at(minute(at));
        let told = CapturedTurn::new(ada("s"), "t", minute(at), vec![said]);
        memory.capture(&told, &never()).await.unwrap();
    }
    // The first was on 14 November 2023, the second on 24 December.
    for (question, expected) in
        [("dentist in November 2023", minute(0)), ("dentist yesterday", minute(40 * DAY))]
    {
        let query = RecallQuery::new(MemoryScope::new("ada"), question).at(minute(41 * DAY));
        let recalled = memory.recall(&query, &never()).await.unwrap();
        let at: Option<Timestamp> = recalled.memories[0].at;
        assert_eq!(at, Some(expected), "{question}");
    }
}

#[test]
fn another_word_for_the_same_thing_is_found() {
    let said = ["My guitar needs strings.", "It rained.", "I met her at the cinema."];
    first(&said, "Which instrument is it?", said[0]);
    let said = ["We took in a kitten from the shelter.", "It rained.", "We walked for long."];
    first(&said, "What pet was adopted?", said[0]);
    // The question's own word is worth more.
    let said = ["The physician was late.", "The doctor was late."];
    first(&said, "Who saw the doctor?", said[1]);
}

#[test]
fn who_asks_about_themselves_said_it_themselves() {
    // The texts are alternately by user and assistant.
    let said = ["My sister plays chess.", "A sister plays chess."];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found = runtime.block_on(async {
        let memory = episodic();
        memory.capture(&turn(&ada("s"), 0, &said), &never()).await.unwrap();
        let query = RecallQuery::new(ada("t"), "Does my sister play chess?");
        memory.recall(&query, &never()).await.unwrap().memories.remove(0).text
    });
    assert_eq!(found, said[0]);
}

#[test]
fn who_tells_answers_rather_than_who_asks() {
    let said = ["Did the harbour festival take place?", "The harbour festival took place."];
    first(&said, "What about the harbour festival?", said[1]);
}

#[tokio::test]
async fn a_speaker_goes_on_after_the_other_ones_turn() {
    let memory = episodic();
    let said = [
        "I joined a choir in the old fire station.",
        "Good for you!",
        "We perform on the tenth of December.",
        "The weather is bad.",
        "It is.",
        "Then let us stay in.",
    ];
    memory.capture(&turn(&ada("s"), 0, &said), &never()).await.unwrap();
    let query = RecallQuery::new(ada("t"), "Where is the choir?");
    let recalled = memory.recall(&query, &never()).await.unwrap();
    let texts: Vec<_> = recalled.memories.iter().map(|memory| memory.text.as_str()).collect();
    assert_eq!(texts[..2], [said[0], said[2]], "{texts:?}");
}
