//! The context of memory cases: a provider under test, unique words, and the scopes that see them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoriesForgotten, MemoryForget, MemoryScope, RecallQuery,
    Recalled, RecalledMemory,
};
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Message, Role, Timestamp};

use super::MemoryClaims;
use crate::expect::{ensure, fail};
use crate::settings::CaseSettings;
use crate::verdict::{Check, Stop};

/// A function that returns a fresh provider.
pub(super) type Open<'a> =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Arc<dyn MemoryProvider>> + 'a>> + 'a>;

pub(super) struct Kit<'a> {
    open: Open<'a>,
    pub(super) claims: MemoryClaims,
    pub(super) settings: CaseSettings,
}

/// A provider under test, with calls that check its results.
#[derive(Clone)]
pub(super) struct MemoryProbe {
    pub(super) provider: Arc<dyn MemoryProvider>,
}

impl<'a> Kit<'a> {
    pub(super) fn new(open: Open<'a>, claims: MemoryClaims, settings: CaseSettings) -> Self {
        Self { open, claims, settings }
    }

    pub(super) async fn open(&self) -> MemoryProbe {
        MemoryProbe { provider: (self.open)().await }
    }

    /// Returns a fresh provider that claims to capture, or skips the case.
    pub(super) async fn capturing(&self) -> Check<MemoryProbe> {
        if !self.claims.captures {
            return Err(Stop::Skip("does not claim to keep what it captures".to_owned()));
        }
        Ok(self.open().await)
    }
}

/// Returns a scope with all names: a user's session in a project, with an agent.
pub(super) fn full_scope() -> MemoryScope {
    MemoryScope::new("ada").project("trip").agent("guide").session("s1")
}

/// Returns a word that occurs in no other message.
pub(super) fn word(n: usize) -> String {
    format!("quokka{n}zq")
}

pub(super) fn at(n: usize) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + n as i64 * 60_000_000)
}

/// Returns a message about the word with this number.
pub(super) fn message(n: usize) -> CapturedMessage {
    message_with_text(n, &format!("The parcel {} lies in the hall of the old station.", word(n)))
}

pub(super) fn message_with_text(n: usize, text: &str) -> CapturedMessage {
    let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
    CapturedMessage::new(format!("m{n}"), Message::text(role, text)).at(at(n))
}

pub(super) fn turn(scope: &MemoryScope, messages: impl IntoIterator<Item = usize>) -> CapturedTurn {
    let messages: Vec<_> = messages.into_iter().map(message).collect();
    turn_of(scope, messages)
}

pub(super) fn turn_of(scope: &MemoryScope, messages: Vec<CapturedMessage>) -> CapturedTurn {
    let name =
        messages.first().map_or("empty".to_owned(), |message| format!("turn of {}", message.id));
    CapturedTurn::new(scope.clone(), name, at(1000), messages)
}

pub(super) fn query(scope: &MemoryScope, n: usize) -> RecallQuery {
    RecallQuery::new(scope.clone(), format!("Where is the parcel {}?", word(n))).at(at(2000))
}

/// Whether the error says that the scope cannot be isolated.
pub(super) fn unsupported(error: &Error) -> bool {
    error.kind() == ErrorKind::Unsupported
}

impl MemoryProbe {
    pub(super) async fn capture(&self, turn: &CapturedTurn) -> Check {
        Ok(self.provider.capture(turn, &CancelSignal::never()).await?)
    }

    pub(super) async fn flush(&self) -> Check {
        Ok(self.provider.flush(&CancelSignal::never()).await?)
    }

    /// Captures the messages with these words in one turn and flushes.
    pub(super) async fn capture_and_flush(
        &self,
        scope: &MemoryScope,
        messages: impl IntoIterator<Item = usize>,
    ) -> Check {
        self.capture(&turn(scope, messages)).await?;
        self.flush().await
    }

    pub(super) async fn recall(&self, query: &RecallQuery) -> Check<Recalled> {
        Ok(self.provider.recall(query, &CancelSignal::never()).await?)
    }

