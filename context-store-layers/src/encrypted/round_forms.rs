//! Encryption of rounds, value by value, so that each value keeps the form of its field: an
//! encrypted text is a text with the mark, and encrypted JSON is a JSON string with the mark.
//!
//! One traversal of a round is used to encrypt it, to decrypt it, and to inspect its records.

use std::sync::Arc;

use context_core::Json;
use context_core::base::{JsonMap, sealed};
use context_core::trajectory::{
    Change, Changes, FieldValue, Measures, NodeBody, NodeId, Queue, QueueItem, QueueName, Queues,
    RoundHead, RoundRecord, RoundRef, TrajectoryNode, Version,
};

use super::keys::EncryptionKey;
use super::place::Place;
use super::record::{SealError, Sealer, seal_text, text_record};

type Walked<T> = Result<T, SealError>;

/// The operation on each text and each JSON value.
pub(super) trait Walk {
    fn text(&mut self, place: Place, text: &str) -> Walked<String>;
    fn json(&mut self, place: Place, json: &Json) -> Walked<Json>;
}

/// Encrypts.
pub(super) struct Seal<'a>(pub(super) &'a EncryptionKey);

impl Walk for Seal<'_> {
    fn text(&mut self, place: Place, text: &str) -> Walked<String> {
        Ok(seal_text(self.0, &place, text))
    }

    fn json(&mut self, place: Place, json: &Json) -> Walked<Json> {
        Ok(Json::from(seal_text(self.0, &place, json.as_str()).as_str()))
    }
}

/// Decrypts.
pub(super) struct Open<'a>(pub(super) &'a Sealer);

impl Walk for Open<'_> {
    fn text(&mut self, place: Place, text: &str) -> Walked<String> {
        self.0.open_text(&place, text)
    }

    fn json(&mut self, place: Place, json: &Json) -> Walked<Json> {
        self.0.open_json(&place, json)
    }
}

/// Passes each record on, unchanged.
pub(super) struct Look<F>(pub(super) F);

impl<F: FnMut(Walked<Vec<u8>>)> Walk for Look<F> {
    fn text(&mut self, _: Place, text: &str) -> Walked<String> {
        (self.0)(text_record(text).unwrap_or(Err(SealError::Plain)));
        Ok(text.to_owned())
    }

    fn json(&mut self, _: Place, json: &Json) -> Walked<Json> {
        let text = json.to_text().filter(|text| text.starts_with(sealed::TEXT_MARK));
        (self.0)(text.and_then(|text| text_record(&text)).unwrap_or(Err(SealError::Plain)));
        Ok(json.clone())
    }
}

fn value(walk: &mut impl Walk, place: Place, value: &FieldValue) -> Walked<FieldValue> {
    Ok(match value {
        FieldValue::Text(text) => FieldValue::from(walk.text(place, text)?),
        FieldValue::Json(json) => FieldValue::Json(walk.json(place, json)?),
        other => other.clone(),
    })
}

fn changes(
    walk: &mut impl Walk,
    place: impl Fn(&str) -> Place,
    changes: &Changes,
) -> Walked<Changes> {
    let walked = changes.iter().map(|(name, known)| match name {
        // Measures hold numbers and names of models.
        Measures::FIELD => Ok((name, known.clone())),
        _ => Ok((name, value(walk, place(name), known)?)),
    });
    walked.collect()
}

fn version(walk: &mut impl Walk, round: &RoundRef, id: NodeId, known: &Version) -> Walked<Version> {
    let place = |name: &str| Place::node_version(round, id, known.number, name);
    Ok(Version { was: changes(walk, place, &known.was)?, ..known.clone() })
}

pub(super) fn node(
    walk: &mut impl Walk,
    round: &RoundRef,
    known: &TrajectoryNode,
) -> Walked<TrajectoryNode> {
    let place = |name: &str| Place::node_field(round, known.id, name);
    let mut walked = known.clone();
    walked.description = walk.text(place("description"), &known.description)?.into();
    let values =
        known.body.iter().map(|(field, known)| value(walk, place(field.name), known).map(Some));
    let values = values.collect::<Walked<Vec<_>>>()?;
    walked.body = NodeBody::from_values(known.kind(), values).map_err(|_| SealError::Broken)?;
    for known_version in &mut walked.versions {
        *known_version = version(walk, round, known.id, known_version)?;
    }
    Ok(walked)
}

fn queue(walk: &mut impl Walk, round: &RoundRef, name: QueueName, known: &Queue) -> Walked<Queue> {
    let mut walked = Queue::default();
    for step in known.iter() {
        let params = step.params.iter().map(|(param, json)| {
            let place = Place::step_param(round, name, &step.name, param);
            Ok((param.clone(), walk.json(place, json)?))
        });
        let step =
            QueueItem { name: step.name.clone(), params: params.collect::<Walked<JsonMap>>()? };
        if !walked.push(step) {
            return Err(SealError::Broken);
        }
    }
    Ok(walked)
}

pub(super) fn head(walk: &mut impl Walk, known: &RoundHead) -> Walked<RoundHead> {
    let mut walked = known.clone();
    walked.title = walk.text(Place::round_title(&known.round), &known.title)?.into();
    let mut queues = Queues::default();
    for name in QueueName::ALL {
        *queues.get_mut(name) = queue(walk, &known.round, name, known.queues.get(name))?;
    }
    walked.queues = queues;
    Ok(walked)
}

pub(super) fn change(walk: &mut impl Walk, round: &RoundRef, known: &Change) -> Walked<Change> {
    Ok(match known {
        Change::NodeAdded { node: added } => {
            Change::NodeAdded { node: Arc::new(node(walk, round, added)?) }
        }
        Change::NodeChanged { id, version: was, now } => Change::NodeChanged {
            id: *id,
            version: version(walk, round, *id, was)?,
            now: changes(walk, |name| Place::node_field(round, *id, name), now)?,
        },
        other => other.clone(),
    })
}

/// Visits all of a round without changing it.
pub(super) fn look(record: &RoundRecord, each: impl FnMut(Walked<Vec<u8>>)) -> Walked<()> {
    let mut walk = Look(each);
    head(&mut walk, &record.head)?;
    record.nodes.iter().try_for_each(|known| node(&mut walk, &record.head.round, known).map(drop))
}
