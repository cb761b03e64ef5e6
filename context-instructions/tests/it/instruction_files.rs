//! Instruction files in folders: which count, their order, how much of them is used, and when they
//! are read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_core::base::DiagnosticCode;
use context_core::{FragmentData, Timestamp};
use context_instructions::{InstructionFiles, InstructionOptions, InstructionScan};
use tempfile::TempDir;

/// A time long after every file of these tests was written.
const LATER: Timestamp = Timestamp::from_micros(i64::MAX / 2);

/// A project: a folder with `.git`, itself inside a folder with a file that must not count.
struct Project {
    top: TempDir,
}

impl Project {
    fn new() -> Self {
        let top = TempDir::new().unwrap();
        fs::create_dir_all(top.path().join("project/.git")).unwrap();
        fs::create_dir_all(top.path().join("project/a/b")).unwrap();
        fs::write(top.path().join("AGENTS.md"), "Outside.").unwrap();
        Self { top }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.path().join("project").join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn files(&self, folder: &str, options: InstructionOptions) -> InstructionFiles {
        InstructionFiles::new(self.path(folder), options)
    }

    fn scan(&self, folder: &str, options: InstructionOptions) -> InstructionScan {
        self.files(folder, options).scan(LATER)
    }
}

fn options() -> InstructionOptions {
    InstructionOptions::default()
}

/// Returns path and text of each file in the fragment.
fn shown(scan: &InstructionScan) -> Vec<(String, String)> {
    let Some(FragmentData::List(items)) = scan.fragment.data() else { panic!("no list") };
    let files = items.iter().filter_map(|item| match item {
        FragmentData::Fragment(file) => file.data(),
        _ => None,
    });
    let field = |data: &FragmentData, key| match data {
        FragmentData::Map(map) => map.get(key).unwrap().as_text().unwrap().to_owned(),
        _ => panic!("no map"),
    };
    files.map(|file| (field(file, "path"), field(file, "text"))).collect()
}

fn texts(scan: &InstructionScan) -> Vec<String> {
    shown(scan).into_iter().map(|(_, text)| text).collect()
}

fn paths(scan: &InstructionScan) -> Vec<String> {
    shown(scan).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn files_count_from_the_root_to_the_working_folder() {
    let project = Project::new();
    project.write("AGENTS.md", "Of the root.\n");
    project.write("a/CLAUDE.md", "Of a.\r\nTwo lines.\r\n");
    project.write("a/b/AGENTS.md", "\u{feff}Of b.\n");
    project.write("a/b/CLAUDE.md", "The second name does not count.");
    project.write("a/b/c/AGENTS.md", "Below.");
    project.write("other/AGENTS.md", "Beside.");
    let scan = project.scan("a/b", options());
    assert_eq!(scan.diagnostics, []);
    assert_eq!((scan.read, scan.changed), (3, true));
    insta::assert_snapshot!(serde_json::to_string_pretty(&scan.fragment).unwrap());

    let scan = project.scan("a/b", options().with_every_name());
    assert_eq!(paths(&scan), ["AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md", "a/b/CLAUDE.md"]);
    let scan = project.scan("a/b", options().with_names(["CLAUDE.md"]));
    assert_eq!(paths(&scan), ["a/CLAUDE.md", "a/b/CLAUDE.md"]);
}

#[test]
fn nothing_found_renders_nothing() {
    let project = Project::new();
    project.write("AGENTS.md", " \n");
    let scan = project.scan("a", options());
    assert!(scan.fragment.data().unwrap().is_empty());
    assert!(scan.files.is_empty() && scan.diagnostics.is_empty());
}

#[test]
fn the_root_is_given_or_has_a_git_or_is_the_working_folder() {
    let project = Project::new();
    project.write("AGENTS.md", "Root.");
    project.write("a/AGENTS.md", "A.");
    project.write("a/b/AGENTS.md", "B.");
    assert_eq!(texts(&project.scan("a/b", options().with_root(project.path("a")))), ["A.", "B."]);
    // A worktree has a file `.git`.
    project.write("a/b/.git", "gitdir: elsewhere");
    assert_eq!(texts(&project.scan("a/b", options())), ["B."]);
    fs::remove_dir(project.path(".git")).unwrap();
    assert_eq!(texts(&project.scan("a", options())), ["A."]);

    let scan = project.scan("a", options().with_root(project.path("a/b")));
    assert_eq!(texts(&scan), ["A."]);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::Misplaced);
    let scan = project.scan("a", options().with_root(project.path("missing")));
    assert_eq!((texts(&scan).len(), scan.diagnostics.len()), (1, 1));
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::InstructionDiscoveryFailed);
    assert!(scan.diagnostics[0].message.contains("name one that can be"));
    let scan = project.scan("missing", options());
    assert_eq!((texts(&scan).len(), scan.diagnostics.len()), (0, 1));
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::InstructionDiscoveryFailed);
}

