//! Checks that each layer rule finds a graph or source that breaks it, and nothing in sound ones.

use xtask::layers::{Dependency, Graph, Kind, Package, check, check_modules, check_sources};
use xtask::source::SourceFile;

fn dependency(name: &str) -> Dependency {
    Dependency { name: name.into(), kind: Kind::Normal, optional: false }
}

fn package(name: &str, dependencies: &[&str]) -> Package {
    let dependencies = dependencies.iter().map(|name| dependency(name)).collect();
    Package { name: name.into(), dependencies, ..Package::default() }
}

/// Returns a workspace that keeps every rule.
fn sound() -> Graph {
    let mut core = package("context-core", &["serde"]);
    core.tree = ["context-core", "serde", "tracing-free"].map(String::from).into();
    let mut store = package("context-store-x", &["context-core", "sqlx"]);
    store.dependencies.push(Dependency { kind: Kind::Dev, ..dependency("context-conformance") });
    let mut facade = package("context-runtime", &["context-core", "context-instructions"]);
    facade.dependencies.push(Dependency { optional: true, ..dependency("context-store-x") });
    facade.features.insert("x".into(), vec!["dep:context-store-x".into()]);
    let render = package("context-render", &["context-core"]);
    let instructions = package("context-instructions", &["context-core"]);
    let simulator = package("context-simulator", &["context-core", "hyper"]);
    store.dependencies.push(Dependency { kind: Kind::Dev, ..dependency("context-simulator") });
    let mut kit = package("context-conformance", &["context-core", "context-simulator"]);
    kit.dependencies.push(Dependency { kind: Kind::Dev, ..dependency("context-store-x") });
    let command = package("context-cli", &["context-runtime", "clap"]);
    let servers = package("context-servers", &["rustix"]);
    store.dependencies.push(Dependency { kind: Kind::Dev, ..dependency("context-servers") });
    let tasks = package("xtask", &["clap", "context-servers"]);
    let codec = package("context-codec-x", &["context-core"]);
    let client = package("context-http", &["context-core", "reqwest"]);
    let models =
        package("context-model-http", &["context-core", "context-http", "context-codec-x"]);
    let transcript = package("context-transcript", &["context-core", "context-codec-x"]);
    Graph {
        packages: vec![
            core,
            store,
            facade,
            render,
            instructions,
            kit,
            simulator,
            command,
            servers,
            tasks,
            codec,
            client,
            models,
            transcript,
        ],
    }
}

/// Breaks the sound workspace in one package and expects exactly these violations.
#[track_caller]
fn check_broken(name: &str, break_it: impl FnOnce(&mut Package), expect: &[&str]) {
    let mut graph = sound();
    break_it(
        graph
            .packages
            .iter_mut()
            .find(|package| package.name == name)
            .expect("a package of the fixture"),
    );
    let found: Vec<_> = check(&graph).iter().map(ToString::to_string).collect();
    assert_eq!(found, expect);
}

#[test]
fn a_sound_workspace_breaks_no_rule() {
    check_broken("context-core", |_| {}, &[]);
}

#[test]
fn rule_1_core_reaches_no_runtime_however_deep() {
    check_broken(
        "context-core",
        |core| core.tree.extend(["tokio-util", "tracing", "redis-like"].map(String::from)),
        &["rule 1: context-core reaches tokio-util", "rule 1: context-core reaches tracing"],
    );
}

#[test]
fn rule_2_a_plug_in_depends_on_no_sibling() {
    check_broken(
        "context-render",
        |render| render.dependencies.push(dependency("context-store-x")),
        &["rule 2: context-render depends on context-store-x: only the facade names plug-ins"],
    );
    check_broken(
        "context-render",
        |render| render.dependencies.push(dependency("context-runtime")),
        &["rule 2: context-render depends on context-runtime: it is a layer above"],
    );
}

#[test]
fn rule_2_plug_ins_share_the_client_of_http_and_nobody_else_does() {
    check_broken(
        "context-store-x",
        |store| {
            store.dependencies.push(Dependency { optional: true, ..dependency("context-http") })
        },
        &[],
    );
    check_broken(
        "context-runtime",
        |facade| facade.dependencies.push(dependency("context-http")),
        &["rule 2: context-runtime depends on context-http: only plug-ins speak to services"],
    );
    check_broken(
        "context-http",
        |client| client.dependencies.push(dependency("context-codec-x")),
        &["rule 2: context-http depends on context-codec-x: only the facade names plug-ins"],
    );
}

#[test]
fn rule_2_models_over_http_speak_codecs_and_know_no_other_sibling() {
    check_broken(
        "context-model-http",
        |models| models.dependencies.push(dependency("context-render")),
        &["rule 2: context-model-http depends on context-render: only the facade names plug-ins"],
    );
}

#[test]
fn rule_2_transcripts_speak_codecs_and_know_no_other_sibling() {
    check_broken(
        "context-transcript",
        |transcript| transcript.dependencies.push(dependency("context-store-x")),
        &["rule 2: context-transcript depends on context-store-x: only the facade names plug-ins"],
    );
    check_broken(
        "context-codec-x",
        |codec| codec.dependencies.push(dependency("context-transcript")),
        &["rule 2: context-codec-x depends on context-transcript: only the facade names plug-ins"],
    );
}

