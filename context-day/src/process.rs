//! The program of a day: a process over the store, with its agents and open chats.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context_runtime::compaction::{microcompact, snip, strip_images, summarize, truncate_head};
use context_runtime::memory::{Episodic, Facts, MemoryProvider, ProviderChain, Queued, ScopeLevel};
use context_runtime::model::LanguageModel;
use context_runtime::trajectory::Trajectories;
use context_runtime::{
    Agents, CallOptions, Clock, IdGenerator, Store, ToolResultLimits, provider, role,
};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::environment::{DayClock, DayCounter, DayIds};
use crate::planted::{PlantedCodec, PlantedDefect};
use crate::providers::{Providers, VendorModel};
use crate::scene::{ChatSlot, MAX_OUTPUT, RESERVE, VENDORS, Vendor, WINDOW};
use crate::worker::{Command, Envelope, Outcome, Worker};

/// The store under the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// The store in memory. Every run of a seed is the same.
    #[default]
    Inmem,
    /// SQLite, in a file. Its threads are not scheduled by the day.
    Sqlite,
}

/// The parts that outlive a process.
pub(crate) struct Surroundings {
    pub(crate) subject: Subject,
    pub(crate) folder: PathBuf,
    pub(crate) clock: DayClock,
    pub(crate) ids: DayIds,
    pub(crate) providers: Providers,
    pub(crate) planted: Option<PlantedDefect>,
    /// The store in memory, which outlives a process as a file would.
    pub(crate) memory: Option<Arc<dyn Store>>,
}

/// A process. When it is dropped, all its tasks end, wherever they are.
pub(crate) struct Process {
    /// The store without faults.
    pub(crate) raw: Arc<dyn Store>,
    pub(crate) faults: FaultStore,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) agents: Vec<Agents>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) memories: Arc<dyn MemoryProvider>,
    pub(crate) trajectories: Trajectories,
    chats: BTreeMap<ChatSlot, mpsc::Sender<Envelope>>,
    runtime: Runtime,
    is_paused: bool,
}

/// The most rounds that nobody uses and that stay in memory.
pub(crate) const KEPT_ROUNDS: usize = 8;

/// The commit of a process that a planted fault refuses.
const UNPLANNED: u32 = 3;

/// The result of a call of a process: `None` if the process hung, as a store made it.
pub(crate) type Ran<T> = Option<T>;

impl Process {
    pub(crate) fn start(around: &mut Surroundings) -> anyhow::Result<Self> {
        let is_paused = around.subject == Subject::Inmem;
        let runtime = match is_paused {
            true => Builder::new_current_thread().enable_time().start_paused(true).build()?,
            false => Builder::new_current_thread().enable_all().build()?,
        };
        let raw: Arc<dyn Store> = match (&around.memory, around.subject) {
            (Some(store), _) => Arc::clone(store),
            (None, Subject::Inmem) => runtime.block_on(context_runtime::open("mem:"))?,
            (None, Subject::Sqlite) => {
                let file = around.folder.join("day.db");
                runtime.block_on(context_runtime::open(&format!("sqlite:{}", file.display())))?
            }
        };
        if is_paused {
            around.memory = Some(Arc::clone(&raw));
        }
        let plan = match around.planted {
            Some(PlantedDefect::FailsUnplanned) => {
                FaultPlan::default().with(Operation::Commit, UNPLANNED, Fault::BeforeApply)
            }
            _ => FaultPlan::default(),
        };
        let faults = FaultStore::new(Arc::clone(&raw), plan);
        let store: Arc<dyn Store> = Arc::new(faults.clone());
        let clock: Arc<dyn Clock> = Arc::new(around.clock.clone());
        let ids: Arc<dyn IdGenerator> = Arc::new(around.ids.clone());
        let facts = Facts::new(Arc::clone(&store), Arc::clone(&clock))?;
        let facts = Arc::new(facts.scope_level(ScopeLevel::User));
        let episodes = Episodic::new(Arc::clone(&store))?.scope_level(ScopeLevel::User);
        let memories: Arc<dyn MemoryProvider> =
            Arc::new(ProviderChain::new().with("facts", Arc::clone(&facts), 1).with(
                "episodes",
                Queued::new(episodes),
                2,
            ));
        // The first recorder of a store says for all of them how many rounds they keep.
        let trajectories = Trajectories::builder(Arc::clone(&store))
            .keep(KEPT_ROUNDS)
            .clock(Arc::clone(&clock))
            .ids(Arc::clone(&ids))
            .build()?;
        let mut agents = Vec::new();
        for (number, vendor) in VENDORS.iter().enumerate() {
            let parts = (Arc::clone(&clock), Arc::clone(&ids), Arc::clone(&memories));
            agents.push(agents_of(around, &store, number, vendor, parts)?);
        }
        let chats = BTreeMap::new();
        Ok(Self {
            raw,
            faults,
            store,
            agents,
            facts,
            memories,
            trajectories,
            chats,
            runtime,
            is_paused,
        })
    }

