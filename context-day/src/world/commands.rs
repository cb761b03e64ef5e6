//! Steps that are commands for the owner of a chat.

use std::sync::Arc;

use context_runtime::MessageId;
use context_runtime::store::{ChainEnd, Node, Window};
use context_simulator::{AnswerPiece, ProviderFault};

use super::{TurnSum, World, chat_ref};
use crate::expected::{Entry, EntryState, ExpectedChat};
use crate::failure::{DayFailure, Invariant};
use crate::marker::{DayMarker, markers};
use crate::scene::{CHATS, ChatSlot};
use crate::step::{DayStep, Reply};
use crate::texts::text;
use crate::worker::{Command, Outcome, Proceed};

/// The most calls of an answer.
const MOST_CALLS: usize = 3;

/// A command with what it is about.
struct Prepared {
    slot: ChatSlot,
    command: Command,
    /// The branch that a move makes would have these texts.
    made: Vec<Entry>,
    redacted: Vec<DayMarker>,
    opens: bool,
}

impl Prepared {
    fn new(slot: ChatSlot, command: Command) -> Self {
        Self { slot, command, made: Vec::new(), redacted: Vec::new(), opens: false }
    }
}

impl World {
    /// Carries out a step of a chat.
    pub(super) fn command(&mut self, step: &DayStep) -> Result<String, DayFailure> {
        let Some(prepared) = self.prepare(step)? else { return Ok(String::new()) };
        let slot = prepared.slot;
        if !self.process()?.is_open(slot) {
            if !prepared.opens {
                return Ok(String::new());
            }
            if let Some(note) = self.open(slot)? {
                return Ok(note);
            }
        }
        let Prepared { command, made, redacted, .. } = prepared;
        let is_fork = matches!(command, Command::Fork(_));
        let is_move = matches!(
            command,
            Command::Rewind(_) | Command::Branch | Command::Switch(_) | Command::Restore
        );
        let is_checkpoint = matches!(command, Command::Checkpoint);
        let in_doubt = in_doubt(&command);
        let armed = self.process()?.faults.armed();
        let Some(outcome) = self.process()?.command(slot, command) else {
            // The process hung in the middle.
            if let Some(chat) = self.chat(slot) {
                chat.doubt(in_doubt);
                chat.moved_perhaps |= is_move;
                redacted.iter().for_each(|it| chat.redact(*it, EntryState::PerhapsRedacted));
            }
            self.doubt_helpers(slot);
            self.crash()?;
            if is_fork {
                self.remove_copy(slot)?;
            }
            return Ok("hung, and the process was killed".to_owned());
        };
        let mut outcome =
            outcome.map_err(|error| DayFailure::unexpected(&step.to_string(), error))?;
        if let Some(chat) = self.chat(slot) {
            chat.in_flight = std::mem::take(&mut outcome.in_flight);
        }
        if !outcome.done {
            return Ok(String::new());
        }
        let is_hit = self.process()?.faults.armed() < armed;
        if matches!(step, DayStep::Ask { .. }) && outcome.is_open {
            self.turns.insert(slot, TurnSum::default());
        }
        // After a move, another turn may be the one to resume.
        if is_hit || is_move || outcome.error.is_some() || matches!(step, DayStep::Abandon(_)) {
            self.turns.insert(slot, TurnSum::unknown());
        }
        if let Some(failure) = outcome.failure.take() {
            return Err(failure);
        }
        if let Some((error, explained)) = &outcome.error
            && !explained
            && !is_hit
        {
            return Err(DayFailure::unexpected(&step.to_string(), error));
        }
        self.around.clock.advance(outcome.wait);
        let failed = outcome.error.is_some();
        if failed && matches!(step, DayStep::SubAgent { .. }) {
            self.doubt_helpers(slot);
        }
        self.learn(slot, &mut outcome)?;
        match (failed, is_move) {
            (true, true) => {
                self.chat(slot).into_iter().for_each(|chat| chat.moved_perhaps = true);
                // The handle does not know where the stored chat is: a program opens it again.
                self.close(slot)?;
            }
            (false, true) => self.moved(slot, &outcome, made),
            _ => {}
        }
        if is_checkpoint && let Some(chat) = self.chat(slot) {
            let entries = chat.entries(&chat.active.clone()).to_vec();
            chat.checkpoint = (!failed).then_some(entries);
        }
        if is_fork {
            self.forked(slot, failed)?;
        }
        self.redacted(slot, &redacted, failed);
        if let Some(account) = outcome.account.take() {
            self.check_account(slot, &account)?;
            if account.is_answered {
                self.plant(slot)?;
            }
        }
        self.check_chat(slot.user, slot.chat_name(), false)?;
        Ok(match outcome.error {
            Some((error, _)) => format!("failed: {error}"),
            None if outcome.note.is_empty() => "done".to_owned(),
            None => outcome.note,
        })
    }

