//! The needs of the tests of a crate besides cargo, from its manifest.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use cargo_metadata::Package;

/// A need of the tests of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A temporary folder, which is always available. Named for the conformance table.
    Folder,
    /// A PostgreSQL server.
    Postgres,
    /// A Redis server, and a Redis Cluster, which the same program provides.
    Redis,
    /// An S3 server.
    S3,
    /// A browser, Chromium.
    Browser,
}

impl Need {
    /// Returns the needs that are servers.
    pub fn servers() -> BTreeSet<Self> {
        [Self::Postgres, Self::Redis, Self::S3].into()
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "folder" => Some(Self::Folder),
            "postgres" => Some(Self::Postgres),
            "redis" => Some(Self::Redis),
            "s3" => Some(Self::S3),
            "browser" => Some(Self::Browser),
            _ => None,
        }
    }
}

/// Returns the needs of the tests of a crate: the list `needs` of its table in the manifest, or
/// nothing.
pub(crate) fn of(package: &Package) -> Result<BTreeSet<Need>> {
    let list = package.metadata.get("context-conformance").and_then(|table| table.get("needs"));
    let Some(list) = list else { return Ok(BTreeSet::new()) };
    let words =
        list.as_array().with_context(|| format!("`needs` of {} is no list", package.name))?;
    let need = |word: &serde_json::Value| match word.as_str().and_then(Need::parse) {
        Some(need) => Ok(need),
        None => {
            bail!(
                "{} needs {word}; known are folder, postgres, redis, s3 and browser",
                package.name
            )
        }
    };
    words.iter().map(need).collect()
}

/// Returns the needs of the tests of several crates.
pub(crate) fn of_all<'a>(
    packages: impl IntoIterator<Item = &'a Package>,
) -> Result<BTreeSet<Need>> {
    let mut all = BTreeSet::new();
    for package in packages {
        all.extend(of(package)?);
    }
    Ok(all)
}
