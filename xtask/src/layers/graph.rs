//! The crates and their dependencies, as small as the rules need them, and how cargo tells them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use cargo_metadata::DependencyKind;

use super::CORE;
use crate::process::Cargo;
use crate::workspace::Workspace;

/// The crates of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The crates.
    pub packages: Vec<Package>,
}

/// A crate.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// What its manifest names, our crates and others.
    pub dependencies: Vec<Dependency>,
    /// Its features and what each turns on.
    pub features: BTreeMap<String, Vec<String>>,
    /// Every package it reaches by normal dependencies. Only filled for core.
    pub tree: BTreeSet<String>,
}

/// An entry of a manifest.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The package.
    pub name: String,
    /// The table it stands in.
    pub kind: Kind,
    /// Whether a feature has to bring it.
    pub optional: bool,
}

/// The table of a manifest a dependency stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[dependencies]` or `[build-dependencies]`.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
}

impl Graph {
    /// Whether this is one of the workspace's crates.
    pub fn has(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }
}

impl Package {
    /// Whether a feature turns the optional dependency on. A feature of the dependency's own name,
    /// which cargo makes up when nothing says `dep:`, does not count.
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
        Ok(Package {
            name,
            dependencies: dependencies.collect(),
            features: package.features.clone(),
            tree,
        })
    });
    Ok(Graph { packages: packages.collect::<Result<_>>()? })
}

/// The packages a crate reaches with all its features on, on any platform.
fn normal_tree(workspace: &Workspace, name: &str) -> Result<BTreeSet<String>> {
    let output = Cargo::new(workspace.root(), "tree")
        .args(["--locked", "--edges", "normal", "--all-features", "--target", "all"])
        .args(["--prefix", "none", "--format", "{p}", "--package", name])
        .output()?;
    ensure!(output.status.success(), "cargo tree of {name} failed");
    let text = String::from_utf8(output.stdout).context("cargo tree printed no UTF-8")?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(String::from).collect())
}
