//! Mutants that no test has to notice, with the reasons.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The file of the reasons, below the root of the workspace.
const FILE: &str = ".cargo/mutants-survivors.toml";

/// The known survivors.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Survivors {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

#[derive(Debug, Deserialize)]
struct Survivor {
    /// The file of the mutant, from the root of the workspace.
    file: String,
    /// The change, as cargo-mutants names it. Lines and columns are left out, since they move.
    change: String,
    /// The reason why no test can notice it, or need not.
    reason: String,
}

impl Survivors {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let survivors: Self =
            toml::from_str(&text).with_context(|| format!("understand {}", path.display()))?;
        for Survivor { file, change, reason } in &survivors.survivor {
            ensure!(root.join(file).is_file(), "{FILE}: there is no {file}");
            ensure!(!reason.trim().is_empty(), "{FILE}: {change} has no reason");
        }
        Ok(survivors)
    }

    /// Whether a mutant is known: `FILE:LINE:COLUMN: CHANGE`.
    pub(super) fn knows(&self, mutant: &str) -> bool {
        let Some((place, change)) = mutant.split_once(": ") else { return false };
        let file = place.split(':').next().unwrap_or_default();
        self.survivor.iter().any(|known| known.file == file && known.change == change)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Survivor, Survivors};

    #[test]
    fn a_survivor_is_known_wherever_its_lines_move() {
        let known = Survivor {
            file: "a/src/b.rs".to_owned(),
            change: "replace < with <= in fit".to_owned(),
            reason: "saves work only".to_owned(),
        };
        let survivors = Survivors { survivor: vec![known] };
        assert!(survivors.knows("a/src/b.rs:12:3: replace < with <= in fit"));
        assert!(!survivors.knows("a/src/c.rs:12:3: replace < with <= in fit"));
        assert!(!survivors.knows("a/src/b.rs:12:3: replace < with > in fit"));
    }

    /// The file of this repository names files that exist, and each entry has a reason.
    #[test]
    fn every_entry_of_the_file_has_a_reason() {
        Survivors::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    }
}