    /// Opens a chat. Returns a note if it could not be opened.
    fn open(&mut self, slot: ChatSlot) -> Result<Option<String>, DayFailure> {
        let vendor = self.vendor(slot);
        let armed = self.process()?.faults.armed();
        self.process()?;
        let Some(process) = self.process.as_mut() else { return Ok(None) };
        let opened = process.open(&self.around, slot, vendor);
        let is_hit = process.faults.armed() < armed;
        // A chat whose creation failed may be stored.
        let chats = &mut self.user(slot.user).chats;
        let chat = chats.entry(slot.chat_name().to_owned()).or_default();
        match opened {
            None => {
                self.crash()?;
                Ok(Some("hung, and the process was killed".to_owned()))
            }
            Some(Ok(branch)) => {
                if chat.active != branch {
                    let text = format!("{slot} is on {branch} and not on {}", chat.active);
                    return Err(DayFailure::new(Invariant::Kept, text));
                }
                Ok(None)
            }
            Some(Err(_)) if is_hit => Ok(Some("could not be opened".to_owned())),
            Some(Err(error)) => Err(DayFailure::unexpected("open", error)),
        }
    }

    /// Returns the command of a step, if it makes sense now.
    fn prepare(&mut self, step: &DayStep) -> Result<Option<Prepared>, DayFailure> {
        let active = |chat: &ExpectedChat| chat.active.clone();
        Ok(Some(match *step {
            DayStep::Ask { chat: slot, words, picture } => {
                let question = self.marker(slot.user);
                let first = self.chat(slot).and_then(|chat| {
                    let branch = active(chat);
                    let any = chat.entries(&branch).iter().any(|entry| entry.is_question);
                    any.then(|| chat.first(&branch))
                });
                // Of a conversation whose first request was redacted, nothing is expected.
                let first = first.unwrap_or(Some(question));
                let command = Command::Ask { question, words, picture, first };
                Prepared { opens: true, ..Prepared::new(slot, command) }
            }
            DayStep::Resume(slot) => {
                let Some(chat) = self.chat(slot) else { return Ok(None) };
                let first = chat.first(&active(chat));
                let opens = true;
                Prepared { opens, ..Prepared::new(slot, Command::Resume { first }) }
            }
            DayStep::Proceed { chat, reply, fault, events, result_words, unanswered } => {
                let proceed = self.proceed(chat, reply, fault, (events, result_words, unanswered));
                Prepared::new(chat, Command::Proceed(Box::new(proceed)))
            }
            DayStep::SubAgent { chat, fork } => {
                let [question, answer, result] =
                    [self.marker(chat.user), self.marker(chat.user), self.marker(chat.user)];
                Prepared::new(chat, Command::SubAgent { fork, question, answer, result })
            }
            DayStep::Cancel(slot) => Prepared::new(slot, Command::Cancel),
            DayStep::Suspend(slot) => Prepared::new(slot, Command::Suspend),
            DayStep::Abandon(slot) => Prepared::new(slot, Command::Abandon),
            DayStep::Branch(slot) => match self.nodes(slot)?.is_empty() {
                true => return Ok(None),
                false => {
                    let Some(chat) = self.chat(slot) else { return Ok(None) };
                    let made = chat.entries(&active(chat)).to_vec();
                    Prepared { made, opens: true, ..Prepared::new(slot, Command::Branch) }
                }
            },
            DayStep::Switch { chat: slot, branch } => {
                let Some(chat) = self.chat(slot) else { return Ok(None) };
                let branches: Vec<_> = chat.branches.keys().cloned().collect();
                let Some(name) = branches.get(branch % branches.len().max(1)).cloned() else {
                    return Ok(None);
                };
                let made = chat.entries(&name).to_vec();
                Prepared { made, opens: true, ..Prepared::new(slot, Command::Switch(name)) }
            }
            DayStep::Rewind { chat: slot, back } => {
                let nodes = self.nodes(slot)?;
                let Some((at, (message, _))) = from_end(&nodes, back) else { return Ok(None) };
                let kept: Vec<DayMarker> =
                    nodes.iter().take(at + 1).flat_map(|(_, said)| said.clone()).collect();
                let Some(chat) = self.chat(slot) else { return Ok(None) };
                let made = chat.part(&active(chat), &kept);
                let command = Command::Rewind(message.clone());
                Prepared { made, opens: true, ..Prepared::new(slot, command) }
            }
            DayStep::Checkpoint(slot) => match self.nodes(slot)?.is_empty() {
                true => return Ok(None),
                false => Prepared { opens: true, ..Prepared::new(slot, Command::Checkpoint) },
            },
            DayStep::Restore(slot) => {
                let made = self.chat(slot).and_then(|chat| chat.checkpoint.clone());
                let Some(made) = made else { return Ok(None) };
                Prepared { made, opens: true, ..Prepared::new(slot, Command::Restore) }
            }
            DayStep::Fork(slot) => {
                let copy = CHATS[CHATS.len() - 1];
                let exists = self.user(slot.user).chats.contains_key(copy);
                if exists || slot.chat_name() == copy || self.nodes(slot)?.is_empty() {
                    return Ok(None);
                }
                Prepared { opens: true, ..Prepared::new(slot, Command::Fork(copy.to_owned())) }
            }
            DayStep::Redact { chat: slot, back } => {
                self.flush()?;
                let nodes = self.nodes(slot)?;
                let Some((_, (message, redacted))) = from_end(&nodes, back) else {
                    return Ok(None);
                };
                let (command, redacted) = (Command::Redact(message.clone()), redacted.clone());
                Prepared { redacted, opens: true, ..Prepared::new(slot, command) }
            }
            _ => return Ok(None),
        }))
    }

