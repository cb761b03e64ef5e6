//! Rounds of trajectories.

use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::store::RoundCommit;
use context_core::trajectory::{
    Change, Changes, Edge, FieldValue, NodeBody, Queue, QueueItem, QueueName, Queues, RoundHead,
    TrajectoryNode, Version,
};
use context_core::{Json, Result};
use context_secrets::{MaskReport, SecretFinder};

/// Returns a commit with masked content.
pub(super) fn commit(
    finder: &SecretFinder,
    commit: &RoundCommit,
    report: &mut MaskReport,
) -> Result<RoundCommit> {
    let mut masking = Masking { finder, report };
    let mut masked = commit.clone();
    masked.head = masking.head(&commit.head);
    for change in &mut masked.changes {
        *change = masking.change(change)?;
    }
    Ok(masked)
}

struct Masking<'a> {
    finder: &'a SecretFinder,
    report: &'a mut MaskReport,
}

impl Masking<'_> {
    fn text(&mut self, text: &Arc<str>) -> Arc<str> {
        self.finder.mask_text(text, self.report).map_or_else(|| text.clone(), Into::into)
    }

    fn field(&mut self, name: &str, json: &Json) -> Json {
        self.finder.mask_field(name, json, self.report).unwrap_or_else(|| json.clone())
    }

    fn value(&mut self, name: &str, value: &FieldValue) -> FieldValue {
        match value {
            FieldValue::Text(text) => FieldValue::Text(self.text(text)),
            FieldValue::Json(json) => FieldValue::Json(self.field(name, json)),
            other => other.clone(),
        }
    }

    fn changes(&mut self, changes: &Changes) -> Changes {
        let masked = changes.iter().map(|(name, value)| (name, self.value(name, value)));
        masked.collect()
    }

    fn version(&mut self, version: &Version) -> Version {
        Version { previous: self.changes(&version.previous), ..version.clone() }
    }

    fn node(&mut self, node: &TrajectoryNode) -> Result<TrajectoryNode> {
        let mut masked = node.clone();
        masked.label = self.text(&node.label);
        masked.description = self.text(&node.description);
        masked.author = node.author.as_ref().map(|author| self.text(author));
        let values: Vec<_> =
            node.body.iter().map(|(field, value)| Some(self.value(field.name, value))).collect();
        masked.body = NodeBody::from_values(node.kind(), values)
            .map_err(|error| error.during("record_round"))?;
        masked.versions = node.versions.iter().map(|version| self.version(version)).collect();
        Ok(masked)
    }

    fn change(&mut self, change: &Change) -> Result<Change> {
        Ok(match change {
            Change::NodeAdded { node } => Change::NodeAdded { node: Arc::new(self.node(node)?) },
            Change::EdgeAdded { edge } => {
                Change::EdgeAdded { edge: Edge { name: self.text(&edge.name), ..edge.clone() } }
            }
            Change::NodeChanged { id, version, now } => Change::NodeChanged {
                id: *id,
                version: self.version(version),
                now: self.changes(now),
            },
            other => other.clone(),
        })
    }

    fn head(&mut self, head: &RoundHead) -> RoundHead {
        let mut masked = head.clone();
        masked.title = self.title(&head.title);
        let mut queues = Queues::default();
        for name in QueueName::ALL {
            let mut queue = Queue::default();
            for step in head.queues.get(name).iter() {
                let params = step.params.iter();
                let params: JsonMap =
                    params.map(|(param, json)| (param.clone(), self.field(param, json))).collect();
                let name = self.text(&step.name.as_str().into()).as_ref().to_owned();
                // It has as many steps as the known queue.
                let _fits = queue.push(QueueItem { name, params });
            }
            *queues.get_mut(name) = queue;
        }
        masked.queues = queues;
        masked
    }

    /// Masks a title, which is the beginning of a query. A secret that the end of the title cuts is
    /// left out.
    fn title(&mut self, title: &Arc<str>) -> Arc<str> {
        const ROOM: usize = 8;
        let masked = self.text(title);
        let open = self.finder.open_from(&masked);
        let is_cut = title.len() + ROOM >= RoundHead::TITLE_BYTES && open + ROOM < masked.len();
        if is_cut { masked[..open].into() } else { masked }
    }
}
