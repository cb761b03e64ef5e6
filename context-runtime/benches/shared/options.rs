//! The command line of a benchmark.

/// The parsed command line.
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) check: bool,
    pub(crate) rounds: usize,
    /// Whether quality is measured, all of it and nothing else.
    #[allow(dead_code, reason = "one program measures quality")]
    pub(crate) quality: bool,
    only: Vec<String>,
    case: String,
}

impl Options {
    /// Reads the command line. With `--help`, or if it is wrong, prints a message and ends the
    /// program. `known` are the names that `--only` accepts.
    pub(crate) fn read(help: &str, rounds: usize, known: &[&str]) -> Self {
        Self::parse(help, rounds, known).unwrap_or_else(|message| {
            println!("{message}");
            std::process::exit(2);
        })
    }

    fn parse(help: &str, rounds: usize, known: &[&str]) -> Result<Self, String> {
        let (only, case) = (Vec::new(), String::new());
        let mut options = Self { json: false, check: false, rounds, quality: false, only, case };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => options.json = true,
                "--check" => options.check = true,
                "--rounds" => {
                    let number = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    options.rounds = number.ok_or("--rounds takes a number from 1")?;
                }
                "--quality" if known.contains(&"quality") => {
                    options.quality = true;
                    options.only.push("quality".to_owned());
                }
                "--only" if !known.is_empty() => {
                    let name = arguments.next().filter(|name| known.contains(&name.as_str()));
                    let name =
                        name.ok_or_else(|| format!("--only takes one of {}", known.join(", ")))?;
                    options.only.push(name);
                }
                "--case" => {
                    options.case = arguments.next().ok_or("--case takes a part of a row's name")?
                }
                // Added by cargo.
                "--bench" => {}
                "--help" | "-h" => {
                    println!("{help}");
                    std::process::exit(0);
                }
                other => return Err(format!("unknown argument {other:?}\n\n{help}")),
            }
        }
        Ok(options)
    }

    /// Whether a name of `--only` is selected.
    #[allow(dead_code, reason = "not every program measures several things")]
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Whether a row of this name is selected.
    #[allow(dead_code, reason = "not every program has rows")]
    pub(crate) fn has(&self, case: &str) -> bool {
        case.contains(&self.case)
    }
}
