//! The shells. The scripts and answers are those of `clap_complete`, with two differences: words
//! arrive without their quotes, and bash has a script of its own, because its own words end at
//! every `:` and `=`, and it neither quotes a candidate nor keeps a `*` in it from being expanded.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use context_runtime::store::StoreRegistry;

use super::line::{self, unquoted};
use super::typed::Typed;

pub(super) const SHELLS: [&dyn EnvCompleter; 5] = [&Bash, &Elvish, &Fish, &Powershell, &Zsh];

/// A shell that is offered what a store holds.
pub(super) struct StoreShell<'a> {
    pub(super) shell: &'static dyn EnvCompleter,
    /// The stores that can be opened.
    pub(super) stores: &'a StoreRegistry,
    /// The line, for the completers of arguments.
    pub(super) typed: Arc<OnceLock<Typed>>,
}

impl EnvCompleter for StoreShell<'_> {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn io::Write,
    ) -> Result<(), io::Error> {
        match self.name() {
            "bash" => {
                let completer = completer.replace('\'', r"'\''");
                let script = BASH.replace("BIN", bin).replace("VARIABLE", var);
                buf.write_all(script.replace("COMPLETER", &completer).as_bytes())
            }
            _ => self.shell.write_registration(var, name, bin, completer, buf),
        }
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn io::Write,
    ) -> Result<(), io::Error> {
        if self.name() == "bash" {
            return self.answer_bash(cmd, &args, current_dir, buf);
        }
        let last = args.len().saturating_sub(1);
        let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
        // Zsh gives all words as they were typed, fish the last one; the others have read them.
        let raw = match self.name() {
            "zsh" => 0..args.len(),
            "fish" => last..args.len(),
            _ => 0..0,
        };
        let word = |(at, arg): (usize, OsString)| match arg.to_str() {
            Some(text) if raw.contains(&at) => unquoted(text).into(),
            _ => arg,
        };
        let args: Vec<_> = args.into_iter().enumerate().map(word).collect();
        let typed = Typed::new(&args, index.unwrap_or(last), self.stores);
        // PowerShell takes a candidate as it is written.
        self.typed.get_or_init(|| typed.only_plain(self.name() == "powershell"));
        self.shell.write_complete(cmd, args, current_dir, buf)
    }
}

impl StoreShell<'_> {
    /// Answers bash, whose script gives the line up to the cursor, its word breaks, and the rest.
    fn answer_bash(
        &self,
        cmd: &mut Command,
        args: &[OsString],
        current_dir: Option<&Path>,
        buf: &mut dyn io::Write,
    ) -> Result<(), io::Error> {
        let text = |at: usize| args.get(at).map(|arg| arg.to_string_lossy()).unwrap_or_default();
        let words = line::words(&text(0), &text(1));
        let args: Vec<OsString> = words.iter().map(|word| word.text.clone().into()).collect();
        let last = args.len() - 1;
        let rest = text(2);
        let rest = line::words(&rest, "").into_iter().map(|word| word.text);
        // What is left of the word at the cursor is replaced.
        let rest =
            rest.skip(usize::from(!text(2).starts_with(' '))).filter(|word| !word.is_empty());
        let line: Vec<OsString> = args.iter().cloned().chain(rest.map(Into::into)).collect();
        self.typed.get_or_init(|| Typed::new(&line, last, self.stores));
        for candidate in complete(cmd, args, last, current_dir)? {
            let reply = candidate.get_value().to_str().and_then(|value| words[last].reply(value));
            // A line break would end the candidate.
            if let Some(reply) = reply.filter(|reply| !reply.contains('\n')) {
                writeln!(buf, "{reply}")?;
            }
        }
        Ok(())
    }
}

const BASH: &str = r#"_context_complete() {
    local reply
    COMPREPLY=()
    while IFS= read -r reply; do
        COMPREPLY+=("$reply")
    done < <(VARIABLE=bash 'COMPLETER' -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" \
        "${COMP_LINE:COMP_POINT}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o nosort -F _context_complete BIN 2>/dev/null ||
    complete -o bashdefault -F _context_complete BIN
"#;
