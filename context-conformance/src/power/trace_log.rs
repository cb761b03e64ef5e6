//! The log of strace as a list of completed calls.
//!
//! With `-xx` every string is written in hexadecimal, paths too, so quotes, commas and brackets in
//! the log are always strace's own.

use std::collections::HashMap;

use super::error::PowerError;

/// A system call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SystemCall {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    /// The text of the result: a number, or a descriptor with its path.
    pub(super) result: String,
    /// The lines of the log at which the call began and returned.
    pub(super) begun: usize,
    pub(super) ended: usize,
}

impl SystemCall {
    /// Returns an argument, or an empty text.
    pub(super) fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// Returns the call as text, for an error.
    pub(super) fn shown(&self) -> String {
        let args: Vec<String> = self.args.iter().map(|arg| shown(arg)).collect();
        format!("{}({}) = {}", self.name, args.join(", "), shown(&self.result))
    }
}

/// Returns an argument with its hexadecimal strings as text, shortened.
fn shown(arg: &str) -> String {
    let mut text = String::new();
    let mut rest = arg;
    while let Some((before, after)) = rest.split_once("\\x") {
        text += before;
        let (digits, after) = after.split_at_checked(2).unwrap_or((after, ""));
        let byte = u8::from_str_radix(digits, 16).unwrap_or(b'?');
        text.extend(char::from(byte).escape_default());
        rest = after;
        if text.len() > 120 {
            return text + "…";
        }
    }
    text + rest
}

/// The content of a log.
#[derive(Debug, Default)]
pub(super) struct TraceLog {
    /// The successful calls, in the order in which they returned.
    pub(super) calls: Vec<SystemCall>,
    /// The exit status of the process, and the line that reports it.
    pub(super) exit: Option<(i32, usize)>,
}

/// Parses a log that was written with `-f -y -xx`.
pub(super) fn parse(log: &str) -> Result<TraceLog, PowerError> {
    let mut found = TraceLog::default();
    let mut unfinished: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut first = None;
    for (at, line) in log.lines().enumerate() {
        let unreadable = |reason| PowerError::Unreadable { line: at + 1, reason };
        let (thread, text) =
            line.split_once(' ').ok_or_else(|| unreadable("it has no thread number"))?;
        let first = *first.get_or_insert(thread);
        let text = text.trim_start();
        if let Some(rest) = text.strip_prefix("+++ exited with ") {
            if thread == first {
                let status = rest.split(' ').next().and_then(|status| status.parse().ok());
                found.exit = Some((status.ok_or_else(|| unreadable("no exit status"))?, at));
            }
        } else if text.starts_with("+++") || text.starts_with("---") {
            // A signal; a process that was killed has no exit status.
        } else if let Some(begin) = text.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread, (at, begin));
        } else if let Some(rest) = text.strip_prefix("<... ") {
            let (_, end) =
                rest.split_once(" resumed>").ok_or_else(|| unreadable("it resumes no call"))?;
            let (begun, begin) =
                unfinished.remove(thread).ok_or_else(|| unreadable("its call has not begun"))?;
            found.calls.extend(call(&format!("{begin}{end}"), begun, at).map_err(unreadable)?);
        } else {
            found.calls.extend(call(text, at, at).map_err(unreadable)?);
        }
    }
    Ok(found)
}

/// Parses a call. Returns `None` for one that failed, and for one without a result.
fn call(text: &str, begun: usize, ended: usize) -> Result<Option<SystemCall>, &'static str> {
    let (name, rest) = text.split_once('(').ok_or("it is no call")?;
    let mut args = Vec::new();
    let (mut depth, mut from, mut end) = (0, 0, None);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b')' if depth == 0 => {
                end = Some(at);
                break;
            }
            b']' | b'}' | b')' => depth -= 1,
            b',' if depth == 0 => {
                args.push(rest[from..at].trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    let end = end.ok_or("its arguments do not end")?;
    let last = rest[from..end].trim();
    if !last.is_empty() {
        args.push(last.to_owned());
    }
    let (_, result) = rest[end + 1..].split_once("= ").ok_or("it has no result")?;
    if result.starts_with(['-', '?']) {
        return Ok(None);
    }
    Ok(Some(SystemCall { name: name.to_owned(), args, result: result.to_owned(), begun, ended }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_interrupted_by_another_thread_is_one_call() {
        let log = "7  execve(\"\\x61\", [\"\\x61\"], 0x7f /* 3 vars */) = 0\n\
            7  fsync(3<\\x2f\\x61> <unfinished ...>\n\
            8  pwrite64(4<\\x2f\\x62>(deleted), \"\\x68\\x69\", 2, 4096 <unfinished ...>\n\
            7  <... fsync resumed>)              = 0\n\
            8  <... pwrite64 resumed>) = 2\n\
            8  openat(AT_FDCWD<\\x2f>, \"\\x63\", O_RDONLY) = -1 ENOENT (No such file)\n\
            8  --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---\n\
            8  exit(0) = ?\n\
            8  +++ exited with 3 +++\n\
            7  +++ exited with 0 +++\n";
        let found = parse(log).unwrap();
        let calls: Vec<_> =
            found.calls.iter().map(|call| (call.name.as_str(), call.begun, call.ended)).collect();
        assert_eq!(calls, [("execve", 0, 0), ("fsync", 1, 3), ("pwrite64", 2, 4)]);
        assert_eq!(found.calls[2].args, ["4<\\x2f\\x62>(deleted)", "\"\\x68\\x69\"", "2", "4096"]);
        assert_eq!(found.exit, Some((0, 9)));
        assert_eq!(found.calls[2].shown(), "pwrite64(4</b>(deleted), \"hi\", 2, 4096) = 2");
    }

    #[test]
    fn nested_arguments_stay_together() {
        let line = "9 pwritev2(3<\\x61>, [{iov_base=\"\\x61\", iov_len=1}, {}], 2, 10, 0) = 1";
        assert_eq!(parse(line).unwrap().calls[0].args.len(), 5);
        let error = parse("9 pwrite64(3, ").unwrap_err();
        assert!(matches!(error, PowerError::Unreadable { line: 1, .. }), "{error}");
    }
}
