//! Answers of the Live API: speech arrives as sound and as words, alternately.

use context_codec_kit::wire;
use context_codec_kit::wire::{Entries, LossyText};
use context_core::Part;
use context_core::message::{Media, MediaSource};
use context_core::model::{AnswerDelta, WireError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::assembly::Assembly;
use super::event::{Piece, pieces};
use super::form::{Call, PartForm, take};
use super::lift::{Reader, key_path};

#[derive(Deserialize)]
struct Transcription {
    text: Option<LossyText>,
}

#[derive(Deserialize)]
struct Calls<'a> {
    #[serde(borrow, rename = "functionCalls", alias = "function_calls")]
    calls: Option<Vec<Call<'a>>>,
}

/// The speech and the calls of an event.
pub(super) struct Live<'a> {
    words: Option<String>,
    turn: Option<Vec<Piece<'a>>>,
    calls: Vec<Part>,
    /// Why the event ends the answer.
    pub(super) finish: Option<&'static str>,
}

impl<'a> Live<'a> {
    pub(super) fn read(
        speech: Option<&'a RawValue>,
        called: Option<&'a RawValue>,
        path: &str,
    ) -> Result<Self, WireError> {
        let mut live = Self { words: None, turn: None, calls: Vec::new(), finish: None };
        if let Some(speech) = speech {
            let path = key_path(path, "serverContent");
            let mut map: Entries<'a> = wire::read(speech.get(), &path)?;
            if let Some(words) = take(&mut map, "outputTranscription") {
                let words: Transcription =
                    wire::read(words.get(), &key_path(&path, "outputTranscription"))?;
                live.words = words.text.map(|text| text.0);
            }
            if let Some(turn) = take(&mut map, "modelTurn") {
                live.turn = Some(pieces(turn.get(), &key_path(&path, "modelTurn"))?);
            }
            let mut is_true = |key| take(&mut map, key).is_some_and(|value| value.get() == "true");
            if is_true("interrupted") {
                live.finish = Some("INTERRUPTED");
            } else if is_true("turnComplete") {
                live.finish = Some("STOP");
            }
        }
        if let Some(called) = called {
            let path = key_path(path, "toolCall");
            let calls: Calls<'_> = wire::read(called.get(), &path)?;
            for (i, call) in calls.calls.unwrap_or_default().into_iter().enumerate() {
                let at = || format!("{path}.functionCalls[{i}]");
                let form = PartForm { call: Some(call), ..PartForm::default() };
                live.calls.extend(Reader::default().part(form, i, &at)?);
            }
            live.finish = Some("STOP");
        }
        Ok(live)
    }
}

impl Assembly {
    /// Adds the speech and the calls of an event.
    pub(super) fn live(&mut self, live: Live<'_>, deltas: &mut Vec<AnswerDelta>) {
        self.words(live.words.unwrap_or_default(), deltas);
        if let Some(turn) = live.turn {
            let before = self.parts.len();
            self.content(turn, deltas);
            self.join_sound(before);
        }
        for call in live.calls {
            self.add(call, deltas);
        }
        if let Some(finish) = live.finish {
            self.finish = Some(finish.to_owned());
            self.close(true, deltas);
        }
    }

    /// Appends words to the previous words, even if sound stands between them.
    fn words(&mut self, words: String, deltas: &mut Vec<AnswerDelta>) {
        if words.is_empty() {
            return;
        }
        deltas.push(AnswerDelta::Text(words.clone()));
        let begun = |at: &usize| matches!(self.parts.get(*at), Some(Part::Text(_)));
        match self.speech.words.filter(begun) {
            Some(at) => self.continued.push(at, &words),
            None => {
                self.speech.words = Some(self.parts.len());
                self.parts.push(Part::text(words));
            }
        }
    }

    /// Joins the newest sound with the sound before. Base64 can be joined unless it ends with
    /// padding.
    fn join_sound(&mut self, from: usize) {
        let mut index = from;
        while index < self.parts.len() {
            if !matches!(self.parts[index], Part::Audio(_)) {
                index += 1;
                continue;
            }
            let will_continue =
                self.speech.sound.filter(|before| *before < index && self.can_join(*before, index));
            let Some(before) = will_continue else {
                self.speech.sound = Some(index);
                index += 1;
                continue;
            };
            let piece = self.parts.remove(index);
            self.continued.remove(index);
            if let Part::Audio(Media { source: MediaSource::Base64(more), .. }) = piece {
                self.continued.push(before, &more);
            }
        }
    }

    fn can_join(&self, at: usize, piece: usize) -> bool {
        let (Some(Part::Audio(before)), Some(Part::Audio(piece))) =
            (self.parts.get(at), self.parts.get(piece))
        else {
            return false;
        };
        let whole = |data: &str| !data.ends_with('=') && data.len().is_multiple_of(4);
        matches!(&before.source, MediaSource::Base64(data) if whole(data))
            && self.continued.of(at).is_none_or(whole)
            && matches!(piece.source, MediaSource::Base64(_))
            && before.media_type == piece.media_type
            && before.metadata == piece.metadata
    }
}
