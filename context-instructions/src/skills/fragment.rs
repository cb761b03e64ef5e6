//! The fragment that lists the available skills for the model.

use std::borrow::Cow;

use context_core::{Fragment, FragmentData, fragment};

use super::Skill;

/// Maximum number of characters of a description that the model sees.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

const INSTRUCTIONS: &str = "Skills are instructions for particular kinds of work. Below are the name, the \
description and the file of each one you have. When a task fits a description, read that file first and follow \
it; paths in it are relative to its folder. Do not read skills the task does not need.";

/// Returns the fragment `available_skills`: instructions for using skills, and for each skill a
/// fragment `skill` of `name`, `description` and `path`, in the order given. Without skills it is
/// empty and renders to nothing.
///
/// A description longer than [`MAX_DESCRIPTION_CHARS`] is cut and ends with an ellipsis. Paths that
/// are not Unicode have replacement characters.
///
/// ```
/// use context_instructions::{Skill, available_skills};
///
/// let skills = [Skill::new("pdf", "Fills in PDF forms.", "/skills/pdf/SKILL.md")];
/// assert_eq!(available_skills(&skills).name(), "available_skills");
/// assert!(available_skills(&[]).data().is_some_and(|data| data.is_empty()));
/// ```
#[must_use]
pub fn available_skills(skills: &[Skill]) -> Fragment {
    let intro = (!skills.is_empty()).then(|| FragmentData::from(INSTRUCTIONS));
    fragment(
        "available_skills",
        intro.into_iter().chain(skills.iter().map(|skill| entry(skill).into())),
    )
}

fn entry(skill: &Skill) -> Fragment {
    let path = skill.path.to_string_lossy();
    let fields =
        [("name", &*skill.name), ("description", &*shown(&skill.description)), ("path", &*path)];
    Fragment::new("skill", FragmentData::map(fields))
}

fn shown(description: &str) -> Cow<'_, str> {
    match description.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        None => description.into(),
        Some((end, _)) => format!("{}…", description[..end].trim_end()).into(),
    }
}
