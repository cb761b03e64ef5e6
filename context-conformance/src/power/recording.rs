//! A recording: the changes of a folder by one process, from which states of a disk are built.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_simulator::Random;

use super::disk_event::DiskEvent;
use super::disk_image::{DiskImage, Reached};
use super::error::PowerError;
use super::event_reader::EventReader;
use super::survivors::{Rule, survivors};
use super::trace_log;

/// The names of the parts of a recording in its folder.
pub(super) const LOG: &str = "strace.log";
pub(super) const BEFORE: &str = "before";
pub(super) const PLACE: &str = "place";

/// The recorded writes, syncs and renames of a process.
#[derive(Clone, Debug)]
pub struct DiskRecording {
    before: DiskImage,
    /// The files as the process left them.
    after: Arc<DiskImage>,
    events: Vec<DiskEvent>,
    /// The moments before and after syncs, changes of names and acknowledgements: most can be lost
    /// before, and most has to be there after.
    edges: Vec<usize>,
}

impl DiskRecording {
    /// Reads a recording from the folder in which it was kept.
    pub fn load(folder: &Path, may_be_mapped: &dyn Fn(&Path) -> bool) -> Result<Self, PowerError> {
        let failed = PowerError::files("reading a recording");
        let place = fs::read_to_string(folder.join(PLACE)).map_err(&failed)?;
        let log = fs::read_to_string(folder.join(LOG)).map_err(&failed)?;
        let root = Path::new(&place);
        let before = DiskImage::of_folder(&folder.join(BEFORE))?;
        let reader = EventReader::new(root, root, before.clone(), may_be_mapped);
        let events = reader.read(trace_log::parse(&log)?)?;
        let mut after = before.clone();
        events.iter().for_each(|event| after.apply(event));
        let is_edge = |(_, event): &(usize, &DiskEvent)| event.changed_file().is_none();
        let edges = events.iter().enumerate().filter(is_edge);
        let mut edges: Vec<usize> = edges.flat_map(|(at, _)| [at, at + 1]).collect();
        edges.dedup();
        Ok(Self { before, after: Arc::new(after), events, edges })
    }

    /// Returns the number of events: changes, syncs and acknowledgements.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the exit status of the process.
    pub(super) fn exit(&self) -> Option<i32> {
        self.events.iter().find_map(|event| match event {
            DiskEvent::Exit(status) => Some(*status),
            _ => None,
        })
    }

    /// Returns the state of this number. Each number is a state, and a seed always gives the same
    /// ones. The first numbers of `spread` are spread over the whole recording.
    pub(super) fn choice(&self, seed: u64, number: usize, spread: usize) -> StateChoice<'_> {
        let mut random = Random::new(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // A moment of each stretch of the recording, half of the time an edge, and often the end.
        let part =
            (number % spread.max(1)) as f64 + random.below(1 << 20) as f64 / f64::from(1 << 20);
        let of = |count: usize| ((part * count as f64 / spread.max(1) as f64) as usize).min(count);
        let end = self.events.len();
        let crash = match random.below(8) {
            0 => end,
            1..=4 => self.edges.get(of(self.edges.len())).copied().unwrap_or(end),
            _ => of(end + 1).min(end),
        };
        let rule = Rule::random(&mut random);
        let reached = survivors(&self.events[..crash], rule, &mut random);
        StateChoice { recording: self, number, crash, rule, reached, noise: random }
    }
}

/// A choice of what a disk has kept.
pub(super) struct StateChoice<'a> {
    recording: &'a DiskRecording,
    number: usize,
    crash: usize,
    rule: Rule,
    reached: Vec<Reached>,
    noise: Random,
}