    fn proceed(
        &mut self,
        slot: ChatSlot,
        reply: Reply,
        fault: Option<ProviderFault>,
        (events, result_words, unanswered): (bool, usize, bool),
    ) -> Proceed {
        let answer = self.marker(slot.user);
        let results = (0..MOST_CALLS).map(|_| self.marker(slot.user)).collect();
        let pieces = match reply {
            Reply::Text { words } => vec![AnswerPiece::text(text(answer, words))],
            Reply::Calls { calls } => {
                let call = |number: usize| AnswerPiece::Call {
                    id: Some(format!("call{}n{number}", answer.number)),
                    name: "look".to_owned(),
                    input: serde_json::json!({"of": "trains"}).into(),
                };
                let said = AnswerPiece::text(text(answer, 3));
                std::iter::once(said).chain((0..calls).map(call)).collect()
            }
        };
        Proceed { answer, pieces, fault, events, results, result_words, unanswered }
    }

    /// Returns the stored messages of the active branch, with their markers.
    pub(super) fn nodes(
        &mut self,
        slot: ChatSlot,
    ) -> Result<Vec<(MessageId, Vec<DayMarker>)>, DayFailure> {
        let Some(branch) = self.chat(slot).map(|chat| chat.active.clone()) else {
            return Ok(Vec::new());
        };
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let chat = chat_ref(slot.user, slot.chat_name());
        let read = process.run(async move {
            let end = ChainEnd::Branch(branch.into());
            raw.history().chain(&chat, &end, &Window::Whole).await
        });
        let chain = match read {
            Some(Ok(chain)) => chain,
            Some(Err(error)) if error.is_not_found() => return Ok(Vec::new()),
            Some(Err(error)) => return Err(DayFailure::unexpected("chain", error)),
            None => return Err(DayFailure::unexpected("chain", "it hung")),
        };
        let said = |node: &Arc<Node>| {
            let message = node.message().ok()?;
            Some((node.id.clone(), markers(&message.readable_text()).collect()))
        };
        Ok(chain.iter().filter_map(said).collect())
    }

