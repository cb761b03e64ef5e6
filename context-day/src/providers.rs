//! The providers of a day, and what holds for every request that reaches them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use context_runtime::model::{
    Answer, LanguageModel, ModelError, ModelErrorCode, ModelRequest, Usage,
};
use context_runtime::{CancelSignal, provider};
use context_simulator::{AnswerPiece, ProviderFault, Script, Served, SimulatedReply, Simulator};

use crate::environment::{DayClock, DayCounter};
use crate::failure::{DayFailure, Invariant};
use crate::marker::{DayMarker, markers};
use crate::scene::{USERS, UserSlot, VENDORS, WINDOW};

/// The tokens by which a provider may round what it read from its cache.
const CACHE_STEP: u64 = 130;

/// The providers. Clones share their state.
#[derive(Clone)]
pub(crate) struct Providers(Arc<Mutex<State>>);

struct State {
    models: Vec<Simulator>,
    /// The same providers, as they are asked for summaries.
    summarizers: Vec<Simulator>,
    /// The next answer of a model.
    answer: Arc<Mutex<Vec<AnswerPiece>>>,
    lives: [u32; USERS.len()],
    /// The cost of the requests of the library itself.
    aside: BTreeMap<Aside, Usage>,
    requests: u64,
    digest: u64,
    failure: Option<DayFailure>,
}

/// Requests that the library itself sends. Those of other providers are apart: they may be for
/// summaries written in the background, for other chats or since before a change of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Aside {
    pub(crate) user: UserSlot,
    pub(crate) vendor: usize,
    /// Whether they are for summaries, and not for the answers of sub-agents.
    pub(crate) is_summary: bool,
}

/// A request to a provider.
pub(crate) struct Outgoing<'a> {
    pub(crate) vendor: usize,
    pub(crate) body: &'a str,
    pub(crate) user: UserSlot,
    pub(crate) fault: Option<ProviderFault>,
    pub(crate) events: bool,
    pub(crate) first: Option<DayMarker>,
    pub(crate) newest: Option<DayMarker>,
    /// The tokens that the provider has in its cache.
    pub(crate) cached: Option<u64>,
}