impl StateChoice<'_> {
    /// Returns a number that two equal states share: the same changes, and the same
    /// acknowledgements.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut tree = self.recording.before.tree().clone();
        let events = || self.recording.events.iter().zip(&self.reached).enumerate();
        events()
            .filter(|(_, (_, reached))| **reached != Reached::Nothing)
            .for_each(|(_, (event, _))| tree.apply(event));
        tree.drop_unreachable();
        let mut hasher = DefaultHasher::new();
        let mut files = HashSet::new();
        for (path, entry) in tree.iter() {
            (path, entry).hash(&mut hasher);
            files.insert(entry);
        }
        for (at, (event, reached)) in events() {
            let is_seen = event
                .changed_file()
                .is_some_and(|file| files.contains(&super::folder_tree::TreeEntry::File(file)));
            let is_line = matches!(event, DiskEvent::Acknowledge(_) | DiskEvent::Exit(_));
            if is_line || is_seen && !is_nothing(reached) {
                let whole = is_whole(event, reached);
                (at, if whole { &Reached::All } else { reached }).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Writes the state into an empty folder.
    pub(super) fn build(mut self, folder: PathBuf) -> Result<DiskState, PowerError> {
        let events = &self.recording.events[..self.crash];
        let mut image = self.recording.before.clone();
        for (event, reached) in events.iter().zip(&self.reached) {
            image.apply_part(event, reached);
        }
        image.tree_mut().drop_unreachable();
        // Half of the time zeros, which a mapped page that was never written back has.
        let is_void = self.noise.one_in(2);
        image.write_to(&folder, |bytes| {
            bytes.iter_mut().for_each(|byte| {
                *byte = if is_void { 0 } else { self.noise.bits() as u8 };
            });
        })?;
        let mut acknowledged = Vec::new();
        let mut exit = None;
        for event in events {
            match event {
                DiskEvent::Acknowledge(line) => acknowledged.push(line.clone()),
                DiskEvent::Exit(status) => exit = Some(*status),
                _ => {}
            }
        }
        let last = events.iter().rev().take(6).map(DiskEvent::shown).collect();
        Ok(DiskState {
            folder,
            after: Arc::clone(&self.recording.after),
            acknowledged,
            exit,
            number: self.number,
            crash: self.crash,
            rule: self.rule,
            last,
        })
    }
}

fn is_nothing(reached: &Reached) -> bool {
    match reached {
        Reached::All => false,
        Reached::Nothing => true,
        Reached::Part { ranges, length } => ranges.is_empty() && !length,
    }
}

fn is_whole(event: &DiskEvent, reached: &Reached) -> bool {
    match (event, reached) {
        (_, Reached::All) => true,
        (DiskEvent::Write { bytes, .. }, Reached::Part { ranges, length: true }) => {
            ranges.as_slice() == [(0, bytes.len())]
        }
        (DiskEvent::Resize { .. }, Reached::Part { length, .. }) => *length,
        _ => false,
    }
}

/// A state in which a disk may be after a loss of power, written to a folder.
#[derive(Clone)]
pub struct DiskState {
    folder: PathBuf,
    after: Arc<DiskImage>,
    acknowledged: Vec<String>,
    exit: Option<i32>,
    number: usize,
    crash: usize,
    rule: Rule,
    last: Vec<String>,
}

impl DiskState {
    /// Returns the folder with the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the texts that the process had acknowledged, in their order.
    pub fn acknowledged(&self) -> &[String] {
        &self.acknowledged
    }

    /// Returns the exit status of the process, if it had ended.
    pub fn exit(&self) -> Option<i32> {
        self.exit
    }

    /// Returns the content that a file of this name had when the process ended, to compare with
    /// what is left of it.
    pub fn final_content(&self, name: impl AsRef<Path>) -> Option<&[u8]> {
        self.after.content(name.as_ref())
    }

    /// Returns the number of the state. With the recording and the seed, it gives the same state.
    pub fn number(&self) -> usize {
        self.number
    }
}

impl std::fmt::Debug for DiskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for DiskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, crash, rule, acknowledged, last, .. } = self;
        writeln!(f, "state {number}: power is lost after {crash} events; the disk keeps {rule:?}")?;
        writeln!(
            f,
            "acknowledged: {}, the last one {:?}",
            acknowledged.len(),
            acknowledged.last()
        )?;
        write!(f, "the last events, the newest first: {}", last.join("; "))
    }
}
