//! The world of a day: it carries out the steps and checks what holds after each.

mod checks;
mod commands;
mod plants;
mod removal;
mod scan;

use std::collections::BTreeMap;
use std::time::Duration;

use context_runtime::ChatRef;
use context_runtime::model::Usage;
use context_simulator::faults::Fault;

use crate::environment::{DayClock, DayIds};
use crate::expected::{ExpectedChat, ExpectedUser};
use crate::failure::{DayFailure, Invariant};
use crate::marker::DayMarker;
use crate::planted::PlantedDefect;
use crate::process::{KEPT_ROUNDS, Process, Subject, Surroundings};
use crate::providers::Providers;
use crate::scene::{CHATS, ChatSlot, USERS, UserSlot, VENDORS};
use crate::step::DayStep;

/// The steps after which everything that is stored is read.
const SCAN_EVERY: u64 = 250;
/// The most rounds that a process uses at once: some for each chat, and its sub-agents.
const MOST_USED_ROUNDS: usize = 16;

/// A turn, as far as it is known what it cost.
#[derive(Debug, Default)]
struct TurnSum {
    usage: Usage,
    /// Whether something happened after which its record may be incomplete.
    is_disturbed: bool,
}

impl TurnSum {
    /// A turn of which a part is unknown.
    fn unknown() -> Self {
        Self { is_disturbed: true, ..Self::default() }
    }
}

/// The world of a day.
pub struct World {
    around: Surroundings,
    process: Option<Process>,
    expected: Vec<ExpectedUser>,
    vendors: BTreeMap<ChatSlot, usize>,
    turns: BTreeMap<ChatSlot, TurnSum>,
    /// The number of texts so far.
    texts: u64,
    steps: u64,
    held: Vec<context_runtime::trajectory::OpenRound>,
    _folder: tempfile::TempDir,
}

impl World {
    /// Creates the world before its first step.
    pub fn new(subject: Subject, planted: Option<PlantedDefect>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let clock = DayClock::default();
        let providers = Providers::new(&clock)?;
        let mut around = Surroundings {
            subject,
            folder: folder.path().to_owned(),
            clock,
            ids: DayIds::default(),
            providers,
            planted,
            memory: None,
        };
        let process = Some(Process::start(&mut around)?);
        Ok(Self {
            around,
            process,
            expected: vec![ExpectedUser::default(); USERS.len()],
            vendors: BTreeMap::new(),
            turns: BTreeMap::new(),
            texts: 0,
            steps: 0,
            held: Vec::new(),
            _folder: folder,
        })
    }

    /// Returns the number of requests to providers so far, and a hash of all of them.
    pub fn digest(&self) -> (u64, u64) {
        self.around.providers.digest()
    }

    /// Carries out a step and checks what holds after it. Returns a word for the story; an empty
    /// one says that the step did nothing.
    pub fn take(&mut self, step: &DayStep) -> Result<String, DayFailure> {
        self.steps += 1;
        self.around.clock.advance(Duration::from_millis(40));
        let note = match *step {
            DayStep::Ask { .. }
            | DayStep::Proceed { .. }
            | DayStep::SubAgent { .. }
            | DayStep::Cancel(_)
            | DayStep::Suspend(_)
            | DayStep::Abandon(_)
            | DayStep::Resume(_)
            | DayStep::Rewind { .. }
            | DayStep::Branch(_)
            | DayStep::Switch { .. }
            | DayStep::Checkpoint(_)
            | DayStep::Restore(_)
            | DayStep::Fork(_)
            | DayStep::Redact { .. } => self.command(step)?,
            DayStep::ChangeProvider(slot) => {
                self.close(slot)?;
                let vendor = self.vendor(slot);
                self.vendors.insert(slot, (vendor + 1) % VENDORS.len());
                VENDORS.get(self.vendor(slot)).map_or("", |vendor| vendor.codec).to_owned()
            }
            DayStep::Delete(slot) => self.delete(slot)?,
            DayStep::Remember(user) => self.remember(user)?,
            DayStep::Round(user) => self.round(user)?,
            DayStep::Search { user, about } => self.search(user, about)?,
            DayStep::Retain { user, chats } => self.retain(user, chats)?,
            DayStep::Erase(user) => self.erase(user)?,
            DayStep::StoreFault { operation, fault } => {
                let hangs = matches!(fault, Fault::Hang | Fault::HangAfterApply);
                if hangs && self.around.subject == Subject::Sqlite {
                    return Ok(String::new());
                }
                self.process()?.faults.arm(operation, fault);
                "armed".to_owned()
            }
            DayStep::Restart { crash } => self.restart(crash)?,
            DayStep::Wait { seconds } => {
                let time = Duration::from_secs(seconds);
                self.around.clock.advance(time);
                self.process()?.pass(time);
                "passed".to_owned()
            }
            DayStep::Check => self.check_store()?,
        };
        if self.steps.is_multiple_of(SCAN_EVERY) {
            self.scan()?;
        }
        self.check_counts()?;
        match self.around.providers.failure() {
            Some(failure) => Err(failure),
            None => Ok(note),
        }
    }

