//! The command line: own arguments, and those that `cargo test` and nextest pass to every test
//! program.

use std::path::PathBuf;

use crate::judge::BoxError;

/// Flags of libtest that are followed by a value.
const WITH_VALUE: [&str; 9] = [
    "--color",
    "--format",
    "--logfile",
    "--report-time",
    "--shuffle-seed",
    "--skip",
    "--test-threads",
    "-Z",
    "--ensure-time",
];

/// The parsed command line.
pub(crate) struct Arguments {
    pub(crate) request: Request,
    /// Whether to print how each case was judged.
    pub(crate) verbose: bool,
}

pub(crate) enum Request {
    /// Lists the suites, or those that are not run by default, of which there are none.
    List { ignored: bool },
    /// Replays a file.
    File { suite: String, path: PathBuf },
    /// Replays the files in the test data.
    Known(Filter),
}

/// The suites that a test runner asks for.
pub(crate) struct Filter {
    name: Option<String>,
    exact: bool,
    ignored: bool,
}

impl Filter {
    pub(crate) fn picks(&self, suite: &str) -> bool {
        let named = match &self.name {
            None => true,
            Some(name) if self.exact => suite == name,
            Some(name) => suite.contains(name.as_str()),
        };
        named && !self.ignored
    }
}

impl Arguments {
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Self, BoxError> {
        let (mut flags, mut words) = (Vec::new(), Vec::new());
        let mut args = args;
        while let Some(arg) = args.next() {
            if WITH_VALUE.contains(&arg.as_str()) {
                args.next();
            } else if arg.starts_with('-') {
                flags.push(arg);
            } else {
                words.push(arg);
            }
        }
        let has = |flag: &str| flags.iter().any(|given| given == flag);
        let request = match words.as_slice() {
            _ if has("--list") => Request::List { ignored: has("--ignored") },
            [suite, path] => Request::File { suite: suite.clone(), path: path.into() },
            [] | [_] => Request::Known(Filter {
                name: words.first().cloned(),
                exact: has("--exact"),
                ignored: has("--ignored"),
            }),
            _ => return Err("usage: vectors [SUITE FILE] [--verbose]".into()),
        };
        Ok(Self { request, verbose: has("--verbose") })
    }
}
