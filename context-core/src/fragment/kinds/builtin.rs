//! The types of the kinds and their functions.

use serde::{Deserialize, Serialize};

use super::body::{data_of, kind};
use crate::base::MisfitError;
use crate::fragment::FragmentBody;
use crate::{Fragment, FragmentData};

/// The role of the model. Created by [`role`](crate::role).
///
/// Kind `role`, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoleFragment {
    /// The role of the model.
    pub content: FragmentData,
}

/// A guideline. Created by [`hint`](crate::hint).
///
/// Kind `hint`, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hint {
    /// The guideline.
    pub text: FragmentData,
}

impl FragmentBody for RoleFragment {
    const KIND: &'static str = "role";
    const VERSION: u16 = 1;

    fn into_fragment(self) -> Fragment {
        crate::role(self.content)
    }

    fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
        data_of(fragment, Self::KIND).map(|content| Self { content: content.clone() })
    }
}

impl FragmentBody for Hint {
    const KIND: &'static str = "hint";
    const VERSION: u16 = 1;

    fn into_fragment(self) -> Fragment {
        crate::hint(self.text)
    }

    fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
        data_of(fragment, Self::KIND).map(|text| Self { text: text.clone() })
    }
}

kind! {
    /// A term of the domain and its meaning.
    Term, "term",
    required {
        /// The term.
        data name,
        /// Its meaning.
        data definition,
    }
}

kind! {
    /// Creates a rule that must not be broken.
    Guardrail, "guardrail",
    required {
        /// The rule.
        data rule,
    },
    optional {
        /// The reason for the rule.
        data reason,
        /// The action to take instead.
        data action,
    }
}

kind! {
    /// An explained concept.
    Explain, "explain",
    required {
        /// The concept.
        data concept,
        /// The explanation.
        data explanation,
    },
    optional {
        /// The consequence.
        data therefore,
    }
}

kind! {
    /// A question and the expected answer.
    Example, "example",
    required {
        /// The question.
        data question,
        /// The answer.
        data answer,
    },
    optional {
        /// A note about the example.
        data note,
    }
}

kind! {
    /// A condition for asking back, and the question to ask.
    Clarification, "clarification",
    required {
        /// The condition under which the request is unclear.
        data when,
        /// The question to ask.
        data ask,
        /// The reason why the answer matters.
        data reason,
    }
}

kind! {
    /// The steps of a task.
    Workflow, "workflow",
    required {
        /// The task.
        data task,
        /// The steps, in order.
        list steps,
    },
    optional {
        /// The conditions that start the workflow.
        list triggers,
        /// Notes about the workflow.
        data notes,
    }
}

kind! {
    /// An unexpected property.
    Quirk, "quirk",
    required {
        /// The unexpected property.
        data issue,
        /// The workaround.
        data workaround,
    }
}

kind! {
    /// A writing style.
    StyleGuide, "styleGuide",
    required {
        /// The preferred style.
        data prefer,
    },
    optional {
        /// Things to avoid.
        data never,
        /// Things to do always.
        data always,
    }
}

kind! {
    /// An analogy between concepts.
    Analogy, "analogy",
    required {
        /// The compared concepts.
        list concepts,
        /// Their relationship.
        data relationship,
    },
    optional {
        /// The insight from the analogy.
        data insight,
        /// The consequence.
        data therefore,
        /// The limits of the analogy.
        data pitfall,
    }
}

kind! {
    /// A principle, and the policies that follow from it.
    Principle, "principle",
    required {
        /// The name of the principle.
        data title,
        /// The principle in words.
        data description,
    },
    optional {
        /// The policies that follow from the principle: texts, fragments, any data.
        list policies,
    }
}

kind! {
    /// A rule of conduct, and rules below it.
    Policy, "policy",
    required {
        /// The rule.
        data rule,
    },
    optional {
        /// The step that the rule comes before.
        data before,
        /// The reason for the rule.
        data reason,
        /// Policies below this one: texts, fragments, any data.
        list policies,
    }
}

kind! {
    /// The identity of the user.
    Identity, "identity",
    optional {
        /// The user's name.
        data name,
        /// The occupation of the user.
        data role,
    }
}

