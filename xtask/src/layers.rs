//! `cargo xtask layers`: the allowed dependencies between crates, and the purity of the pure
//! crates.
//!
//! The rules are those of the architecture page:
//! 1. The normal dependency tree of core has no runtime, driver, client or tracing.
//! 2. A plug-in depends on core and on no other plug-in, with three exceptions: every plug-in that
//!    talks to a service may use the HTTP client, models over HTTP and transcripts use the wire
//!    codecs, and exports of trajectories use their recorder. Apart from that, only the facade
//!    depends on plug-ins, each behind a feature, except for the few that it works with whatever is
//!    on. The server depends on the facade alone, and the command on both.
//! 3. The conformance kit, the simulator and the crate that starts servers are dev-dependencies
//!    only, and core has neither of the first two. The kit uses the simulator, never the other way
//!    round. Both use the crates of shared parts. The crate that starts servers depends on no crate
//!    of the workspace, so tasks may link it. The crates for fuzzing, for torture tests and for
//!    simulated days are at the top: no crate depends on them. Of these, the last is built on the
//!    simulator.
//! 4. Core, renderers, policies, wire codecs and transcripts are pure: no clock, no files, no
//!    network, and no `async` except for core's traits.
//! 5. No variant of a public enum is behind a feature.
//! 6. In a crate that lists its modules in order, a module uses only those before it.
//!
//! This module checks data ([`Graph`], [`SourceFile`]). [`graph`] reads the data.

pub mod graph;
mod modules;
mod purity;

use std::fmt;

use anyhow::Result;

pub use graph::{Dependency, Graph, Kind, Package};
pub use modules::check_modules;
pub use purity::check_sources;

use crate::process::Verdict;
use crate::source::{self, SourceFile};
use crate::workspace::Workspace;

const CORE: &str = "context-core";
const FACADE: &str = crate::workspace::FACADE;
const SERVER: &str = "context-server";
const COMMAND: &str = crate::workspace::COMMAND;
const KIT: &str = crate::workspace::KIT;
const SIMULATOR: &str = "context-simulator";
const SERVERS: &str = "context-servers";
const FUZZ: &str = crate::workspace::FUZZ;
const TORTURE: &str = crate::workspace::TORTURE;
const DAY: &str = crate::workspace::DAY;
const CLIENT: &str = "context-http";
const CODECS: &str = "context-codec-";
/// The plug-ins that speak the wire forms of several providers.
const USERS_OF_CODECS: [&str; 2] = ["context-model-http", "context-transcript"];
/// The plug-ins that the facade works with, whatever features are on. A feature adds their names.
const BUILT_IN: [&str; 4] = [
    "context-instructions",
    "context-policy-strip-images",
    "context-policy-truncate-head",
    "context-render",
];
const TRAJECTORY: &str = "context-trajectory";
const EXPORT: &str = "context-trajectory-export";
const TASKS: &str = "xtask";

/// The crates of parts that one family shares, each with the families that may use it.
const SHARED: [(&str, &[&str]); 4] = [
    ("context-cipher", &["context-store-layers"]),
    (
        "context-codec-kit",
        &["context-codec-", "context-model-http", "context-trajectory", "context-transcript"],
    ),
    ("context-secrets", &["context-store-layers", "context-memory"]),
    ("context-store-kit", &["context-store-", "context-memory"]),
];

/// Packages that core must not reach. A name that ends with a hyphen stands for a family.
const NOT_IN_CORE: [&str; 8] =
    ["tokio", "tokio-", "sqlx", "sqlx-", "redis", "reqwest", "moka", "tracing"];

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the rule.
    pub rule: u8,
    /// A description of the violation.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(rule: u8, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.message)
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let graph = graph::read(workspace)?;
    let sources: Vec<SourceFile> = source::files(workspace.root())?;
    let mut violations = check(&graph);
    violations.extend(check_sources(&sources));
    violations.extend(check_modules(&graph, &sources));
    for violation in &violations {
        println!("{violation}");
    }
    if violations.is_empty() {
        println!("layers: {} crates, every rule holds", graph.packages.len());
    }
    Ok(Verdict::of(violations.is_empty()))
}

