//! The queues of a workflow: what is to be done before, during and after the main loop of a run.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TrajectoryError;
use crate::Json;
use crate::base::{JsonMap, limits};

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueueName {
    /// Steps before the main loop.
    Pre,
    /// Steps of the main loop, added as it runs.
    Todo,
    /// Steps behind it.
    Post,
}

impl QueueName {
    /// All, in the order in which they are worked off.
    pub const ALL: [Self; 3] = [Self::Pre, Self::Todo, Self::Post];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Todo => "todo",
            Self::Post => "post",
        }
    }
}

impl FromStr for QueueName {
    type Err = TrajectoryError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|queue| queue.as_str() == name);
        known.ok_or_else(|| TrajectoryError::UnknownQueue { name: name.into() })
    }
}

/// A step. `Debug` shows no params.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueItem {
    /// What is to be done, such as the name of a node of the caller's loop.
    pub name: String,
    /// With what.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
}

impl QueueItem {
    /// A step without params.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), params: JsonMap::new() }
    }
}

impl fmt::Debug for QueueItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueItem")
            .field("name", &self.name)
            .field("params", &self.params.len())
            .finish()
    }
}

/// First in, first out, with a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Queue(VecDeque<QueueItem>);

impl Queue {
    /// The most steps in a queue.
    pub const CAPACITY: usize = 100;

    /// Puts a step at the end. False if the queue is full: nothing is changed then.
    #[must_use]
    pub fn push(&mut self, item: QueueItem) -> bool {
        let fits = self.0.len() < Self::CAPACITY;
        if fits {
            self.0.push_back(item);
        }
        fits
    }

    /// Takes the first step.
    pub fn pop(&mut self) -> Option<QueueItem> {
        self.0.pop_front()
    }

    /// The steps, first one first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &QueueItem> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The three queues of a round.
///
/// ```
/// use context_core::trajectory::{QueueItem, QueueName, Queues};
///
/// let mut queues = Queues::default();
/// assert!(queues.get_mut(QueueName::Todo).push(QueueItem::new("search_trains")));
/// assert_eq!(queues.get(QueueName::Todo).len(), 1);
/// assert!(queues.get_mut(QueueName::Todo).pop().is_some() && queues.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Queues {
    /// Steps before the main loop.
    #[serde(skip_serializing_if = "Queue::is_empty")]
    pub pre: Queue,
    /// Steps of the main loop.
    #[serde(skip_serializing_if = "Queue::is_empty")]
    pub todo: Queue,
    /// Steps behind it.
    #[serde(skip_serializing_if = "Queue::is_empty")]
    pub post: Queue,
}

impl Queues {
    /// One of them.
    pub fn get(&self, name: QueueName) -> &Queue {
        match name {
            QueueName::Pre => &self.pre,
            QueueName::Todo => &self.todo,
            QueueName::Post => &self.post,
        }
    }

    /// One of them.
    pub fn get_mut(&mut self, name: QueueName) -> &mut Queue {
        match name {
            QueueName::Pre => &mut self.pre,
            QueueName::Todo => &mut self.todo,
            QueueName::Post => &mut self.post,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        QueueName::ALL.iter().all(|name| self.get(*name).is_empty())
    }

    /// Fills `pre` and `post` with the steps of a configuration, in order, in place of what they
    /// held; `todo` stays. `PRE_WORKFLOW` and `POST_WORKFLOW` are lists of
    /// `{"name": …, "params": {…}}`; one that is not there leaves its queue empty. A list that is
    /// too long or holds something else is refused, and nothing is changed.
    pub fn load(&mut self, configuration: &JsonMap) -> Result<(), TrajectoryError> {
        let pre = read_steps(configuration, "PRE_WORKFLOW")?;
        self.post = read_steps(configuration, "POST_WORKFLOW")?;
        self.pre = pre;
        Ok(())
    }
}

fn read_steps(configuration: &JsonMap, list: &'static str) -> Result<Queue, TrajectoryError> {
    let Some(json) = configuration.get(list).filter(|json| json.as_str() != "null") else {
        return Ok(Queue::default());
    };
    let bad = |index| TrajectoryError::BadStep { list: list.into(), index };
    let steps: Vec<Json> = json.parse().map_err(|_| bad(0))?;
    TrajectoryError::too_much("steps of a workflow", steps.len(), Queue::CAPACITY)?;
    let mut queue = Queue::default();
    for (index, step) in steps.iter().enumerate() {
        #[derive(Deserialize)]
        struct Step {
            name: String,
            params: Option<JsonMap>,
        }
        let step: Step = step.parse().map_err(|_| bad(index))?;
        if step.name.is_empty() || step.name.len() > limits::MAX_ID_BYTES {
            return Err(bad(index));
        }
        queue.0.push_back(QueueItem { name: step.name, params: step.params.unwrap_or_default() });
    }
    Ok(queue)
}
