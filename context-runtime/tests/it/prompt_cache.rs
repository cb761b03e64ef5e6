//! The prompt cache in the requests of a runtime: keys, lifetimes, expiry, stored content. The
//! simulator plays the provider, by the same clock.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::compaction::{HistoryState, Stage, Trigger};
use context_runtime::model::{CachedContent, LanguageModel, ModelRequest};
use context_runtime::{
    CacheKey, CancelSignal, ChatRef, Clock, ContextRuntime, DefaultContextRuntime,
    DefaultContextRuntimeBuilder, Message, ModelContext, PrepareInput, RuntimeFault, Timestamp,
};

use crate::runtime_kit::*;

const CLAUDE: (&str, &str) = ("anthropic", "claude-sonnet-4-5");
const GPT: (&str, &str) = ("openai-responses", "gpt-5.1");
const MINUTE: i64 = 60;
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn wide() -> DefaultContextRuntimeBuilder {
    DefaultContextRuntime::builder().window(200_000).counter(Arc::new(ByteCounter))
}

/// A chat that is asked again and again, after pauses.
struct PausedChat {
    runtime: DefaultContextRuntime,
    clock: HandClock,
    history: Vec<Arc<Message>>,
    model: (&'static str, &'static str),
}

impl PausedChat {
    fn new(builder: DefaultContextRuntimeBuilder, model: (&'static str, &'static str)) -> Self {
        let clock = HandClock::default();
        let runtime = builder.clock(clock.clone()).build().unwrap();
        Self { runtime, clock, history: Vec::new(), model }
    }

    fn input(&self) -> PrepareInput {
        let (provider, model) = self.model;
        PrepareInput::new(("ada", "s"), "t", provider, model)
            .system("You book trips. ".repeat(1_000))
            .messages(self.history.iter().map(Arc::clone))
    }

    /// Waits, asks, and has an answer.
    async fn ask_after(&mut self, seconds: i64) -> ModelContext {
        self.clock.advance(seconds);
        self.history.push(ask("Where to?"));
        let context = self.runtime.prepare_for_model(self.input()).await.unwrap();
        self.history.push(reply("To Lisbon."));
        context
    }

    fn cached_until(&self) -> Option<i64> {
        let status = self.runtime.status(&("ada", "s").into()).unwrap();
        status.cached_until.map(|until| until.as_micros() / 1_000_000)
    }
}

#[tokio::test]
async fn a_chat_has_a_key_of_its_own_for_providers_that_take_one() {
    let key = async |builder: DefaultContextRuntimeBuilder, chat: ChatRef, model: (&str, &str)| {
        let runtime = builder.build().unwrap();
        let input = PrepareInput::new(chat, "t", model.0, model.1).messages([ask("q")]);
        runtime.prepare_for_model(input).await.unwrap().request.cache_key
    };
    let lisbon = || ChatRef::from(("ada", "lisbon"));
    let of_chat = key(wide(), lisbon(), GPT).await.unwrap();
    // The same in another process, and another one for each user and chat.
    assert_eq!(key(wide(), lisbon(), GPT).await.as_deref(), Some(&*of_chat));
    assert_eq!(key(wide(), lisbon(), ("openai", "gpt-4o")).await.as_deref(), Some(&*of_chat));
    assert_ne!(key(wide(), ("bob", "lisbon").into(), GPT).await.as_deref(), Some(&*of_chat));
    assert_ne!(key(wide(), ("ada", "rome").into(), GPT).await.as_deref(), Some(&*of_chat));
    assert!(of_chat.len() <= 64 && !of_chat.contains("ada"));
    let keyless = [CLAUDE, ("gemini", "gemini-2.5-pro"), ("openai", "house-1")];
    // Gateways refuse keys that they do not know: Groq and NVIDIA have names with a vendor in
    // front, Cerebras has the open models alone.
    let gateways = ["openai/gpt-oss-120b", "gpt-oss-120b", "openai/gpt-4o"];
    for (provider, model) in keyless.into_iter().chain(gateways.map(|model| ("openai", model))) {
        assert_eq!(key(wide(), lisbon(), (provider, model)).await, None, "{model}");
    }
    assert_eq!(key(wide().cache_key(CacheKey::Off), lisbon(), GPT).await, None);
    let shared = || wide().cache_key(CacheKey::Shared("trips".into()));
    assert_eq!(key(shared(), lisbon(), ("openai", "house-1")).await.as_deref(), Some("trips"));
    let faults = wide().cache_key(CacheKey::Shared(String::new())).build().unwrap_err();
    assert_eq!(faults.0, [RuntimeFault::Empty { setting: "cache_key" }]);
    // A request with its own key keeps it.
    let mut input = PrepareInput::new(lisbon(), "t", GPT.0, GPT.1).messages([ask("q")]);
    input.request.cache_key = Some("mine".into());
    let context = shared().build().unwrap().prepare_for_model(input).await.unwrap();
    assert_eq!(context.request.cache_key.as_deref(), Some("mine"));
}

