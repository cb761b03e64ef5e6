//! Checks what each program prints, with the simulated model. The expected output of a program is
//! `tests/printed/NAME.txt`.

use std::error::Error;
use std::path::Path;
use std::process::Command;

type TestResult = Result<(), Box<dyn Error>>;

/// Runs a program and returns what it prints.
fn run(program: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let ran = Command::new(program).args(arguments).env_remove("CONTEXT_EXAMPLE_MODEL").output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into());
    }
    Ok(String::from_utf8(ran.stdout)?)
}

fn check(name: &str, printed: &str) -> TestResult {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/printed/{name}.txt"));
    assert_eq!(printed, std::fs::read_to_string(&file)?, "printed, and {}", file.display());
    Ok(())
}

/// One test for each program.
macro_rules! programs {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() -> TestResult {
            let name = stringify!($name);
            check(name, &run(env!(concat!("CARGO_BIN_EXE_", stringify!($name))), &[])?)
        })*
    };
}

programs!(
    streaming, tools, own_client, branches, compaction, memory, trajectory, policy, sub_agent
);

/// The second run continues the chat of the first one.
#[test]
fn store() -> TestResult {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("trips.db").display());
    let program = env!("CARGO_BIN_EXE_store");
    check("store", &(run(program, &[&url])? + &run(program, &[&url])?))
}
