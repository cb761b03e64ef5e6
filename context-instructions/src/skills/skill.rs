//! A skill, and the errors of reading one.

use std::io;
use std::path::{Path, PathBuf};

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Diagnostic, Metadata};

use super::MAX_DESCRIPTION_CHARS;
use super::front_matter::{Parts, split};
use crate::files::FileHead;

/// Maximum size of a `SKILL.md`, in bytes. Larger content belongs into other files of the skill.
pub const MAX_SKILL_BYTES: u64 = 1 << 20;

/// An error of reading a file that is not a skill.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The file does not begin with a line `---`.
    #[error("no front matter: the file does not begin with a line of three dashes")]
    MissingFrontMatter,
    /// The second line `---` is missing.
    #[error("the front matter is not closed by a line of three dashes")]
    UnclosedFrontMatter,
    /// The front matter is not YAML, or not a map of keys and values.
    #[error("the front matter is no YAML of keys and values, line {line}: {message}")]
    Yaml {
        /// The line of the file, from 1.
        line: u64,
        /// The message of the YAML parser.
        message: String,
    },
    /// The front matter has no `name`, or a blank one.
    #[error("the front matter has no name")]
    MissingName,
    /// The front matter has no `description`, or a blank one.
    #[error("the front matter has no description")]
    MissingDescription,
    /// The file is not UTF-8.
    #[error("the file is not UTF-8, from byte {valid_bytes} on")]
    NotUtf8 {
        /// The number of valid bytes before that position.
        valid_bytes: usize,
    },
    /// The file is longer than [`MAX_SKILL_BYTES`].
    #[error("the file has {bytes} bytes, more than {MAX_SKILL_BYTES}")]
    TooLarge {
        /// Its length in bytes.
        bytes: u64,
    },
    /// The file does not exist, is not a regular file, or cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

context_core::readable_debug!(SkillError);

/// A skill: the description that the model sees, and the path of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// The name.
    pub name: String,
    /// The purpose of the skill and when to use it.
    pub description: String,
    /// The path of its `SKILL.md`. Other files of the skill are in the same folder.
    pub path: PathBuf,
    /// Every other key of the front matter (`license`, `allowed-tools`, …), in order, as JSON.
    pub metadata: Metadata,
}

impl Skill {
    /// Creates a skill that was not read from front matter.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        path: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            path: path.into(),
            metadata: Metadata::default(),
        }
    }

    /// Reads the skill of one `SKILL.md`.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, SkillError> {
        let path = path.into();
        let head = FileHead::read(&path, MAX_SKILL_BYTES)?;
        ParsedSkill::in_file(&path, &head).map(|parsed| parsed.skill)
    }

    /// Reads the text of the file after its front matter, without white space around it, for models
    /// that cannot read files themselves.
    pub fn instructions(&self) -> Result<String, SkillError> {
        let head = FileHead::read(&self.path, MAX_SKILL_BYTES)?;
        let parts = split(text(&head)?)?;
        Ok(parts.body.trim().replace("\r\n", "\n"))
    }
}

/// A skill and its diagnostics.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedSkill {
    pub(super) skill: Skill,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl ParsedSkill {
    pub(super) fn in_file(path: &Path, head: &FileHead) -> Result<Self, SkillError> {
        let parts: Parts<'_> = split(text(head)?)?;
        let (matter, mended) = parts.parse()?;
        let name = non_blank(matter.name).ok_or(SkillError::MissingName)?;
        let description = non_blank(matter.description).ok_or(SkillError::MissingDescription)?;
        let mut diagnostics = Vec::new();
        let mut warn = |code, message: String| {
            let path = path.to_string_lossy();
            diagnostics.push(Diagnostic::new(code, Severity::Warning, path, message));
        };
        if mended {
            let message =
                "a value of the front matter has a colon and no quotes; it was taken as text";
            warn(DiagnosticCode::BrokenInput, message.to_owned());
        }
        let chars = description.chars().count();
        if chars > MAX_DESCRIPTION_CHARS {
            let message = format!(
                "the description has {chars} characters; the model is shown the first {MAX_DESCRIPTION_CHARS}"
            );
            warn(DiagnosticCode::OverLimit, message);
        }
        let skill =
            Skill { name, description, path: path.to_owned(), metadata: matter.metadata.into() };
        Ok(Self { skill, diagnostics })
    }
}

fn non_blank(value: Option<String>) -> Option<String> {
    let value = value?;
    let trimmed = value.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

fn text(head: &FileHead) -> Result<&str, SkillError> {
    if head.len > MAX_SKILL_BYTES {
        return Err(SkillError::TooLarge { bytes: head.len });
    }
    std::str::from_utf8(&head.bytes)
        .map_err(|error| SkillError::NotUtf8 { valid_bytes: error.valid_up_to() })
}
