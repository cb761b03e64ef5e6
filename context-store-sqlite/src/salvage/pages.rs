//! The pages of a file, read without SQLite: those of the file itself, and newer ones of the log.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::file::access::sidecar;

/// The page size of the files that this program creates, for a file whose header is lost.
const USUAL: usize = 4096;
const HEADER: usize = 100;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The first four bytes of a log, whose last bit says in which order its checksums read bytes.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The pages of a damaged file. Nothing is written.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    log: Option<File>,
    /// The offsets of pages within the log.
    newer: HashMap<u32, u64>,
    pub(super) size: usize,
    /// The number of bytes of a page that hold data.
    pub(super) usable: usize,
    pub(super) count: u32,
    /// The first page of the list of free pages and their number. `None` if the header is lost.
    pub(super) free: Option<(u32, u32)>,
    /// The number of pages that the header states, beyond what the file has.
    pub(super) cut_off: u32,
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut pages = Self {
            file,
            log: None,
            newer: HashMap::new(),
            size: USUAL,
            usable: USUAL,
            count: 0,
            free: None,
            cut_off: 0,
        };
        let mut header = [0; HEADER];
        let known = length >= HEADER as u64 && {
            pages.file.read_exact(&mut header)?;
            page_size(&header).map(|size| pages.size = size).is_some()
        };
        pages.usable = pages.size - usize::from(if known { header[20] } else { 0 });
        pages.count = u32::try_from(length.div_ceil(pages.size as u64)).unwrap_or(u32::MAX);
        pages.read_log(path)?;
        if let Some(first) = pages.page(1)?
            && page_size(&first) == Some(pages.size)
        {
            let stated = number_at(&first, 28);
            pages.cut_off = stated.saturating_sub(pages.count);
            pages.free = Some((number_at(&first, 32), number_at(&first, 36)));
        }
        Ok(pages)
    }

    /// Returns a page, or `None` if the file is cut off in front of its end.
    pub(super) fn page(&mut self, number: u32) -> io::Result<Option<Vec<u8>>> {
        if number == 0 {
            return Ok(None);
        }
        let mut page = vec![0; self.size];
        let read = match (self.newer.get(&number), &mut self.log) {
            (Some(offset), Some(log)) => {
                log.seek(SeekFrom::Start(*offset))?;
                log.read_exact(&mut page)
            }
            _ => {
                let offset = u64::from(number - 1) * self.size as u64;
                self.file.seek(SeekFrom::Start(offset))?;
                self.file.read_exact(&mut page)
            }
        };
        match read {
            Ok(()) => Ok(Some(page)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds the pages of the transactions that the log holds completely.
    fn read_log(&mut self, path: &Path) -> io::Result<()> {
        let mut log = match File::open(sidecar(path, "-wal")) {
            Ok(log) => log,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut header = [0; LOG_HEADER];
        if log.read_exact(&mut header).is_err() || number_at(&header, 0) & !1 != LOG_MAGIC {
            return Ok(());
        }
        let big_endian = number_at(&header, 0) & 1 == 1;
        let sum = |sums, bytes: &[u8]| log_sum(sums, bytes, big_endian);
        let mut sums = sum((0, 0), &header[..24]);
        if sums != (number_at(&header, 24), number_at(&header, 28))
            || number_at(&header, 8) as usize != self.size
        {
            return Ok(());
        }
        let (mut frame, mut page) = ([0; FRAME_HEADER], vec![0; self.size]);
        let (mut offset, mut pending) = (LOG_HEADER as u64, Vec::new());
        while log.read_exact(&mut frame).is_ok() && log.read_exact(&mut page).is_ok() {
            sums = sum(sum(sums, &frame[..8]), &page);
            if frame[8..16] != header[16..24]
                || sums != (number_at(&frame, 16), number_at(&frame, 20))
            {
                break;
            }
            pending.push((number_at(&frame, 0), offset + FRAME_HEADER as u64));
            let after = number_at(&frame, 4);
            if after > 0 {
                self.newer.extend(pending.drain(..));
                self.count = self.count.max(after);
            }
            offset += (FRAME_HEADER + self.size) as u64;
        }
        self.log = Some(log);
        Ok(())
    }
}

/// Returns the page size that a header states, or `None` if this is no header.
fn page_size(header: &[u8]) -> Option<usize> {
    let stated = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let size = if stated == 1 { 65_536 } else { stated };
    let is_size = size.is_power_of_two() && (512..=65_536).contains(&size);
    (header.starts_with(b"SQLite format 3\0") && is_size && header[20] <= 32).then_some(size)
}

/// Returns the big-endian number at an offset, 0 beyond the end.
pub(super) fn number_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
    u32::from_be_bytes(bytes.unwrap_or_default())
}

fn log_sum(sums: (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    pairs.iter().fold(sums, |(one, two), pair| {
        let word = |at: usize| {
            let word = [pair[at], pair[at + 1], pair[at + 2], pair[at + 3]];
            if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let one = one.wrapping_add(word(0)).wrapping_add(two);
        (one, two.wrapping_add(word(4)).wrapping_add(one))
    })
}
