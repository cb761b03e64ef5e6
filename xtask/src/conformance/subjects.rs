//! The crates to test and their test programs. A plug-in without conformance metadata is reported
//! as an error.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Package;

use super::SUITES;
use crate::services::need::{self, Need};
use crate::workspace::targets;

/// The prefixes of crates that must take part. Renderers and memories share a crate, and codecs are
/// tested together in the facade.
const PLUG_INS: [&str; 2] = ["context-store-", "context-policy-"];
/// The end of the names of crates that hold what the plug-ins of a family share.
const KIT: &str = "-kit";
/// The suites that need no server.
const PURE: [&str; 3] = ["renderer", "codec", "policy"];
/// The test program of a crate that lists none, and the prefix of other test programs.
const PROGRAM: &str = "conformance";

/// A test program that takes part. A crate may have one for each kind of store it provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The crate.
    pub krate: String,
    /// Its package, as cargo identifies it in its workspace.
    pub package: String,
    /// The suite of the subject.
    pub suite: String,
    /// The test program.
    pub program: String,
    /// A part of the names of its tests to run. `None` runs all.
    pub filter: Option<String>,
    /// The needs of the tests.
    pub needs: BTreeSet<Need>,
}

impl Subject {
    /// Whether this subject is the requested one: by the name of the crate or its end (`sqlite`),
    /// by the end of the program's name (`conformance_cluster` is `cluster`), or by both
    /// (`redis-cluster`).
    pub fn is(&self, is_requested: Option<&str>) -> bool {
        let Some(is_requested) = is_requested else { return true };
        let program = self.program.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('_'));
        let is_krate = |name: &str| self.krate == name || self.krate.ends_with(&format!("-{name}"));
        let both = |program: &str| is_requested.strip_suffix(program)?.strip_suffix('-');
        is_krate(is_requested)
            || program == Some(is_requested)
            || program.and_then(both).is_some_and(is_krate)
    }
}

/// Returns the subjects among crates, and the plug-ins without metadata.
pub(crate) fn subjects(crates: &[&Package]) -> Result<(Vec<Subject>, Vec<String>)> {
    let (mut subjects, mut forgotten) = (Vec::new(), Vec::new());
    for package in crates {
        match of(&package.name, package.metadata.get("context-conformance"), &need::of(package)?)? {
            Some(of_crate) => {
                let programs = targets(package, "test");
                for subject in of_crate {
                    let Subject { krate, program, .. } = &subject;
                    ensure!(
                        programs.contains(program),
                        "{krate} has no test program {program:?}; its manifest names others as `tests`"
                    );
                    let package = package.id.repr.clone();
                    subjects.push(Subject { package, ..subject });
                }
            }
            None if must_take_part(&package.name) => forgotten.push(package.name.to_string()),
            None => {}
        }
    }
    Ok((subjects, forgotten))
}

/// Whether a crate is a plug-in that a suite has to prove.
fn must_take_part(krate: &str) -> bool {
    PLUG_INS.iter().any(|plug_in| krate.starts_with(plug_in)) && !krate.ends_with(KIT)
}

/// Returns the subjects of a crate with this table in its manifest, or `None` if it names no suite.
fn of(
    krate: &str,
    table: Option<&serde_json::Value>,
    needs: &BTreeSet<Need>,
) -> Result<Option<Vec<Subject>>> {
    let suites = || std::iter::once("store").chain(SUITES);
    let suite = match table.and_then(|table| table.get("suite")) {
        None if table.is_some_and(|table| table.get("tests").is_some()) => {
            bail!("{krate} names `tests` and no `suite` in its metadata");
        }
        None => return Ok(None),
        Some(suite) => suites().find(|known| suite == known).with_context(|| {
            let known: Vec<_> = suites().collect();
            format!("{krate} has no suite {suite}; known are {}", known.join(", "))
        })?,
    };
    let programs = match table.and_then(|table| table.get("tests")) {
        Some(tests) => serde_json::from_value(tests.clone())
            .with_context(|| format!("`tests` of {krate} is no list of test programs"))?,
        None => vec![PROGRAM.to_owned()],
    };
    // These suites need nothing. The needs of the crate are those of its other tests.
    let needs = if PURE.contains(&suite) { &BTreeSet::new() } else { needs };
    let filter = table.and_then(|table| table.get("filter")).and_then(|filter| filter.as_str());
    let subject = |program| Subject {
        krate: krate.into(),
        package: String::new(),
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

    use super::{Subject, must_take_part, of};
    use crate::services::need::Need;

    #[test]
    fn stores_and_policies_have_to_take_part_and_kits_have_not() {
        assert!(must_take_part("context-store-x") && must_take_part("context-policy-x"));
        assert!(!must_take_part("context-store-kit") && !must_take_part("context-render"));
    }

    fn subject(krate: &str, program: &str) -> Subject {
        Subject {
            krate: krate.into(),
            package: String::new(),
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
        assert!(of("x", Some(&json!({ "suite": "stores" })), &none).is_err());
        assert!(of("x", Some(&json!({ "tests": ["it"] })), &none).is_err());
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
