//! The search for the programs of the servers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::error::ServerError;

const PREFIXES: [&str; 2] = ["/opt/homebrew/opt", "/usr/local/opt"];

/// Returns the folder of `initdb` and `postgres`.
pub(crate) fn postgres() -> Result<PathBuf, ServerError> {
    let found = postgres_versions().into_iter().next();
    found.ok_or_else(|| ServerError::NotInstalled { program: "postgres", searched: folders() })
}

/// Returns the folders of `initdb` and `postgres` of each version, the preferred one first.
pub(crate) fn postgres_versions() -> Vec<PathBuf> {
    let is_there =
        |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders().into_iter().filter(is_there) {
        // The links of Debian on PATH lead to a folder that has the other programs, too.
        let program = folder.join("postgres");
        let real = fs::canonicalize(&program).unwrap_or(program);
        let real = real.parent().filter(|real| real.join("initdb").is_file()).unwrap_or(&folder);
        if !found.iter().any(|known| known == real) {
            found.push(real.to_path_buf());
        }
    }
    found
}

/// Returns the folders in which the programs of PostgreSQL may be.
fn folders() -> Vec<PathBuf> {
    let mut folders = named("CONTEXT_PG_BIN");
    folders.extend(path());
    folders.extend(versions(Path::new("/usr/lib/postgresql"), ""));
    folders.extend(PREFIXES.iter().flat_map(|prefix| versions(Path::new(prefix), "postgresql@")));
    folders.extend(PREFIXES.iter().map(|prefix| Path::new(prefix).join("postgresql/bin")));
    folders.extend(cache("postgresql"));
    folders
}

/// Returns the program `redis-server` or a replacement of it.
pub(crate) fn redis() -> Result<PathBuf, ServerError> {
    let mut folders = named("CONTEXT_REDIS_BIN");
    folders.extend(path());
    for name in ["redis", "valkey"] {
        folders.extend(PREFIXES.iter().map(|prefix| Path::new(prefix).join(name).join("bin")));
    }
    folders.extend(cache("redis"));
    let programs = folders
        .iter()
        .flat_map(|folder| ["redis-server", "valkey-server"].map(|name| folder.join(name)));
    let found = programs.into_iter().find(|program| program.is_file());
    found.ok_or(ServerError::NotInstalled { program: "redis-server", searched: folders })
}

/// Returns the program `moto_server`.
pub(crate) fn moto() -> Result<PathBuf, ServerError> {
    let mut folders = named("CONTEXT_MOTO_BIN");
    folders.extend(path());
    folders.extend(cache("moto"));
    let found = folders.iter().map(|folder| folder.join("moto_server")).find(|it| it.is_file());
    found.ok_or(ServerError::NotInstalled { program: "moto_server", searched: folders })
}

/// Returns the version that a program prints: the first number after `behind`.
pub(crate) fn version(program: &Path, behind: &str) -> Result<String, ServerError> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(ServerError::io(format!("run {}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_once(behind).map(|(_, rest)| {
        rest.chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect()
    });
    Ok(number.unwrap_or_default())
}

/// Returns the folder that a variable names, or the folder of the program that it names.
fn named(variable: &str) -> Vec<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = |path: PathBuf| {
        if path.is_file() { path.parent().map(Path::to_path_buf) } else { Some(path) }
    };
    value.and_then(folder).into_iter().collect()
}

fn path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// Returns the folders `<prefix><number>/bin` in a folder, the highest number first.
fn versions(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut found: Vec<_> = entries
        .filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path().join("bin"))))
        .collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, bin)| bin).collect()
}

fn cache(name: &str) -> Option<PathBuf> {
    let absolute =
        |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("context-servers").join(name).join("bin"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::versions;

    #[test]
    fn the_highest_version_comes_first_and_numbers_are_no_text() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["9", "15", "16.old", "postgresql@17"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name).join("bin");
        assert_eq!(versions(folder.path(), ""), [at("15"), at("9")]);
        assert_eq!(versions(folder.path(), "postgresql@"), [at("postgresql@17")]);
    }
}
