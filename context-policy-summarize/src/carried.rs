//! Facts that are carried from checkpoint to checkpoint unchanged, beside the summary: to-do list,
//! questions, skills, files, decisions, open tasks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::base::secrets;
use context_core::{Message, Part, Role, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use crate::files::{CarriedFile, files_of, plain};
use crate::quote::{ExcerptLimits, quoted};

const TODO: ExcerptLimits = ExcerptLimits::new(2_000, 1_500, 500);
const ASKED: ExcerptLimits = ExcerptLimits::new(400, 300, 100);
const ANSWERED: ExcerptLimits = ExcerptLimits::new(600, 450, 150);
const SKILL: ExcerptLimits = ExcerptLimits::new(200, 150, 50);
const ENTRY: ExcerptLimits = ExcerptLimits::new(400, 300, 100);
/// Maximum number of questions; the newest stay.
const MOST_QUESTIONS: usize = 10;
/// Maximum number of skills; the newest stay.
const MOST_SKILLS: usize = 20;
/// Maximum number of files; those that were used last stay.
const MOST_FILES: usize = 60;
/// Maximum number of decisions; the newest stay.
const MOST_DECISIONS: usize = 40;
/// Maximum number of open tasks; the first stay.
const MOST_TASKS: usize = 30;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Todo,
    Question,
    Skill,
}

/// Facts that are carried over beside the summary, shortened and with secrets
/// [masked](secrets::mask).
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
    /// The files that tools read or changed, by the inputs of their calls, oldest use first: the
    /// sixty that were used last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<CarriedFile>,
    /// The decisions that summaries have listed, oldest first: the newest forty. Each is carried as
    /// it was written first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// The open tasks that the newest summary listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
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
        for file in later.files {
            self.file(file);
        }
        self.decide(later.decisions);
        if !later.tasks.is_empty() {
            self.tasks = later.tasks;
        }
    }

    /// Adds decisions that are not known yet.
    pub(crate) fn decide(&mut self, decisions: impl IntoIterator<Item = String>) {
        for decision in decisions {
            let decision = ENTRY.of_text(&secrets::mask(&decision));
            if !self.decisions.contains(&decision) {
                self.decisions.push(decision);
            }
        }
        keep_newest(&mut self.decisions, MOST_DECISIONS);
    }

    /// Sets the open tasks.
    pub(crate) fn leave_open(&mut self, tasks: impl IntoIterator<Item = String>) {
        let tasks = tasks.into_iter().take(MOST_TASKS);
        self.tasks = tasks.map(|task| ENTRY.of_text(&secrets::mask(&task))).collect();
    }

    fn file(&mut self, file: CarriedFile) {
        let known = self.files.iter().position(|known| known.path == file.path);
        let before = known.map(|at| self.files.remove(at));
        let changed = file.changed || before.is_some_and(|before| before.changed);
        self.files.push(CarriedFile { changed, ..file });
        keep_newest(&mut self.files, MOST_FILES);
    }

    /// Adds the facts of these messages. A call without a result is not a fact.
    pub(crate) fn gather(&mut self, messages: &[Arc<Message>], tools: &CarriedTools) {
        let mut waiting: HashMap<&str, VecDeque<(Option<Family>, &ToolCall)>> = HashMap::new();
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::ToolCall(call) => {
                    let family = tools.family(&call.name);
                    waiting.entry(&call.id).or_default().push_back((family, call));
                }
                Part::ToolResult(result) => {
                    let call =
                        waiting.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front);
                    match call.filter(|_| !result.is_error) {
                        Some((Some(family), call)) => self.learn(family, call, result),
                        Some((None, call)) => {
                            files_of(call).into_iter().for_each(|file| self.file(file))
                        }
                        None => {}
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
        let tasks = self.tasks.iter().map(|task| format!("Still to be done: {task}\n"));
        let decisions = self.decisions.iter().map(|decision| format!("Decided: {decision}\n"));
        let files = [("changed", true), ("read", false)].map(|(verb, changed)| {
            let files = self.files.iter().filter(|file| file.changed == changed);
            let paths: Vec<_> = files.map(|file| file.path.as_str()).collect();
            match paths.is_empty() {
                true => String::new(),
                false => format!("Files {verb}: {}\n", paths.join(", ")),
            }
        });
        let work = tasks.chain(decisions).chain(files);
        quoted(&todo.chain(asked).chain(skills).chain(work).collect::<String>())
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
