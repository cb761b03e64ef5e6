//! The hot paths whose instructions `cargo xtask bench instructions` counts, one named case each.
//!
//! A case prepares its input, does its work once as a warm-up, and then does it inside [`counted`],
//! a function of which a profiler counts only the callees. Work on other threads cannot be counted
//! that way: such a case is run with two numbers of repetitions, and the difference is counted.
//! Nothing here reads a clock or draws a random number.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod data;
mod pure;
#[path = "../trajectory/data.rs"]
#[allow(dead_code, reason = "the cases need one round")]
mod rounds;
mod stores;
#[path = "../shared/data.rs"]
#[allow(dead_code, reason = "the cases need its words and nodes only")]
mod words;

#[path = "../render/data.rs"]
#[allow(dead_code, reason = "the case renders one of its sets")]
mod fragments;

/// The repeated work of a case.
type Work = Box<dyn FnMut()>;

/// A hot path.
struct Case {
    name: &'static str,
    prepare: fn() -> Work,
    /// The repetitions for the difference. `None` if all work is below [`counted`].
    threads: Option<usize>,
}

fn one(name: &'static str, prepare: fn() -> Work) -> Case {
    Case { name, prepare, threads: None }
}

fn many(name: &'static str, times: usize, prepare: fn() -> Work) -> Case {
    Case { name, prepare, threads: Some(times) }
}

fn cases() -> Vec<Case> {
    vec![
        one("render 1,000 fragments as XML", pure::render),
        one("resolve, warm, 10,000 messages", stores::resolve_warm),
        one("prepare a call, one new of 10,000", stores::prepare),
        one("prepare a call, cold, 1,000 messages", stores::prepare_cold),
        one("summarise 1,000 messages", stores::summarise),
        one("capture a turn, one new of 10,000", stores::capture),
        many("append a message, SQLite", 256, stores::append),
        many("load 1,000 messages, SQLite", 32, stores::load),
        one("recall among 500 candidates", stores::recall),
        one("plan of microcompact, 1,000 messages", pure::microcompact),
        one("normalize 1,000 messages", pure::normalize_valid),
        one("lower 1,000 messages, openai", || pure::lower("openai")),
        one("lower 1,000 messages, openai-responses", || pure::lower("openai-responses")),
        one("lower 1,000 messages, anthropic", || pure::lower("anthropic")),
        one("lower 1,000 messages, gemini", || pure::lower("gemini")),
        one("lower 1,000 messages, uimessage", || pure::lower("uimessage")),
        one("lift an answer, anthropic", pure::lift),
        one("stream of 1,000 events, anthropic", pure::stream),
        one("count the tokens of 100 KB", pure::tokens),
        one("pack 1,000 messages", pure::pack),
        one("unpack and read 1,000 messages", pure::unpack),
        one("record a round of 40 nodes", pure::record),
        one("restore a round of 40 nodes", pure::restore),
    ]
}

/// Calls everything that is counted, and nothing else.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Code after the call keeps this function on the stack while the work is done.
    std::hint::black_box(&work);
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--list"] => {
            for Case { name, threads, .. } in cases() {
                println!("{}\t{name}", threads.unwrap_or_default());
            }
        }
        [name, times] => {
            let case = cases().into_iter().find(|case| case.name == name).unwrap();
            let mut work = (case.prepare)();
            work();
            for _ in 0..times.parse().unwrap() {
                counted(&mut *work);
            }
        }
        _ => println!("`cargo xtask bench instructions` runs this program below a profiler."),
    }
}
