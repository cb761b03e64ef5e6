//! A workspace as cargo sees it. Reads metadata only and builds nothing.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Package, PackageName};

/// The start of the names of our packages: on the public registry, `context-core` and others are
/// taken. A crate keeps the name of its folder, by which all tasks speak of it; only cargo is asked
/// for packages.
pub(crate) const PREFIX: &str = "context-layer-";

/// Returns the name of the package of a crate: `context-layer-core` of `context-core`.
pub(crate) fn package_name(krate: &str) -> String {
    match krate.strip_prefix("context-") {
        Some(rest) if !krate.starts_with(PREFIX) => format!("{PREFIX}{rest}"),
        _ => krate.to_owned(),
    }
}

/// Returns the name of the crate in a package: `context-core` of `context-layer-core`.
pub(crate) fn crate_name(package: &str) -> String {
    match package.strip_prefix(PREFIX) {
        Some(rest) => format!("context-{rest}"),
        None => package.to_owned(),
    }
}

/// The name of the facade.
pub(crate) const FACADE: &str = "context-runtime";
/// The name of the conformance crate.
pub(crate) const KIT: &str = "context-conformance";

/// The crate of the command.
pub(crate) const COMMAND: &str = "context-cli";

/// The crate with the fuzz targets.
pub(crate) const FUZZ: &str = "context-fuzz";

/// The crate that damages files and kills writers.
pub(crate) const TORTURE: &str = "context-torture";

/// The crate that simulates whole days.
pub(crate) const DAY: &str = "context-day";

/// A workspace, as `cargo metadata` describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    /// Opens the workspace of this program, from any current folder.
    pub(crate) fn ours() -> Result<Self> {
        let crate_folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let crate_folder = crate_folder.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        Self::at(&crate_folder.join("Cargo.toml"))
    }

    /// Opens the workspace of a manifest.
    pub(crate) fn at(manifest: &Path) -> Result<Self> {
        let mut metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .exec()
            .with_context(|| format!("no metadata of {}", manifest.display()))?;
        for package in &mut metadata.packages {
            package.name = PackageName::new(crate_name(&package.name));
            for dependency in &mut package.dependencies {
                dependency.name = crate_name(&dependency.name);
            }
        }
        Ok(Self { metadata })
    }

    /// Returns the root folder.
    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Returns the folder for build output.
    pub(crate) fn target_folder(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// Opens the workspaces next to this one that are tested with it: the folders in
    /// `workspace.metadata.context-conformance.outside` of the manifest.
    pub(crate) fn outside(&self) -> Result<Vec<Self>> {
        let list = self.metadata.workspace_metadata.pointer("/context-conformance/outside");
        let folders = list.and_then(|list| list.as_array()).into_iter().flatten();
        let open = |folder: &serde_json::Value| {
            let folder =
                folder.as_str().with_context(|| format!("{folder} is no folder of a workspace"))?;
            let outside = Self::at(&self.root().join(folder).join("Cargo.toml"))?;
            ensure!(
                outside.root() != self.root(),
                "{folder} is a member of the workspace, not outside it"
            );
            Ok(outside)
        };
        folders.map(open).collect()
    }

    /// Returns a text of the table `workspace.metadata` of the manifest, by its JSON pointer.
    pub(crate) fn setting(&self, pointer: &str) -> Option<&str> {
        self.metadata.workspace_metadata.pointer(pointer)?.as_str()
    }

    /// Returns the crates of the workspace, ordered by name.
    pub(crate) fn crates(&self) -> Vec<&Package> {
        let mut crates = self.metadata.workspace_packages();
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        crates
    }

    /// Returns a crate of the workspace.
    pub(crate) fn krate(&self, name: &str) -> Option<&Package> {
        self.crates().into_iter().find(|package| *package.name == name)
    }

    /// Returns a package that the workspace is or depends on, in any version.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.metadata.packages.iter().find(|package| *package.name == name)
    }

    /// Whether a crate has a target of this kind and name.
    pub(crate) fn has_target(&self, krate: &str, kind: &str, name: &str) -> bool {
        self.krate(krate).is_some_and(|package| targets(package, kind).contains(name))
    }

    /// Returns the folder of external test data: `CONTEXT_TEST_DATA`, else `../shared`.
    pub(crate) fn data_root(&self) -> PathBuf {
        match env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty()) {
            // Cargo runs each test in the folder of its crate, where a relative path would have
            // another meaning.
            Some(folder) => std::path::absolute(&folder).unwrap_or_else(|_| folder.into()),
            None => self.root().parent().unwrap_or(self.root()).join("shared"),
        }
    }
}

/// Whether a crate is meant for a registry.
pub(crate) fn is_public(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

/// Returns the names of a crate's targets of one kind: `test`, `bench`, …
pub(crate) fn targets(package: &Package, kind: &str) -> BTreeSet<String> {
    let of_kind =
        |target: &&cargo_metadata::Target| target.kind.iter().any(|k| k.to_string() == kind);
    package.targets.iter().filter(of_kind).map(|target| target.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::{crate_name, package_name};

    #[test]
    fn a_crate_and_its_package_name_each_other() {
        assert_eq!(package_name("context-core"), "context-layer-core");
        assert_eq!(package_name("context-layer-core"), "context-layer-core");
        assert_eq!(package_name("context-store-*"), "context-layer-store-*");
        assert_eq!(package_name("xtask"), "xtask");
        assert_eq!(crate_name("context-layer-core"), "context-core");
        assert_eq!(crate_name("serde"), "serde");
    }
}
