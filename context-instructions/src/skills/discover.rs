//! Discovery of skills in folders.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Diagnostic, Timestamp};

use super::skill::ParsedSkill;
use super::{MAX_SKILL_BYTES, Skill};
use crate::files::{FileCache, is_absent};

/// Maximum number of entries of one root that are examined.
pub const MAX_SKILL_ENTRIES: usize = 10_000;

const FILE: &str = "SKILL.md";

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillScan {
    /// The skills, sorted by name and then by path. Names are unique.
    pub skills: Vec<Skill>,
    /// Errors of files that are not skills, and names that occur twice.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of files that were read.
    pub read: usize,
}

/// Folders of skills, with a cache of their content.
///
/// ```no_run
/// use context_core::Timestamp;
/// use context_instructions::{SkillFolders, available_skills};
///
/// let mut folders = SkillFolders::new(["project/.agents/skills", "/srv/me/.agents/skills"]);
/// let now = Timestamp::from_micros(1_700_000_000_000_000); // of the application's clock
/// let scan = folders.scan(now);
/// let fragment = available_skills(&scan.skills);
/// ```
pub struct SkillFolders {
    roots: Vec<PathBuf>,
    cache: FileCache<Result<ParsedSkill, Diagnostic>>,
}

impl SkillFolders {
    /// Creates a scanner for `roots` in order of preference: of two skills with one name, the skill
    /// of the earlier root is taken. A root holds skills in its direct subfolders only; a root that
    /// has a `SKILL.md` of its own is that skill and nothing else. Links are followed.
    pub fn new<P: Into<PathBuf>>(roots: impl IntoIterator<Item = P>) -> Self {
        Self { roots: roots.into_iter().map(Into::into).collect(), cache: FileCache::default() }
    }

    /// Looks for skills. A root that does not exist has none.
    ///
    /// `now` is the time of the caller's clock. It only decides which files are read again: those
    /// that were modified within the two seconds before, because a later change of them might leave
    /// the same stamp.
    #[must_use]
    pub fn scan(&mut self, now: Timestamp) -> SkillScan {
        let mut scan = SkillScan::default();
        let (mut names, mut known_paths) = (HashMap::<String, PathBuf>::new(), HashSet::new());
        for root in &self.roots {
            // Sorted, so that the same folders always give the same result.
            for path in candidates(root, &mut scan.diagnostics) {
                let real_path = path.canonicalize().unwrap_or_else(|_| path.clone());
                if !known_paths.insert(real_path) {
                    continue;
                }
                let parsed = self.cache.get(&path, now, MAX_SKILL_BYTES, |head| {
                    ParsedSkill::in_file(&path, &head).map_err(|error| broken(&path, error))
                });
                let parsed = match parsed {
                    Ok(parsed) => parsed,
                    Err(error) if is_absent(&error) => continue,
                    Err(error) => {
                        scan.diagnostics.push(unreadable("file", &path, &error));
                        continue;
                    }
                };
                match &*parsed {
                    Err(diagnostic) => scan.diagnostics.push(diagnostic.clone()),
                    Ok(ParsedSkill { skill, diagnostics }) => {
                        scan.diagnostics.extend_from_slice(diagnostics);
                        match names.get(&skill.name) {
                            Some(first) => scan.diagnostics.push(duplicate(skill, first)),
                            None => {
                                names.insert(skill.name.clone(), path);
                                scan.skills.push(skill.clone());
                            }
                        }
                    }
                }
            }
        }
        scan.skills.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        scan.read = self.cache.finish();
        scan
    }
}

impl fmt::Debug for SkillFolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillFolders").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// Scans for skills once, without a cache; see [`SkillFolders`].
#[must_use]
pub fn discover_skills<P: Into<PathBuf>>(roots: impl IntoIterator<Item = P>) -> SkillScan {
    SkillFolders::new(roots).scan(Timestamp::default())
}

/// Returns the paths in a root where skills may be.
fn candidates(root: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let own = root.join(FILE);
    if own.symlink_metadata().is_ok() {
        return vec![own];
    }
    let mut paths = Vec::new();
    let entries = match root.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return paths,
        Err(error) => {
            diagnostics.push(unreadable("folder", root, &error));
            return paths;
        }
    };
    for (examined, entry) in entries.enumerate() {
        if examined == MAX_SKILL_ENTRIES {
            let message = format!("only {MAX_SKILL_ENTRIES} entries of the folder were looked at");
            let path = root.to_string_lossy();
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::OverLimit,
                Severity::Error,
                path,
                message,
            ));
            break;
        }
        match entry {
            Ok(entry) => paths.push(entry.path().join(FILE)),
            Err(error) => {
                diagnostics.push(unreadable("folder", root, &error));
                break;
            }
        }
    }
    paths.sort();
    paths
}

fn broken(path: &Path, error: super::SkillError) -> Diagnostic {
    let path = path.to_string_lossy();
    Diagnostic::new(DiagnosticCode::BrokenInput, Severity::Error, path, error.to_string())
}

/// Reports that the `kind` of thing at this path cannot be read.
fn unreadable(kind: &str, path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!(
        "the {kind} cannot be read, so its skills are not offered; make it readable, or remove it: {error}"
    );
    let code = DiagnosticCode::InstructionDiscoveryFailed;
    Diagnostic::new(code, Severity::Error, path.to_string_lossy(), message)
}

fn duplicate(skill: &Skill, first: &Path) -> Diagnostic {
    let message = format!("there is a skill {:?} already, at {}", skill.name, first.display());
    let path = skill.path.to_string_lossy();
    Diagnostic::new(DiagnosticCode::DuplicateName, Severity::Warning, path, message)
}
