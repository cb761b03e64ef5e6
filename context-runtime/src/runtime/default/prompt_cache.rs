//! The provider's prompt cache: its key, and how long its entries live.

use std::collections::VecDeque;
use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::{ChatRef, Diagnostic, Timestamp};
use context_tokens::{CacheLifetime, CacheRules};

use super::assemble::Call;
use super::prefix;
use super::session::Session;

/// The lifetime of an unused entry in a prompt cache whose provider states none.
const UNKNOWN_LIFETIME: Duration = Duration::from_secs(300);
/// The maximum number of calls of a chat by which a lifetime is chosen.
const MOST_CALLS: usize = 64;
/// The lifetimes that a request can ask for, in seconds, by the provider's wire form.
const ASKABLE: [(&str, &[u64]); 2] = [("anthropic", &[300, 3_600]), ("openai", &[300, 86_400])];

/// The key of the provider's prompt cache, for providers that take one. Requests with the same key
/// and the same prefix are sent to the same cache, so a chat should keep its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheKey {
    /// A key for each chat: a hash of its user and its id, which is the same in every process and
    /// for all branches of the chat, so forked sub-agents share the cache of their parent. Only for
    /// models of which the [table](crate::tokens::CacheRules::key) says that they take a key, and
    /// under their provider's own name: `openai/gpt-4o` is a name of a gateway, which may refuse
    /// the key. A gateway that uses plain names and refuses it needs [`Off`](Self::Off).
    #[default]
    Chat,
    /// This key for all chats, whatever the model: for chats that have more in common with each
    /// other than the provider's cache finds without a key.
    Shared(String),
    /// No key.
    Off,
}

impl CacheKey {
    /// Returns the key for requests of a chat.
    pub(super) fn of(
        &self,
        chat: &ChatRef,
        model: &str,
        rules: Option<&CacheRules>,
    ) -> Option<String> {
        match self {
            Self::Chat => {
                let takes_key = rules.is_some_and(|rules| rules.key && !model.contains('/'));
                takes_key.then(|| key_of(chat))
            }
            Self::Shared(key) => Some(key.clone()),
            Self::Off => None,
        }
    }
}

