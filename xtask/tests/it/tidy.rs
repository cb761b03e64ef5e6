//! Checks that each tidiness rule finds its violations, and that this workspace is tidy.

use xtask::source::SourceFile;
use xtask::tidy::{MAX_LINES, Names, check, check_ours};

#[track_caller]
fn check_file(path: &str, text: &str, expect: &[&str]) {
    let names = Names {
        crates: ["context-core".to_string()].into(),
        features: ["sqlite".to_string()].into(),
    };
    let found = check(&[SourceFile::new(path, text)], &names);
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
}

#[test]
fn our_own_workspace_is_tidy() {
    assert_eq!(check_ours().unwrap(), []);
}

#[test]
fn a_module_says_what_it_is_for() {
    check_file("a/src/a.rs", "//! For this.\nfn f() {}\n", &[]);
    check_file(
        "a/src/a.rs",
        "fn f() {}\n",
        &["a/src/a.rs:1: the module does not begin with what it is for (`//!`)"],
    );
}

#[test]
fn nothing_unfinished_is_left_behind() {
    for leftover in ["todo!(", "unimplemented!(", "dbg!("] {
        let expect = format!("a/src/a.rs:2: `{leftover}…)` is left behind");
        check_file("a/src/a.rs", &format!("//! A.\nfn f() {{ {leftover}) }}\n"), &[&expect]);
        check_file("a/src/a.rs", &format!("//! A.\n// {leftover}) is not here\n"), &[]);
    }
}

#[test]
fn unwrap_is_for_tests() {
    let text = "//! A.\nfn f() { x.unwrap() }\n";
    let expect = "a/src/a.rs:2: `.unwrap()` outside tests; return an error, or `expect` what holds";
    check_file("a/src/a.rs", text, &[expect]);
    check_file("a/tests/it/a.rs", text, &[]);
    check_file("a/src/a/tests.rs", text, &[]);
    check_file(
        "a/src/a.rs",
        "//! A.\n#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap() }\n}\n",
        &[],
    );
}

#[test]
fn a_file_has_one_idea() {
    let lines = |n: usize| format!("//! A.\n{}", "fn f() {}\n".repeat(n - 1));
    check_file("a/src/a.rs", &lines(MAX_LINES), &[]);
    let expect = format!("a/src/a.rs: {} lines; split it, {MAX_LINES} is the most", MAX_LINES + 1);
    check_file("a/src/a.rs", &lines(MAX_LINES + 1), &[&expect]);
}

#[test]
fn stores_have_the_rooms_of_the_table() {
    let table = "| room | job | `context-store-x` | `context-store-y` |\n|---|---|---|---|\n\
                 | `config` | settings | yes | yes |\n| `sql` | statements | yes | |\n";
    let files = |modules: &[&str]| -> Vec<SourceFile> {
        let page = SourceFile::new("ARCHITECTURE.md", table);
        let sources = modules.iter().map(|path| SourceFile::new(*path, "//! A room.\n"));
        [page].into_iter().chain(sources).collect()
    };
    let sound = [
        "context-store-x/src/config.rs",
        "context-store-x/src/sql.rs",
        "context-store-x/src/sql/chats.rs",
        "context-store-y/src/config.rs",
        "context-store-y/src/lib.rs",
    ];
    let found = |modules: &[&str]| -> Vec<String> {
        check(&files(modules), &Names::default()).iter().map(ToString::to_string).collect()
    };
    assert_eq!(found(&sound), [""; 0]);
    assert_eq!(found(&sound[..3]), ["ARCHITECTURE.md:3: context-store-y has no module `config`"]);
    let more =
        [&sound[..], &["context-store-y/src/sql.rs", "context-store-y/src/attic.rs"]].concat();
    assert_eq!(
        found(&more),
        [
            "ARCHITECTURE.md:4: context-store-y has a module `sql`",
            "ARCHITECTURE.md:1: `attic` of context-store-y is not a room of the table",
        ]
    );
}

#[test]
fn a_public_name_means_one_type() {
    let found = |path: &str, text: &str| -> Vec<String> {
        let first = SourceFile::new("context-a/src/a.rs", "//! A.\npub struct Node(u8);\n");
        let second = SourceFile::new(path, format!("//! B.\n{text}\n"));
        check(&[first, second], &Names::default()).iter().map(ToString::to_string).collect()
    };
    let expect = "context-b/src/b.rs:2: context-a/src/a.rs has a public type `Node` as well";
    assert_eq!(found("context-b/src/b.rs", "pub enum Node<T> {}"), [expect]);
    for other in ["pub(crate) enum Node {}", "pub enum NodeKind {}", "    type Node = u8;"] {
        assert_eq!(found("context-b/src/b.rs", other), [""; 0]);
    }
    assert_eq!(found("examples/b/src/b.rs", "pub enum Node {}"), [""; 0]);
}

#[test]
fn no_path_of_a_machine_and_no_stray_whitespace() {
    let home = ["", "home", "ada", "x"].join("/");
    let expect = format!("a.toml:1: a path on somebody's machine, {}", ["", "home", ""].join("/"));
    check_file("a.toml", &format!("a = \"{home}\"\n"), &[&expect]);
    check_file("a.toml", &format!("a = \"https://example.org{home}\"\n"), &[]);
    check_file("a.md", "two \n", &["a.md:1: whitespace at the end"]);
    check_file("a.md", "end", &["a.md: no line break at the end"]);
}

#[test]
fn tables_list_every_crate_and_feature() {
    let row = "| [`context-core`](README.md) | types |\n| `sqlite` | store |\n";
    check_file("README.md", row, &[]);
    check_file(
        "README.md",
        "`context-core` and `sqlite` in prose\n",
        &[
            "README.md: no table lists the crate `context-core`",
            "README.md: no table lists the feature `sqlite`",
        ],
    );
    check_file("ARCHITECTURE.md", "| `context-core` | types |\n", &[]);
    check_file(
        "ARCHITECTURE.md",
        "None.\n",
        &["ARCHITECTURE.md: no table lists the crate `context-core`"],
    );
    check_file("context-runtime/src/lib.rs", "//! | `sqlite` | store |\n", &[]);
    check_file(
        "context-runtime/src/lib.rs",
        "//! None.\n",
        &["context-runtime/src/lib.rs: no table lists the feature `sqlite`"],
    );
}
