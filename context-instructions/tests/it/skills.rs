//! Skills in folders: which are found, which are refused, and with which messages.

use std::fs;
use std::path::Path;

use context_core::Timestamp;
use context_core::base::DiagnosticCode;
use context_instructions::{
    MAX_DESCRIPTION_CHARS, MAX_SKILL_BYTES, Skill, SkillError, SkillFolders, SkillScan,
    available_skills, discover_skills,
};
use tempfile::TempDir;

/// A time long after every file of these tests was written.
const LATER: Timestamp = Timestamp::from_micros(i64::MAX / 2);

fn write(root: &Path, folder: &str, text: impl AsRef<[u8]>) {
    let folder = root.join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n")
}

fn names(scan: &SkillScan) -> Vec<&str> {
    scan.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn error_of(text: impl AsRef<[u8]>) -> SkillError {
    let root = TempDir::new().unwrap();
    write(root.path(), "x", text);
    Skill::read(root.path().join("x/SKILL.md")).unwrap_err()
}

#[test]
fn skills_are_found_by_name_and_keep_their_other_keys() {
    let root = TempDir::new().unwrap();
    write(root.path(), "b", skill("alpha", "First by name."));
    write(
        root.path(),
        "a",
        "---\nname: pdf\ndescription: >\n  Fills in\n  forms.\nlicense: MIT\nallowed-tools: [Read, Bash]\nmetadata:\n  version: 1.10\n---\nUse the tools.\n",
    );
    fs::write(root.path().join("README.md"), "no skill").unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    write(root.path(), "deep/er", skill("deep", "Two levels down: not looked for."));

    let scan = discover_skills([root.path(), &root.path().join("missing")]);
    assert_eq!(scan.diagnostics, []);
    assert_eq!(names(&scan), ["alpha", "pdf"]);
    let pdf = &scan.skills[1];
    assert_eq!(pdf.description, "Fills in forms.");
    assert_eq!(pdf.path, root.path().join("a/SKILL.md"));
    assert_eq!(pdf.instructions().unwrap(), "Use the tools.");
    let metadata: Vec<_> =
        pdf.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        metadata,
        ["license=\"MIT\"", "allowed-tools=[\"Read\",\"Bash\"]", "metadata={\"version\":1.1}"]
    );
}

#[test]
fn a_root_can_be_a_skill_itself() {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("SKILL.md"), skill("whole", "The root.")).unwrap();
    write(root.path(), "examples", skill("inner", "Belongs to the root's skill."));
    assert_eq!(names(&discover_skills([root.path()])), ["whole"]);
}

