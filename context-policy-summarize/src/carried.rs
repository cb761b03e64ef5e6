//! Facts that are carried from checkpoint to checkpoint unchanged, independently of the model's
//! wording: to-do list, questions, skills.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::base::secrets;
use context_core::{Message, Part, Role, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use crate::quote::{ExcerptLimits, quoted};

const TODO: ExcerptLimits = ExcerptLimits::new(2_000, 1_500, 500);
const ASKED: ExcerptLimits = ExcerptLimits::new(400, 300, 100);
const ANSWERED: ExcerptLimits = ExcerptLimits::new(600, 450, 150);
const SKILL: ExcerptLimits = ExcerptLimits::new(200, 150, 50);
/// Maximum number of questions; the newest stay.
const MOST_QUESTIONS: usize = 10;
/// Maximum number of skills; the newest stay.
const MOST_SKILLS: usize = 20;

/// The names of tools whose calls become [`CarriedFacts`]. Names are compared without case and
/// separators: `todo_write` is `TodoWrite`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CarriedTools {
    /// Tools that write or read a to-do list.
    pub todo: Vec<String>,
    /// Tools that ask the user.
    pub questions: Vec<String>,
    /// Tools that read a skill.
    pub skills: Vec<String>,
}

impl CarriedTools {
    /// Creates the lists of tools; a list may be empty.
    pub fn new<S: Into<String>>(
        todo: impl IntoIterator<Item = S>,
        questions: impl IntoIterator<Item = S>,
        skills: impl IntoIterator<Item = S>,
    ) -> Self {
        let names = |names: &mut dyn Iterator<Item = S>| names.map(Into::into).collect();
        Self {
            todo: names(&mut todo.into_iter()),
            questions: names(&mut questions.into_iter()),
            skills: names(&mut skills.into_iter()),
        }
    }

    fn family(&self, tool: &str) -> Option<Family> {
        let tool = plain(tool);
        let has = |names: &[String]| names.iter().any(|name| plain(name) == tool);
        match () {
            () if has(&self.todo) => Some(Family::Todo),
            () if has(&self.questions) => Some(Family::Question),
            () if has(&self.skills) => Some(Family::Skill),
            () => None,
        }
    }
}

impl Default for CarriedTools {
    /// Returns the names that common agents use.
    fn default() -> Self {
        Self::new(
            vec!["todo", "todo_write", "todo_read", "write_todos", "update_todos", "update_plan"],
            vec![
                "ask_user",
                "ask_user_question",
                "ask_question",
                "ask_followup_question",
                "request_user_input",
            ],
            vec!["skill", "read_skill", "load_skill", "use_skill"],
        )
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Todo,
    Question,
    Skill,
}

/// Facts that are carried over, shortened and with secrets [masked](secrets::mask).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CarriedFacts {
    /// The to-do list as it was last written; `None` if the messages that stay have a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
    /// The questions that the user was asked, with the answers, oldest first: the newest ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The inputs of the calls that read skills, oldest first: the newest twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// A question that the user answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// The input of the call.
    pub asked: String,
    /// The result of the call.
    pub answered: String,
}

impl CarriedFacts {
    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds later facts.
    pub(crate) fn extend(&mut self, later: Self) {
        self.todo = later.todo.or(self.todo.take());
        self.questions.extend(later.questions);
        for skill in later.skills {
            self.skill(skill);
        }
        keep_newest(&mut self.questions, MOST_QUESTIONS);
        keep_newest(&mut self.skills, MOST_SKILLS);
    }

    /// Adds the facts of these messages. A call without a result is not a fact.
    pub(crate) fn gather(&mut self, messages: &[Arc<Message>], tools: &CarriedTools) {
        let mut waiting: HashMap<&str, VecDeque<(Family, &ToolCall)>> = HashMap::new();
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::ToolCall(call) => {
                    if let Some(family) = tools.family(&call.name) {
                        waiting.entry(&call.id).or_default().push_back((family, call));
                    }
                }
                Part::ToolResult(result) => {
                    let call =
                        waiting.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front);
                    if let Some((family, call)) = call.filter(|_| !result.is_error) {
                        self.learn(family, call, result);
                    }
                }
                _ => {}
            }
        }
    }

    fn learn(&mut self, family: Family, call: &ToolCall, result: &ToolResult) {
        let input = call.input.as_written();
        let shown = |ends: ExcerptLimits, text: &str| ends.of_text(&secrets::mask(text));
        match family {
            Family::Todo if matches!(input.trim(), "" | "{}" | "null") => {
                self.todo = Some(shown(TODO, &texts(result)));
            }
            Family::Todo => self.todo = Some(shown(TODO, input)),
            Family::Question => {
                let (asked, answered) = (shown(ASKED, input), shown(ANSWERED, &texts(result)));
                self.questions.push(Question { asked, answered });
                keep_newest(&mut self.questions, MOST_QUESTIONS);
            }
            Family::Skill => {
                self.skill(shown(SKILL, input));
                keep_newest(&mut self.skills, MOST_SKILLS);
            }
        }
    }

    fn skill(&mut self, skill: String) {
        self.skills.retain(|known| *known != skill);
        self.skills.push(skill);
    }

    /// Returns the lines for a checkpoint.
    pub(crate) fn lines(&self) -> String {
        let todo = self.todo.iter().map(|todo| format!("To-do list, as last written: {todo}\n"));
        let asked = self.questions.iter().map(|question| {
            format!(
                "The user was asked: {}\nThe user answered: {}\n",
                question.asked, question.answered
            )
        });
        let skills = self.skills.iter();
        let skills = skills
            .map(|skill| format!("Skill read, to be read again before it is used: {skill}\n"));
        quoted(&todo.chain(asked).chain(skills).collect::<String>())
    }
}

/// Returns whether these messages call a to-do list tool.
pub(crate) fn has_todo(messages: &[Arc<Message>], tools: &CarriedTools) -> bool {
    let assistant = messages.iter().filter(|message| message.role == Role::Assistant);
    assistant.flat_map(|message| &message.parts).any(|part| {
        matches!(part,
            Part::ToolCall(call) if tools.family(&call.name) == Some(Family::Todo))
    })
}

/// Returns the texts of a result, joined by line feeds.
fn texts(result: &ToolResult) -> String {
    let texts = result.output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}
