//! Property tests: the output is valid for any history, by an independent implementation of the
//! rules.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, normalize};

use context_core::message::Reasoning;
use context_core::model::Unanswered;
use context_core::{Message, Part, Role, ToolResult};
use proptest::prelude::*;

fn part() -> impl Strategy<Value = Part> {
    let id =
        prop_oneof![Just(""), Just("a"), Just("b"), Just("a_2"), Just("é/x"), Just("call_1_0")];
    prop_oneof![
        3 => prop_oneof![Just("text"), Just(""), Just(" \n")].prop_map(Part::text),
        4 => id.clone().prop_map(|id| Part::tool_call(id, "look up",
            context_codec_kit::wire::object([]))),
        5 => (id, any::<bool>()).prop_map(|(id, is_error)| match Part::tool_result(id, "r") {
            Part::ToolResult(result) => Part::ToolResult(ToolResult { is_error, ..result }),
            part => part,
        }),
        1 => Just(Part::Reasoning(Reasoning { text: "hm".into(), ..Reasoning::default() })),
        1 => Just(Part::Data(context_core::message::Data { name: "d".into(),
            value: context_codec_kit::wire::null() })),
    ]
}

fn history() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let role = prop_oneof![
        1 => Just(Role::System), 3 => Just(Role::User), 5 => Just(Role::Assistant),
            4 => Just(Role::Tool)
    ];
    let message = (role, prop::collection::vec(part(), 0..4))
        .prop_map(|(role, parts)| Arc::new(Message::new(role, parts)));
    prop::collection::vec(message, 0..14)
}

fn rules() -> impl Strategy<Value = HistoryRules> {
    any::<[bool; 5]>().prop_map(|[system_anywhere, assistant_last, prefill, alternate, any_id]| {
        let mut rules = HistoryRules::new();
        rules.system_anywhere = system_anywhere;
        rules.assistant_last = assistant_last;
        rules.prefill = prefill;
        rules.alternate = alternate;
        rules.any_id = any_id;
        (rules.max_id_len, rules.max_name_len) = (20, 30);
        rules
    })
}

/// Returns the violated rules of a history.
fn faults(messages: &[Arc<Message>], rules: &HistoryRules, prefill: bool) -> Vec<String> {
    let (mut faults, mut open, mut seen) = (Vec::new(), Vec::<String>::new(), HashSet::new());
    let speaker = |role: Role| if role == Role::Tool { Role::User } else { role };
    let mut begun = false;
    for (m, message) in messages.iter().enumerate() {
        let mut fault = |fault: &str| faults.push(format!("messages[{m}]: {fault}"));
        let mut others = false;
        if !message.parts.iter().any(|part| !matches!(part, Part::Data(_))) {
            fault("nothing in it");
        }
        for part in &message.parts {
            match part {
                Part::ToolResult(result) => {
                    match open.iter().position(|id| *id == result.call_id) {
                        Some(_) if others => fault("a result behind something else"),
                        Some(_) if matches!(message.role, Role::Assistant | Role::System) => {
                            fault("a result of nobody")
                        }
                        Some(position) => drop(open.remove(position)),
                        None => fault("a result without call"),
                    }
                }
                _ if message.role == Role::Tool => fault("a tool says something else"),
                Part::Text(text) if text.text.trim().is_empty() => fault("blank"),
                _ => others = true,
            }
        }
        if (others || message.role == Role::Assistant)
            && message.role != Role::Tool
            && !open.is_empty()
        {
            fault("calls without results before it");
        }
        for part in &message.parts {
            if let Part::ToolCall(call) = part {
                let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if message.role != Role::Assistant {
                    fault("somebody else calls");
                }
                if call.id.is_empty()
                    || !seen.insert(call.id.clone())
                    || call.id.chars().count() > rules.max_id_len
                {
                    fault("an id that is empty, long or there before");
                }
                if !(rules.any_id || call.id.chars().all(is_legal))
                    || !call.name.chars().all(is_legal)
                {
                    fault("an id or name with other characters");
                }
                open.push(call.id.clone());
            }
        }
        if message.role == Role::System && begun && !rules.system_anywhere {
            fault("the system interrupts");
        }
        if message.role != Role::System && !begun {
            begun = true;
            if message.role != Role::User {
                fault("the user does not begin");
            }
        }
        let before = m.checked_sub(1).map(|before| speaker(messages[before].role));
        if rules.alternate && before == Some(speaker(message.role)) {
            fault("two of one role");
        }
        let thinks = |part: &Part| matches!(part, Part::Reasoning(_) | Part::Data(_));
        let next = messages.get(m + 1).map(|next| next.role);
        if message.role == Role::Assistant
            && message.parts.iter().all(thinks)
            && next != Some(Role::Assistant)
        {
            fault("thoughts that nothing follows");
        }
    }
    if !open.is_empty() {
        faults.push("calls without results at the end".to_owned());
    }
    let may_end = if prefill { rules.prefill } else { rules.assistant_last };
    if !may_end && messages.last().is_some_and(|last| last.role == Role::Assistant) {
        faults.push("the assistant has the last word".to_owned());
    }
    faults
}

proptest! {
    #[test]
    fn any_history_becomes_valid_and_twice_is_once(
        history in history(),
        rules in rules(),
        remove in any::<bool>(),
        prefill in any::<bool>(),
    ) {
        let unanswered = if remove { Unanswered::Remove } else { Unanswered::Answer };
        let before = history.clone();
        let once = normalize(&history, &rules, unanswered, prefill);
        let messages = once.messages.clone().into_owned();
        prop_assert_eq!(faults(&messages, &rules, prefill), Vec::<String>::new(), "{:#?}",
            messages);
        prop_assert_eq!(&history, &before);
        prop_assert_eq!(&normalize(&history, &rules, unanswered, prefill), &once);
        let is_same = matches!(once.messages, Cow::Borrowed(_)) && messages.len() == history.len();
        prop_assert_eq!(is_same, once.diagnostics.is_empty());

        let twice = normalize(&messages, &rules, unanswered, prefill);
        prop_assert!(matches!(twice.messages, Cow::Borrowed(_)), "{:?}", twice.diagnostics);
        prop_assert!(twice.diagnostics.is_empty());
    }

    #[test]
    fn what_was_valid_is_not_touched(history in history(), rules in rules()) {
        let normalized = normalize(&history, &rules, Unanswered::Answer, false);
        if faults(&history, &rules, false).is_empty() {
            prop_assert!(matches!(normalized.messages, Cow::Borrowed(_)), "{:?}",
                normalized.diagnostics);
        }
    }

    /// No content that can be sent is lost: every text, and the result of every call that has one.
    #[test]
    fn texts_and_thoughts_before_words_stay(history in history()) {
        let normalized = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
        let texts = |messages: &[Arc<Message>]| {
            let parts = messages.iter().flat_map(|message| &message.parts);
            parts.filter(|part| matches!(part, Part::Text(text) if text.text == "text")).count()
        };
        prop_assert_eq!(texts(&history), texts(&normalized.messages));
    }
}
