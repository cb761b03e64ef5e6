//! The task that owns a chat and carries out one command at a time.

mod exchange;
mod moves;
mod sub_agent;

use context_runtime::model::Usage;
use context_runtime::{
    AgentChat, FunctionTool, Json, Media, MediaSource, Message, MessageId, Metadata, Part, Role,
    Turn, TurnBuilder, TurnError, TurnReport,
};
use context_simulator::{AnswerPiece, ProviderFault};
use tokio::sync::{mpsc, oneshot};

use crate::expected::Entry;
use crate::failure::DayFailure;
use crate::marker::{DayMarker, markers};
use crate::providers::{Aside, Providers};
use crate::scene::{ChatSlot, MAX_OUTPUT, VENDORS, Vendor};
use crate::texts::text;

/// A picture of one pixel.
const PICTURE: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);

/// A command for the owner of a chat.
#[derive(Debug)]
pub(crate) enum Command {
    Ask { question: DayMarker, words: usize, picture: bool, first: Option<DayMarker> },
    Resume { first: Option<DayMarker> },
    Proceed(Box<Proceed>),
    SubAgent { fork: bool, question: DayMarker, answer: DayMarker, result: DayMarker },
    Cancel,
    Suspend,
    Abandon,
    Rewind(MessageId),
    Branch,
    Switch(String),
    Checkpoint,
    Restore,
    Fork(String),
    Redact(MessageId),
}

/// One request of a turn.
#[derive(Debug)]
pub(crate) struct Proceed {
    pub(crate) answer: DayMarker,
    pub(crate) pieces: Vec<AnswerPiece>,
    pub(crate) fault: Option<ProviderFault>,
    pub(crate) events: bool,
    pub(crate) results: Vec<DayMarker>,
    pub(crate) result_words: usize,
    pub(crate) unanswered: bool,
}

/// The effect of a command.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Whether the command had an effect.
    pub(crate) done: bool,
    /// The error that it ended with, and whether a fault of a provider explains it.
    pub(crate) error: Option<(String, bool)>,
    /// Whether a turn is open.
    pub(crate) is_open: bool,
    /// The branch of the chat.
    pub(crate) branch: String,
    /// The branch that was made.
    pub(crate) made: Option<String>,
    /// Texts that are stored.
    pub(crate) acknowledged: Vec<Entry>,
    /// Texts that may be stored, or may be stored later.
    pub(crate) doubtful: Vec<Entry>,
    /// Texts of the open turn that the next command stores.
    pub(crate) in_flight: Vec<Entry>,
    /// The work of a sub-agent.
    pub(crate) helper: Option<HelperWork>,
    /// The time to wait before the next request.
    pub(crate) wait: std::time::Duration,
    /// The account of a turn that ended or was suspended.
    pub(crate) account: Option<Account>,
    /// A broken invariant.
    pub(crate) failure: Option<DayFailure>,
    /// A word for the story.
    pub(crate) note: String,
}

/// The work of a sub-agent.
#[derive(Debug)]
pub(crate) struct HelperWork {
    pub(crate) chat: String,
    pub(crate) branch: String,
    pub(crate) entries: Vec<Entry>,
}

/// The amounts that a part of a turn reports, and those that its provider charged.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) report: TurnReport,
    pub(crate) charged: Usage,
    pub(crate) usd: f64,
    /// Whether the turn has ended with an answer.
    pub(crate) is_answered: bool,
    /// Whether a fault of the provider hit it.
    pub(crate) is_hit: bool,
}

/// A command and where its outcome goes.
pub(crate) type Envelope = (Command, oneshot::Sender<Outcome>);

/// The state of a chat between its commands.
pub(crate) struct Worker {
    pub(crate) slot: ChatSlot,
    pub(crate) vendor: usize,
    pub(crate) providers: Providers,
    pub(crate) clock: crate::environment::DayClock,
    /// The request before, if its tokens are in the provider's cache.
    previous: Option<PreviousRequest>,
}

/// The request before.
#[derive(Clone, Copy, Debug)]
struct PreviousRequest {
    tokens: u64,
    at: i64,
    /// Whether it was of the open turn.
    in_turn: bool,
    /// Whether something was left out of it, which the next call of the turn stores.
    is_cut: bool,
}

/// The state of an open turn.
#[derive(Debug, Default)]
struct OpenTurn {
    first: Option<DayMarker>,
    newest: Option<DayMarker>,
    /// Texts that the next call stores.
    pending: Vec<Entry>,
    /// Whether a fault of the provider hit this turn.
    is_hit: bool,
    charged: Usage,
    usd: f64,
    /// Results that were handed over.
    results: Vec<Entry>,
}