    /// Runs a future of the process. `None`: it hung, and the process has to be ended.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> Ran<T> {
        // Time stands still while anything can run, so that a wait this long means that nothing
        // can. Without a hanging call nothing waits for as long.
        const LONGEST: Duration = Duration::from_secs(40 * 86_400);
        let is_paused = self.is_paused;
        self.runtime.block_on(async move {
            tokio::select! {
                biased;
                done = future => Some(done),
                () = tokio::time::sleep(LONGEST), if is_paused => None,
            }
        })
    }

    /// Lets the time of the process pass.
    pub(crate) fn pass(&self, time: Duration) {
        let is_paused = self.is_paused;
        self.runtime.block_on(async move {
            if is_paused {
                tokio::time::advance(time).await;
            }
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        });
    }

    pub(crate) fn is_open(&self, slot: ChatSlot) -> bool {
        self.chats.contains_key(&slot)
    }

    pub(crate) fn open_chats(&self) -> Vec<ChatSlot> {
        self.chats.keys().copied().collect()
    }

    /// Opens a chat. Returns the branch that it is on.
    pub(crate) fn open(
        &mut self,
        around: &Surroundings,
        slot: ChatSlot,
        vendor: usize,
    ) -> Ran<Result<String, String>> {
        let agents = self.agents.get(vendor).cloned();
        let (providers, clock) = (around.providers.clone(), around.clock.clone());
        let opened = self.run(async move {
            let agents = agents.ok_or("no such provider")?;
            let chat = agents.chat(slot.user_name(), slot.chat_name()).await;
            let mut chat = chat.map_err(|error| error.to_string())?;
            chat.set([role("You are an agent. Look things up before you answer. ".repeat(12))]);
            let branch = chat.engine().branch().to_string();
            let (sender, inbox) = mpsc::channel(1);
            tokio::spawn(Worker::new(slot, vendor, providers, clock).serve(chat, inbox));
            Ok((sender, branch))
        })?;
        Some(opened.map(|(sender, branch)| {
            self.chats.insert(slot, sender);
            branch
        }))
    }

    /// Gives a command to the owner of an open chat. An error says that the task is gone.
    pub(crate) fn command(
        &self,
        slot: ChatSlot,
        command: Command,
    ) -> Ran<Result<Outcome, &'static str>> {
        let Some(sender) = self.chats.get(&slot) else { return Some(Err("the chat is closed")) };
        self.run(async move {
            let (reply, outcome) = tokio::sync::oneshot::channel();
            sender.send((command, reply)).await.map_err(|_| "the task of the chat panicked")?;
            outcome.await.map_err(|_| "the task of the chat panicked")
        })
    }

    /// Closes a chat, in the middle of a turn if it has one.
    pub(crate) fn close(&mut self, slot: ChatSlot) {
        if self.chats.remove(&slot).is_some() {
            self.pass(Duration::ZERO);
        }
    }

    /// Ends the process in order.
    pub(crate) fn shut_down(mut self) -> Ran<Vec<String>> {
        self.chats.clear();
        self.pass(Duration::ZERO);
        let agents = self.agents.clone();
        let mut errors = Vec::new();
        for agents in agents {
            if let Err(error) = self.run(async move { agents.shutdown().await })? {
                errors.push(error.to_string());
            }
        }
        Some(errors)
    }
}

fn agents_of(
    around: &Surroundings,
    store: &Arc<dyn Store>,
    number: usize,
    vendor: &Vendor,
    (clock, ids, memories): (Arc<dyn Clock>, Arc<dyn IdGenerator>, Arc<dyn MemoryProvider>),
) -> anyhow::Result<Agents> {
    let takes = match around.subject {
        Subject::Inmem => Duration::from_secs(20),
        // The time of its threads is not ours.
        Subject::Sqlite => Duration::ZERO,
    };
    let summaries = VendorModel::summaries(&around.providers, number, takes);
    let summaries: Arc<dyn LanguageModel> = Arc::new(summaries);
    let client: Arc<dyn LanguageModel> = Arc::new(VendorModel::answers(&around.providers, number));
    let spill = Arc::clone(store);
    let codec = provider(vendor.codec)?;
    let codec = match around.planted {
        Some(planted) => PlantedCodec::around(codec, planted),
        None => codec,
    };
    let mut builder = Agents::builder(Arc::clone(store))
        .model(vendor.model)
        .provider(codec)
        .client(client)
        .summaries(summaries)
        .summaries_ahead(vendor.ahead)
        .calls(CallOptions::new().sleep(false))
        .shared_environment(Arc::clone(&clock), ids)
        .compaction([microcompact(), strip_images(), summarize(), snip(), truncate_head()])
        .runtime(|runtime| {
            runtime
                .window(WINDOW)
                .reserve(RESERVE.max(MAX_OUTPUT))
                .counter(Arc::new(DayCounter { percent: 100 }))
                .spill(spill)
                .tool_results(ToolResultLimits::new().bytes(5_000).preview_bytes(1_000))
        });
    if vendor.memory {
        builder = builder.memory(memories);
    }
    Ok(builder.build()?)
}
