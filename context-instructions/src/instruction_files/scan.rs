//! Scanning for instruction files, and rescanning.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Diagnostic, Fragment, Timestamp};

use super::InstructionOptions;
use super::budget::allot;
use super::fragment::{ShownFile, project_instructions};
use super::locations::{Candidate, locations};
use super::text::FileText;
use crate::files::{FileCache, is_absent};

/// An instruction file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionFile {
    /// The file's path.
    pub path: PathBuf,
    /// The path as the model sees it: from the project's root, or as it was given.
    pub shown: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of these bytes that the model is not shown.
    pub left_out: u64,
}

/// The result of a scan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InstructionScan {
    /// The fragment `project_instructions`, with a fragment `file` of `path` and `text` for each
    /// file. Without files it is empty and renders to nothing.
    pub fragment: Fragment,
    /// The files, nearest last.
    pub files: Vec<InstructionFile>,
    /// Files that could not be read, are over a limit, or had bytes replaced.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of files that were read.
    pub read: usize,
    /// Whether the fragment differs from that of the previous scan; `true` for the first scan.
    pub changed: bool,
}

/// The instruction files for one working folder, with a cache of their content.
///
/// ```no_run
/// use context_core::Timestamp;
/// use context_instructions::{InstructionFiles, InstructionOptions};
///
/// let mut files = InstructionFiles::new("project/src", InstructionOptions::default());
/// let now = Timestamp::from_micros(1_700_000_000_000_000); // of the application's clock
/// let scan = files.scan(now);
/// println!("{} files, {} read", scan.files.len(), scan.read);
/// assert_eq!(files.scan(now).fragment, scan.fragment);
/// ```
pub struct InstructionFiles {
    working: PathBuf,
    options: InstructionOptions,
    cache: FileCache<FileText>,
    last: Option<PreviousScan>,
}

/// The fragment of the last scan, and its inputs.
struct PreviousScan {
    files: Vec<ScannedFile>,
    fragment: Fragment,
    left_out: Vec<u64>,
}

/// A file and its text, shared with the cache: the same content is the same `Arc`.
struct ScannedFile {
    file: Candidate,
    text: Arc<FileText>,
}

impl ScannedFile {
    fn is_same(&self, other: &Self) -> bool {
        self.file.shown == other.file.shown && Arc::ptr_eq(&self.text, &other.text)
    }
}

impl InstructionFiles {
    /// Creates a scanner for work in this folder.
    pub fn new(working_folder: impl Into<PathBuf>, options: InstructionOptions) -> Self {
        Self { working: working_folder.into(), options, cache: FileCache::default(), last: None }
    }

    /// Looks for the files. New, changed and deleted files are noticed; unchanged files are not
    /// read.
    ///
    /// `now` is the time of the caller's clock. It only decides which files are read again: those
    /// that were modified within the two seconds before, because a later change of them might leave
    /// the same stamp.
    #[must_use]
    pub fn scan(&mut self, now: Timestamp) -> InstructionScan {
        let mut diagnostics = Vec::new();
        let scanned = self.find(now, &mut diagnostics);
        let read = self.cache.finish();
        let last = self.last.take().filter(|last| {
            last.files.len() == scanned.len()
                && last.files.iter().zip(&scanned).all(|(a, b)| a.is_same(b))
        });
        let changed = last.is_none();
        let (fragment, left_out) = match last {
            Some(last) => (last.fragment, last.left_out),
            None => self.compose(&scanned),
        };
        let files = scanned.iter().zip(&left_out).map(|(scanned, &left_out)| InstructionFile {
            path: scanned.file.path.clone(),
            shown: scanned.file.shown.clone(),
            bytes: scanned.text.bytes(),
            left_out,
        });
        let files: Vec<_> = files.collect();
        for (file, scanned) in files.iter().zip(&scanned) {
            if scanned.text.lossy {
                let message = "the file is not UTF-8; what is not was replaced";
                diagnostics.push(file_diagnostic(
                    file,
                    DiagnosticCode::BrokenInput,
                    message.to_owned(),
                ));
            }
            if file.left_out > 0 {
                let message = format!("{} of {} bytes are left out", file.left_out, file.bytes);
                diagnostics.push(file_diagnostic(file, DiagnosticCode::OverLimit, message));
            }
        }
        self.last = Some(PreviousScan { files: scanned, fragment: fragment.clone(), left_out });
        InstructionScan { fragment, files, diagnostics, read, changed }
    }

    /// Returns the files found, nearest last, each file once.
    fn find(&mut self, now: Timestamp, diagnostics: &mut Vec<Diagnostic>) -> Vec<ScannedFile> {
        let limit = self.options.max_file_bytes.min(self.options.max_bytes) as u64;
        let (mut scanned, mut paths) = (Vec::new(), HashSet::new());
        // From the nearest, so that the nearer of two paths to one file counts.
        for location in locations(&self.working, &self.options, diagnostics).into_iter().rev() {
            let mut location_files = Vec::new();
            for file in location.files {
                let real = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
                if file.required_root.as_ref().is_some_and(|root| !real.starts_with(root)) {
                    diagnostics.push(outside(&file));
                    continue;
                }
                // One byte more than needed, to see whether a file is blank when the limit is zero.
                let text =
                    match self.cache.get(&file.path, now, limit.saturating_add(1), FileText::new) {
                        Ok(text) if text.is_blank() => continue,
                        Ok(text) => text,
                        Err(error) if is_absent(&error) => continue,
                        Err(error) => {
                            diagnostics.push(unreadable(&file, &error));
                            continue;
                        }
                    };
                if paths.insert(real) {
                    location_files.push(ScannedFile { file, text });
                }
                if !location.every {
                    break;
                }
            }
            scanned.extend(location_files.into_iter().rev());
        }
        scanned.reverse();
        scanned
    }

    fn compose(&self, files: &[ScannedFile]) -> (Fragment, Vec<u64>) {
        let InstructionOptions { max_bytes, max_file_bytes, .. } = self.options;
        let allotments = allot(files.iter().map(|file| &*file.text), max_bytes, max_file_bytes);
        let left_out = files
            .iter()
            .zip(&allotments)
            .map(|(file, allotment)| file.text.bytes() - allotment.bytes as u64);
        let left_out: Vec<_> = left_out.collect();
        let shown =
            files.iter().zip(&allotments).zip(&left_out).map(|((file, allotment), &left_out)| {
                ShownFile {
                    path: &file.file.shown,
                    text: &file.text.text[..allotment.bytes],
                    missing: (left_out > 0).then_some((left_out, allotment.limit)),
                }
            });
        (project_instructions(shown), left_out)
    }
}

impl fmt::Debug for InstructionFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstructionFiles")
            .field("working", &self.working)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn file_diagnostic(file: &InstructionFile, code: DiagnosticCode, message: String) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, file.path.to_string_lossy(), message)
}

fn outside(file: &Candidate) -> Diagnostic {
    let message = "a link leads out of the project and is not read; add the file with `with_extra`, or remove the link";
    Diagnostic::new(
        DiagnosticCode::Misplaced,
        Severity::Warning,
        file.path.to_string_lossy(),
        message,
    )
}

fn unreadable(file: &Candidate, error: &io::Error) -> Diagnostic {
    let message = format!(
        "the file cannot be read, so the model is not shown it; make it readable, or remove it: {error}"
    );
    let (code, path) = (DiagnosticCode::InstructionDiscoveryFailed, file.path.to_string_lossy());
    Diagnostic::new(code, Severity::Error, path, message)
}