impl OpenTurn {
    fn in_flight(&self) -> Vec<Entry> {
        self.pending.iter().chain(&self.results).copied().collect()
    }
}

impl Worker {
    pub(crate) fn new(
        slot: ChatSlot,
        vendor: usize,
        providers: Providers,
        clock: crate::environment::DayClock,
    ) -> Self {
        Self { slot, vendor, providers, clock, previous: None }
    }

    fn vendor(&self) -> Vendor {
        VENDORS.get(self.vendor).copied().unwrap_or(VENDORS[0])
    }

    /// Carries out commands until there are no more.
    pub(crate) async fn serve(mut self, mut chat: AgentChat, mut inbox: mpsc::Receiver<Envelope>) {
        while let Some((command, reply)) = inbox.recv().await {
            match command {
                Command::Ask { question, words, picture, first } => {
                    let id = format!("q{}", question.number);
                    let builder = chat.turn(asked(question, words, picture)).id(id);
                    let open = OpenTurn {
                        first: first.or(Some(question)),
                        newest: Some(question),
                        pending: vec![Entry::new(question, true)],
                        ..OpenTurn::default()
                    };
                    self.turn(builder, open, &mut inbox, reply).await;
                }
                Command::Resume { first } => match chat.interrupted().await {
                    Ok(Some(interrupted)) => {
                        let newest = markers(&interrupted.question.readable_text()).next();
                        let open =
                            OpenTurn { first: first.or(newest), newest, ..OpenTurn::default() };
                        self.turn(chat.resume(), open, &mut inbox, reply).await;
                    }
                    Ok(None) => drop(reply.send(self.nothing(&chat))),
                    Err(error) => drop(reply.send(Outcome {
                        error: Some((error.to_string(), false)),
                        ..self.nothing(&chat)
                    })),
                },
                command => {
                    let outcome = self.between_turns(&mut chat, command).await;
                    drop(reply.send(outcome));
                }
            }
        }
    }

    fn nothing(&self, chat: &AgentChat) -> Outcome {
        Outcome { branch: chat.engine().branch().to_string(), ..Outcome::default() }
    }

    /// Begins a turn and carries out commands until it ends.
    async fn turn(
        &mut self,
        builder: TurnBuilder<'_>,
        mut open: OpenTurn,
        inbox: &mut mpsc::Receiver<Envelope>,
        reply: oneshot::Sender<Outcome>,
    ) {
        let summaries = self.summaries();
        let builder = builder.tools([tool()]).max_output_tokens(MAX_OUTPUT);
        let mut turn = match builder.begin().await {
            Ok(turn) => turn,
            Err(error) => {
                let doubtful = std::mem::take(&mut open.pending);
                let error = Some((error.to_string(), false));
                drop(reply.send(Outcome { done: true, doubtful, error, ..Outcome::default() }));
                return;
            }
        };
        let acknowledged = std::mem::take(&mut open.pending);
        let mut outcome = Outcome { done: true, acknowledged, ..Outcome::default() };
        self.charge_summaries(&mut open, summaries);
        if let Some(previous) = &mut self.previous {
            previous.in_turn = false;
        }
        outcome.is_open = true;
        outcome.branch = turn.engine().branch().to_string();
        drop(reply.send(outcome));
        while let Some((command, reply)) = inbox.recv().await {
            let summaries = self.summaries();
            let branch = turn.engine().branch().to_string();
            let mut outcome = Outcome { is_open: true, done: true, branch, ..Outcome::default() };
            match command {
                Command::Proceed(proceed) => {
                    self.proceed(&mut turn, &mut open, *proceed, &mut outcome).await;
                    self.charge_summaries(&mut open, summaries);
                    if outcome.is_open {
                        outcome.in_flight = open.in_flight();
                        drop(reply.send(outcome));
                        continue;
                    }
                    self.finish(turn, open, &mut outcome).await;
                }
                Command::SubAgent { fork, question, answer, result } => {
                    let markers = [question, answer, result];
                    self.sub_agent(&mut turn, &mut open, fork, markers, &mut outcome).await;
                    if outcome.is_open {
                        outcome.in_flight = open.in_flight();
                        drop(reply.send(outcome));
                        continue;
                    }
                    drop(turn);
                    self.lose_cut();
                }
                Command::Cancel => self.cancel(turn, open, &mut outcome).await,
                Command::Suspend => self.suspend(turn, open, &mut outcome).await,
                Command::Abandon => {
                    outcome.doubtful.append(&mut open.pending);
                    outcome.doubtful.append(&mut open.results);
                    outcome.is_open = false;
                    drop(turn);
                    self.lose_cut();
                }
                _ => {
                    outcome.done = false;
                    outcome.in_flight = open.in_flight();
                    drop(reply.send(outcome));
                    continue;
                }
            }
            drop(reply.send(outcome));
            return;
        }
    }