    /// Takes over what a command stored.
    fn learn(&mut self, slot: ChatSlot, outcome: &mut Outcome) -> Result<(), DayFailure> {
        let branch = outcome.branch.clone();
        if let Some(chat) = self.chat(slot) {
            let branch = if branch.is_empty() { chat.active.clone() } else { branch };
            chat.acknowledge(&branch, outcome.acknowledged.drain(..));
            chat.doubt(outcome.doubtful.drain(..));
        }
        let Some(work) = outcome.helper.take() else { return Ok(()) };
        // The branch of a sub-agent begins as what is stored of its parent's.
        self.check_chat(slot.user, slot.chat_name(), false)?;
        if work.chat == slot.chat_name() {
            if let Some(chat) = self.chat(slot) {
                let parent = chat.entries(&chat.active.clone()).to_vec();
                match work.entries.is_empty() {
                    true => chat.moved_perhaps = true,
                    false => {
                        chat.acknowledge(&work.branch, parent);
                        chat.acknowledge(&work.branch, work.entries);
                    }
                }
            }
        } else {
            let chats = &mut self.user(slot.user).chats;
            let chat = chats.entry(work.chat).or_default();
            chat.moved_perhaps = work.entries.is_empty();
            chat.acknowledge(&work.branch, work.entries);
        }
        Ok(())
    }

    /// A sub-agent may have been at work when the process died, or when a call failed.
    fn doubt_helpers(&mut self, slot: ChatSlot) {
        let name = format!("{}/", slot.chat_name());
        self.user(slot.user).perhaps.insert(name);
        if let Some(chat) = self.chat(slot) {
            chat.moved_perhaps = true;
        }
    }

    fn moved(&mut self, slot: ChatSlot, outcome: &Outcome, made: Vec<Entry>) {
        let Some(chat) = self.chat(slot) else { return };
        if let Some(name) = &outcome.made {
            chat.branches.entry(name.clone()).or_insert(made);
        }
        chat.active.clone_from(&outcome.branch);
    }

    fn forked(&mut self, slot: ChatSlot, failed: bool) -> Result<(), DayFailure> {
        if failed {
            return self.remove_copy(slot);
        }
        let Some(chat) = self.chat(slot) else { return Ok(()) };
        let mut copy = ExpectedChat::default();
        copy.acknowledge("main", chat.entries(&chat.active.clone()).iter().copied());
        self.user(slot.user).chats.insert(CHATS[CHATS.len() - 1].to_owned(), copy);
        Ok(())
    }

    fn redacted(&mut self, slot: ChatSlot, redacted: &[DayMarker], failed: bool) {
        for marker in redacted {
            let state = if failed { EntryState::PerhapsRedacted } else { EntryState::Redacted };
            if let Some(chat) = self.chat(slot) {
                chat.redact(*marker, state);
            }
            let user = self.user(slot.user);
            if !failed && !user.chats.values().any(|chat| chat.holds(*marker)) {
                user.redacted.insert(*marker);
            }
        }
    }
}

/// Returns the texts of a command that may be stored if the process dies in it.
fn in_doubt(command: &Command) -> Vec<Entry> {
    match command {
        Command::Ask { question, .. } => vec![Entry::new(*question, true)],
        Command::Proceed(proceed) => {
            let answer = std::iter::once(&proceed.answer);
            answer.chain(&proceed.results).map(|marker| Entry::new(*marker, false)).collect()
        }
        Command::SubAgent { question, answer, result, .. } => vec![
            Entry::new(*question, true),
            Entry::new(*answer, false),
            Entry::new(*result, false),
        ],
        _ => Vec::new(),
    }
}

fn from_end<T>(all: &[T], back: usize) -> Option<(usize, &T)> {
    let at = all.len().checked_sub(1 + back)?;
    all.get(at).map(|found| (at, found))
}