#[test]
fn one_bad_skill_hides_no_other() {
    let root = TempDir::new().unwrap();
    write(root.path(), "good", skill("good", "Works."));
    write(root.path(), "bare", "# No front matter\n");
    write(root.path(), "binary", b"---\nname: x\n\xff\xfe\n---\n");
    write(root.path(), "open", "---\nname: x\ndescription: y\n");
    write(root.path(), "nameless", "---\ndescription: y\n---\n");
    write(root.path(), "silent", "---\nname: x\ndescription: '  '\n---\n");
    write(root.path(), "void", "---\n---\n");
    write(root.path(), "yaml", "---\nname: x\ndescription: y\ntags: [a, b\n---\n");
    write(root.path(), "list", "---\n- name\n- description\n---\n");
    write(root.path(), "large", skill("large", "y") + &"x".repeat(MAX_SKILL_BYTES as usize));
    fs::create_dir_all(root.path().join("folder/SKILL.md")).unwrap();

    let scan = discover_skills([root.path()]);
    assert_eq!(names(&scan), ["good"]);
    let prefix = format!("{}/", root.path().display());
    let lines: Vec<_> =
        scan.diagnostics.iter().map(|d| d.to_string().replace(&prefix, "")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn errors_can_be_told_apart() {
    assert!(matches!(error_of("x"), SkillError::MissingFrontMatter));
    assert!(matches!(error_of(""), SkillError::MissingFrontMatter));
    assert!(matches!(error_of("----\n"), SkillError::MissingFrontMatter));
    assert!(matches!(error_of("---\nname: x\n"), SkillError::UnclosedFrontMatter));
    assert!(matches!(error_of("---\ndescription: x\n---"), SkillError::MissingName));
    assert!(matches!(error_of("---\nname:\ndescription: x\n---"), SkillError::MissingName));
    assert!(matches!(error_of("---\nname: x\n---"), SkillError::MissingDescription));
    assert!(matches!(error_of(b"---\n\xff"), SkillError::NotUtf8 { valid_bytes: 4 }));
    assert!(matches!(Skill::read("/no/such/SKILL.md"), Err(SkillError::Unreadable(_))));
}

#[test]
fn an_error_of_yaml_names_the_line_of_the_file() {
    for newline in ["\n", "\r\n"] {
        let text = "---\nname: x\ndescription: y\nother: 'open\n---\n".replace('\n', newline);
        let SkillError::Yaml { line, .. } = error_of(&text) else {
            panic!("{:?}", error_of(&text))
        };
        assert!((4..=5).contains(&line), "line {line}");
        let text = "---\nname: x\nname: y\n---\n".replace('\n', newline);
        assert!(matches!(error_of(text), SkillError::Yaml { line: 3, .. }));
    }
}

#[test]
fn byte_order_marks_and_line_ends_do_not_matter() {
    let root = TempDir::new().unwrap();
    let text = format!("\u{feff}{}", skill("windows", "Made on Windows.").replace('\n', "\r\n"));
    write(root.path(), "w", text + "One.\r\nTwo.\r\n");
    let scan = discover_skills([root.path()]);
    assert_eq!(names(&scan), ["windows"]);
    assert_eq!(scan.skills[0].description, "Made on Windows.");
    assert_eq!(scan.skills[0].instructions().unwrap(), "# windows\nOne.\nTwo.");
}

/// Other readers of skills take a value line by line, so many files have an unquoted colon, which
/// is not valid YAML. Losing the skill for that would surprise its author.
#[test]
fn a_colon_without_quotes_is_taken_as_text_and_reported() {
    let root = TempDir::new().unwrap();
    write(
        root.path(),
        "x",
        "---\nname: x\ndescription: Use it when: it's asked for\nk: [1, 2]\n---\n",
    );
    let scan = discover_skills([root.path()]);
    assert_eq!(scan.skills[0].description, "Use it when: it's asked for");
    assert_eq!(scan.skills[0].metadata.get("k").unwrap().as_str(), "[1,2]");
    assert_eq!(scan.diagnostics.len(), 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::BrokenInput);
}

#[test]
fn aliases_cannot_make_much_of_little() {
    let mut text = String::from("---\nname: x\ndescription: y\na0: &a0 [z, z]\n");
    for level in 1..40 {
        text += &format!("a{level}: &a{level} [*a{0}, *a{0}, *a{0}, *a{0}]\n", level - 1);
    }
    assert!(matches!(error_of(text + "---\n"), SkillError::Yaml { .. }));
    let deep = format!(
        "---\nname: x\ndescription: y\nd: {}{}\n---\n",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    assert!(matches!(error_of(deep), SkillError::Yaml { .. }));
}

#[test]
fn of_two_skills_with_one_name_the_first_root_has_it() {
    let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(home.path(), "a", skill("review", "Of the user."));
    write(project.path(), "z", skill("review", "Of the project."));
    let scan = discover_skills([project.path(), home.path(), project.path()]);
    assert_eq!(scan.skills.len(), 1);
    assert_eq!(scan.skills[0].description, "Of the project.");
    // The same root twice is no duplicate.
    assert_eq!(scan.diagnostics.len(), 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::DuplicateName);
    assert_eq!(scan.diagnostics[0].path, home.path().join("a/SKILL.md").to_string_lossy());
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_loops_end() {
    let root = TempDir::new().unwrap();
    write(root.path(), "real", skill("real", "There once."));
    std::os::unix::fs::symlink(root.path().join("real"), root.path().join("also")).unwrap();
    std::os::unix::fs::symlink(root.path(), root.path().join("loop")).unwrap();
    fs::create_dir(root.path().join("self")).unwrap();
    std::os::unix::fs::symlink("SKILL.md", root.path().join("self/SKILL.md")).unwrap();
    let scan = discover_skills([root.path()]);
    assert_eq!(names(&scan), ["real"]);
    assert_eq!(scan.diagnostics.len(), 1, "the link that leads to itself: {:?}", scan.diagnostics);
}

#[test]
fn unchanged_skills_are_not_read_again() {
    let root = TempDir::new().unwrap();
    write(root.path(), "a", skill("a", "One."));
    write(root.path(), "b", "broken");
    let mut folders = SkillFolders::new([root.path()]);
    let first = folders.scan(LATER);
    assert_eq!((first.read, first.skills.len(), first.diagnostics.len()), (2, 1, 1));
    let second = folders.scan(LATER);
    assert_eq!(
        (second.read, &second.skills, &second.diagnostics),
        (0, &first.skills, &first.diagnostics)
    );

    write(root.path(), "b", skill("b", "Mended."));
    write(root.path(), "c", skill("c", "New."));
    fs::remove_dir_all(root.path().join("a")).unwrap();
    let third = folders.scan(LATER);
    assert_eq!((third.read, names(&third)), (2, vec!["b", "c"]));
    assert_eq!(third.diagnostics, []);
}

/// A file where a folder of skills should be.
#[test]
fn a_root_that_cannot_be_read_is_reported_and_the_others_are_used() {
    let (root, good) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = root.path().join("skills");
    fs::write(&file, "not a folder").unwrap();
    write(good.path(), "good", skill("good", "Works."));
    let scan = discover_skills([file.as_path(), good.path()]);
    assert_eq!(names(&scan), ["good"]);
    assert_eq!(scan.diagnostics.len(), 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::InstructionDiscoveryFailed);
    assert!(scan.diagnostics[0].message.contains("its skills are not offered"));
}

#[test]
fn the_fragment_offers_each_skill() {
    let skills = [
        Skill::new("pdf", "Fills in forms.", "/skills/pdf/SKILL.md"),
        Skill::new("long", "é".repeat(MAX_DESCRIPTION_CHARS + 1), "/skills/long/SKILL.md"),
    ];
    let fragment = available_skills(&skills);
    let json = serde_json::to_string_pretty(&fragment).unwrap();
    insta::assert_snapshot!(json.replace(&"é".repeat(MAX_DESCRIPTION_CHARS), "(1024 times é)"));
    assert!(available_skills(&[]).data().unwrap().is_empty());
}

#[test]
fn a_description_too_long_for_the_list_is_reported() {
    let root = TempDir::new().unwrap();
    write(root.path(), "x", skill("x", &"y".repeat(MAX_DESCRIPTION_CHARS + 1)));
    let scan = discover_skills([root.path()]);
    assert_eq!(scan.skills[0].description.len(), MAX_DESCRIPTION_CHARS + 1);
    assert_eq!(scan.diagnostics[0].code, DiagnosticCode::OverLimit);
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader(
        head in "(---\r?\n)?([a-z]{1,4}: ?[ -~é]{0,9}\r?\n|[ -~\n]{0,9}){0,5}(---\r?\n)?",
        name in "[a-zé]{1,8}",
    ) {
        let root = TempDir::new().unwrap();
        write(root.path(), "any", head);
        write(root.path(), "good", skill(&format!("'{name}'"), "Is always found."));
        let scan = discover_skills([root.path()]);
        proptest::prop_assert_eq!(scan.skills.len() + scan.diagnostics.iter()
            .filter(|d| d.severity == context_core::base::Severity::Error).count(), 2);
        proptest::prop_assert!(scan.skills.iter().any(|skill| skill.name == name));
    }
}