#[test]
fn extra_files_come_first_and_each_file_once() {
    let project = Project::new();
    let home = project.top.path().join("home.md");
    fs::write(&home, "Of the user.").unwrap();
    project.write("AGENTS.md", "Root.");
    let options =
        options().with_extra(&home).with_extra(project.path("AGENTS.md")).with_extra("/no/such.md");
    let scan = project.scan("a", options);
    assert_eq!(scan.diagnostics, []);
    assert_eq!(texts(&scan), ["Of the user.", "Root."]);
    assert_eq!(paths(&scan), [home.to_str().unwrap(), "AGENTS.md"]);
}

#[cfg(unix)]
#[test]
fn links_count_once_and_what_cannot_be_read_is_reported() {
    use std::os::unix::fs::symlink;
    let project = Project::new();
    project.write("AGENTS.md", "Root.");
    symlink("AGENTS.md", project.path("CLAUDE.md")).unwrap();
    symlink("AGENTS.md", project.path("a/AGENTS.md")).unwrap();
    fs::create_dir(project.path("a/b/AGENTS.md")).unwrap();
    symlink(project.path("a"), project.path("link")).unwrap();
    let scan = project.scan("link/b", options().with_every_name());
    assert_eq!(texts(&scan), ["Root."]);
    let shown_paths: Vec<_> =
        scan.diagnostics.iter().map(|d| d.path.rsplit("project/").next().unwrap()).collect();
    assert_eq!(shown_paths, ["a/b/AGENTS.md", "a/AGENTS.md"], "a folder, and a link to itself");
    for diagnostic in &scan.diagnostics {
        assert_eq!(diagnostic.code, DiagnosticCode::InstructionDiscoveryFailed);
        assert!(diagnostic.message.contains("make it readable, or remove it"), "{diagnostic}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_is_read_only_if_that_is_wanted() {
    use std::os::unix::fs::symlink;
    let (project, elsewhere) = (Project::new(), Project::new());
    elsewhere.write("keys", "Secret.");
    project.write("notes.md", "Notes.");
    symlink(elsewhere.path("keys"), project.path("AGENTS.md")).unwrap();
    symlink("../notes.md", project.path("a/AGENTS.md")).unwrap();
    assert_eq!(texts(&project.scan("a", options())), ["Secret.", "Notes."]);

    let scan = project.scan("a", options().without_links_out());
    assert_eq!(texts(&scan), ["Notes."]);
    assert_eq!(scan.diagnostics.len(), 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::Misplaced);
    assert!(scan.diagnostics[0].message.contains("add the file with `with_extra`"));

    // Then the second name of a folder is taken. A file given by path is read wherever it is.
    project.write("CLAUDE.md", "Claude.");
    let named = options().without_links_out().with_extra(elsewhere.path("keys"));
    assert_eq!(texts(&project.scan("a", named)), ["Secret.", "Claude.", "Notes."]);
}

#[test]
fn imports_are_not_followed() {
    let project = Project::new();
    project.write("a/CLAUDE.md", "@../secret.md");
    project.write("secret.md", "secret");
    assert_eq!(texts(&project.scan("a", options())), ["@../secret.md"]);
}

#[test]
fn the_nearest_file_keeps_its_text_and_notes_say_what_is_missing() {
    let project = Project::new();
    project.write("AGENTS.md", "Far.\n".repeat(10));
    project.write("a/AGENTS.md", "0123456789\n".repeat(2000));
    project.write("a/b/AGENTS.md", "Near.\n".repeat(10));
    let scan = project.scan("a/b", options().with_max_bytes(100));
    let left_out: Vec<_> = scan.files.iter().map(|file| (file.bytes, file.left_out)).collect();
    assert_eq!(left_out, [(50, 50), (22_000, 21_967), (60, 0)]);
    assert!(scan.diagnostics.iter().all(|d| d.code == DiagnosticCode::OverLimit));
    assert_eq!(scan.diagnostics.len(), 2);
    insta::assert_snapshot!(texts(&scan)[..2].join("\n---\n"));

    let scan = project.scan("a/b", options().with_max_file_bytes(12));
    assert_eq!(
        texts(&scan)[1..],
        [
            "0123456789\n[… 21,989 bytes of a/AGENTS.md left out: over the limit of 12 bytes]",
            "Near.\nNear.\n[… 48 bytes of a/b/AGENTS.md left out: over the limit of 12 bytes]",
        ]
    );
    let scan = project.scan("a/b", options().with_max_bytes(0));
    assert_eq!(
        texts(&scan)[2],
        "[… 60 bytes of a/b/AGENTS.md left out: over the limit of 0 bytes]"
    );
}

#[test]
fn what_is_no_utf8_is_replaced_and_reported() {
    let project = Project::new();
    project.write("AGENTS.md", b"caf\xe9 in Latin-1");
    let scan = project.scan("", options());
    assert_eq!(texts(&scan), ["caf\u{fffd} in Latin-1"]);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::BrokenInput);
    // A character that only the limit cuts is not an error.
    project.write("AGENTS.md", "éééé");
    let scan = project.scan("", options().with_max_file_bytes(4));
    assert_eq!(texts(&scan), ["éé\n[… 4 bytes of AGENTS.md left out: over the limit of 4 bytes]"]);
    assert_eq!(scan.diagnostics.len(), 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::OverLimit);
}

#[test]
fn unchanged_files_are_not_read_again() {
    let project = Project::new();
    project.write("AGENTS.md", "One.");
    project.write("a/AGENTS.md", "Two.");
    let mut files = project.files("a", options());
    let first = files.scan(LATER);
    assert_eq!((first.read, first.changed), (2, true));
    let second = files.scan(LATER);
    assert_eq!((second.read, second.changed), (0, false));
    assert_eq!((&second.fragment, &second.files), (&first.fragment, &first.files));
    let (Some(FragmentData::List(a)), Some(FragmentData::List(b))) =
        (first.fragment.data(), second.fragment.data())
    else {
        panic!("no lists")
    };
    assert!(std::ptr::eq(a.as_slice(), b.as_slice()), "the same fragment, not an equal one");

    project.write("AGENTS.md", "One, changed.");
    let third = files.scan(LATER);
    assert_eq!((third.read, third.changed), (1, true));
    assert_eq!(texts(&third), ["One, changed.", "Two."]);

    project.write("a/CLAUDE.md", "Instead.");
    fs::remove_file(project.path("a/AGENTS.md")).unwrap();
    let fourth = files.scan(LATER);
    assert_eq!((fourth.read, fourth.changed), (1, true));
    assert_eq!(texts(&fourth), ["One, changed.", "Instead."]);

    fs::remove_file(project.path("AGENTS.md")).unwrap();
    let fifth = files.scan(LATER);
    assert_eq!((fifth.read, fifth.changed), (0, true));
    assert_eq!(texts(&fifth), ["Instead."]);
}

fn set_modified(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Returns the time of the last touch, as far as the stamp holds it.
fn touched(path: &Path) -> Timestamp {
    let metadata = fs::metadata(path).unwrap();
    #[cfg(unix)]
    let micros = {
        use std::os::unix::fs::MetadataExt;
        metadata.ctime() * 1_000_000 + metadata.ctime_nsec() / 1000
    };
    #[cfg(not(unix))]
    let micros =
        metadata.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    Timestamp::from_micros(micros)
}

/// Two writes within one step of the file system's clock leave the same stamp. A scan between them
/// must not keep the first text forever.
#[test]
fn a_file_read_right_after_it_was_written_is_read_again() {
    let project = Project::new();
    let path = project.path("AGENTS.md");
    let written = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    project.write("AGENTS.md", "One.");
    set_modified(&path, written);
    let mut files = project.files("", options());
    let now = touched(&path);
    assert_eq!(texts(&files.scan(now)), ["One."]);

    // Same length, same modification time.
    project.write("AGENTS.md", "Two.");
    set_modified(&path, written);
    let scan = files.scan(touched(&path));
    assert_eq!((scan.read, texts(&scan)), (1, vec!["Two.".to_owned()]));

    // The stamp is not settled: the file is read again, and the same text is no change.
    let scan = files.scan(now);
    assert_eq!((scan.read, scan.changed), (1, false));
    let settled = Timestamp::from_micros(touched(&path).as_micros() + 2_000_000);
    assert_eq!(files.scan(settled).read, 1);
    assert_eq!(files.scan(settled).read, 0);
}

/// Programs that unpack or copy files restore the original modification time.
#[cfg(unix)]
#[test]
fn a_change_shows_although_the_time_of_modification_was_set_back() {
    let project = Project::new();
    let path = project.path("AGENTS.md");
    let written = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    project.write("AGENTS.md", "One.");
    set_modified(&path, written);
    let mut files = project.files("", options());
    assert_eq!(texts(&files.scan(LATER)), ["One."]);
    project.write("new.md", "Two.");
    set_modified(&project.path("new.md"), written);
    fs::rename(project.path("new.md"), &path).unwrap();
    assert_eq!(texts(&files.scan(LATER)), ["Two."]);
}