#[test]
fn rule_2_a_sibling_may_be_used_by_tests() {
    let dev = Dependency { kind: Kind::Dev, ..dependency("context-store-x") };
    check_broken("context-render", |render| render.dependencies.push(dev), &[]);
}

#[test]
fn rule_2_core_depends_on_none_of_ours() {
    check_broken(
        "context-core",
        |core| core.dependencies.push(dependency("context-render")),
        &["rule 2: context-core depends on context-render: core depends on none of our crates"],
    );
}

#[test]
fn rule_2_the_facade_takes_plug_ins_by_feature_only() {
    check_broken(
        "context-runtime",
        |facade| facade.dependencies.push(dependency("context-codec-x")),
        &["rule 2: context-runtime depends on context-codec-x: the facade's plug-ins are optional"],
    );
    check_broken(
        "context-runtime",
        |facade| {
            facade.dependencies.push(Dependency { optional: true, ..dependency("context-codec-x") })
        },
        &["rule 2: context-runtime depends on context-codec-x: no feature brings it"],
    );
}

#[test]
fn rule_2_the_facade_works_with_its_built_in_plug_ins_whatever_is_on() {
    check_broken(
        "context-runtime",
        |facade| {
            facade.dependencies.push(Dependency { optional: true, ..dependency("context-render") })
        },
        &["rule 2: context-runtime depends on context-render: a feature must only add names"],
    );
}

#[test]
fn rule_2_the_command_sees_the_facade_alone() {
    check_broken(
        "context-cli",
        |command| command.dependencies.push(dependency("context-core")),
        &[
            "rule 2: context-cli depends on context-core: the command depends on the facade and the server alone",
        ],
    );
}

#[test]
fn rule_2_tasks_build_while_the_crates_do_not() {
    check_broken(
        "xtask",
        |tasks| tasks.dependencies.push(dependency("context-core")),
        &["rule 2: xtask depends on context-core: tasks link none of our crates"],
    );
}

#[test]
fn rule_3_the_kit_is_for_tests_and_not_those_of_core() {
    let why = "the conformance kit is for the tests of plug-ins and the facade";
    check_broken(
        "context-runtime",
        |facade| facade.dependencies.push(dependency("context-conformance")),
        &[&format!("rule 3: context-runtime depends on context-conformance: {why}")],
    );
    let dev = Dependency { kind: Kind::Dev, ..dependency("context-conformance") };
    check_broken(
        "context-core",
        |core| core.dependencies.push(dev),
        &[&format!("rule 3: context-core depends on context-conformance: {why}")],
    );
}

#[test]
fn rule_3_the_simulator_is_for_tests_and_for_the_kit() {
    let why = "the simulator is for tests";
    check_broken(
        "context-runtime",
        |facade| facade.dependencies.push(dependency("context-simulator")),
        &[&format!("rule 3: context-runtime depends on context-simulator: {why}")],
    );
    let dev = Dependency { kind: Kind::Dev, ..dependency("context-simulator") };
    check_broken(
        "context-core",
        |core| core.dependencies.push(dev),
        &[&format!("rule 3: context-core depends on context-simulator: {why}")],
    );
    for kind in [Kind::Normal, Kind::Dev] {
        let kit = Dependency { kind, ..dependency("context-conformance") };
        check_broken(
            "context-simulator",
            |simulator| simulator.dependencies.push(kit),
            &[
                "rule 3: context-simulator depends on context-conformance: the conformance kit is built on the simulator",
            ],
        );
    }
}

#[test]
fn rule_3_servers_are_for_tests_and_know_nothing_of_ours() {
    check_broken(
        "context-runtime",
        |facade| {
            facade.dependencies.push(Dependency { optional: true, ..dependency("context-servers") })
        },
        &["rule 3: context-runtime depends on context-servers: servers are for tests and tasks"],
    );
    check_broken(
        "context-conformance",
        |kit| kit.dependencies.push(dependency("context-servers")),
        &[
            "rule 3: context-conformance depends on context-servers: servers are for tests and tasks",
        ],
    );
    let dev = Dependency { kind: Kind::Dev, ..dependency("context-core") };
    check_broken(
        "context-servers",
        |servers| servers.dependencies.push(dev),
        &[
            "rule 3: context-servers depends on context-core: what starts servers depends on none of our crates",
        ],
    );
}

#[track_caller]
fn check_source(path: &str, text: &str, expect: &[&str]) {
    let found = check_sources(&[SourceFile::new(path, text)]);
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
}

