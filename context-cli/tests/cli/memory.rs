//! Memories in a file, across processes.

use serde_json::json;

use crate::harness::{Bench, values};

#[test]
fn memories_stay_from_one_process_to_the_next() {
    let bench = Bench::with_sample();
    let lines = "{\"text\": \"I fly to Lisbon from Berlin only.\", \"speaker\": \"Ada\", \"message\": \"m1\"}\n\
        {\"text\": \"Tea, please.\"}\n";
    let add = "--json memory add --from - --in monday";
    for (added, there) in [(2, 0), (0, 2)] {
        let ran = bench.run_with(add, lines);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let record = &values(&ran.out)[0];
        assert_eq!((&record["added"], &record["there"]), (&json!(added), &json!(there)));
    }
    assert_eq!(bench.records("memory add --chat notes")[0]["there"], 0);
    let best = bench.records("memory recall Lisbon").remove(0);
    assert_eq!(
        (&best["text"], &best["speaker"]),
        (&json!("I fly to Lisbon from Berlin only."), &json!("Ada"))
    );
    let memories = bench.records("verify")[0]["memories"].as_u64().expect("a number");
    let stats = bench.records("memory stats");
    assert_eq!(stats.last().expect("a total")["records"], memories);
    assert!(memories > 2);

    assert_eq!(bench.records("memory forget --message m1 --in monday --yes")[0]["removed"], 1);
    assert!(bench.records("memory recall Berlin").is_empty());
    assert_eq!(
        values(&bench.run_with(add, lines).out)[0]["left_out"],
        1,
        "what was forgotten stays so"
    );
    let ran = bench.run("memory forget --all");
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert_eq!(bench.records("memory forget --all --yes")[0]["removed"], memories - 1);
    assert_eq!(bench.records("verify")[0]["memories"], 0);
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn memories_in_quarantine_are_kept_and_not_recalled() {
    let bench = Bench::new();
    bench.ok("memory add 'The gate code is 4711.' --message m1 --in monday");
    bench.ok("memory add 'The gate code is 666.' --message m2 --in page --speaker Eve");
    let recalled = || bench.records("memory recall gate code").len();
    assert_eq!(recalled(), 2);
    let made = bench.records("memory quarantine --from-session page --reason poisoned").remove(0);
    assert_eq!(made["target"], json!({"source": {"session": "page"}}));
    assert_eq!(recalled(), 1);
    // What is added later from there is in quarantine too, and a list marks it.
    bench.ok("memory add 'The gate code is 667.' --message m3 --in page");
    assert_eq!(recalled(), 1);
    let listed = bench.records("memory list");
    let reasons = listed.iter().filter(|line| line["quarantine"] == "poisoned").count();
    assert_eq!((listed.len(), reasons), (4, 2), "three memories and the end of the page");
    assert_eq!(bench.records("memory quarantined"), vec![made.clone()]);
    let id = made["id"].as_str().expect("an id");
    assert_eq!(bench.records(&format!("memory release {id}"))[0]["released"], true);
    assert_eq!(recalled(), 3);
    assert_eq!(bench.run(&format!("memory release {id}")).status, 1);
    bench.ok("memory quarantine --speaker Eve");
    assert_eq!(recalled(), 2);
    assert_eq!(bench.records("memory forget --message m2 --in page --yes")[0]["removed"], 1);
    let used = bench.run("memory uses 3f01d18de1ea430c0c7eae7a31f4f34b");
    assert_eq!((used.status, used.out.as_str()), (0, ""));
}

/// Regression: the command reported that nothing matched, and succeeded.
#[test]
fn a_damaged_memory_is_not_passed_over_in_silence() {
    let bench = Bench::new();
    bench.ok("memory add 'Pay 100 for the flight to Lisbon.' --in monday");
    let path = bench.path().join("context.db");
    let (mut file, said) = (std::fs::read(&path).expect("the store"), b"Pay 100 for");
    let places: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(said)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| file[at + 4] = b'9');
    std::fs::write(&path, file).expect("the store");
    for (line, shown) in [
        ("memory recall Lisbon", "error: "),
        ("--json memory recall Lisbon", "\"error\""),
        ("memory recall Lisbon --prompt", "error: "),
        ("memory list", "error: "),
    ] {
        let ran = bench.run(line);
        assert_eq!(ran.status, 1, "{line}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(shown) && ran.err.contains("checksum"), "{line}: {}", ran.err);
        assert!(!ran.out.contains("900") && !ran.err.contains("nothing is"), "{line}: {}", ran.out);
    }
    assert_eq!(bench.run("verify").status, 1);
}

#[test]
fn every_command_teaches_by_example() {
    let bench = Bench::new();
    for command in
        ["recall", "list", "add", "forget", "quarantine", "release", "quarantined", "uses", "stats"]
    {
        let help = bench.ok(&format!("memory {command} --help"));
        assert!(help.contains("Example") && help.contains("--project"), "{command}");
    }
    for line in [
        "memory forget",
        "memory forget --id x --all",
        "memory forget --message m1",
        "memory quarantine",
        "memory quarantine --trust strange",
        "memory release",
        "memory uses",
        "memory add",
        "memory add text --chat notes",
        "memory add --fact Ada likes",
    ] {
        assert_eq!(bench.run(line).status, 2, "{line}");
    }
}
