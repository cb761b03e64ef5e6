//! Checks that each rule about the contents of a package finds its violations.

use xtask::package::contents::check;
use xtask::source::SourceFile;

const MANIFEST: &str = r#"
[package]
name = "context-layer-snip"
version = "0.1.0"
edition = "2024"
rust-version = "1.94"
description = "Leaves out turns"
readme = "README.md"
keywords = ["llm"]
categories = ["algorithms"]
license = "MIT"
repository = "https://example.org"

[dependencies.context-core]
version = "0.1.0"
package = "context-layer-core"
"#;

/// The files of a package without faults.
fn package() -> Vec<SourceFile> {
    let licence = "Permission is granted.\n".repeat(12);
    vec![
        SourceFile::new("Cargo.toml", MANIFEST),
        SourceFile::new("LICENSE-APACHE", &*licence),
        SourceFile::new("LICENSE-MIT", &*licence),
        SourceFile::new("README.md", "# A package\n"),
        SourceFile::new("src/lib.rs", "//! Snip.\n"),
    ]
}

#[track_caller]
fn finds(files: &[SourceFile], expect: &[&str]) {
    let packages = ["context-layer-core", "context-layer-snip"].map(str::to_owned).into();
    assert_eq!(check(files, &packages), expect);
}

/// Checks the findings after a part of the manifest was replaced.
#[track_caller]
fn finds_in_manifest(part: &str, replacement: &str, expect: &[&str]) {
    let mut files = package();
    assert!(MANIFEST.contains(part), "{part}");
    files[0].text = MANIFEST.replace(part, replacement);
    finds(&files, expect);
}

#[test]
fn a_package_with_all_its_parts_is_sound() {
    finds(&package(), &[]);
}

#[test]
fn licences_the_readme_and_the_library_are_there() {
    for (at, path) in
        ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"].iter().enumerate()
    {
        let mut files = package();
        files.remove(at + 1);
        finds(&files, &[&format!("{path} is missing")]);
    }
}

#[test]
fn a_link_that_became_text_is_no_licence() {
    let mut files = package();
    files[2].text = "../LICENSE-MIT\n".to_owned();
    finds(&files, &["LICENSE-MIT is not the text of a licence"]);
}

#[test]
fn tests_and_their_data_stay_out() {
    for path in ["tests/it.rs", "src/snapshots/page.snap", "recording.jsonl", "benches/data.json"] {
        let mut files = package();
        files.push(SourceFile::new(path, "text\n"));
        finds(&files, &[&format!("{path} does not belong into a package")]);
    }
    let mut files = package();
    files.push(SourceFile::new("src/models.json", "0".repeat(300_000)));
    finds(&files, &["src/models.json has 300000 bytes; 262144 is the most"]);
}

#[test]
fn paths_of_a_machine_stay_out() {
    let mut files = package();
    // In two pieces, or this file would hold such a path.
    let path = ["/", "home/ada/context"].concat();
    files.push(SourceFile::new("src/keys.js", format!("// A key.\n// {path}\n")));
    finds(&files, &[&format!("src/keys.js:2: a path on somebody's machine, /{}/", "home")]);
}

#[test]
fn a_registry_gets_the_fields_it_asks_for() {
    finds_in_manifest(
        "description = \"Leaves out turns\"\n",
        "",
        &["Cargo.toml has no `description`"],
    );
    finds_in_manifest(
        "[\"llm\"]",
        "[\"Large models\"]",
        &["the registry takes no keyword \"Large models\""],
    );
    finds_in_manifest(
        "[\"llm\"]",
        "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]",
        &["6 keywords; 5 is the most"],
    );
    finds_in_manifest(
        "\"algorithms\"",
        "\"llm\"",
        &["the category \"llm\" is not in the list of this task"],
    );
}

#[test]
fn documentation_shows_what_is_behind_features() {
    let features = "[features]\ntls = []\n";
    let expect = ["docs.rs would not show what is behind features"];
    finds_in_manifest("[dependencies", &format!("{features}[dependencies"), &expect);
    let docs = "[package.metadata.docs.rs]\nall-features = true\n";
    finds_in_manifest("[dependencies", &format!("{docs}{features}[dependencies"), &[]);
}

#[test]
fn dependencies_come_from_the_registry() {
    let version = "version = \"0.1.0\"\npackage";
    finds_in_manifest(
        version,
        "path = \"../core\"\npackage",
        &[
            "the dependency context-core has no version",
            "the dependency context-core is not taken from a registry",
        ],
    );
    finds_in_manifest(
        "\"context-layer-core\"",
        "\"context-layer-servers\"",
        &["context-layer-servers is not published"],
    );
    let windows = "[target.'cfg(windows)'.dev-dependencies.context-layer-fuzz]\nversion = \"1\"\n";
    finds_in_manifest(
        "[dependencies",
        &format!("{windows}[dependencies"),
        &["context-layer-fuzz is not published"],
    );
}
