//! Which crates are to be proven. A store that says nothing is not overlooked but reported.

use cargo_metadata::Package;

/// What a store crate's name begins with.
const STORES: &str = "context-store-";

/// A crate that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The crate.
    pub krate: String,
    /// The suite that proves it.
    pub suite: String,
}

impl Subject {
    /// Whether this is the one that was asked for: by its name, or by what the name ends with.
    pub fn is(&self, asked: Option<&str>) -> bool {
        asked.is_none_or(|name| self.krate == name || self.krate.ends_with(&format!("-{name}")))
    }
}

/// The subjects among crates, and the stores that forgot to be one.
pub fn subjects(crates: &[&Package]) -> (Vec<Subject>, Vec<String>) {
    let declared = crates.iter().map(|package| {
        let suite = package.metadata.get("context-conformance").and_then(|table| table.get("suite"));
        (package.name.to_string(), suite.and_then(|suite| suite.as_str()).map(String::from))
    });
    sort(declared)
}

fn sort(declared: impl Iterator<Item = (String, Option<String>)>) -> (Vec<Subject>, Vec<String>) {
    let (mut subjects, mut forgotten) = (Vec::new(), Vec::new());
    for (krate, suite) in declared {
        match suite {
            Some(suite) => subjects.push(Subject { krate, suite }),
            None if krate.starts_with(STORES) => forgotten.push(krate),
            None => {}
        }
    }
    (subjects, forgotten)
}

#[cfg(test)]
mod tests {
    use super::{Subject, sort};

    #[test]
    fn a_store_that_says_nothing_is_reported() {
        let declared =
            [("context-store-good", Some("store")), ("context-store-silent", None), ("context-core", None)];
        let declared = declared.map(|(krate, suite)| (krate.to_string(), suite.map(String::from)));
        let good = Subject { krate: "context-store-good".into(), suite: "store".into() };
        assert_eq!(sort(declared.into_iter()), (vec![good], vec!["context-store-silent".to_string()]));
    }

    #[test]
    fn a_subject_is_found_by_the_end_of_its_name() {
        let subject = Subject { krate: "context-store-sqlite".into(), suite: "store".into() };
        assert!(subject.is(None) && subject.is(Some("sqlite")) && subject.is(Some("context-store-sqlite")));
        assert!(!subject.is(Some("lite")));
    }
}
