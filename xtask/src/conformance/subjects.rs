//! Which crates are to be proven, by which test programs. A plug-in that says nothing is not
//! overlooked but reported.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use cargo_metadata::Package;

use crate::services::need::{self, Need};

/// What the names of crates begin with that are plug-ins whole; renderers and memories share a
/// crate, and codecs are asked where all of them are, in the facade.
const PLUG_INS: [&str; 2] = ["context-store-", "context-policy-"];
/// The suites of what is pure.
const PURE: [&str; 3] = ["renderer", "codec", "policy"];
/// The test program of a crate that lists none, and what the names of others begin with.
const PROGRAM: &str = "conformance";

/// A test program that takes part. A crate may have several, for each kind of store it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The crate.
    pub krate: String,
    /// The suite that proves it.
    pub suite: String,
    /// The test program.
    pub program: String,
    /// Which of its tests, by a part of their names; all, if there is none.
    pub filter: Option<String>,
    /// What it needs.
    pub needs: BTreeSet<Need>,
}

impl Subject {
    /// Whether this is the one that was asked for: by the crate's name or what that ends with
    /// (`sqlite`), by what its program's name ends with (`conformance_cluster` is `cluster`), or by
    /// both (`redis-cluster`).
    pub fn is(&self, asked: Option<&str>) -> bool {
        let Some(asked) = asked else { return true };
        let program = self.program.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('_'));
        let is_krate = |name: &str| self.krate == name || self.krate.ends_with(&format!("-{name}"));
        let both = |program: &str| asked.strip_suffix(program)?.strip_suffix('-');
        is_krate(asked) || program == Some(asked) || program.and_then(both).is_some_and(is_krate)
    }
}

/// The subjects among crates, and the plug-ins that forgot to be one.
pub(crate) fn subjects(crates: &[&Package]) -> Result<(Vec<Subject>, Vec<String>)> {
    let (mut subjects, mut forgotten) = (Vec::new(), Vec::new());
    for package in crates {
        match of(&package.name, package.metadata.get("context-conformance"), &need::of(package)?)? {
            Some(of_crate) => subjects.extend(of_crate),
            None if PLUG_INS.iter().any(|plug_in| package.name.starts_with(plug_in)) => {
                forgotten.push(package.name.to_string())
            }
            None => {}
        }
    }
    Ok((subjects, forgotten))
}

/// The subjects of a crate with this table in its manifest; none if it names no suite.
fn of(
    krate: &str,
    table: Option<&serde_json::Value>,
    needs: &BTreeSet<Need>,
) -> Result<Option<Vec<Subject>>> {
    let Some(suite) = table.and_then(|table| table.get("suite")).and_then(|suite| suite.as_str())
    else {
        return Ok(None);
    };
    let programs = match table.and_then(|table| table.get("tests")) {
        Some(tests) => serde_json::from_value(tests.clone())
            .with_context(|| format!("`tests` of {krate} is no list of test programs"))?,
        None => vec![PROGRAM.to_owned()],
    };
    // These suites are pure; what a crate needs is for its other tests.
    let needs = if PURE.contains(&suite) { &BTreeSet::new() } else { needs };
    let filter = table.and_then(|table| table.get("filter")).and_then(|filter| filter.as_str());
    let subject = |program| Subject {
        krate: krate.into(),
        suite: suite.into(),
        program,
        filter: filter.map(Into::into),
        needs: needs.clone(),
    };
    Ok(Some(programs.into_iter().map(subject).collect()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{Subject, of};
    use crate::services::need::Need;

    fn subject(krate: &str, program: &str) -> Subject {
        Subject {
            krate: krate.into(),
            suite: "store".into(),
            program: program.into(),
            filter: None,
            needs: BTreeSet::new(),
        }
    }

    #[test]
    fn a_crate_says_how_it_is_proven() {
        let none = BTreeSet::new();
        assert_eq!(of("x", None, &none).unwrap(), None);
        assert_eq!(
            of("x", Some(&json!({ "needs": ["redis"] })), &none).unwrap(),
            None,
            "only what its tests need"
        );
        let one = of("x", Some(&json!({ "suite": "store" })), &none).unwrap();
        assert_eq!(one, Some(vec![subject("x", "conformance")]));
        let table = json!({ "suite": "store", "tests": ["conformance", "conformance_cluster"] });
        let needs = BTreeSet::from([Need::Redis]);
        let two = of("x", Some(&table), &needs).unwrap().unwrap();
        assert_eq!(
            two.iter().map(|s| s.program.as_str()).collect::<Vec<_>>(),
            ["conformance", "conformance_cluster"]
        );
        assert!(two.iter().all(|subject| subject.needs == needs));
        assert!(
            of("x", Some(&json!({ "suite": "store", "tests": "conformance" })), &none).is_err()
        );
        let table = json!({ "suite": "policy", "tests": ["it"], "filter": "contract" });
        let policy = of("x", Some(&table), &needs).unwrap().unwrap();
        assert!(
            policy[0].needs.is_empty(),
            "a policy needs no server, whatever else its crate tests"
        );
        assert_eq!(
            (policy[0].program.as_str(), policy[0].filter.as_deref()),
            ("it", Some("contract"))
        );
    }

    #[test]
    fn a_subject_is_found_by_the_end_of_its_name() {
        let sqlite = subject("context-store-sqlite", "conformance");
        assert!(
            sqlite.is(None) && sqlite.is(Some("sqlite")) && sqlite.is(Some("context-store-sqlite"))
        );
        assert!(!sqlite.is(Some("lite")) && !sqlite.is(Some("conformance")));
        let cluster = subject("context-store-redis", "conformance_cluster");
        assert!(
            cluster.is(Some("redis"))
                && cluster.is(Some("cluster"))
                && cluster.is(Some("redis-cluster"))
        );
        assert!(!cluster.is(Some("sqlite-cluster")) && !cluster.is(Some("-cluster")));
    }
}
