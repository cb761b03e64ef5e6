//! Events of masking, for programs.

use std::fmt;

use context_core::base::{DiagnosticCode, Severity};
use context_core::{ChatId, ChatRef, Diagnostic, UserId};
use context_secrets::{MaskReport, SecretKind, UnmaskablePlace};

/// A part of the program that is told of masked secrets. It is called after the write, on the task
/// that made it, and must not block.
pub trait MaskObserver: Send + Sync {
    /// Reports a write in which secrets were found.
    fn masked(&self, event: &MaskEvent);
}

impl<F: Fn(&MaskEvent) + Send + Sync> MaskObserver for F {
    fn masked(&self, event: &MaskEvent) {
        self(event);
    }
}

/// A write in which secrets were found. It holds no content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaskEvent {
    /// The call of the store, such as `commit`.
    pub operation: &'static str,
    /// The user.
    pub user: UserId,
    /// The chat, if the call names one.
    pub chat: Option<ChatId>,
    /// The secrets.
    pub report: MaskReport,
}

impl MaskEvent {
    pub(super) fn of(operation: &'static str, chat: &ChatRef) -> Self {
        let mut event = Self::of_user(operation, &chat.user);
        event.chat = Some(chat.chat.clone());
        event
    }

    pub(super) fn of_user(operation: &'static str, user: &UserId) -> Self {
        Self { operation, user: user.clone(), chat: None, report: MaskReport::default() }
    }

    /// Returns the event as diagnostics: `secrets_masked`, and `secrets_left` as a warning.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let path = self.chat.as_ref().map_or(self.operation, |chat| chat.as_str());
        let told = |name, severity, message: String| {
            DiagnosticCode::named(name)
                .ok()
                .map(|code| Diagnostic::new(code, severity, path, message))
        };
        let listed = |counts: &context_secrets::SecretCounts| {
            let counts: Vec<_> =
                counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            counts.join(", ")
        };
        let masked = (!self.report.masked.is_empty()).then(|| listed(&self.report.masked));
        let masked = masked.and_then(|kinds| {
            told("secrets_masked", Severity::Info, format!("secrets were masked: {kinds}"))
        });
        let left = self.report.left.iter().filter_map(|(place, counts)| {
            let message = format!("secrets were left in {}: {}", place.as_str(), listed(counts));
            told("secrets_left", Severity::Warning, message)
        });
        masked.into_iter().chain(left).collect()
    }
}

/// The reason why a write was refused: a secret is in a place that cannot be masked.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret of the kind {kind} is in a place that cannot be masked: {}", .place.as_str())]
#[non_exhaustive]
pub struct MaskError {
    /// The kind of the first such secret.
    pub kind: SecretKind,
    /// The place.
    pub place: UnmaskablePlace,
}

impl MaskError {
    pub(super) fn of(report: &MaskReport) -> Option<Self> {
        let (place, counts) = report.left.iter().next()?;
        let (kind, _) = counts.iter().next()?;
        Some(Self { kind: kind.clone(), place: *place })
    }
}

impl fmt::Debug for MaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
