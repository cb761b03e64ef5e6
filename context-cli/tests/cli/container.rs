//! The Dockerfile, without Docker: its instructions name what there is, and its commands do what
//! they are for.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::harness::{Bench, context};
use crate::served::Served;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the instructions of the Dockerfile, with continued lines joined.
fn instructions() -> Vec<(String, String)> {
    let file = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", "");
    let split = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.trim().to_owned()));
    joined.lines().filter_map(split).collect()
}

/// Returns the rest of the only instruction of this kind.
fn only(kind: &str) -> String {
    let all: Vec<_> = instructions().into_iter().filter(|(name, _)| name == kind).collect();
    assert_eq!(all.len(), 1, "{kind}");
    all[0].1.clone()
}

/// Returns the words of a command in the form of a JSON array.
fn words(command: &str) -> Vec<String> {
    serde_json::from_str(&command[command.find('[').unwrap()..]).unwrap()
}

#[test]
fn the_image_is_built_as_the_readme_installs() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let install = "cargo install --path context-cli --profile dist --locked";
    assert!(readme.lines().any(|line| line == install), "the README installs the command");
    let instructions = instructions();
    let has = |name: &str, rest: &str| {
        assert!(instructions.contains(&(name.to_owned(), rest.to_owned())), "{name} {rest}");
    };
    has("RUN", &format!("{install} --root /out"));
    has("COPY", ". .");
    has("COPY", "--from=build /out/bin/context /usr/local/bin/context");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\n[profile.dist]\n"));

    // What the build does not get are no crates of the workspace.
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let members = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap());
    let members: BTreeSet<_> = members
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("context-") || name == "xtask")
        .collect();
    for line in ignored.lines() {
        assert!(!members.contains(line), "{line}");
    }

    // The compiler of the image is not older than the one that the packages ask for.
    let version = |text: &str| -> Vec<u32> {
        let digits = text.split('.').map(|part| part.trim_matches('"').parse().unwrap());
        digits.collect()
    };
    let asked = manifest.split("rust-version = ").nth(1).unwrap().lines().next().unwrap();
    let (_, image) = instructions.iter().find(|(name, _)| name == "FROM").unwrap();
    let image = image.strip_prefix("rust:").unwrap().split('-').next().unwrap();
    assert!(version(image) >= version(asked), "{image}");
}

/// The commands of the image are those of this test, but for the port, which may be taken here, and
/// for the folder of the volume.
#[test]
fn its_service_is_healthy_until_it_ends() {
    let bench = Bench::new();
    let volume = only("VOLUME");
    assert_eq!(only("ENV"), format!("CONTEXT_STORE=sqlite:{volume}/context.db"));
    assert_eq!(words(&only("ENTRYPOINT")), ["context"]);
    assert_eq!(only("USER"), "context");
    let port = only("EXPOSE");
    let command = words(&only("CMD"));
    let (with_port, rest) = (["--port", &port], &command[1..]);
    assert_eq!(command[0], "serve");
    assert_eq!(rest[rest.len() - 2..], with_port);
    let rest: Vec<_> = rest[..rest.len() - 2].iter().map(String::as_str).collect();

    let refused = bench.run(&format!("serve {}", rest.join(" ")));
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("needs --tokens"), "{}", refused.err);

    let made = context(bench.path(), &["serve", "--new-token", "ada"])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    bench.file("tokens.txt", made.stdout);
    let args: Vec<_> = rest.iter().copied().chain(["--tokens", "tokens.txt"]).collect();
    let served = Served::start(&bench, &args, None);
    let here = served.address.rsplit_once(':').unwrap().1.to_owned();
    let health = words(&only("HEALTHCHECK"));
    let is_healthy = || {
        let mut check = Command::new(&health[0]);
        for word in &health[1..] {
            check.arg(word.replace(&port, &here));
        }
        check.stderr(Stdio::null()).status().unwrap().success()
    };
    if Command::new(&health[0]).arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("there is no bash: the check of the container's health is not run");
        return;
    }
    assert!(is_healthy());
    assert_eq!(served.end(Signal::TERM), Some(0));
    assert!(!is_healthy());
}
