//! `cargo xtask layers`: who may depend on whom, and what the pure crates may touch.
//!
//! The rules are those of the architecture page:
//!
//! 1. Core's normal tree holds no runtime, driver, client or tracing.
//! 2. A plug-in depends on core and on no sibling, but for two: the client of HTTP is there for
//!    every plug-in that speaks to a service, and models over HTTP speak the wire codecs. Beside
//!    that only the facade names plug-ins, each behind a feature; the command depends on the facade
//!    alone.
//! 3. The conformance kit and what starts servers are dev-dependencies only, and the kit is never
//!    one of core. What starts servers depends on none of ours, so tasks may link it. What asks
//!    parsers anything, and what damages files under the command, are above all of them; nothing
//!    depends on them.
//! 4. Core, renderers, policies and wire codecs are pure: no clock, no files, no network, and but
//!    for core's traits nothing to await.
//! 5. No variant of a public enum is behind a feature.
//!
//! This module judges data ([`Graph`], [`SourceFile`]); where it comes from is in [`graph`].

pub mod graph;
mod purity;

use std::fmt;

use anyhow::Result;

pub use graph::{Dependency, Graph, Kind, Package};
pub use purity::check_sources;

use crate::process::Verdict;
use crate::source::{self, SourceFile};
use crate::workspace::Workspace;

const CORE: &str = "context-core";
const FACADE: &str = crate::workspace::FACADE;
const COMMAND: &str = "context-cli";
const KIT: &str = crate::workspace::KIT;
const SERVERS: &str = "context-servers";
const FUZZ: &str = crate::workspace::FUZZ;
const TORTURE: &str = crate::workspace::TORTURE;
const CLIENT: &str = "context-http";
const MODELS: &str = "context-model-http";
const CODECS: &str = "context-codec-";
const TASKS: &str = "xtask";

/// What core must not reach, by package name; a name that ends with a hyphen stands for a family.
const NOT_IN_CORE: [&str; 8] =
    ["tokio", "tokio-", "sqlx", "sqlx-", "redis", "reqwest", "moka", "tracing"];

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule's number.
    pub rule: u8,
    /// What breaks it.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(rule: u8, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.what)
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let graph = graph::read(workspace)?;
    let sources: Vec<SourceFile> = source::files(workspace.root())?;
    let mut violations = check(&graph);
    violations.extend(check_sources(&sources));
    for violation in &violations {
        println!("{violation}");
    }
    if violations.is_empty() {
        println!("layers: {} crates, every rule holds", graph.packages.len());
    }
    Ok(Verdict::of(violations.is_empty()))
}

/// What a crate is for, told by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Core,
    Client,
    PlugIn,
    Facade,
    Command,
    Kit,
    Servers,
    Fuzz,
    Torture,
    Tasks,
}

fn role(name: &str) -> Role {
    match name {
        CORE => Role::Core,
        CLIENT => Role::Client,
        FACADE => Role::Facade,
        COMMAND => Role::Command,
        KIT => Role::Kit,
        SERVERS => Role::Servers,
        FUZZ => Role::Fuzz,
        TORTURE => Role::Torture,
        TASKS => Role::Tasks,
        _ => Role::PlugIn,
    }
}

/// The rules about dependencies: 1, 2 and 3.
pub fn check(graph: &Graph) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in &graph.packages {
        if role(&package.name) == Role::Core {
            core_tree(package, &mut found);
        }
        for dependency in package.dependencies.iter().filter(|d| graph.has(&d.name)) {
            found.extend(edge(package, dependency));
        }
    }
    found
}

fn core_tree(core: &Package, found: &mut Vec<Violation>) {
    let banned = |name: &&String| {
        NOT_IN_CORE.iter().any(|ban| *name == ban || (ban.ends_with('-') && name.starts_with(ban)))
    };
    for name in core.tree.iter().filter(banned) {
        found.push(Violation::new(1, format!("{} reaches {name}", core.name)));
    }
}

/// Judges one dependency between two crates of the workspace.
fn edge(from: &Package, to: &Dependency) -> Option<Violation> {
    let broken = |rule, why: &str| {
        Some(Violation::new(rule, format!("{} depends on {}: {why}", from.name, to.name)))
    };
    let (source, target) = (role(&from.name), role(&to.name));
    if target == Role::Kit && (to.kind != Kind::Dev || source == Role::Core) {
        return broken(3, "the conformance kit is for the tests of plug-ins and the facade");
    }
    if matches!(target, Role::Fuzz | Role::Torture) {
        return broken(3, "what asks parsers anything is for nobody to depend on");
    }
    if source == Role::Servers {
        return broken(3, "what starts servers depends on none of our crates");
    }
    if target == Role::Servers && to.kind != Kind::Dev && source != Role::Tasks {
        return broken(3, "servers are for tests and tasks");
    }
    if to.kind == Kind::Dev {
        return None;
    }
    match (source, target) {
        (Role::Core, _) => broken(2, "core depends on none of our crates"),
        (Role::Tasks, Role::Servers) => None,
        (Role::Tasks, _) => broken(2, "tasks link none of our crates"),
        (Role::Command, Role::Facade) | (Role::Fuzz, Role::Facade | Role::PlugIn | Role::Core) => {
            None
        }
        (Role::Torture, Role::Command | Role::Facade) => None,
        (Role::Command, _) => broken(2, "the command depends on the facade alone"),
        (_, Role::Core) | (Role::PlugIn, Role::Client) => None,
        (Role::PlugIn, Role::PlugIn) if from.name == MODELS && to.name.starts_with(CODECS) => None,
        (Role::Facade, Role::PlugIn) if !to.optional => {
            broken(2, "the facade's plug-ins are optional")
        }
        (Role::Facade, Role::PlugIn) if !from.enables(&to.name) => {
            broken(2, "no feature brings it")
        }
        (Role::Facade, Role::PlugIn) => None,
        (_, Role::Client) => broken(2, "only plug-ins speak to services"),
        (_, Role::PlugIn) => broken(2, "only the facade names plug-ins"),
        _ => broken(2, "it is a layer above"),
    }
}
