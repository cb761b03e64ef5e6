//! The crates and their dependencies, reduced to what the rules need, and how they are read from
//! cargo.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use cargo_metadata::DependencyKind;

use super::CORE;
use crate::process::Cargo;
use crate::workspace::{Workspace, crate_name};

/// The crates of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The crates.
    pub packages: Vec<Package>,
}

/// A crate.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// The name.
    pub name: String,
    /// The dependencies in its manifest, inside and outside the workspace.
    pub dependencies: Vec<Dependency>,
    /// The features, each with what it enables.
    pub features: BTreeMap<String, Vec<String>>,
    /// Every package in the tree of its normal dependencies. Only filled for core.
    pub tree: BTreeSet<String>,
    /// The order of its top-level modules, if its manifest has one: each uses only those before it.
    pub modules: Option<Vec<String>>,
}

/// A dependency in a manifest.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// The table in which the dependency is listed.
    pub kind: Kind,
    /// Whether the dependency is optional.
    pub optional: bool,
}

/// The table of a manifest in which a dependency is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[dependencies]` or `[build-dependencies]`.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
}

impl Graph {
    /// Whether this is a crate of the workspace.
    pub fn has(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }
}

impl Package {
    /// Whether a feature enables the optional dependency. The implicit feature of the dependency's
    /// own name, which cargo adds without `dep:`, does not count.
    pub fn enables(&self, dependency: &str) -> bool {
        let marker = format!("dep:{dependency}");
        self.features
            .iter()
            .any(|(feature, brings)| feature != dependency && brings.contains(&marker))
    }
}

/// Reads the graph of a workspace.
pub(crate) fn read(workspace: &Workspace) -> Result<Graph> {
    let packages = workspace.crates().into_iter().map(|package| {
        let name = package.name.to_string();
        let tree = if name == CORE { normal_tree(workspace, &name)? } else { BTreeSet::new() };
        let dependencies = package.dependencies.iter().map(|dependency| Dependency {
            name: dependency.name.clone(),
            kind: match dependency.kind {
                DependencyKind::Development => Kind::Dev,
                _ => Kind::Normal,
            },
            optional: dependency.optional,
        });
        let list = &package.metadata["layers"]["modules"];
        let modules = list
            .as_array()
            .map(|list| list.iter().filter_map(|name| name.as_str().map(String::from)).collect());
        Ok(Package {
            name,
            dependencies: dependencies.collect(),
            features: package.features.clone(),
            tree,
            modules,
        })
    });
    Ok(Graph { packages: packages.collect::<Result<_>>()? })
}

/// Returns the packages that a crate reaches with all its features, on any platform.
fn normal_tree(workspace: &Workspace, name: &str) -> Result<BTreeSet<String>> {
    let output = Cargo::new(workspace.root(), "tree")
        .args(["--locked", "--edges", "normal", "--all-features", "--target", "all"])
        .args(["--prefix", "none", "--format", "{p}", "--package", name])
        .output()?;
    ensure!(output.status.success(), "cargo tree of {name} failed");
    let text = String::from_utf8(output.stdout).context("cargo tree printed no UTF-8")?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(crate_name).collect())
}
