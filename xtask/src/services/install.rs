//! Installation of servers from the packages of the system.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use context_servers::{Postgres, Redis};

use super::{browser, moto};
use crate::process::Verdict;

/// The environment variable that keeps every task from installing anything unasked.
pub(crate) const FORBID: &str = "CONTEXT_NO_INSTALL";

/// A program that can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Postgres,
    Redis,
    Moto,
    Chromium,
}

impl Program {
    /// Returns the name of the program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
            Self::Moto => "Moto",
            Self::Chromium => "Chromium",
        }
    }

    pub(crate) fn is_there(self) -> bool {
        match self {
            Self::Postgres => Postgres::programs().is_ok(),
            Self::Redis => Redis::program().is_ok(),
            Self::Moto => moto::program().is_ok(),
            Self::Chromium => browser::program().is_some(),
        }
    }
}

/// The package manager of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Debian { root: bool },
    Homebrew,
    Other,
}

impl System {
    fn this() -> Self {
        if cfg!(target_os = "macos") {
            Self::Homebrew
        } else if Path::new("/etc/debian_version").exists() {
            Self::Debian { root: rustix::process::geteuid().is_root() }
        } else {
            Self::Other
        }
    }

    /// Returns the commands to run, in order.
    fn commands(self, programs: &[Program]) -> Vec<Vec<&'static str>> {
        // Moto comes from PyPI, whatever the system.
        let of_pypi = programs.contains(&Program::Moto);
        let pip = of_pypi.then(|| [&["pip", "install"][..], &moto::PACKAGES].concat());
        let programs: Vec<_> =
            programs.iter().copied().filter(|program| *program != Program::Moto).collect();
        if programs.is_empty() {
            return pip.into_iter().collect();
        }
        let packages = programs.iter().map(|program| match (self, program) {
            (Self::Homebrew, Program::Postgres) | (_, Program::Postgres) => "postgresql",
            (Self::Homebrew, Program::Redis) => "redis",
            (_, Program::Redis) => "redis-server",
            (_, Program::Chromium) => "chromium",
            (_, Program::Moto) => "moto",
        });
        let sudo = if self == (Self::Debian { root: false }) { &["sudo"][..] } else { &[] };
        let apt = |args: &[&'static str]| [sudo, &["apt-get"], args].concat();
        let mut install = match self {
            Self::Homebrew => vec!["brew", "install"],
            _ => apt(&["install", "-y", "--no-install-recommends"]),
        };
        install.extend(packages);
        let of_system = match self {
            Self::Homebrew => vec![install],
            _ => vec![apt(&["update"]), install],
        };
        of_system.into_iter().chain(pip).collect()
    }
}

/// Joins commands into a shell command line, including `sudo`.
fn line(commands: &[Vec<&str>]) -> String {
    commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ")
}

/// Returns the command line that installs these programs.
pub(crate) fn hint(programs: &[Program]) -> String {
    let system = System::this();
    let line = line(&system.commands(programs));
    if system == System::Other {
        format!("`{line}`, or what your system has instead")
    } else {
        format!("`{line}`")
    }
}

/// Installs programs without a request, if this is Debian or Ubuntu, the user is root, and nothing
/// forbids it. Announces the installation. The caller has to check whether the programs are there
/// afterwards.
pub(crate) fn unasked(programs: &[Program]) -> Result<()> {
    let system = System::this();
    // Never into the Python of the system: `moto` installs it elsewhere.
    let programs: Vec<_> =
        programs.iter().copied().filter(|program| *program != Program::Moto).collect();
    let programs = programs.as_slice();
    let forbidden = env::var_os(FORBID).is_some_and(|value| !value.is_empty() && value != "0");
    if programs.is_empty() || forbidden || system != (System::Debian { root: true }) {
        return Ok(());
    }
    let commands = system.commands(programs);
    eprintln!(
        "{} not installed; running `{}` ({FORBID}=1 forbids that)",
        names(programs),
        line(&commands)
    );
    if execute(&commands)? == Verdict::Failed {
        eprintln!("installing failed");
    }
    Ok(())
}

/// Installs, as [`unasked`], what else the distribution has for the tests of PostgreSQL: pgvector,
/// and a second version of the server.
pub(crate) fn more_postgres_unasked() -> Result<()> {
    let forbidden = env::var_os(FORBID).is_some_and(|value| !value.is_empty() && value != "0");
    if forbidden || System::this() != (System::Debian { root: true }) {
        return Ok(());
    }
    let search = ["search", "--names-only", r"^postgresql-[0-9]+(-pgvector)?$"];
    let Ok(known) = Command::new("apt-cache").args(search).output() else { return Ok(()) };
    let known = String::from_utf8_lossy(&known.stdout).into_owned();
    let there = |name: &str| Path::new("/usr/share/postgresql").join(name).exists();
    let packages = more_postgres(&known, there);
    if packages.is_empty() {
        return Ok(());
    }
    let mut install = vec!["apt-get", "install", "-y", "--no-install-recommends"];
    install.extend(packages);
    eprintln!(
        "more can be asked of PostgreSQL; running `{}` ({FORBID}=1 forbids that)",
        install.join(" ")
    );
    if execute(&[install])? == Verdict::Failed {
        eprintln!("installing failed; those tests are ignored");
    }
    Ok(())
}