    /// Checks the store and reads everything in it, for the end of a run.
    pub fn finish(&mut self) -> Result<(), DayFailure> {
        self.scan()
    }

    fn process(&mut self) -> Result<&mut Process, DayFailure> {
        if self.process.is_none() {
            let started = Process::start(&mut self.around);
            self.process = Some(started.map_err(|error| DayFailure::unexpected("start", error))?);
        }
        self.process.as_mut().ok_or_else(|| DayFailure::unexpected("start", "no process"))
    }

    fn vendor(&self, slot: ChatSlot) -> usize {
        let usual = (slot.user * CHATS.len() + slot.chat) % VENDORS.len();
        self.vendors.get(&slot).copied().unwrap_or(usual)
    }

    fn marker(&mut self, user: UserSlot) -> DayMarker {
        self.texts += 1;
        DayMarker { user, life: self.user(user).life, number: self.texts }
    }

    fn user(&mut self, user: UserSlot) -> &mut ExpectedUser {
        let at = user % self.expected.len().max(1);
        &mut self.expected[at]
    }

    fn chat(&mut self, slot: ChatSlot) -> Option<&mut ExpectedChat> {
        self.user(slot.user).chats.get_mut(slot.chat_name())
    }

    /// Ends the process without a shutdown: what it had in memory is gone.
    fn crash(&mut self) -> Result<(), DayFailure> {
        self.held.clear();
        drop(self.process.take());
        self.turns.values_mut().for_each(|turn| turn.is_disturbed = true);
        self.settle_all()
    }

    fn restart(&mut self, crash: bool) -> Result<String, DayFailure> {
        if crash {
            self.crash()?;
            return Ok("crashed".to_owned());
        }
        self.held.clear();
        self.turns.values_mut().for_each(|turn| turn.is_disturbed = true);
        let mut note = "restarted".to_owned();
        if let Some(process) = self.process.take() {
            let is_armed = process.faults.armed() > 0;
            match process.shut_down() {
                None => "hung at its end".clone_into(&mut note),
                Some(errors) if errors.is_empty() => {}
                Some(_) if is_armed => "ended with an error".clone_into(&mut note),
                Some(errors) => {
                    return Err(DayFailure::unexpected("shutdown", errors.join(", ")));
                }
            }
        }
        self.settle_all()?;
        Ok(note)
    }

    /// Closes a chat. What its handle had in memory is gone.
    fn close(&mut self, slot: ChatSlot) -> Result<(), DayFailure> {
        if self.process()?.is_open(slot) {
            self.process()?.close(slot);
            if let Some(turn) = self.turns.get_mut(&slot) {
                turn.is_disturbed = true;
            }
            self.settle(slot.user, slot.chat_name())?;
        }
        Ok(())
    }

    fn close_all_of(&mut self, user: UserSlot) -> Result<(), DayFailure> {
        for slot in self.process()?.open_chats() {
            if slot.user == user {
                self.close(slot)?;
            }
        }
        Ok(())
    }

    /// Learns what became of the uncertain texts of a chat whose handle is gone. What is not stored
    /// now must not be stored later.
    fn settle(&mut self, user: UserSlot, chat: &str) -> Result<(), DayFailure> {
        if let Some(expected) = self.user(user).chats.get_mut(chat) {
            let in_flight = std::mem::take(&mut expected.in_flight);
            expected.doubt(in_flight);
        }
        self.check_chat(user, chat, true)?;
        if let Some(expected) = self.user(user).chats.get_mut(chat) {
            expected.uncertain.clear();
            expected.moved_perhaps = false;
        }
        Ok(())
    }

    fn settle_all(&mut self) -> Result<(), DayFailure> {
        for user in 0..USERS.len() {
            let chats: Vec<_> = self.user(user).chats.keys().cloned().collect();
            for chat in chats {
                self.settle(user, &chat)?;
            }
        }
        Ok(())
    }

    /// The counts of a process stay bounded.
    fn check_counts(&mut self) -> Result<(), DayFailure> {
        let chats: usize = self.expected.iter().map(|user| user.chats.len()).sum();
        let process = self.process()?;
        let counts = process.agents.iter().flat_map(|agents| {
            let summaries = agents.background_summaries().map(|all| ("summaries", all.len()));
            let rounds = agents.trajectories().map(|all| ("open rounds", all.open_rounds()));
            summaries.into_iter().chain(rounds)
        });
        let own = ("open rounds of a program", process.trajectories.open_rounds());
        for (kind, count) in counts.chain([own]) {
            if count > chats.max(MOST_USED_ROUNDS + KEPT_ROUNDS) {
                let text = format!("{count} {kind} for {chats} chats");
                return Err(DayFailure::new(Invariant::Bounded, text));
            }
        }
        Ok(())
    }
}

fn chat_ref(user: UserSlot, chat: &str) -> ChatRef {
    ChatRef::new(USERS.get(user).copied().unwrap_or_default(), chat)
}
