//! The command of docs/plugins.md, as an author of another repository runs it: the plug-ins depend
//! on a git repository with our packages, the command is installed from there, and nothing of this
//! checkout is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::conformance_command::{by_hand, stdout};

/// The crates of the other workspace, each with its suite and its subject.
const PLUG_INS: [(&str, &str, &str); 5] = [
    ("custom-codec", "codec", "acme"),
    ("custom-memory", "memory", "custom-memory"),
    ("custom-policy", "policy", "superseded"),
    ("custom-renderer", "renderer", "yaml"),
    ("custom-store", "store", "redb"),
];

#[track_caller]
fn done(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}{said}", stdout(&output));
    output
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Replaces a text that occurs once in a file.
fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from:?} in {}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

struct Outside {
    folder: tempfile::TempDir,
    target: PathBuf,
}

impl Outside {
    /// Clones the last commit of this checkout, and makes another workspace of copies of the
    /// examples that depend on the clone by its address.
    fn new(checkout: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // What is built stays, so that the packages of others are not built each time.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
        let this = Self { folder, target };
        let (source, plug_ins) = (this.path("source"), this.path("plug-ins"));
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--no-local"]).arg(checkout).arg(&source);
        done(clone);
        let examples = source.join("examples");
        copy(&examples, &plug_ins);
        fs::remove_dir_all(plug_ins.join("http")).unwrap();
        let members: Vec<_> = PLUG_INS.iter().map(|(krate, ..)| *krate).collect();
        replace(
            &plug_ins.join("Cargo.toml"),
            r#"members = ["agent", "custom-*", "small"]"#,
            &format!("members = {members:?}"),
        );
        let git = format!("git = \"file://{}\"", source.display());
        for krate in members {
            let manifest = plug_ins.join(krate).join("Cargo.toml");
            let text = fs::read_to_string(&manifest).unwrap();
            let lines = text.lines().map(|line| match line.split_once("path = \"../../") {
                Some((before, rest)) => {
                    format!("{before}{git}{}\n", rest.split_once('"').expect("a path ends").1)
                }
                None => format!("{line}\n"),
            });
            fs::write(&manifest, lines.collect::<String>()).unwrap();
        }
        // Sources of git are fetched into a folder of this test, packages from where they are.
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap();
        fs::create_dir(this.path("home")).unwrap();
        for name in ["registry", "config.toml", "credentials.toml"] {
            if home.join(name).exists() {
                std::os::unix::fs::symlink(home.join(name), this.path("home").join(name)).unwrap();
            }
        }
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: impl AsRef<Path>, folder: &str) -> Command {
        let mut command = by_hand(program, &self.path(folder));
        command.env("CARGO_HOME", self.path("home")).env("CARGO_TARGET_DIR", &self.target);
        command.env("CARGO_PROFILE_DEV_DEBUG", "none").env("CARGO_INCREMENTAL", "0");
        command
    }

    fn install(&self) -> PathBuf {
        // Cargo does not fetch from a file offline. What is locked is in the registry's cache.
        let mut install = self.command("cargo", "home");
        install.env_remove("CARGO_NET_OFFLINE");
        install.args(["install", "--debug", "--locked", "--root"]).arg(self.path("installed"));
        install.arg("--git").arg(format!("file://{}", self.path("source").display()));
        install.args(["xtask", "--bin", "context-conformance"]);
        done(install);
        self.path("installed/bin/context-conformance")
    }
}

#[test]
#[ignore = "large: builds most of this repository from a clone of it, for minutes"]
fn plug_ins_of_another_repository_are_proved_without_this_one() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let outside = Outside::new(checkout);
    let program = outside.install();
    let here = checkout.to_str().unwrap().as_bytes();
    let binary = fs::read(&program).unwrap();
    assert!(!binary.windows(here.len()).any(|part| part == here), "it knows this checkout");
    let prove = |args: &[&str]| {
        let mut command = outside.command(&program, "plug-ins");
        command.args(args).output().unwrap()
    };

    let whole = prove(&[]);
    let said = stdout(&whole);
    println!("{said}");
    let errors = String::from_utf8_lossy(&whole.stderr);
    assert_eq!(whole.status.code(), Some(0), "{said}{errors}");
    let heads: Vec<_> = said.lines().filter(|line| line.starts_with("suite v")).collect();
    let [head] = heads[..] else { panic!("one table: {heads:?}") };
    let subjects: Vec<_> = head.split_whitespace().skip(2).collect();
    assert_eq!(subjects, PLUG_INS.map(|(.., subject)| subject));
    for (column, (krate, suite, subject)) in PLUG_INS.iter().enumerate() {
        assert!(said.contains(&format!("{krate} conformance ({suite})\n")), "{said}");
        let rows = said.lines().filter(|line| line.starts_with("  "));
        let cells = rows.filter_map(|row| row.split_whitespace().nth(column + 1));
        let passed = cells.filter(|cell| *cell == "ok").count();
        let least = if *suite == "store" { 100 } else { 4 };
        assert!(passed >= least, "{subject}: {passed} rows");
    }
    assert!(!said.contains("FAILED") && !said.contains("NOT ASKED"), "{said}");
    let lock = fs::read_to_string(outside.path("plug-ins/Cargo.lock")).unwrap();
    let ours = lock.split("[[package]]").filter(|it| it.contains("name = \"context-layer-"));
    let source = format!("source = \"git+file://{}#", outside.path("source").display());
    assert!(ours.clone().count() > 5 && ours.clone().all(|it| it.contains(&source)), "{lock}");

    // The task of a checkout prints the same table.
    let picked = ["--group", "policy"];
    let mut task = outside.command(env!("CARGO_BIN_EXE_xtask"), "plug-ins");
    task.args(["conformance", "--manifest-path", "Cargo.toml"]).args(picked);
    assert_eq!(stdout(&done(task)), stdout(&prove(&picked)));

    // A renderer that drops the last item of a list.
    let outline = outside.path("plug-ins/custom-renderer/src/outline.rs");
    let all_but_one = "for data in list.iter().take(list.as_slice().len() - 1) {";
    replace(&outline, "for data in list {", all_but_one);
    let broken = prove(&["--subject", "custom-renderer"]);
    let said = stdout(&broken);
    println!("{said}");
    assert_eq!(broken.status.code(), Some(1), "{said}");
    let failed = "FAILED yaml renderer::content_is_shown_in_order (in yaml_keeps_the_contract): ";
    assert!(said.contains(failed), "{said}");
    assert!(said.contains("has content, and is not in the prompt"), "{said}");
    let again =
        "--subject custom-renderer --group renderer --case content_is_shown_in_order --seed 0x5eed";
    assert!(said.contains(&format!("  again: context-conformance {again}\n")), "{said}");
    let alone = prove(&again.split(' ').collect::<Vec<_>>());
    let said = stdout(&alone);
    assert_eq!(alone.status.code(), Some(1), "{said}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("  ") && line.ends_with(" FAILED")).count(),
        1,
        "{said}"
    );
}