#[tokio::test]
async fn the_lifetime_follows_the_pauses_between_the_calls() {
    let mut chat = PausedChat::new(wide(), CLAUDE);
    for _ in 0..3 {
        assert_eq!(chat.ask_after(20).await.request.cache_lifetime, None);
    }
    assert_eq!(chat.cached_until(), Some(60 + 300));
    // The first long pause: an hour would have been cheaper.
    let context = chat.ask_after(20 * MINUTE).await;
    assert_eq!(context.request.cache_lifetime, Some(HOUR));
    assert_eq!(codes(&context), ["cache_expired", "cache_lifetime_changed"]);
    let reports: Vec<_> =
        context.diagnostics.iter().map(|report| report.message.as_str()).collect();
    insta::assert_snapshot!(reports.join("\n"), @r"
    16047 tokens are not in the prompt cache any more: the last request was 1200 seconds ago, and an entry lives 300
    entries of the prompt cache live 3600s instead of 300s: the last 3 calls would have cost 4922 tokens of input instead of 23334
    ");
    assert_eq!(chat.cached_until(), Some(60 + 1_200 + 3_600));
    // The runtime believes that the prefix is cached for the hour.
    let context = chat.ask_after(40 * MINUTE).await;
    assert!(context.prefix.reused > 15_000, "{:?}", context.prefix);
    assert_eq!((codes(&context), context.request.cache_lifetime), (vec![], Some(HOUR)));
    // After days without a pause, five minutes are enough again.
    let mut last = context;
    for _ in 0..64 {
        last = chat.ask_after(20).await;
    }
    assert_eq!((codes(&last), last.request.cache_lifetime), (vec!["cache_lifetime_changed"], None));
}

#[tokio::test]
async fn a_program_asks_for_the_lifetime_that_it_wants() {
    let asked = async |builder: DefaultContextRuntimeBuilder, model| {
        let mut chat = PausedChat::new(builder, model);
        let context = chat.ask_after(0).await;
        (context.request.cache_lifetime, chat.cached_until())
    };
    let seconds = Duration::from_secs;
    // The shortest that is long enough, or else the longest.
    let minutes = Some(seconds(300));
    assert_eq!(asked(wide().cache_lifetime(seconds(60)), CLAUDE).await, (minutes, Some(300)));
    assert_eq!(asked(wide().cache_lifetime(seconds(600)), CLAUDE).await, (Some(HOUR), Some(3_600)));
    assert_eq!(asked(wide().cache_lifetime(DAY), CLAUDE).await, (Some(HOUR), Some(3_600)));
    assert_eq!(asked(wide().cache_lifetime(HOUR), GPT).await, (Some(DAY), Some(86_400)));
    // No choice: nothing is asked for, and the table knows better than the program.
    let only = ("openai", "gpt-4o");
    assert_eq!(asked(wide(), only).await, (None, None), "a setting of the organisation");
    assert_eq!(asked(wide().cache_lifetime(HOUR), only).await, (None, None), "it stays one");
    let half_an_hour = ("openai", "gpt-5.6-sol");
    assert_eq!(asked(wide(), half_an_hour).await, (None, Some(1_800)));
    assert_eq!(asked(wide().cache_lifetime(HOUR), half_an_hour).await, (None, Some(1_800)));
    // Twelve hours are for breakpoints alone, which this wire form does not set.
    let twelve = ("openai", "gpt-6.2-sol");
    assert_eq!(asked(wide().cache_lifetime(DAY), twelve).await, (None, Some(1_800)));
    // Of a model that the table does not have, the program states what it knows.
    let unknown = ("openai", "house-1");
    assert_eq!(asked(wide(), unknown).await, (None, None));
    assert_eq!(asked(wide().cache_lifetime(HOUR), unknown).await, (None, Some(3_600)));
    // A Claude model caches what has breakpoints, which this wire form does not set.
    let elsewhere = ("openai", "claude-sonnet-4-5");
    assert_eq!(asked(wide().cache_lifetime(HOUR), elsewhere).await, (None, None));
    // No cache, or too little for one.
    assert_eq!(asked(wide(), ("openai", "gpt-4")).await, (None, None));
    let runtime = wide().build().unwrap();
    let context = prepare(&runtime, &[ask("short")]).await;
    assert_eq!(context.prefix.cached_until, None);
    // One call asks for itself, unless the model is known to offer none.
    let hour = Some(Timestamp::from_micros(3_600_000_000));
    for (model, lifetime, until) in
        [(CLAUDE, Some(HOUR), hour), (unknown, Some(HOUR), hour), (("openai", "gpt-4"), None, None)]
    {
        let mut chat = PausedChat::new(wide(), model);
        chat.history.push(ask("q"));
        let mut input = chat.input();
        input.request.cache_lifetime = Some(HOUR);
        let context = chat.runtime.prepare_for_model(input).await.unwrap();
        assert_eq!(
            (context.request.cache_lifetime, context.prefix.cached_until),
            (lifetime, until)
        );
    }
}

/// Both lifetimes of these models have one price, so the longer one would be taken after the first
/// pause. But endpoints that take the model may refuse the parameter, and with it every request.
#[tokio::test]
async fn no_pause_makes_a_request_name_a_lifetime_at_openai() {
    let mut chat = PausedChat::new(wide(), GPT);
    for pause in [20, 20 * MINUTE, 3 * 60 * MINUTE, 20] {
        let context = chat.ask_after(pause).await;
        assert_eq!((context.request.cache_lifetime, chat.cached_until()), (None, None));
        // The organisation may keep entries for a day, so nobody knows that they are gone.
        assert_eq!(codes(&context), Vec::<&str>::new());
    }
    let mut chat = PausedChat::new(wide().cache_lifetime(DAY), GPT);
    assert_eq!(chat.ask_after(0).await.request.cache_lifetime, Some(DAY));
    assert!(chat.ask_after(3 * 60 * MINUTE).await.prefix.reused > 15_000);
}

/// Returns what a day of a chat costs, with pauses of some minutes between its turns, and the
/// number of calls that read nothing from the cache.
#[cfg(feature = "anthropic")]
async fn price_of_a_day(builder: DefaultContextRuntimeBuilder, name: &str) -> (f64, usize) {
    let mut chat = PausedChat::new(builder.expected_calls(3), (CLAUDE.0, CLAUDE.1));
    let codec = context_runtime::provider(name).unwrap();
    let provider = context_simulator::Simulator::new(codec, Arc::new(ByteCounter))
        .clock(Arc::new(chat.clock.clone()));
    for turn in 0..8 {
        for call in 0..4 {
            let pause = if call == 0 { (turn % 3 + 1) * 9 * MINUTE } else { 10 };
            let context = chat.ask_after(pause).await;
            let _ = provider.complete(&context.request, &CancelSignal::never()).await.unwrap();
        }
    }
    let log = provider.log();
    let price = log.iter().map(context_simulator::Served::input_price).sum();
    (price, log.iter().filter(|served| served.cache_read == 0).count())
}

#[cfg(feature = "anthropic")]
#[tokio::test]
async fn the_chosen_lifetime_is_cheaper_at_the_provider() {
    let (by_pauses, misses) = price_of_a_day(wide(), "anthropic").await;
    let usual = wide().cache_lifetime(Duration::from_secs(300));
    let (usual, all_misses) = price_of_a_day(usual, "anthropic").await;
    // The first pause teaches; without that every turn begins with a miss.
    assert_eq!((misses, all_misses), (2, 8));
    assert!(by_pauses < usual * 0.75, "{by_pauses} instead of {usual}");
}

#[tokio::test]
async fn a_stage_runs_before_the_cache_expires() {
    let stage = |within| {
        let trigger = Trigger::CacheExpires(Duration::from_secs(within));
        Stage::new(ShorteningPolicy).trigger(trigger)
    };
    let cuts_after = async |seconds: i64| {
        let mut chat = PausedChat::new(wide().compaction([stage(60)]), CLAUDE);
        chat.history = vec![ask("q"), call("a"), result("a", "long ".repeat(100))];
        chat.history.extend([call("b"), result("b", "ok")]);
        assert!(chat.ask_after(0).await.rewrite.is_none());
        chat.ask_after(seconds).await.rewrite.is_some()
    };
    assert!(!cuts_after(239).await);
    assert!(cuts_after(240).await && cuts_after(299).await);
    assert!(!cuts_after(300).await, "the cache is gone, so nothing is saved any more");
    let trigger = Trigger::CacheExpires(Duration::from_secs(60)).and(0.4);
    assert_eq!(trigger.to_string(), "the cache expires within 60s and 40% of the window");
    assert!(!trigger.is_due(&HistoryState::of_share(0.5)));
}

#[tokio::test]
async fn a_stage_runs_while_nothing_is_cached() {
    let stage = Stage::new(ShorteningPolicy).trigger(Trigger::CacheCold);
    let mut chat = PausedChat::new(wide().compaction([stage]), CLAUDE);
    chat.history = vec![ask("q"), call("a"), result("a", "long ".repeat(100))];
    chat.history.extend([call("b"), result("b", "ok")]);
    assert!(chat.ask_after(0).await.rewrite.is_none(), "nothing is known of the first request");
    assert!(chat.ask_after(299).await.rewrite.is_none(), "the entry lives");
    let context = chat.ask_after(300).await;
    assert!(context.rewrite.is_some());
    assert_eq!(context.plans[0].reason, "the trigger is reached: the cache is cold");
}

/// A program that keeps an entry alive sends the prepared request again, for no answer.
#[cfg(feature = "anthropic")]
#[tokio::test]
async fn a_request_that_is_sent_again_keeps_the_entry() {
    let mut chat = PausedChat::new(wide().cache_lifetime(Duration::from_secs(300)), CLAUDE);
    let codec = context_runtime::provider("anthropic").unwrap();
    let provider = context_simulator::Simulator::new(codec, Arc::new(ByteCounter))
        .clock(Arc::new(chat.clock.clone()));
    let send = async |request: &ModelRequest| {
        let _ = provider.complete(request, &CancelSignal::never()).await.unwrap();
        provider.log().pop().unwrap().cache_read
    };
    let first = chat.ask_after(0).await;
    assert_eq!(send(&first.request).await, 0);
    let until = first.prefix.cached_until.unwrap();
    chat.clock.advance(until.as_micros() / 1_000_000 - 30);
    assert!(chat.clock.now() < until);
    let mut again = chat.runtime.prepare_for_model(chat.input()).await.unwrap();
    again.request.max_output_tokens = Some(0);
    assert!(send(&again.request).await > 15_000);
    assert_eq!(chat.cached_until(), Some(570));
    assert!(send(&chat.ask_after(299).await.request).await > 15_000);
    assert_eq!(send(&chat.ask_after(300).await.request).await, 0);
}

#[tokio::test]
async fn stored_content_is_used_as_long_as_the_request_begins_with_it() {
    let mut chat = PausedChat::new(wide(), ("gemini", "gemini-2.5-pro"));
    let first = chat.ask_after(0).await.request;
    let content = Arc::new(CachedContent::of("cachedContents/1", &first, 1));
    chat.history.push(ask("And then?"));
    let with = |input: PrepareInput| {
        let mut input = input;
        input.request.cached_content = Some(Arc::clone(&content));
        input
    };
    let context = chat.runtime.prepare_for_model(with(chat.input())).await.unwrap();
    assert_eq!(
        (codes(&context), &context.request.cached_content),
        (vec![], &Some(Arc::clone(&content)))
    );
    let other = with(chat.input()).system("Be brief.");
    let context = chat.runtime.prepare_for_model(other).await.unwrap();
    assert!(codes(&context).contains(&"cached_content_unused"), "{:?}", context.diagnostics);
    assert_eq!(context.request.cached_content, None);
}

/// Without its name, what is stored would be missing from the request, and the report would say
/// that all of it is sent.
#[tokio::test]
async fn stored_content_of_which_only_the_name_is_known_stays_in_the_request() {
    let mut chat = PausedChat::new(wide(), ("gemini", "gemini-2.5-pro"));
    chat.history.push(ask("Which is first?"));
    let named = Arc::new(CachedContent::new("cachedContents/1"));
    let mut input = chat.input();
    input.request.cached_content = Some(Arc::clone(&named));
    let context = chat.runtime.prepare_for_model(input).await.unwrap();
    assert_eq!(codes(&context), Vec::<&str>::new());
    assert_eq!(context.request.cached_content, Some(named));
    #[cfg(feature = "gemini")]
    {
        let refused = context_runtime::provider("gemini").unwrap().lower(&context.request);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("cachedContents/1 holds other system prompt"), "{refused}");
    }
}