/// Returns the key of a chat. The provider cannot tell the user or the chat from it.
fn key_of(chat: &ChatRef) -> String {
    // The context string separates these hashes from all others. Change it when the hashed data
    // changes.
    let mut hasher = blake3::Hasher::new_derive_key("context-runtime prompt cache key, form 1");
    for id in [chat.user.as_str(), chat.chat.as_str()] {
        hasher.update(&(id.len() as u64).to_le_bytes()).update(id.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The newest calls of a chat to one model, by which a lifetime is chosen.
#[derive(Debug, Default)]
pub(super) struct RecentCalls {
    model: String,
    calls: VecDeque<RecentCall>,
}

/// A call after another one.
#[derive(Clone, Copy, Debug)]
struct RecentCall {
    /// The time since the call before.
    pause: Duration,
    /// Tokens that both calls begin with.
    shared: u64,
    /// Tokens of the request.
    total: u64,
}

impl RecentCalls {
    fn add(&mut self, model: &str, call: RecentCall) {
        if self.model != model {
            self.calls.clear();
            model.clone_into(&mut self.model);
        }
        if self.calls.len() == MOST_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    /// Returns the price that the input of these calls would have had if entries lived this long,
    /// in tokens at the full price.
    fn price(&self, lifetime: &CacheLifetime, read: f64) -> f64 {
        let price = |call: &RecentCall| {
            let is_read = call.pause < lifetime.duration();
            let shared = if is_read { call.shared.min(call.total) } else { 0 };
            shared as f64 * read + (call.total - shared) as f64 * lifetime.write
        };
        self.calls.iter().map(price).sum()
    }

    /// Returns the lifetime with which these calls would have been cheapest: the shortest if two
    /// are equal.
    fn cheapest(&self, offered: &[CacheLifetime], read: f64) -> Option<CacheLifetime> {
        let price = |lifetime: &&CacheLifetime| self.price(lifetime, read);
        offered.iter().min_by(|a, b| price(a).total_cmp(&price(b))).copied()
    }
}

/// The lifetime of the entries that a request writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChosenLifetime {
    /// The lifetime after the last use.
    pub(super) lifetime: Duration,
    /// The lifetime that the request asks for. `None` for the provider's default.
    pub(super) asked: Option<Duration>,
    /// The price of a write, relative to other input, if it is known.
    pub(super) write: Option<f64>,
    /// Whether the lifetime is known, and not only assumed.
    pub(super) is_known: bool,
}

impl ChosenLifetime {
    /// Returns the time until which a request of so many tokens is cached, if it is.
    pub(super) fn cached_until(&self, call: &Call<'_>, total: u64) -> Option<Timestamp> {
        let rules = call.counting.cache_rules.as_deref();
        let is_cached = rules.is_none_or(|rules| {
            let has_entry = rules.automatic || prefix::wants_marks(&call.input.provider);
            rules.is_supported() && has_entry && total >= rules.minimum
        });
        let lifetime = i64::try_from(self.lifetime.as_micros()).unwrap_or(i64::MAX);
        let until = call.now.as_micros().saturating_add(lifetime);
        (self.is_known && is_cached).then(|| Timestamp::from_micros(until))
    }
}

/// Chooses the lifetime for a request of so many tokens, of which the last request had `shared`.
/// The program's choice comes first: that of the input, then that of the builder. Otherwise, where
/// lifetimes differ in price, it is the one with which the last calls of the chat would have been
/// cheapest. Nothing else makes a request name a lifetime: endpoints that take the model may refuse
/// the parameter, and an organisation may not allow what it stands for.
pub(super) fn choose(
    call: &Call<'_>,
    session: &mut Session,
    (shared, total): (u64, u64),
    diagnostics: &mut Vec<Diagnostic>,
) -> ChosenLifetime {
    let Call { parts, counting, ref input, .. } = *call;
    if let Some(pause) = call.idle(session) {
        session.recent_calls.add(&counting.model, RecentCall { pause, shared, total });
    }
    let wanted = input.request.cache_lifetime.or(parts.cache_lifetime);
    let lifetimes = counting.cache_rules.as_ref().map(|rules| rules.lifetimes.as_slice());
    let (Some(usual), Some(offered)) = (lifetimes.and_then(<[_]>::first), lifetimes) else {
        // Rules without lifetimes are those of a model for which none can be named.
        let asked = input.request.cache_lifetime.filter(|_| counting.cache_rules.is_none());
        let lifetime = wanted.unwrap_or(UNKNOWN_LIFETIME);
        return ChosenLifetime { lifetime, asked, write: None, is_known: wanted.is_some() };
    };
    let offered: Vec<CacheLifetime> =
        offered.iter().filter(|offer| is_askable(&input.provider, offer)).copied().collect();
    let has_choice = offered.len() > 1;
    let has_prices = offered.iter().any(|offer| offer.write.total_cmp(&usual.write).is_ne());
    let chosen = match wanted {
        Some(wanted) if has_choice => {
            let longest = offered.iter().max_by_key(|offer| offer.seconds);
            let long = offered.iter().filter(|offer| offer.duration() >= wanted);
            long.min_by_key(|offer| offer.seconds).or(longest).copied()
        }
        None if has_prices && total >= counting.minimum() => {
            session.recent_calls.cheapest(&offered, counting.cache_read)
        }
        _ => None,
    };
    let chosen = chosen.unwrap_or(*usual);
    let lifetime = chosen.duration();
    let is_asked = has_choice && (wanted.is_some() || chosen != *usual);
    let before = session.sent.as_ref().filter(|sent| sent.model == counting.model);
    if let Some(before) = before.map(|sent| sent.lifetime).filter(|before| *before != lifetime) {
        let price = |of: Duration| {
            let offer = offered.iter().find(|offer| offer.duration() == of);
            offer.map_or(0.0, |offer| session.recent_calls.price(offer, counting.cache_read))
        };
        let (calls, now, then) = (session.recent_calls.calls.len(), price(lifetime), price(before));
        let text = match wanted {
            None => format!(
                "entries of the prompt cache live {lifetime:?} instead of {before:?}: the last {calls} calls would \
                 have cost {now:.0} tokens of input instead of {then:.0}"
            ),
            Some(_) => format!(
                "entries of the prompt cache live {lifetime:?} instead of {before:?}, as the program asks"
            ),
        };
        let code = DiagnosticCode::CacheLifetimeChanged;
        diagnostics.push(Diagnostic::new(code, Severity::Info, "cache_lifetime", text));
    }
    ChosenLifetime {
        lifetime,
        asked: is_asked.then_some(lifetime),
        write: Some(chosen.write),
        is_known: is_asked || !is_setting(&input.provider, usual),
    }
}

/// Returns whether a request to a provider can ask for a lifetime.
fn is_askable(provider: &str, offer: &CacheLifetime) -> bool {
    let family = family(provider);
    ASKABLE.iter().any(|(name, seconds)| *name == family && seconds.contains(&offer.seconds))
}

/// Returns whether the lifetime of a request that names none is a setting of the organisation,
/// which this program cannot know: at OpenAI it may be a day where the table has some minutes.
fn is_setting(provider: &str, usual: &CacheLifetime) -> bool {
    family(provider) == "openai" && is_askable(provider, usual)
}

fn family(provider: &str) -> &str {
    provider.split('-').next().unwrap_or_default()
}

/// Returns a report if the provider has forgotten `shared` tokens since the last request.
pub(super) fn expired(call: &Call<'_>, session: &Session, shared: u64) -> Option<Diagnostic> {
    let rules = call.counting.cache_rules.as_deref()?;
    let (sent, pause) = (session.sent.as_ref()?, call.idle(session)?);
    if shared < rules.minimum.max(1) || pause < sent.lifetime || sent.cached_until.is_none() {
        return None;
    }
    let text = format!(
        "{shared} tokens are not in the prompt cache any more: the last request was {} seconds ago, and an entry \
         lives {}",
        pause.as_secs(),
        sent.lifetime.as_secs()
    );
    Some(Diagnostic::new(DiagnosticCode::CacheExpired, Severity::Info, "prefix", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_chat_tells_nothing_and_depends_on_user_and_chat() {
        let key = |user: &str, chat: &str| key_of(&(user, chat).into());
        assert_eq!(key("ada", "lisbon"), key("ada", "lisbon"));
        assert_eq!(key("ada", "lisbon").len(), 32);
        let others = [("bob", "lisbon"), ("ada", "rome"), ("adal", "isbon")];
        assert!(others.iter().all(|(user, chat)| key(user, chat) != key("ada", "lisbon")));
        assert!(!key("ada", "lisbon").contains("ada"));
    }

    #[test]
    fn the_cheapest_lifetime_depends_on_the_pauses() {
        let rules = context_tokens::ModelTable::builtin().model("claude-opus-4-5").cache_rules();
        let offered = rules.unwrap().lifetimes;
        let cheapest = |pauses: &[u64], shared, total| {
            let mut recent = RecentCalls::default();
            for pause in pauses {
                let pause = Duration::from_secs(*pause);
                recent.add("m", RecentCall { pause, shared, total });
            }
            recent.cheapest(&offered, 0.1).unwrap().seconds
        };
        assert_eq!(cheapest(&[], 0, 0), 300);
        assert_eq!(cheapest(&[20, 20, 20], 50_000, 52_000), 300);
        assert_eq!(cheapest(&[20, 20, 600], 50_000, 52_000), 3_600);
        // Within the pauses everything is new, or nothing is left after an hour either.
        assert_eq!(cheapest(&[20, 20, 600], 1_000, 52_000), 300);
        assert_eq!(cheapest(&[20, 20, 7_200], 50_000, 52_000), 300);
    }
}