#[test]
fn rule_4_core_and_the_pure_plug_ins_touch_nothing() {
    let text = "//! Uses `std::fs`.\nfn now() {\n    std::time::SystemTime::now();\n}\n";
    check_source(
        "context-core/src/a.rs",
        text,
        &["rule 4: context-core/src/a.rs:3 uses SystemTime"],
    );
    check_source("context-store-x/src/a.rs", text, &[]);
    check_source("context-core/tests/a.rs", text, &[]);
    check_source(
        "context-core/src/a.rs",
        &format!("#[cfg(test)]\nmod tests {{\n{text}\n}}\n"),
        &[],
    );

    let text = "trait T {\n    async fn f();\n}\nfn operand::x() {}\n";
    check_source("context-core/src/a.rs", text, &[]);
    check_source(
        "context-render/src/a.rs",
        text,
        &["rule 4: context-render/src/a.rs:2 uses async fn"],
    );
    check_source(
        "context-codec-x/src/a.rs",
        text,
        &["rule 4: context-codec-x/src/a.rs:2 uses async fn"],
    );
}

#[test]
fn rule_5_a_feature_changes_no_public_enum() {
    let gated =
        "pub enum E {\n    A,\n    #[cfg(all(unix, feature = \"b\"))]\n    B { x: u8 },\n}\n";
    let broken = "rule 5: context-x/src/a.rs:3 puts a variant of a public enum behind a feature";
    check_source("context-x/src/a.rs", gated, &[broken]);
    check_source("context-x/src/a.rs", &gated.replace("pub enum", "enum"), &[]);
    check_source(
        "context-x/src/a.rs",
        "pub enum E { A }\n#[cfg(feature = \"b\")]\npub struct B;\n",
        &[],
    );
}

#[test]
fn rule_3_nobody_depends_on_what_asks_parsers_anything() {
    let mut graph = sound();
    graph
        .packages
        .push(package("context-fuzz", &["context-core", "context-runtime", "context-render"]));
    assert_eq!(check(&graph), []);
    let broken = &mut graph.packages[1];
    broken.dependencies.push(Dependency { kind: Kind::Dev, ..dependency("context-fuzz") });
    let found: Vec<_> = check(&graph).iter().map(ToString::to_string).collect();
    let expect = "rule 3: context-store-x depends on context-fuzz: what asks parsers anything is for nobody to depend on";
    assert_eq!(found, [expect]);
}

#[test]
fn rule_2_shared_parts_belong_to_a_family() {
    let shared = |from: &str, to: &str| {
        let packages = vec![package(to, &["context-core"]), package(from, &[to])];
        let found = check(&Graph { packages });
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(shared("context-codec-x", "context-codec-kit").is_empty());
    assert!(shared("context-store-x", "context-store-kit").is_empty());
    assert!(shared("context-runtime", "context-store-kit").is_empty());
    assert!(shared("context-simulator", "context-codec-kit").is_empty());
    assert_eq!(
        shared("context-render", "context-store-kit"),
        ["rule 2: context-render depends on context-store-kit: \
             it belongs to another family of plug-ins"]
    );
}

/// Returns the violations of a crate with these modules in order and these files.
fn ordered(modules: &[&str], files: &[(&str, &str)]) -> Vec<String> {
    let mut core = package("context-core", &[]);
    core.modules = Some(modules.iter().map(|name| (*name).to_owned()).collect());
    let path = |name: &str| format!("context-core/src/{name}");
    let files: Vec<_> =
        files.iter().map(|(name, text)| SourceFile::new(path(name), *text)).collect();
    let graph = Graph { packages: vec![core] };
    check_modules(&graph, &files).iter().map(ToString::to_string).collect()
}

const LIB: (&str, &str) = (
    "lib.rs",
    "//! A.\npub mod base;\nmod store;\npub use store::commit::{Commit, Kept as Held};\n",
);

#[test]
fn rule_6_a_module_uses_those_before_it() {
    let sound = [
        LIB,
        ("base.rs", "//! A `crate::store` in a comment.\nuse std::fmt;\n"),
        ("store.rs", "use crate::base::{Id, Json};\nmod commit;\n"),
        ("store/commit.rs", "use super::super::base::Id;\nuse crate::Commit;\nuse super::own;\n"),
    ];
    assert!(ordered(&["base", "store"], &sound).is_empty());
}

#[test]
fn rule_6_finds_every_form_of_an_import_against_the_order() {
    let against = "context-core/src/base/id.rs:2 uses store, which comes after base";
    for import in [
        "use crate::store::Commit;",
        "use crate::{Id, store};",
        "use crate::{base::Id, store::{commit, other}};",
        "use crate::Commit;",
        "use crate::Held as Other;",
        "fn f() -> crate::store::commit::Commit { todo() }",
        "use super::super::store::Commit;",
        "use super::super::{store::Commit};",
    ] {
        let text = format!("//! Ids.\n{import}\n");
        let found = ordered(&["base", "store"], &[LIB, ("base/id.rs", &text)]);
        assert_eq!(found, [format!("rule 6: {against}")], "{import}");
    }
    let in_tests = "#[cfg(test)]\nmod tests {\n    use crate::store::Commit;\n}\n";
    assert!(ordered(&["base", "store"], &[LIB, ("base/id.rs", in_tests)]).is_empty());
}

#[test]
fn rule_6_the_order_has_every_module_and_no_other() {
    assert_eq!(
        ordered(&["base", "gone"], &[LIB]),
        [
            "rule 6: context-core/src/lib.rs declares store, which has no place in the order of \
             modules",
            "rule 6: context-core: the order of modules has gone, which is not there",
        ]
    );
}
