//! Files and folders that do not exist, and those that exist near them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::near_names::near;

/// Returns the failure for a file or folder that cannot be read. For one that does not exist, it
/// says what does.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Failure {
    let file = path.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound => Failure::Missing { file, hint: hint(path).unwrap_or_default() },
        _ => Failure::Read { file, source },
    }
}

/// Returns what exists instead of a path: the path with a name that is near to the first one that
/// does not exist, or else the folder that does not exist.
fn hint(path: &Path) -> Option<String> {
    let missing = path.ancestors().take_while(|path| is_missing(path)).last()?;
    let around = missing.parent()?;
    let here = if around.as_os_str().is_empty() { Path::new(".") } else { around };
    let rest = path.strip_prefix(missing).ok()?;
    // Most files have the same few endings, so these say nothing.
    let stem = |name: &Path| name.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = stem(missing);
    let entries = fs::read_dir(here).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<_> = entries.map(|entry| PathBuf::from(entry.file_name())).collect();
    names.sort();
    let stems: Vec<_> = names.iter().map(|name| stem(name)).collect();
    let nearest = near(&name, stems.iter().map(String::as_str));
    let mut near = names.iter().filter(|name| nearest.contains(&stem(name).as_str()));
    let full = |name: &Path| around.join(name).join(rest);
    // A near folder without the rest of the path is still nearer than nothing.
    let best = near.clone().find(|name| full(name).exists()).or_else(|| near.next());
    match best {
        Some(name) => {
            let near = if full(name).exists() { full(name) } else { around.join(name) };
            // A trailing slash is not part of a name.
            let near: PathBuf = near.components().collect();
            Some(format!("; a similar name is {}", near.display()))
        }
        None if !rest.as_os_str().is_empty() => {
            let kind = if path.parent() == Some(missing) { "its folder" } else { "the folder" };
            Some(format!(": {kind} {} does not exist", missing.display()))
        }
        None => None,
    }
}

fn is_missing(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.symlink_metadata().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_answered_with_what_exists() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("runs/deep")).expect("made");
        fs::write(at("runs/support.json"), "[]").expect("written");
        let shown = |path: &str| {
            let failure = unreadable(&at(path), io::ErrorKind::NotFound.into()).to_string();
            failure.replace(&format!("{}/", folder.path().display()), "")
        };
        assert_eq!(shown("run"), "there is no file or folder run; a similar name is runs");
        assert_eq!(
            shown("runs/suport.json"),
            "there is no file or folder runs/suport.json; a similar name is runs/support.json"
        );
        assert_eq!(
            shown("Runs/support.json"),
            "there is no file or folder Runs/support.json; a similar name is runs/support.json"
        );
        assert_eq!(
            shown("rnus/x.json"),
            "there is no file or folder rnus/x.json; a similar name is runs"
        );
        assert_eq!(
            shown("nowhere/x.json"),
            "there is no file or folder nowhere/x.json: its folder nowhere does not exist"
        );
        assert_eq!(
            shown("nowhere/a/x.json"),
            "there is no file or folder nowhere/a/x.json: the folder nowhere does not exist"
        );
        assert_eq!(shown("zzz.json"), "there is no file or folder zzz.json");
    }
}
