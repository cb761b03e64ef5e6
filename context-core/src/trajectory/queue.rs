//! The queues of a workflow: steps before, during and after the main loop of a run.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TrajectoryError;
use crate::Json;
use crate::base::{JsonMap, limits};

/// The name of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueueName {
    /// Steps before the main loop.
    Pre,
    /// Steps of the main loop, added as it runs.
    Todo,
    /// Steps after the main loop.
    Post,
}

impl QueueName {
    /// All queues, in processing order.
    pub const ALL: [Self; 3] = [Self::Pre, Self::Todo, Self::Post];

    /// Returns the stable name.
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

/// A step of a workflow. `Debug` shows no parameters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueItem {
    /// The name of the step, such as a node of the caller's loop.
    pub name: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
}

impl QueueItem {
    /// Creates a step without parameters.
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

/// A bounded first-in, first-out queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Queue(VecDeque<QueueItem>);

impl Queue {
    /// Maximum number of steps in a queue.
    pub const CAPACITY: usize = 100;

    /// Appends a step. Returns false and changes nothing if the queue is full.
    #[must_use]
    pub fn push(&mut self, item: QueueItem) -> bool {
        let fits = self.0.len() < Self::CAPACITY;
        if fits {
            self.0.push_back(item);
        }
        fits
    }

    /// Removes and returns the first step.
    pub fn pop(&mut self) -> Option<QueueItem> {
        self.0.pop_front()
    }

    /// Returns the steps, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &QueueItem> {
        self.0.iter()
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no steps.
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
    /// Steps after the main loop.
    #[serde(skip_serializing_if = "Queue::is_empty")]
    pub post: Queue,
}

impl Queues {
    /// Returns a queue.
    pub fn get(&self, name: QueueName) -> &Queue {
        match name {
            QueueName::Pre => &self.pre,
            QueueName::Todo => &self.todo,
            QueueName::Post => &self.post,
        }
    }

    /// Returns a queue for modification.
    pub fn get_mut(&mut self, name: QueueName) -> &mut Queue {
        match name {
            QueueName::Pre => &mut self.pre,
            QueueName::Todo => &mut self.todo,
            QueueName::Post => &mut self.post,
        }
    }

    /// Returns whether all queues are empty.
    pub fn is_empty(&self) -> bool {
        QueueName::ALL.iter().all(|name| self.get(*name).is_empty())
    }

    /// Replaces `pre` and `post` with the steps of a configuration; `todo` is kept. `PRE_WORKFLOW`
    /// and `POST_WORKFLOW` are lists of `{"name": …, "params": {…}}`. A missing list leaves its
    /// queue empty. A list that is too long or has an invalid item is refused, and nothing is
    /// changed.
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
