//! The policy and its options.

use std::sync::Arc;

use context_core::history::{
    BoundaryKind, DecisionKind, Failure, Goal, HistoryView, Plan, Proposal, RecoveryDecision,
    RecoveryPolicy,
};
use context_core::model::{ImageLimits, MediaKind, ModelErrorCode};
use context_core::{CompactionPolicy, ModelError};

use crate::find::{Fate, Found, edits, media};
use crate::size::{Standing, rescaled, standing};
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
        let found = media(view);
        let fates = vec![Fate::Removed; found.len()];
        self.propose(view, &found, &fates)
    }

    /// Brings images within limits: scales down or removes images that are too large, and removes
    /// the oldest if there are too many. If the limits do not concern any image here, images of
    /// unknown size are removed. If there is none, all media are removed, because a provider that
    /// refused images has a reason.
    pub fn within(&self, view: &HistoryView<'_>, limits: &ImageLimits) -> Proposal {
        let found = media(view);
        let mut fates: Vec<Fate> = found.iter().map(|found| self.fate(found, limits)).collect();
        let stays = |found: &Found<'_>, fate: &Fate| {
            found.kind == MediaKind::Image && *fate != Fate::Removed
        };
        let images = found.iter().zip(&fates).filter(|(found, fate)| stays(found, fate)).count();
        let mut many = limits.count.map_or(0, |most| (images as u64).saturating_sub(most));
        for (found, fate) in found.iter().zip(&mut fates) {
            if many > 0 && stays(found, fate) {
                *fate = Fate::Removed;
                many -= 1;
            }
        }
        if fates.iter().all(|fate| *fate == Fate::Stays) {
            for (found, fate) in found.iter().zip(&mut fates) {
                if found.kind == MediaKind::Image
                    && standing(found.media, limits) == Standing::Unknown
                {
                    *fate = Fate::Removed;
                }
            }
        }
        match fates.iter().all(|fate| *fate == Fate::Stays) {
            true => self.all(view),
            false => self.propose(view, &found, &fates),
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
    /// attached are removed last.
    pub fn keep_tokens(&self, view: &HistoryView<'_>, tokens: u64) -> Proposal {
        let mut excess = view.total().saturating_sub(tokens);
        if excess == 0 {
            return Proposal::nothing("it fits");
        }
        let found = media(view);
        let mut fates = vec![Fate::Stays; found.len()];
        for attached in [false, true] {
            let of_kind =
                found.iter().zip(&mut fates).filter(|(found, _)| found.attached == attached);
            for (found, fate) in of_kind {
                let note = view.count_text(&self.marker.text(found.kind, found.media));
                let saved = found.tokens(view).saturating_sub(note);
                if excess > 0 && saved > 0 {
                    *fate = Fate::Removed;
                    excess = excess.saturating_sub(saved);
                }
            }
        }
        self.propose(view, &found, &fates)
    }

    fn fate(&self, found: &Found<'_>, limits: &ImageLimits) -> Fate {
        if found.kind != MediaKind::Image || standing(found.media, limits) != Standing::Beyond {
            return Fate::Stays;
        }
        let smaller =
            self.rescale.as_deref().and_then(|rescale| rescaled(found.media, limits, rescale));
        smaller.map_or(Fate::Removed, Fate::Rescaled)
    }

    fn propose(&self, view: &HistoryView<'_>, found: &[Found<'_>], fates: &[Fate]) -> Proposal {
        let removed = fates.iter().filter(|fate| **fate == Fate::Removed).count();
        let smaller = fates.iter().filter(|fate| matches!(fate, Fate::Rescaled(_))).count();
        let what = match (removed, smaller) {
            (0, 0) => return Proposal::nothing("there are no media to take out"),
            (removed, 0) => format!("{removed} media removed"),
            (0, smaller) => format!("{smaller} images scaled down"),
            (removed, smaller) => format!("{removed} media removed, {smaller} images scaled down"),
        };
        let edits = edits(view, found, fates, |kind, media| self.marker.text(kind, media));
        match Plan::of_any_size(Self::NAME, BoundaryKind::Strip, view, edits, what) {
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
            reason: format!("{}: media are taken out", error.code),
        })
    }
}
