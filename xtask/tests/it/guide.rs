//! The guide for authors of stores shows the files of a store that is tested.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// Returns the code of this language, block by block.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(begin.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_guide_has_the_program_of_the_example() {
    let (page, program) =
        (read("docs/prove-your-store.md"), read("examples/custom-store/tests/conformance.rs"));
    assert_eq!(blocks(&page, "rust"), [program]);
}

#[test]
fn the_manifest_of_the_guide_is_that_of_the_example() {
    let (page, example) =
        (read("docs/prove-your-store.md"), read("examples/custom-store/Cargo.toml"));
    let of_example: toml::Table = example.parse().unwrap();
    let [of_guide] = blocks(&page, "toml")[..] else { panic!("one manifest") };
    let of_guide: toml::Table = of_guide.parse().unwrap();
    assert_eq!(of_guide["package"]["metadata"], of_example["package"]["metadata"]);
    assert_eq!(of_guide["test"], of_example["test"]);
    let all = |name: &str| {
        let tables = ["dependencies", "dev-dependencies"];
        tables.iter().find_map(|table| of_example[*table].get(name)).cloned()
    };
    for (name, wanted) in of_guide["dev-dependencies"].as_table().unwrap() {
        let has = all(name).unwrap_or_else(|| panic!("the example needs no {name}"));
        assert_eq!(wanted.get("package"), has.get("package"), "{name}");
    }
}

#[test]
fn the_newest_version_of_the_contract_is_explained() {
    let (page, kit) = (read("docs/prove-your-store.md"), read("context-conformance/src/report.rs"));
    let number = kit.split("SUITE_VERSION: u32 = ").nth(1).unwrap().split(';').next().unwrap();
    let last = page.lines().rev().find(|line| line.starts_with("| ")).unwrap();
    assert!(last.starts_with(&format!("| {number} |")), "{last}");
}