kind! {
    /// The character that the model plays.
    Persona, "persona",
    required {
        /// The name.
        data name,
    },
    optional {
        /// The role of the character.
        data role,
        /// The objective of the character.
        data objective,
        /// The tone of the character.
        data tone,
    }
}

kind! {
    /// The user's own word for something.
    Alias, "alias",
    required {
        /// The user's word.
        data term,
        /// Its meaning.
        data meaning,
    }
}

kind! {
    /// A preference of the user.
    Preference, "preference",
    required {
        /// The subject of the preference.
        data aspect,
        /// The preferred value.
        data value,
    }
}

kind! {
    /// A correction by the user.
    Correction, "correction",
    required {
        /// The subject of the correction.
        data subject,
        /// The correct statement.
        data clarification,
    }
}

/// Creates a term of the domain with its meaning.
pub fn term(name: impl Into<FragmentData>, definition: impl Into<FragmentData>) -> Fragment {
    Term::new(name, definition).into()
}

/// Creates a rule that must not be broken.
pub fn guardrail(rule: impl Into<FragmentData>) -> Guardrail {
    Guardrail::new(rule)
}

/// Creates an explanation of a concept.
pub fn explain(concept: impl Into<FragmentData>, explanation: impl Into<FragmentData>) -> Explain {
    Explain::new(concept, explanation)
}

/// Creates an example: a question and the expected answer.
pub fn example(question: impl Into<FragmentData>, answer: impl Into<FragmentData>) -> Example {
    Example::new(question, answer)
}

/// Creates a rule for asking back: when, what, and why.
pub fn clarification(
    when: impl Into<FragmentData>,
    ask: impl Into<FragmentData>,
    reason: impl Into<FragmentData>,
) -> Fragment {
    Clarification::new(when, ask, reason).into()
}

/// Creates a workflow from the steps of a task.
pub fn workflow(
    task: impl Into<FragmentData>,
    steps: impl IntoIterator<Item: Into<FragmentData>>,
) -> Workflow {
    Workflow::new(task, steps)
}

/// Creates a description of an unexpected property and its workaround.
pub fn quirk(issue: impl Into<FragmentData>, workaround: impl Into<FragmentData>) -> Fragment {
    Quirk::new(issue, workaround).into()
}

/// Creates a style guide.
pub fn style_guide(prefer: impl Into<FragmentData>) -> StyleGuide {
    StyleGuide::new(prefer)
}

/// Creates an analogy between concepts.
pub fn analogy(
    concepts: impl IntoIterator<Item: Into<FragmentData>>,
    relationship: impl Into<FragmentData>,
) -> Analogy {
    Analogy::new(concepts, relationship)
}

/// Creates a principle.
pub fn principle(
    title: impl Into<FragmentData>,
    description: impl Into<FragmentData>,
) -> Principle {
    Principle::new(title, description)
}

/// Creates a rule of conduct.
pub fn policy(rule: impl Into<FragmentData>) -> Policy {
    Policy::new(rule)
}

/// Creates an identity of the user, without any facts yet.
pub fn identity() -> Identity {
    Identity::new()
}

/// Creates a character for the model to play.
pub fn persona(name: impl Into<FragmentData>) -> Persona {
    Persona::new(name)
}

/// Creates an alias: the user's own word for something.
pub fn alias(term: impl Into<FragmentData>, meaning: impl Into<FragmentData>) -> Fragment {
    Alias::new(term, meaning).into()
}

/// Creates a preference of the user.
pub fn preference(aspect: impl Into<FragmentData>, value: impl Into<FragmentData>) -> Fragment {
    Preference::new(aspect, value).into()
}

/// Creates a correction by the user.
pub fn correction(
    subject: impl Into<FragmentData>,
    clarification: impl Into<FragmentData>,
) -> Fragment {
    Correction::new(subject, clarification).into()
}

/// Returns whether a part is left out of the stored form.
fn is_part_omitted<P: super::body::Part>(part: &P) -> bool {
    super::body::is_omitted(&part.to_data())
}
