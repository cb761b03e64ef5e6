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

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::record::{SealError, Sealer, seal_text, text_record};

type WalkResult<T> = Result<T, SealError>;

/// The operation on each text and each JSON value.
pub(super) trait RoundWalk {
    fn text(&mut self, data: AssociatedData, text: &str) -> WalkResult<String>;
    fn json(&mut self, data: AssociatedData, json: &Json) -> WalkResult<Json>;
}

/// Encrypts.
pub(super) struct SealValues<'a>(pub(super) &'a EncryptionKey);

impl RoundWalk for SealValues<'_> {
    fn text(&mut self, data: AssociatedData, text: &str) -> WalkResult<String> {
        Ok(seal_text(self.0, &data, text))
    }

    fn json(&mut self, data: AssociatedData, json: &Json) -> WalkResult<Json> {
        Ok(Json::from(seal_text(self.0, &data, json.as_str()).as_str()))
    }
}

/// Decrypts.
pub(super) struct OpenValues<'a>(pub(super) &'a Sealer);

impl RoundWalk for OpenValues<'_> {
    fn text(&mut self, data: AssociatedData, text: &str) -> WalkResult<String> {
        self.0.open_text(&data, text)
    }

    fn json(&mut self, data: AssociatedData, json: &Json) -> WalkResult<Json> {
        self.0.open_json(&data, json)
    }
}

/// Passes each record on, unchanged.
pub(super) struct InspectRecords<F>(pub(super) F);

impl<F: FnMut(WalkResult<Vec<u8>>)> RoundWalk for InspectRecords<F> {
    fn text(&mut self, _: AssociatedData, text: &str) -> WalkResult<String> {
        (self.0)(text_record(text).unwrap_or(Err(SealError::Plain)));
        Ok(text.to_owned())
    }

    fn json(&mut self, _: AssociatedData, json: &Json) -> WalkResult<Json> {
        let text = json.to_text().filter(|text| text.starts_with(sealed::TEXT_MARK));
        (self.0)(text.and_then(|text| text_record(&text)).unwrap_or(Err(SealError::Plain)));
        Ok(json.clone())
    }
}

fn value(
    walk: &mut impl RoundWalk,
    data: AssociatedData,
    value: &FieldValue,
) -> WalkResult<FieldValue> {
    Ok(match value {
        FieldValue::Text(text) => FieldValue::from(walk.text(data, text)?),
        FieldValue::Json(json) => FieldValue::Json(walk.json(data, json)?),
        other => other.clone(),
    })
}

fn changes(
    walk: &mut impl RoundWalk,
    data: impl Fn(&str) -> AssociatedData,
    changes: &Changes,
) -> WalkResult<Changes> {
    let walked = changes.iter().map(|(name, known)| match name {
        // Measures hold numbers and names of models.
        Measures::FIELD => Ok((name, known.clone())),
        _ => Ok((name, value(walk, data(name), known)?)),
    });
    walked.collect()
}

fn version(
    walk: &mut impl RoundWalk,
    round: &RoundRef,
    id: NodeId,
    known: &Version,
) -> WalkResult<Version> {
    let data = |name: &str| AssociatedData::node_version(round, id, known.number, name);
    Ok(Version { previous: changes(walk, data, &known.previous)?, ..known.clone() })
}

pub(super) fn node(
    walk: &mut impl RoundWalk,
    round: &RoundRef,
    known: &TrajectoryNode,
) -> WalkResult<TrajectoryNode> {
    let data = |name: &str| AssociatedData::node_field(round, known.id, name);
    let mut walked = known.clone();
    walked.description = walk.text(data("description"), &known.description)?.into();
    let values =
        known.body.iter().map(|(field, known)| value(walk, data(field.name), known).map(Some));
    let values = values.collect::<WalkResult<Vec<_>>>()?;
    walked.body = NodeBody::from_values(known.kind(), values).map_err(|_| SealError::Broken)?;
    for known_version in &mut walked.versions {
        *known_version = version(walk, round, known.id, known_version)?;
    }
    Ok(walked)
}

fn queue(
    walk: &mut impl RoundWalk,
    round: &RoundRef,
    name: QueueName,
    known: &Queue,
) -> WalkResult<Queue> {
    let mut walked = Queue::default();
    for step in known.iter() {
        let params = step.params.iter().map(|(param, json)| {
            let data = AssociatedData::step_param(round, name, &step.name, param);
            Ok((param.clone(), walk.json(data, json)?))
        });
        let step =
            QueueItem { name: step.name.clone(), params: params.collect::<WalkResult<JsonMap>>()? };
        if !walked.push(step) {
            return Err(SealError::Broken);
        }
    }
    Ok(walked)
}

pub(super) fn head(walk: &mut impl RoundWalk, known: &RoundHead) -> WalkResult<RoundHead> {
    let mut walked = known.clone();
    walked.title = walk.text(AssociatedData::round_title(&known.round), &known.title)?.into();
    let mut queues = Queues::default();
    for name in QueueName::ALL {
        *queues.get_mut(name) = queue(walk, &known.round, name, known.queues.get(name))?;
    }
    walked.queues = queues;
    Ok(walked)
}

pub(super) fn change(
    walk: &mut impl RoundWalk,
    round: &RoundRef,
    known: &Change,
) -> WalkResult<Change> {
    Ok(match known {
        Change::NodeAdded { node: added } => {
            Change::NodeAdded { node: Arc::new(node(walk, round, added)?) }
        }
        Change::NodeChanged { id, version: was, now } => Change::NodeChanged {
            id: *id,
            version: version(walk, round, *id, was)?,
            now: changes(walk, |name| AssociatedData::node_field(round, *id, name), now)?,
        },
        other => other.clone(),
    })
}

/// Visits all of a round without changing it.
pub(super) fn inspect(
    record: &RoundRecord,
    each: impl FnMut(WalkResult<Vec<u8>>),
) -> WalkResult<()> {
    let mut walk = InspectRecords(each);
    head(&mut walk, &record.head)?;
    record.nodes.iter().try_for_each(|known| node(&mut walk, &record.head.round, known).map(drop))
}
