//! `ui` serves pages until Ctrl-C, and `export --to html` writes them into a file.

use std::fs;

use crate::harness::Bench;

#[cfg(unix)]
mod served {
    use std::collections::BTreeSet;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::path::Path;
    use std::process::{Child, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use crate::harness::{Bench, context, values};

    /// A running inspector.
    struct Served {
        child: Child,
        address: String,
        path: String,
    }

    impl Served {
        fn start(folder: &Path, args: &[&str]) -> Self {
            let args: Vec<_> = ["--json", "ui", "--no-open"].iter().chain(args).copied().collect();
            let mut command = context(folder, &args);
            let child = command.stdout(Stdio::piped()).spawn().expect("the executable runs");
            let mut served = Self { child, address: String::new(), path: String::new() };
            let mut line = String::new();
            let out = served.child.stdout.as_mut().expect("piped");
            BufReader::new(out).read_line(&mut line).expect("a record");
            let record = values(&line).remove(0);
            let url = record["url"].as_str().expect("an address").to_owned();
            let url = url.strip_prefix("http://").expect("of this machine");
            let (address, path) = url.split_once('/').expect("a path");
            assert_eq!(address, format!("127.0.0.1:{}", record["port"]));
            (served.address, served.path) = (address.to_owned(), format!("/{path}"));
            served
        }

        /// Returns the answer with its head.
        fn get(&self, path: &str, cookie: &str) -> String {
            let mut stream = TcpStream::connect(&self.address).expect("it listens");
            let host = &self.address;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
            )
            .expect("it reads");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("it answers");
            answer
        }

        /// Opens the first address and returns the cookie that it sets.
        fn cookie(&self) -> String {
            let answer = self.get(&self.path, "");
            let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
            cookie.and_then(|cookie| cookie.split(';').next()).expect(&answer).to_owned()
        }

        /// Sends Ctrl-C and returns the exit status.
        fn end(mut self) -> Option<i32> {
            kill_process(Pid::from_child(&self.child), Signal::INT).expect("it is still there");
            self.child.wait().expect("it ends").code()
        }
    }

    impl Drop for Served {
        /// Ends the process also if the test fails.
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn files(folder: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn it_serves_the_store_until_ctrl_c_and_leaves_nothing_behind() {
        let bench = Bench::with_sample();
        let before = files(bench.path());
        let served = Served::start(bench.path(), &["notes"]);
        assert!(served.path.starts_with("/chats/notes?token="), "{}", served.path);
        assert!(served.get("/", "").starts_with("HTTP/1.1 401"));
        let cookie = served.cookie();
        let page = served.get("/chats/notes", &cookie);
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("data-view=\"chat\""), "{page}");
        assert_eq!(served.end(), Some(0));
        assert_eq!(files(bench.path()), before);
    }

    #[test]
    fn files_are_read_into_memory_with_their_runs() {
        let bench = Bench::new();
        let file = bench.file("talk.json", crate::harness::sample());
        let served = Served::start(bench.path(), &["talk.json"]);
        let cookie = served.cookie();
        assert!(served.get("/chats/talk", &cookie).contains("<article"));
        assert_eq!(served.end(), Some(0));
        assert_eq!(files(bench.path()), BTreeSet::from(["talk.json".to_owned()]));
        assert_eq!(std::fs::read_to_string(file).expect("it is there"), crate::harness::sample());
    }
}

#[test]
fn names_that_are_nothing_are_refused_before_anything_is_served() {
    let bench = Bench::with_sample();
    bench.file("text.json", "\"no conversation\"");
    for (line, problem) in [
        ("ui nowhere", "nowhere"),
        ("ui missing.json", "there is no file or folder missing.json"),
        ("ui text.json", "text.json"),
        ("ui notes --port 1 --no-open --store sqlite:none.db", "there is no store"),
    ] {
        let ran = bench.run(line);
        assert!(ran.status == 1 && ran.err.contains(problem), "{line}: {} {}", ran.status, ran.err);
        assert_eq!(ran.out, "", "{line}");
    }
}

#[test]
fn a_page_is_written_to_a_new_file() {
    let bench = Bench::with_sample();
    let written = bench.run("export notes --to html --output notes.html");
    assert!(written.err.starts_with("note: wrote notes.html, "), "{}", written.err);
    let page = fs::read_to_string(bench.path().join("notes.html")).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(bench.ok("export notes --to html").len(), page.len());
    let again = bench.run("export notes --to html --output notes.html");
    assert!(again.status == 1 && again.err.contains("notes.html exists"), "{}", again.err);
    for line in ["export notes notes --to html", "--json export notes --to html"] {
        assert_eq!(bench.run(line).status, 2, "{line}");
    }
}
