//! Long tests, for `cargo xtask ci --long`: chats of a million messages through files, in memory
//! that does not grow with them.

use std::fmt::Write as _;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use context_runtime::transfer::{ImportJsonl, export_jsonl, import_jsonl};
use context_runtime::{
    CancelSource, ChatRef, Store,
    store::{ChainEnd, Window},
};

const MESSAGES: u64 = 1_000_000;

/// The lines of a chat, generated while they are read.
#[derive(Default)]
struct Lines {
    next: u64,
    ready: Vec<u8>,
    /// The number of bytes read so far.
    read: u64,
}

impl Lines {
    fn line(&self) -> Option<String> {
        let mut line = String::new();
        let (n, tag) = (self.next, self.next.wrapping_sub(2));
        match n {
            0 => line.push_str(
                r#"{"type":"chat","v":1,"chat":"c","active":"main","created_at":1,"updated_at":9}"#,
            ),
            1 => write!(
                line,
                r#"{{"type":"branch","name":"main","head":"m{}","created_at":1}}"#,
                MESSAGES - 1
            )
            .unwrap(),
            _ if tag < MESSAGES => {
                let parent =
                    tag.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"m{parent}\""));
                write!(
                    line,
                    r#"{{"type":"message","id":"m{tag}","parent":{parent},"created_at":{n},"role":"user","body":{{"kind":"message","v":1,"json":{{"role":"user","parts":[{{"type":"text","text":"{tag:0>400}"}}]}}}}}}"#
                )
                .unwrap();
            }
            _ if tag == MESSAGES => {
                write!(line, r#"{{"type":"end","messages":{MESSAGES}}}"#).unwrap()
            }
            _ => return None,
        }
        line.push('\n');
        Some(line)
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.is_empty() {
            let Some(line) = self.line() else { return Ok(0) };
            self.ready = line.into_bytes();
            self.next += 1;
        }
        let n = self.ready.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.ready[..n]);
        self.ready.drain(..n);
        self.read += n as u64;
        Ok(n)
    }
}

/// Seeks forward by reading, and backward by starting again.
impl Seek for Lines {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => to,
            SeekFrom::Current(by) => self.read.saturating_add_signed(by),
            SeekFrom::End(_) => return Err(std::io::ErrorKind::Unsupported.into()),
        };
        if to < self.read {
            *self = Self::default();
        }
        let behind = to - self.read;
        std::io::copy(&mut self.by_ref().take(behind), &mut std::io::sink())?;
        Ok(self.read)
    }
}

/// Returns the peak memory of this process in MiB. `None` if the system does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib >> 10)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; cargo xtask ci --long runs it"]
#[cfg(feature = "sqlite")]
async fn a_million_messages_come_in_and_go_out_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("large.db").display());
    let store: Arc<dyn Store> = context_runtime::open(&url).await.unwrap();
    let cancel = CancelSource::new().signal();
    let mut input = BufReader::new(Lines::default());
    let options = ImportJsonl { strict: true, ..ImportJsonl::new("ada") };
    let imported = import_jsonl(&*store, &mut input, &options, &cancel, &mut |_| {}).await.unwrap();
    assert_eq!(imported.chats[0].written().unwrap().messages, MESSAGES);
    let chat = ChatRef::new("ada", "c");
    let mut lines = 0u64;
    let mut out = CountLines(&mut lines);
    let exported =
        export_jsonl(&*store, std::slice::from_ref(&chat), &mut out, &cancel, &mut |_| {})
            .await
            .unwrap();
    assert_eq!((exported.messages, lines), (MESSAGES, MESSAGES + 3));
    if let Some(peak) = peak() {
        println!("peak memory {peak} MiB");
        assert!(peak < 512, "{peak} MiB");
    }
    // A whole chain does take memory. It is returned completely or as an error, never in part.
    let end = ChainEnd::Branch("main".into());
    let chain = store.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    assert_eq!((chain.len() as u64, chain.skipped()), (MESSAGES, 0));
    assert_eq!(chain.head(), Some(&format!("m{}", MESSAGES - 1).into()));
    assert!(store.history().delete_chat(&chat, None).await.unwrap());
    assert_eq!(store.history().chat(&chat).await.unwrap(), None);
}

struct CountLines<'a>(&'a mut u64);

impl std::io::Write for CountLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        *self.0 += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
