//! A second checker of wire bodies, written in Python over the types of the official clients.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, thread};

use serde_json::{Value, json};

/// The Python program that reads bodies line by line and answers each with a list of complaints. A
/// body that makes the checker raise is refused.
const LOOP: &str = "
import json, sys
sys.path.insert(0, sys.argv[1])
import validate_wire
for line in sys.stdin:
    asked = json.loads(line)
    try:
        said = [f'{kind}: {text}' for kind, text in validate_wire.check(asked['provider'], asked['body'])]
    except Exception as error:
        said = [f'fell over it: {error!r}']
    print(json.dumps(said), flush=True)
";

/// The reason why the official clients did not check the bodies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfficialClientsError {
    /// No Python is configured.
    #[error("CONTEXT_PYTHON names no Python with the packages openai, anthropic and google-genai")]
    NoPython,
    /// The checker is missing from the test data.
    #[error("there is no {}", .0.display())]
    NoChecker(PathBuf),
    /// The checker could not be run, or did not answer every body.
    #[error("the checker gave no answer to every body")]
    Failed(#[source] io::Error),
}

/// Runs `tools/validate_wire.py` in the folder of test data on bodies. Returns the complaints about
/// each body, an empty list if the body is accepted. Needs the environment variable
/// `CONTEXT_PYTHON`: a Python that has the providers' packages. Providers have the names in
/// [`PROVIDERS`](context_codec_kit::provider_rules::PROVIDERS).
pub fn check_with_official_clients(
    data: &Path,
    bodies: &[(&str, &Value)],
) -> Result<Vec<Vec<String>>, OfficialClientsError> {
    let python = env::var_os("CONTEXT_PYTHON")
        .filter(|python| !python.is_empty())
        .ok_or(OfficialClientsError::NoPython)?;
    let tools = data.join("tools");
    let checker = tools.join("validate_wire.py");
    if !checker.is_file() {
        return Err(OfficialClientsError::NoChecker(checker));
    }
    let said = ask(&python, &tools, bodies).map_err(OfficialClientsError::Failed)?;
    if said.len() < bodies.len() {
        return Err(OfficialClientsError::Failed(io::Error::other(format!(
            "{} of {}",
            said.len(),
            bodies.len()
        ))));
    }
    Ok(said)
}

fn ask(python: &OsString, tools: &Path, bodies: &[(&str, &Value)]) -> io::Result<Vec<Vec<String>>> {
    let mut command = Command::new(python);
    command.args(["-c", LOOP]).arg(tools).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(io::Error::other("no pipes"));
    };
    // Write and read concurrently, since pipes have small buffers.
    let said = thread::scope(|scope| {
        let writer = scope.spawn(move || -> io::Result<()> {
            for (provider, body) in bodies {
                let provider = if *provider == "gemini" { "google" } else { provider };
                writeln!(input, "{}", json!({ "provider": provider, "body": body }))?;
            }
            Ok(())
        });
        let lines = BufReader::new(output).lines();
        let said =
            lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect::<io::Result<Vec<_>>>();
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer fell over")))?;
        said
    });
    child.wait()?;
    said
}

impl OfficialClientsError {
    /// Whether the checker is merely absent, not broken.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NoPython | Self::NoChecker(_))
    }
}