#[cfg(feature = "gemini")]
#[tokio::test]
async fn the_provider_reads_stored_content_by_its_name() {
    let clock = HandClock::default();
    let codec = context_runtime::provider("gemini").unwrap();
    let provider = context_simulator::Simulator::new(Arc::clone(&codec), Arc::new(ByteCounter))
        .clock(Arc::new(clock.clone()));
    let request = ModelRequest::new([Message::from("<timetable/>"), "Which is first?".into()])
        .model("gemini-2.5-pro")
        .system("You book trips. ".repeat(300));
    let beginning = CachedContent::of("", &request, 1);
    let stores =
        context_runtime::gemini::generate::cached_content(&beginning, "gemini-2.5-pro", HOUR);
    let name = provider.store_content(stores.unwrap().body.as_str());
    let whole = provider.complete(&request, &CancelSignal::never()).await.unwrap().usage.unwrap();
    let named = request.clone().cached_content(CachedContent::of(name, &request, 1));
    let body = codec.lower(&named).unwrap().body;
    assert!(!body.as_str().contains("You book trips"));
    let usage = provider.complete(&named, &CancelSignal::never()).await.unwrap().usage.unwrap();
    assert_eq!(usage.total_input(), whole.total_input());
    assert!(usage.cache_read > 4_800, "{usage:?}");
    clock.advance(3_600);
    let expired = provider.complete(&named, &CancelSignal::never()).await.unwrap_err();
    assert!(expired.message.contains("CachedContent not found"), "{expired:?}");
}