/// The role of a crate, derived from its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Core,
    Shared,
    Client,
    PlugIn,
    Facade,
    Server,
    Command,
    Kit,
    Simulator,
    Servers,
    Fuzz,
    Torture,
    Day,
    Tasks,
}

fn role(name: &str) -> Role {
    match name {
        CORE => Role::Core,
        name if SHARED.iter().any(|(shared, _)| *shared == name) => Role::Shared,
        CLIENT => Role::Client,
        FACADE => Role::Facade,
        SERVER => Role::Server,
        COMMAND => Role::Command,
        KIT => Role::Kit,
        SIMULATOR => Role::Simulator,
        SERVERS => Role::Servers,
        FUZZ => Role::Fuzz,
        TORTURE => Role::Torture,
        DAY => Role::Day,
        TASKS => Role::Tasks,
        _ => Role::PlugIn,
    }
}

/// Checks the rules about dependencies: 1, 2 and 3.
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

/// Returns whether a plug-in is of a family that may use a crate of shared parts.
fn shares(shared: &str, plug_in: &str) -> bool {
    let of = |(name, _): &&(&str, &[&str])| *name == shared;
    let families = SHARED.iter().find(of).map_or(&[][..], |(_, families)| families);
    families.iter().any(|family| plug_in.starts_with(family))
}

/// Checks one dependency between two crates of the workspace.
fn edge(from: &Package, to: &Dependency) -> Option<Violation> {
    let broken = |rule, why: &str| {
        Some(Violation::new(rule, format!("{} depends on {}: {why}", from.name, to.name)))
    };
    let (source, target) = (role(&from.name), role(&to.name));
    if target == Role::Kit && source == Role::Simulator {
        return broken(3, "the conformance kit is built on the simulator");
    }
    if target == Role::Kit && (to.kind != Kind::Dev || source == Role::Core) {
        return broken(3, "the conformance kit is for the tests of plug-ins and the facade");
    }
    if target == Role::Simulator {
        let is_kit = matches!(source, Role::Kit | Role::Day) && to.kind == Kind::Normal;
        let is_test = to.kind == Kind::Dev && source != Role::Core;
        return match is_kit || is_test {
            true => None,
            false => broken(3, "the simulator is for tests"),
        };
    }
    if matches!(target, Role::Fuzz | Role::Torture | Role::Day) {
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
        (Role::Command, Role::Facade | Role::Server)
        | (Role::Server, Role::Facade)
        | (Role::Fuzz, Role::Facade | Role::PlugIn | Role::Core) => None,
        (Role::Torture, Role::Command | Role::Facade) | (Role::Day, Role::Facade) => None,
        (Role::Command, _) => broken(2, "the command depends on the facade and the server alone"),
        (Role::Server, _) => broken(2, "the server depends on the facade alone"),
        (_, Role::Core) | (Role::PlugIn, Role::Client) => None,
        (Role::Facade | Role::Kit | Role::Simulator | Role::Fuzz, Role::Shared) => None,
        (Role::PlugIn, Role::Shared) if shares(&to.name, &from.name) => None,
        (_, Role::Shared) => broken(2, "it belongs to another family of plug-ins"),
        (Role::PlugIn, Role::PlugIn)
            if USERS_OF_CODECS.contains(&from.name.as_str()) && to.name.starts_with(CODECS) =>
        {
            None
        }
        (Role::PlugIn, Role::PlugIn) if from.name == EXPORT && to.name == TRAJECTORY => None,
        (Role::Facade, Role::PlugIn) if BUILT_IN.contains(&to.name.as_str()) => match to.optional {
            true => broken(2, "a feature must only add names"),
            false => None,
        },
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
