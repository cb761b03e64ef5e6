//! Reminders and their builder.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::element::element;
use super::{Predicate, ReminderError, Situation};

/// The place that a reminder is folded into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReminderTarget {
    /// The message of the user that is about to be answered.
    #[default]
    User,
    /// The newest tool result.
    ToolOutput,
    /// Between two steps of the model: a user message of its own after the tool results.
    Steer,
}

impl ReminderTarget {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ToolOutput => "tool-output",
            Self::Steer => "steer",
        }
    }
}

impl fmt::Display for ReminderTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReminderTarget {
    type Err = ReminderError;

    fn from_str(name: &str) -> Result<Self, ReminderError> {
        [Self::User, Self::ToolOutput, Self::Steer]
            .into_iter()
            .find(|target| target.as_str() == name)
            .ok_or_else(|| ReminderError::UnknownTarget(name.to_owned()))
    }
}

type MakeText = dyn Fn(&Situation<'_>) -> Option<String> + Send + Sync;

#[derive(Clone)]
enum Text {
    Fixed(Arc<str>),
    Generated(Arc<MakeText>),
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(text) => text.fmt(f),
            Self::Generated(_) => f.write_str("made"),
        }
    }
}

/// A text that is folded into a message when its predicate holds. Validated when built; cheap to
/// clone.
///
/// ```
/// use context_instructions::{Predicate, reminder};
///
/// let cite = reminder("Cite sources.").when(Predicate::every_n_turns(5)).build()?;
/// # Ok::<_, context_instructions::ReminderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reminder {
    text: Text,
    target: ReminderTarget,
    when: Option<Predicate>,
    as_part: bool,
    id: Option<Arc<str>>,
}

impl Reminder {
    /// Returns the text. `None` if it is made from the situation.
    pub fn text(&self) -> Option<&str> {
        match &self.text {
            Text::Fixed(text) => Some(text),
            Text::Generated(_) => None,
        }
    }

    /// Returns the target.
    pub fn target(&self) -> ReminderTarget {
        self.target
    }

    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns whether the reminder becomes a part of its own.
    pub(super) fn as_part(&self) -> bool {
        self.as_part
    }

    /// Returns the element and the used-up `once` ids if the reminder fires in this situation.
    pub(super) fn fire(&self, situation: &Situation<'_>) -> Option<(String, Vec<String>)> {
        let once = match &self.when {
            Some(when) => when.evidence(situation)?,
            None => Vec::new(),
        };
        let text = match &self.text {
            Text::Fixed(text) => element(text),
            Text::Generated(make) => {
                element(&make(situation).filter(|text| !text.trim().is_empty())?)
            }
        };
        Some((text, once))
    }
}

/// Builds a reminder with the text `text`: by default at the end of every message of the user.
///
/// ```
/// use context_instructions::{Predicate, ReminderError, reminder};
///
/// let reminder = reminder("Run the tests.").when(Predicate::tool_called("edit_file")).build()?;
/// assert_eq!(reminder.target().as_str(), "user");
/// assert!(context_instructions::reminder(" ").build().is_err()); // nothing to say
/// # Ok::<(), ReminderError>(())
/// ```
pub fn reminder(text: impl Into<String>) -> ReminderBuilder {
    ReminderBuilder::new(Text::Fixed(text.into().into()))
}

/// Builds a reminder whose text is made from the situation once its predicate holds. If `make`
/// returns `None` or only white space, nothing is folded and no `once` is used up.
pub fn reminder_with(
    make: impl Fn(&Situation<'_>) -> Option<String> + Send + Sync + 'static,
) -> ReminderBuilder {
    ReminderBuilder::new(Text::Generated(Arc::new(make)))
}

/// Builds a [`Reminder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ReminderBuilder(Reminder);

impl ReminderBuilder {
    fn new(text: Text) -> Self {
        let target = ReminderTarget::default();
        Self(Reminder { text, target, when: None, as_part: false, id: None })
    }

    /// Sets the predicate that must hold for the reminder to fire. Without one it always fires;
    /// [`ReminderTarget::Steer`] needs one.
    pub fn when(mut self, predicate: Predicate) -> Self {
        self.0.when = Some(predicate);
        self
    }

    /// Sets the id by which [`Predicate::reminded_within`] finds when the reminder fired. It is
    /// stored with the message. Reminders may share an id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.id = Some(id.into().into());
        self
    }

    /// Puts the reminder into a text part of its own instead of at the end of the last text.
    pub fn as_part(mut self) -> Self {
        self.0.as_part = true;
        self
    }

    /// Sets the target.
    pub fn target(mut self, target: ReminderTarget) -> Self {
        self.0.target = target;
        self
    }

    /// Returns the reminder, or an error if it could not work.
    pub fn build(self) -> Result<Reminder, ReminderError> {
        let Self(reminder) = self;
        if matches!(&reminder.text, Text::Fixed(text) if text.trim().is_empty()) {
            return Err(ReminderError::EmptyText);
        }
        if reminder.id().is_some_and(|id| id.trim().is_empty()) {
            return Err(ReminderError::EmptyId);
        }
        match &reminder.when {
            Some(when) => when.check()?,
            None if reminder.target == ReminderTarget::Steer => {
                return Err(ReminderError::SteerWithoutPredicate);
            }
            None => {}
        }
        Ok(reminder)
    }
}

impl TryFrom<ReminderBuilder> for Reminder {
    type Error = ReminderError;

    fn try_from(builder: ReminderBuilder) -> Result<Self, ReminderError> {
        builder.build()
    }
}
