//! The kinds themselves.

use serde::{Deserialize, Serialize};

use super::body::{data_of, kind};
use crate::base::MisfitError;
use crate::fragment::FragmentBody;
use crate::{Fragment, FragmentData};

/// What the model is. Made by [`role`](crate::role).
///
/// Kind `role`, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Role {
    /// What the model is.
    pub content: FragmentData,
}

/// A guideline. Made by [`hint`](crate::hint).
///
/// Kind `hint`, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hint {
    /// The guideline.
    pub text: FragmentData,
}

impl FragmentBody for Role {
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
    /// A word of the domain and what it means.
    Term, "term",
    required {
        /// The word.
        data name,
        /// What it means.
        data definition,
    }
}

kind! {
    /// A rule that must not be broken.
    Guardrail, "guardrail",
    required {
        /// What must or must not be done.
        data rule,
    },
    optional {
        /// Why.
        data reason,
        /// What to do instead.
        data action,
    }
}

kind! {
    /// A concept explained.
    Explain, "explain",
    required {
        /// What is explained.
        data concept,
        /// The explanation.
        data explanation,
    },
    optional {
        /// What follows from it.
        data therefore,
    }
}

kind! {
    /// A question and the answer it should get.
    Example, "example",
    required {
        /// The question.
        data question,
        /// The answer.
        data answer,
    },
    optional {
        /// What to note about it.
        data note,
    }
}

kind! {
    /// When to ask back, and what.
    Clarification, "clarification",
    required {
        /// When it is unclear what is meant.
        data when,
        /// What to ask.
        data ask,
        /// Why the answer matters.
        data reason,
    }
}

kind! {
    /// Steps of a task.
    Workflow, "workflow",
    required {
        /// What is to be done.
        data task,
        /// The steps, in order.
        list steps,
    },
    optional {
        /// What sets it off.
        list triggers,
        /// What to note about it.
        data notes,
    }
}

kind! {
    /// Something that is not as one would expect.
    Quirk, "quirk",
    required {
        /// What is odd.
        data issue,
        /// What to do about it.
        data workaround,
    }
}

kind! {
    /// How to write.
    StyleGuide, "styleGuide",
    required {
        /// What is preferred.
        data prefer,
    },
    optional {
        /// What is never done.
        data never,
        /// What is always done.
        data always,
    }
}

kind! {
    /// Things that relate to each other as others do.
    Analogy, "analogy",
    required {
        /// What is compared.
        list concepts,
        /// How it relates.
        data relationship,
    },
    optional {
        /// What this shows.
        data insight,
        /// What follows from it.
        data therefore,
        /// Where it breaks down.
        data pitfall,
    }
}

kind! {
    /// A principle, and the policies that follow from it.
    Principle, "principle",
    required {
        /// Its name.
        data title,
        /// What it says.
        data description,
    },
    optional {
        /// What follows from it: texts, fragments, any data.
        list policies,
    }
}

kind! {
    /// A rule of conduct, and the ones below it.
    Policy, "policy",
    required {
        /// What to do.
        data rule,
    },
    optional {
        /// Before what.
        data before,
        /// Why.
        data reason,
        /// Policies below this one: texts, fragments, any data.
        list policies,
    }
}

kind! {
    /// Who the user is.
    Identity, "identity",
    optional {
        /// The user's name.
        data name,
        /// What the user does.
        data role,
    }
}

kind! {
    /// Whom the model plays.
    Persona, "persona",
    required {
        /// The name.
        data name,
    },
    optional {
        /// What it does.
        data role,
        /// What it is after.
        data objective,
        /// How it speaks.
        data tone,
    }
}

kind! {
    /// What the user calls something.
    Alias, "alias",
    required {
        /// What the user says.
        data term,
        /// What is meant.
        data meaning,
    }
}

kind! {
    /// What the user likes.
    Preference, "preference",
    required {
        /// In which matter.
        data aspect,
        /// What is liked.
        data value,
    }
}

kind! {
    /// Something the user has put right.
    Correction, "correction",
    required {
        /// What it is about.
        data subject,
        /// How it really is.
        data clarification,
    }
}

/// A word of the domain and what it means.
pub fn term(name: impl Into<FragmentData>, definition: impl Into<FragmentData>) -> Fragment {
    Term::new(name, definition).into()
}

/// A rule that must not be broken.
pub fn guardrail(rule: impl Into<FragmentData>) -> Guardrail {
    Guardrail::new(rule)
}

/// A concept explained.
pub fn explain(concept: impl Into<FragmentData>, explanation: impl Into<FragmentData>) -> Explain {
    Explain::new(concept, explanation)
}

/// A question and the answer it should get.
pub fn example(question: impl Into<FragmentData>, answer: impl Into<FragmentData>) -> Example {
    Example::new(question, answer)
}

/// When to ask back, what, and why.
pub fn clarification(
    when: impl Into<FragmentData>,
    ask: impl Into<FragmentData>,
    reason: impl Into<FragmentData>,
) -> Fragment {
    Clarification::new(when, ask, reason).into()
}

/// Steps of a task.
pub fn workflow(
    task: impl Into<FragmentData>,
    steps: impl IntoIterator<Item: Into<FragmentData>>,
) -> Workflow {
    Workflow::new(task, steps)
}

/// Something that is not as one would expect, and what to do about it.
pub fn quirk(issue: impl Into<FragmentData>, workaround: impl Into<FragmentData>) -> Fragment {
    Quirk::new(issue, workaround).into()
}

/// How to write.
pub fn style_guide(prefer: impl Into<FragmentData>) -> StyleGuide {
    StyleGuide::new(prefer)
}

/// Things that relate to each other as others do.
pub fn analogy(
    concepts: impl IntoIterator<Item: Into<FragmentData>>,
    relationship: impl Into<FragmentData>,
) -> Analogy {
    Analogy::new(concepts, relationship)
}

/// A principle.
pub fn principle(
    title: impl Into<FragmentData>,
    description: impl Into<FragmentData>,
) -> Principle {
    Principle::new(title, description)
}

/// A rule of conduct.
pub fn policy(rule: impl Into<FragmentData>) -> Policy {
    Policy::new(rule)
}

/// Who the user is, as far as that is known.
pub fn identity() -> Identity {
    Identity::new()
}

/// Whom the model plays.
pub fn persona(name: impl Into<FragmentData>) -> Persona {
    Persona::new(name)
}

/// What the user calls something.
pub fn alias(term: impl Into<FragmentData>, meaning: impl Into<FragmentData>) -> Fragment {
    Alias::new(term, meaning).into()
}

/// What the user likes.
pub fn preference(aspect: impl Into<FragmentData>, value: impl Into<FragmentData>) -> Fragment {
    Preference::new(aspect, value).into()
}

/// Something the user has put right.
pub fn correction(
    subject: impl Into<FragmentData>,
    clarification: impl Into<FragmentData>,
) -> Fragment {
    Correction::new(subject, clarification).into()
}

/// Whether a part is left out of the stored form.
fn kind_is_nothing<P: super::body::Part>(part: &P) -> bool {
    super::body::is_nothing(&part.to_data())
}