    /// Returns what the summaries of the chat's user by its provider have cost so far.
    fn summaries(&self) -> Usage {
        self.spent_aside(true)
    }

    fn spent_aside(&self, is_summary: bool) -> Usage {
        let (user, vendor) = (self.slot.user, self.vendor);
        self.providers.spent_aside(Aside { user, vendor, is_summary })
    }

    /// A turn that is dropped or fails has perhaps not stored what it left out of its last request:
    /// the next one is then whole again, and begins in another way.
    fn lose_cut(&mut self) {
        self.previous = self.previous.filter(|previous| !previous.is_cut);
    }

    /// Summaries that a turn waits for are among its costs.
    fn charge_summaries(&self, open: &mut OpenTurn, before: Usage) {
        if !self.vendor().ahead {
            let now = self.summaries();
            let spent = difference(now, before);
            open.charged += spent;
            open.usd += self.price(&spent);
        }
    }

    async fn finish(&mut self, turn: Turn<'_>, mut open: OpenTurn, outcome: &mut Outcome) {
        if outcome.error.is_some() {
            outcome.doubtful.append(&mut open.pending);
            outcome.doubtful.append(&mut open.results);
            self.lose_cut();
            return;
        }
        match turn.finish().await {
            Ok(answer) => {
                outcome.acknowledged.append(&mut open.pending);
                outcome.account = Some(account(answer.report, &open, true));
            }
            Err(error) => self.failed(error, open, outcome),
        }
    }

    async fn cancel(&mut self, turn: Turn<'_>, mut open: OpenTurn, outcome: &mut Outcome) {
        outcome.is_open = false;
        match turn.cancel().await {
            Ok(report) => {
                outcome.acknowledged.append(&mut open.pending);
                outcome.acknowledged.append(&mut open.results);
                outcome.account = Some(account(report, &open, false));
            }
            Err(error) => self.failed(error, open, outcome),
        }
    }

    async fn suspend(&mut self, turn: Turn<'_>, mut open: OpenTurn, outcome: &mut Outcome) {
        outcome.is_open = false;
        match turn.suspend().await {
            Ok(report) => {
                outcome.acknowledged.append(&mut open.pending);
                outcome.acknowledged.append(&mut open.results);
                outcome.account = Some(account(report, &open, false));
            }
            Err(error) => self.failed(error, open, outcome),
        }
    }

    /// Takes the error of a turn, which has ended.
    fn failed(&mut self, error: TurnError, mut open: OpenTurn, outcome: &mut Outcome) {
        outcome.doubtful.append(&mut open.pending);
        outcome.doubtful.append(&mut open.results);
        outcome.is_open = false;
        self.lose_cut();
        let is_limit = matches!(error, TurnError::Limit { .. });
        outcome.error = Some((error.to_string(), is_limit || open.is_hit));
    }
}

fn account(report: TurnReport, open: &OpenTurn, is_answered: bool) -> Account {
    Account { report, charged: open.charged, usd: open.usd, is_answered, is_hit: open.is_hit }
}

fn difference(now: Usage, before: Usage) -> Usage {
    let mut spent = Usage::default();
    spent.input = now.input - before.input;
    spent.output = now.output - before.output;
    spent.cache_read = now.cache_read - before.cache_read;
    spent.cache_write = now.cache_write - before.cache_write;
    spent.cache_write_long = now.cache_write_long - before.cache_write_long;
    spent
}

/// The tool of every agent.
fn tool() -> FunctionTool {
    let schema = serde_json::json!({"type": "object", "properties": {"of": {"type": "string"}}});
    FunctionTool::new("look", Json::from(schema)).description("Looks something up.")
}

/// Returns a question.
fn asked(marker: DayMarker, words: usize, picture: bool) -> Message {
    let picture = picture.then(|| {
        Part::Image(Media {
            source: MediaSource::Base64(PICTURE.into()),
            media_type: Some("image/png".into()),
            name: None,
            metadata: Metadata::default(),
        })
    });
    Message::new(Role::User, [Part::text(text(marker, words))].into_iter().chain(picture))
}
