//! The policy and its options.

use std::sync::Arc;

use context_core::history::{
    BoundaryKind, DecisionKind, Failure, Goal, HistoryView, Plan, Proposal, RecoveryDecision,
    RecoveryPolicy,
};
use context_core::model::{ImageLimits, MediaKind, ModelErrorCode};
use context_core::{CompactionPolicy, ModelError};

use crate::media_item::{Decision, MediaItem, edits, media};
use crate::size::{SizeCheck, check_size, rescaled};
use crate::{Marker, Rescale};

/// Removes media from a history. See the [crate](crate) for which.
#[derive(Clone, Debug, Default)]
pub struct StripImages {
    marker: Marker,
    rescale: Option<Arc<dyn Rescale>>,
}

impl StripImages {
    /// The name of the policy.
    pub const NAME: &'static str = "strip-images";

    /// Creates a policy whose notes say that something was removed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the wording of the notes.
    #[must_use]
    pub fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// Scales images down with `rescale` before it removes them.
    #[must_use]
    pub fn rescale(mut self, rescale: impl Rescale) -> Self {
        self.rescale = Some(Arc::new(rescale));
        self
    }

    /// Removes all media.
    pub fn all(&self, view: &HistoryView<'_>) -> Proposal {
        let items = media(view);
        let decisions = vec![Decision::Remove; items.len()];
        self.propose(view, &items, &decisions)
    }

    /// Brings images within limits: scales down or removes images that are too large, and removes
    /// the oldest if there are too many. If the limits do not concern any image here, images of
    /// unknown size are removed. If there is none, all media are removed, because a provider that
    /// refused images has a reason.
    pub fn within(&self, view: &HistoryView<'_>, limits: &ImageLimits) -> Proposal {
        let items = media(view);
        let mut decisions: Vec<Decision> =
            items.iter().map(|item| self.decision(item, limits)).collect();
        let stays = |item: &MediaItem<'_>, decision: &Decision| {
            item.kind == MediaKind::Image && *decision != Decision::Remove
        };
        let images =
            items.iter().zip(&decisions).filter(|(item, decision)| stays(item, decision)).count();
        let mut many = limits.count.map_or(0, |most| (images as u64).saturating_sub(most));
        for (item, decision) in items.iter().zip(&mut decisions) {
            if many > 0 && stays(item, decision) {
                *decision = Decision::Remove;
                many -= 1;
            }
        }
        if decisions.iter().all(|decision| *decision == Decision::Keep) {
            for (item, decision) in items.iter().zip(&mut decisions) {
                if item.kind == MediaKind::Image
                    && check_size(item.media, limits) == SizeCheck::Unknown
                {
                    *decision = Decision::Remove;
                }
            }
        }
        match decisions.iter().all(|decision| *decision == Decision::Keep) {
            true => self.all(view),
            false => self.propose(view, &items, &decisions),
        }
    }

    /// Does what an error asks for: brings images within the limits that it names, or removes all
    /// media.
    pub fn for_error(&self, view: &HistoryView<'_>, error: &ModelError) -> Proposal {
        match error.code == ModelErrorCode::Image && error.images != ImageLimits::default() {
            true => self.within(view, &error.images),
            false => self.all(view),
        }
    }

    /// Removes the oldest media until `tokens` tokens of history are left. Media that a user
    /// attached are removed last, and media of pinned messages stay.
    pub fn keep_tokens(&self, view: &HistoryView<'_>, tokens: u64) -> Proposal {
        let mut excess = view.total().saturating_sub(tokens);
        if excess == 0 {
            return Proposal::nothing("it fits");
        }
        let mut items = media(view);
        items.retain(|item| !view.anchors().is_verbatim(item.message));
        let mut decisions = vec![Decision::Keep; items.len()];
        for attached in [false, true] {
            let of_kind =
                items.iter().zip(&mut decisions).filter(|(item, _)| item.attached == attached);
            for (item, decision) in of_kind {
                let note = view.count_text(&self.marker.text(item.kind, item.media));
                let saved = item.tokens(view).saturating_sub(note);
                if excess > 0 && saved > 0 {
                    *decision = Decision::Remove;
                    excess = excess.saturating_sub(saved);
                }
            }
        }
        self.propose(view, &items, &decisions)
    }

    fn decision(&self, item: &MediaItem<'_>, limits: &ImageLimits) -> Decision {
        if item.kind != MediaKind::Image || check_size(item.media, limits) != SizeCheck::TooLarge {
            return Decision::Keep;
        }
        let smaller =
            self.rescale.as_deref().and_then(|rescale| rescaled(item.media, limits, rescale));
        smaller.map_or(Decision::Remove, Decision::Rescale)
    }

    fn propose(
        &self,
        view: &HistoryView<'_>,
        items: &[MediaItem<'_>],
        decisions: &[Decision],
    ) -> Proposal {
        let removed = decisions.iter().filter(|decision| **decision == Decision::Remove).count();
        let smaller =
            decisions.iter().filter(|decision| matches!(decision, Decision::Rescale(_))).count();
        let summary = match (removed, smaller) {
            (0, 0) => return Proposal::nothing("there are no media to remove"),
            (removed, 0) => format!("{removed} media removed"),
            (0, smaller) => format!("{smaller} images scaled down"),
            (removed, smaller) => format!("{removed} media removed, {smaller} images scaled down"),
        };
        let edits = edits(view, items, decisions, |kind, media| self.marker.text(kind, media));
        match Plan::of_any_size(Self::NAME, BoundaryKind::Strip, view, edits, summary) {
            Ok(plan) => Proposal::Plan(plan),
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}

impl CompactionPolicy for StripImages {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        self.keep_tokens(view, goal.history())
    }
}

impl RecoveryPolicy for StripImages {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Strips once per call, if images are refused, or if a request of too many bytes has media. A
    /// context overflow is left to other policies, whatever else its message mentions.
    fn decide(&self, failure: &Failure<'_>) -> Option<RecoveryDecision> {
        let error = failure.error;
        let wanted = match error.code {
            ModelErrorCode::Image => true,
            ModelErrorCode::ContextOverflow => false,
            ModelErrorCode::RequestTooLarge => !media(failure.view).is_empty(),
            _ => error.helped_by_fewer_images,
        };
        let tried = failure.tried(DecisionKind::StripImagesAndRetry) > 0;
        (wanted && !tried).then(|| RecoveryDecision::StripImagesAndRetry {
            reason: format!("{}: its media are removed", error.code),
        })
    }
}