/// Returns the packages to add. `known` has a line per package that exists, `there` says whether a
/// path below the folder of all versions exists.
fn more_postgres(known: &str, there: impl Fn(&str) -> bool) -> Vec<&str> {
    let name = |line: &'_ str| line.split(' ').next().map(str::len);
    let names = known.lines().filter_map(|line| line.get(..name(line)?));
    let version = |name: &str| -> Option<u32> {
        name.strip_prefix("postgresql-")?.split('-').next()?.parse().ok()
    };
    let mut versions: Vec<(u32, &str)> = names
        .clone()
        .filter(|name| !name.ends_with("-pgvector"))
        .filter_map(|name| Some((version(name)?, name)))
        .collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    let is_installed = |version: u32| there(&version.to_string());
    let Some((first, _)) = versions.iter().copied().find(|(version, _)| is_installed(*version))
    else {
        return Vec::new();
    };
    let second = versions.iter().filter(|(version, _)| is_installed(*version)).count() > 1;
    let other = versions.iter().find(|(version, _)| !second && *version != first);
    let vector = names.filter(|name| name.ends_with("-pgvector") && version(name) == Some(first));
    let vector = vector.filter(|_| !there(&format!("{first}/extension/vector.control")));
    other.map(|(_, name)| *name).into_iter().chain(vector).collect()
}

/// Runs `cargo xtask services install`.
pub(crate) fn run() -> Result<Verdict> {
    moto::install_unasked();
    let absent: Vec<_> =
        [Program::Postgres, Program::Redis].into_iter().filter(|p| !p.is_there()).collect();
    if absent.is_empty() {
        println!("PostgreSQL {} and Redis {} are there", Postgres::version()?, Redis::version()?);
        return Ok(Verdict::Passed);
    }
    match System::this() {
        System::Debian { root: true } | System::Homebrew => {
            let commands = System::this().commands(&absent);
            println!("running `{}`", line(&commands));
            let verdict = execute(&commands)?;
            Ok(verdict.and(Verdict::of(absent.iter().all(|program| program.is_there()))))
        }
        // A task must not ask for a password.
        System::Debian { root: false } | System::Other => {
            println!("{} not installed; run {}", names(&absent), hint(&absent));
            Ok(Verdict::Failed)
        }
    }
}

/// Formats names as `PostgreSQL is`, or `PostgreSQL and Redis are`.
fn names(programs: &[Program]) -> String {
    let names: Vec<_> = programs.iter().map(|program| program.name()).collect();
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}

fn execute(commands: &[Vec<&str>]) -> Result<Verdict> {
    for words in commands {
        let (program, args) = words.split_first().context("a command has a name")?;
        let mut command = Command::new(program);
        // Standard output belongs to the task, and a package must not ask questions.
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr());
        let status = command.status().with_context(|| format!("could not run {program}"))?;
        if !status.success() {
            return Ok(Verdict::Failed);
        }
    }
    Ok(Verdict::Passed)
}

#[cfg(test)]
mod tests {
    use super::{Program, System, line, more_postgres};

    const KNOWN: &str = "postgresql-15 - The database\npostgresql-17 - The database\n\
        postgresql-15-pgvector - Vectors\npostgresql-17-pgvector - Vectors";

    #[test]
    fn pgvector_and_a_second_version_are_added_where_they_exist() {
        let debian = "postgresql-15 - The World's Most Advanced Open Source Relational Database";
        assert_eq!(more_postgres(debian, |path| path == "15"), [""; 0]);
        assert_eq!(more_postgres(KNOWN, |_| false), [""; 0]);
        let both = ["postgresql-17", "postgresql-15-pgvector"];
        assert_eq!(more_postgres(KNOWN, |path| path == "15"), both);
        let has = |path: &str| ["15", "17"].contains(&path);
        assert_eq!(more_postgres(KNOWN, has), ["postgresql-17-pgvector"]);
        assert_eq!(more_postgres(KNOWN, |_| true), [""; 0]);
    }

    #[track_caller]
    fn check(system: System, programs: &[Program], expect: &str) {
        assert_eq!(line(&system.commands(programs)), expect);
    }

    #[test]
    fn what_is_run_is_what_a_person_would_type() {
        let both = [Program::Postgres, Program::Redis];
        check(
            System::Debian { root: true },
            &both,
            "apt-get update && apt-get install -y --no-install-recommends postgresql redis-server",
        );
        check(
            System::Debian { root: false },
            &[Program::Redis],
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server",
        );
        check(System::Homebrew, &both, "brew install postgresql redis");
        check(
            System::Debian { root: true },
            &[Program::Moto],
            "pip install moto[s3]==5.2.5 flask flask-cors",
        );
        check(
            System::Homebrew,
            &[Program::Moto, Program::Redis],
            "brew install redis && pip install moto[s3]==5.2.5 flask flask-cors",
        );
        check(
            System::Debian { root: true },
            &[Program::Chromium],
            "apt-get update && apt-get install -y --no-install-recommends chromium",
        );
    }
}