impl Providers {
    pub(crate) fn new(clock: &DayClock) -> context_runtime::Result<Self> {
        let answer = Arc::<Mutex<Vec<AnswerPiece>>>::default();
        let (mut models, mut summarizers) = (Vec::new(), Vec::new());
        for vendor in VENDORS {
            let next = Arc::clone(&answer);
            let counter = Arc::new(DayCounter { percent: vendor.counts });
            let simulator = Simulator::new(provider(vendor.codec)?, counter)
                .window(WINDOW)
                .model(vendor.model)
                .clock(Arc::new(clock.clone()));
            let says = move |_: &ModelRequest| lock(&next).clone();
            models.push(simulator.clone().behaviour(says));
            let counter = Arc::new(DayCounter { percent: vendor.counts });
            let other = Simulator::new(provider(vendor.codec)?, counter).window(WINDOW);
            summarizers.push(other.model(vendor.model).behaviour(summary));
        }
        Ok(Self(Arc::new(Mutex::new(State {
            models,
            summarizers,
            answer,
            lives: [0; USERS.len()],
            aside: BTreeMap::new(),
            requests: 0,
            digest: 0,
            failure: None,
        }))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Sets the life of a user, whose earlier words must not be sent again.
    pub(crate) fn begin_life(&self, user: UserSlot, life: u32) {
        if let Some(current) = self.state().lives.get_mut(user) {
            *current = life;
        }
    }

    /// Returns the first broken invariant.
    pub(crate) fn failure(&self) -> Option<DayFailure> {
        self.state().failure.clone()
    }

    /// Returns the number of requests, and a hash of all requests and replies so far.
    pub(crate) fn digest(&self) -> (u64, u64) {
        let state = self.state();
        (state.requests, state.digest)
    }

    /// Returns what requests of the library itself have cost so far.
    pub(crate) fn spent_aside(&self, aside: Aside) -> Usage {
        self.state().aside.get(&aside).copied().unwrap_or_default()
    }

    /// Sends a request, whose answer has these pieces, and checks it.
    pub(crate) fn send(
        &self,
        outgoing: &Outgoing<'_>,
        answer: Vec<AnswerPiece>,
    ) -> Option<(SimulatedReply, Served)> {
        let mut state = self.state();
        *lock(&state.answer) = answer;
        let model = state.models.get(outgoing.vendor)?;
        let script = match outgoing.fault {
            Some(fault) => Script::default().at(model.requests(), fault),
            None => Script::default(),
        };
        let model = model.clone().script(script);
        let reply = match outgoing.events {
            true => model.stream(outgoing.body),
            false => model.send(outgoing.body),
        };
        let served = model.take_log().pop()?;
        state.note(outgoing.body, &served);
        let checked = state.check(outgoing, &served);
        state.keep(checked);
        Some((reply, served))
    }
}

impl State {
    fn note(&mut self, body: &str, served: &Served) {
        let mut hasher = DefaultHasher::new();
        (self.digest, body, served.status, served.cache_read).hash(&mut hasher);
        self.requests += 1;
        self.digest = hasher.finish();
    }

    fn keep(&mut self, checked: Result<(), DayFailure>) {
        if let Err(failure) = checked {
            self.failure.get_or_insert(failure);
        }
    }

    fn check(&self, outgoing: &Outgoing<'_>, served: &Served) -> Result<(), DayFailure> {
        let vendor = VENDORS.get(outgoing.vendor).copied().unwrap_or(VENDORS[0]);
        let broken = |invariant, details: String| {
            Err(DayFailure::new(invariant, format_args!("{}: {details}", vendor.codec)))
        };
        if let Some(violation) = served.violations.first() {
            return broken(Invariant::Valid, violation.to_string());
        }
        let is_planned = outgoing.fault.is_some();
        match served.refused {
            Some(ModelErrorCode::ContextOverflow) if !is_planned && vendor.counts == 100 => {
                let input = served.input.unwrap_or_default();
                return broken(Invariant::Window, format!("{input} tokens of {WINDOW}"));
            }
            Some(code) if !is_planned && code != ModelErrorCode::ContextOverflow => {
                return broken(Invariant::Valid, format!("{code:?}"));
            }
            _ => {}
        }
        self.check_words(outgoing.body, Some(outgoing.user))?;
        let holds = |marker: &DayMarker| outgoing.body.contains(&marker.to_string());
        if let Some(first) = outgoing.first.filter(|first| !holds(first)) {
            return broken(Invariant::FirstRequest, format!("{first} is not in a request"));
        }
        if let Some(newest) = outgoing.newest.filter(|newest| !holds(newest)) {
            return broken(Invariant::NewestRequest, format!("{newest} is not in a request"));
        }
        match outgoing.cached {
            // A provider that counts more than the agent refuses some requests, and reads nothing.
            Some(cached)
                if !is_planned
                    && served.is_answered()
                    && served.cache_read + CACHE_STEP < cached =>
            {
                let text = format!("{} of {cached} tokens were read", served.cache_read);
                broken(Invariant::CachePrefix, text)
            }
            _ => Ok(()),
        }
    }

    /// Checks that all words are of one user in the present life. Returns the user.
    fn check_words(
        &self,
        text: &str,
        user: Option<UserSlot>,
    ) -> Result<Option<UserSlot>, DayFailure> {
        let mut user = user;
        for marker in markers(text) {
            let owner = *user.get_or_insert(marker.user);
            if owner != marker.user {
                let name = USERS.get(owner).copied().unwrap_or_default();
                let text = format!("{marker} is in a request of {name}");
                return Err(DayFailure::new(Invariant::Isolation, text));
            }
            if self.lives.get(owner) != Some(&marker.life) {
                let text = format!("{marker} of an erased life is in a request");
                return Err(DayFailure::new(Invariant::Erased, text));
            }
        }
        Ok(user)
    }

    /// Takes the request of another kind, and checks it as far as nothing is known of its chat.
    fn served_aside(&mut self, body: Option<String>, served: Option<Served>, model: &VendorModel) {
        let (Some(body), Some(served)) = (body, served) else { return };
        self.note(&body, &served);
        if let Some(violation) = served.violations.first() {
            let failure = DayFailure::new(Invariant::Valid, format_args!("aside: {violation}"));
            return self.keep(Err(failure));
        }
        let checked = self.check_words(&body, None);
        if let Ok(Some(user)) = checked {
            let aside = Aside { user, vendor: model.vendor, is_summary: model.is_summary };
            *self.aside.entry(aside).or_default() += usage_of(&served);
        }
        self.keep(checked.map(drop));
    }
}

/// Returns what a provider charges for a request.
pub(crate) fn usage_of(served: &Served) -> Usage {
    let mut usage = Usage::default();
    if served.is_answered() {
        let cached = served.cache_read + served.cache_write;
        usage.input = served.input.unwrap_or_default().saturating_sub(cached);
        usage.output = served.output;
        usage.cache_read = served.cache_read;
        usage.cache_write = served.cache_write;
        usage.cache_write_long = served.cache_write_long;
    }
    usage
}

/// Writes a summary that repeats some words of the conversation, as a model does.
fn summary(request: &ModelRequest) -> Vec<AnswerPiece> {
    let mut said = Vec::new();
    for message in &request.messages {
        said.extend(markers(&message.readable_text()).take(1));
    }
    let step = said.len().div_ceil(4).max(1);
    let some: Vec<_> = said.iter().step_by(step).map(DayMarker::to_string).collect();
    vec![AnswerPiece::text(format!("They spoke of {}.", some.join(", ")))]
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A provider as a model: for summaries, and for the questions of sub-agents.
#[derive(Clone)]
pub(crate) struct VendorModel {
    providers: Providers,
    vendor: usize,
    is_summary: bool,
    /// The time that an answer takes.
    takes: Duration,
}

impl VendorModel {
    /// A model that writes summaries, each of which takes this long.
    pub(crate) fn summaries(providers: &Providers, vendor: usize, takes: Duration) -> Self {
        Self { providers: providers.clone(), vendor, is_summary: true, takes }
    }

    /// A model that answers with the pieces that are [set](Self::answers).
    pub(crate) fn answers(providers: &Providers, vendor: usize) -> Self {
        let takes = Duration::ZERO;
        Self { providers: providers.clone(), vendor, is_summary: false, takes }
    }
}

impl Providers {
    /// Sets the next answer of a model that is asked by the library.
    pub(crate) fn set_answer(&self, pieces: Vec<AnswerPiece>) {
        *lock(&self.state().answer) = pieces;
    }
}

impl std::fmt::Debug for VendorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VendorModel").field("vendor", &self.vendor).finish_non_exhaustive()
    }
}

#[async_trait]
impl LanguageModel for VendorModel {
    fn name(&self) -> &str {
        VENDORS.get(self.vendor).map_or("", |vendor| vendor.model)
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        let model = {
            let state = self.providers.state();
            let models = if self.is_summary { &state.summarizers } else { &state.models };
            models.get(self.vendor).cloned()
        };
        let Some(model) = model else {
            return Err(ModelError::new("day", ModelErrorCode::Unknown, "no such provider"));
        };
        let reply = model.complete(request, cancel).await;
        let (body, served) = (model.last_body(), model.take_log().pop());
        self.providers.state().served_aside(body, served, self);
        reply
    }
}
