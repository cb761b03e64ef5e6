//! `cargo xtask package`: proves without a network that every package could be published.
//!
//! Cargo packs the crates, and builds each from its packed form against the packed forms of the
//! others. This task says which crates that are, checks what is inside ([`contents`]), and does the
//! same for the adapters, whose workspace reaches our crates by path: they are checked against the
//! packed forms in a workspace that is written for this purpose.

pub mod contents;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::source::{self, SourceFile};
use crate::workspace::{Workspace, is_public, package_name};

/// The folder of the workspace with the adapters.
const ADAPTERS: &str = "integrations";

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Check what is in the packages, in seconds, but do not build them
    #[arg(long)]
    pub(crate) no_build: bool,
}

/// A package in its packed form.
struct Packed {
    name: String,
    /// The folder it is unpacked in.
    folder: PathBuf,
    files: Vec<SourceFile>,
    /// The size of the archive.
    bytes: u64,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let adapters = Workspace::at(&workspace.root().join(ADAPTERS).join("Cargo.toml"))?;
    let folder = workspace.target_folder().join("package");
    remove(&folder)?;
    // The adapters' lock file cannot be packed: it names our crates as the registry has them, and
    // it does not have them yet.
    let verdict = pack(workspace, &folder, &["--no-verify", "--quiet"])?.and(pack(
        &adapters,
        &folder,
        &["--no-verify", "--quiet", "--exclude-lockfile"],
    )?);
    if verdict == Verdict::Failed {
        return Ok(verdict);
    }
    let ours = unpack(workspace, &folder)?;
    let theirs = unpack(&adapters, &folder)?;
    let mut verdict = check(&ours, &theirs);
    if verdict == Verdict::Passed && !args.no_build {
        println!("building each of {} packages from its packed form", ours.len());
        verdict = pack(workspace, &folder, &[])?;
        if verdict == Verdict::Passed {
            verdict = check_adapters(workspace, &folder, &ours, &theirs)?;
        }
    }
    // The archives stay, to look into.
    for part in ["debug", "unpacked", "adapters", "package/tmp-registry", "package/tmp-crate"] {
        remove(&folder.join(part))?;
    }
    Ok(verdict)
}

/// Packs every public crate of a workspace, and builds it unless the arguments say otherwise.
fn pack(workspace: &Workspace, folder: &Path, args: &[&str]) -> Result<Verdict> {
    let mut cargo = Cargo::new(workspace.root(), "package")
        .args(["--workspace", "--all-features", "--offline", "--locked", "--allow-dirty"])
        .args(args)
        .args(["--target-dir".as_ref(), folder.as_os_str()])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    for private in workspace.crates().into_iter().filter(|package| !is_public(package)) {
        cargo = cargo.args(["--exclude", &package_name(&private.name)]);
    }
    cargo.run()
}

/// Unpacks the archives of a workspace and reads them.
fn unpack(workspace: &Workspace, folder: &Path) -> Result<Vec<Packed>> {
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    let public = workspace.crates().into_iter().filter(|package| is_public(package));
    let read = |package: &cargo_metadata::Package| {
        let name = package_name(&package.name);
        let stem = format!("{name}-{}", package.version);
        let archive = folder.join("package").join(format!("{stem}.crate"));
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&unpacked);
        let status = tar.status().context("the program `tar` does not run")?;
        ensure!(status.success(), "could not unpack {}", archive.display());
        let folder = unpacked.join(stem);
        let files = source::all_files(&folder)?;
        Ok(Packed { name, folder, files, bytes: fs::metadata(&archive)?.len() })
    };
    public.map(read).collect()
}

/// Checks the contents and prints a table of the sizes.
fn check(ours: &[Packed], adapters: &[Packed]) -> Verdict {
    let all = || ours.iter().chain(adapters);
    let names: BTreeSet<_> = all().map(|packed| packed.name.clone()).collect();
    let mut findings = 0;
    println!("{:<36}{:>7}{:>13}{:>11}", "package", "files", "bytes", "packed");
    for Packed { name, files, bytes, .. } in all() {
        let size: usize = files.iter().map(|file| file.text.len()).sum();
        println!("{name:<36}{:>7}{size:>13}{bytes:>11}", files.len());
        for finding in contents::check(files, &names) {
            println!("  {finding}");
            findings += 1;
        }
    }
    println!("{} packages, {findings} findings", names.len());
    Verdict::of(findings == 0)
}

/// Compiles the adapters against the packed forms of our crates.
///
/// rig asks for a newer compiler than the one it needs, which `cargo package` cannot be told to
/// ignore.
fn check_adapters(
    workspace: &Workspace,
    folder: &Path,
    ours: &[Packed],
    adapters: &[Packed],
) -> Result<Verdict> {
    let place = folder.join("adapters");
    fs::create_dir_all(&place)?;
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\n".to_owned();
    for Packed { name, folder, .. } in adapters {
        let member = place.join(name);
        fs::rename(folder, &member)?;
        let _ = writeln!(manifest, "    {name:?},");
    }
    manifest.push_str("]\n\n[patch.crates-io]\n");
    for Packed { name, folder, .. } in ours {
        let path = folder.to_str().context("the target folder's name is no text")?;
        let _ = writeln!(manifest, "{name} = {{ path = {path:?} }}");
    }
    fs::write(place.join("Cargo.toml"), manifest)?;
    fs::copy(workspace.root().join(ADAPTERS).join("Cargo.lock"), place.join("Cargo.lock"))?;
    println!("checking {} adapters against the packed forms", adapters.len());
    Cargo::building_into(folder, &place, "check")
        .args(["--workspace", "--all-features", "--offline", "--ignore-rust-version"])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .run()
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