    pub(super) async fn forget(&self, forget: &MemoryForget) -> Check<MemoriesForgotten> {
        match self.provider.forget(forget).await {
            Err(error) if unsupported(&error) => {
                Err(Stop::Skip(format!("does not forget so: {error}")))
            }
            forgotten => Ok(forgotten?),
        }
    }

    /// Returns the recalled memories that contain the word with this number.
    pub(super) async fn about(&self, scope: &MemoryScope, n: usize) -> Check<Vec<RecalledMemory>> {
        let recalled = self.recall(&query(scope, n)).await?;
        Ok(recalled.memories.into_iter().filter(|memory| memory.text.contains(&word(n))).collect())
    }

    /// Returns how often the recalled memories contain the word with this number.
    pub(super) async fn times(&self, scope: &MemoryScope, n: usize) -> Check<usize> {
        let memories = self.about(scope, n).await?;
        Ok(memories.iter().map(|memory| memory.text.matches(&word(n)).count()).sum())
    }

    /// Expects each of these words to be recalled once.
    pub(super) async fn expect(
        &self,
        did: &str,
        scope: &MemoryScope,
        words: impl IntoIterator<Item = usize>,
    ) -> Check {
        for n in words {
            let times = self.times(scope, n).await?;
            ensure(times == 1, || {
                format!("{did}: message m{n}: expected it once, it came back {times} times")
            })?;
        }
        Ok(())
    }

    /// Expects none of these words to be recalled.
    pub(super) async fn expect_gone(
        &self,
        did: &str,
        scope: &MemoryScope,
        words: impl IntoIterator<Item = usize>,
    ) -> Check {
        for n in words {
            let times = self.times(scope, n).await?;
            ensure(times == 0, || {
                format!("{did}: message m{n}: expected nothing of it, it came back")
            })?;
        }
        Ok(())
    }
}

/// Whether a memory is visible from a scope, indexed by the names in which that scope agrees with
/// the scope of the capture: bit 0 for the project, bit 1 for the agent, bit 2 for the session.
pub(super) struct ScopeVisibility([bool; 8]);

/// Returns the scope with only the names in the bit set.
fn part(of: &MemoryScope, names: usize) -> MemoryScope {
    let mut scope = MemoryScope::new(of.user.clone());
    scope.project = of.project.clone().filter(|_| names & 1 != 0);
    scope.agent = of.agent.clone().filter(|_| names & 2 != 0);
    scope.session = of.session.clone().filter(|_| names & 4 != 0);
    scope
}

impl ScopeVisibility {
    /// Finds out the visibility by a recall from every part of a scope.
    pub(super) async fn of(probe: &MemoryProbe) -> Check<Self> {
        probe.capture_and_flush(&full_scope(), [0]).await?;
        let mut seen = [false; 8];
        for (names, seen) in seen.iter_mut().enumerate() {
            let recalled = probe
                .provider
                .recall(&query(&part(&full_scope(), names), 0), &CancelSignal::never())
                .await;
            *seen = match recalled {
                Ok(recalled) => {
                    recalled.memories.iter().any(|memory| memory.text.contains(&word(0)))
                }
                Err(error) if unsupported(&error) => false,
                Err(error) => return Err(error.into()),
            };
        }
        ensure(seen[7], || "what was captured does not come back in its own scope".to_owned())?;
        for names in 0..8 {
            for more in (0..8).filter(|more| more & names == names) {
                if seen[names] && !seen[more] {
                    return fail(format!(
                        "seen from {:?}, but not from {:?}, which is within it",
                        part(&full_scope(), names),
                        part(&full_scope(), more)
                    ));
                }
            }
        }
        Ok(Self(seen))
    }

    /// Whether a capture in one scope is visible from another.
    pub(super) fn sees(&self, from: &MemoryScope, captured: &MemoryScope) -> bool {
        let same = |bit: usize, equal: bool, named: bool| if equal || !named { bit } else { 0 };
        let names = same(1, from.project == captured.project, captured.project.is_some())
            | same(2, from.agent == captured.agent, captured.agent.is_some())
            | same(4, from.session == captured.session, captured.session.is_some());
        from.user == captured.user && self.0[names]
    }
}
