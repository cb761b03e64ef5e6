//! The choice of what reached the disk before power was lost.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use context_simulator::Random;

use super::disk_event::{DiskEvent, FileNumber};
use super::disk_image::Reached;

/// The size of the unit that a disk writes completely or not at all.
const SECTOR: u64 = 512;

/// A rule by which changes that were not synced reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Everything: only the process was lost.
    Everything,
    /// Only what was synced.
    OnlySynced,
    /// Everything up to some moment.
    Prefix,
    /// Everything up to some moment, and parts of the write of that moment.
    TornPrefix,
    /// Of each file everything up to some moment of its own, and the same for each folder.
    FilesApart,
    /// Some writes and not others.
    Subset,
    /// Some sectors of some writes.
    Torn,
    /// All names, but no content that was not synced.
    Names,
    /// All content, but no names that were not synced.
    Contents,
}

impl Rule {
    const ALL: [Self; 9] = [
        Self::Everything,
        Self::OnlySynced,
        Self::Prefix,
        Self::TornPrefix,
        Self::FilesApart,
        Self::Subset,
        Self::Torn,
        Self::Names,
        Self::Contents,
    ];

    pub(super) fn random(random: &mut Random) -> Self {
        Self::ALL[random.below(Self::ALL.len())]
    }
}

/// Returns which of these events reached the disk, in their order.
pub(super) fn survivors(events: &[DiskEvent], rule: Rule, random: &mut Random) -> Vec<Reached> {
    let synced = Synced::of(events);
    // Moments before the first change that is not synced make no difference.
    let is_open = |(at, event): (usize, &DiskEvent)| event.is_change() && !synced.has(at, event);
    let first = events.iter().enumerate().position(is_open).unwrap_or(events.len());
    let moment = first + random.below(events.len() - first + 1);
    let density = 1 + random.below(4);
    let mut moments = Moments {
        first,
        end: events.len(),
        random,
        files: HashMap::new(),
        folders: HashMap::new(),
    };
    let mut reached = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        let is_synced = synced.has(at, event);
        let whole = |is_there| if is_there { Reached::All } else { Reached::Nothing };
        reached.push(match (rule, event.changed_file(), event.changed_folder()) {
            (_, None, None) => Reached::All,
            _ if is_synced => Reached::All,
            (Rule::Everything, ..) => Reached::All,
            (Rule::OnlySynced, ..) => Reached::Nothing,
            (Rule::Prefix, ..) => whole(at < moment),
            (Rule::TornPrefix, file, _) if at == moment && file.is_some() => {
                parts(event, true, 2, moments.random)
            }
            (Rule::TornPrefix, ..) => whole(at < moment),
            (Rule::Names, file, _) => whole(file.is_none()),
            (Rule::Contents, file, _) => whole(file.is_some()),
            (Rule::FilesApart, Some(file), _) => whole(at < moments.of_file(file)),
            (_, None, Some(folder)) => whole(at < moments.of_folder(folder)),
            // Lengths change in order; bytes reach the disk in any order.
            (Rule::Subset, Some(file), _) => {
                let length = at < moments.of_file(file);
                let kept = !moments.random.one_in(density + 1);
                let ranges = if kept { vec![(0, length_of(event))] } else { Vec::new() };
                Reached::Part { ranges, length }
            }
            (Rule::Torn, Some(file), _) => {
                let length = at < moments.of_file(file);
                parts(event, length, density + 1, moments.random)
            }
        });
    }
    reached
}

/// The number of changes that each file and each folder had made durable.
struct Synced<'a> {
    files: HashMap<FileNumber, usize>,
    folders: HashMap<&'a Path, usize>,
    everything: usize,
}

impl<'a> Synced<'a> {
    fn of(events: &'a [DiskEvent]) -> Self {
        let (mut files, mut folders, mut everything) = (HashMap::new(), HashMap::new(), 0);
        let raise = |known: &mut usize, before: usize| *known = before.max(*known);
        for event in events {
            match event {
                DiskEvent::SyncFile { file, before } => {
                    raise(files.entry(*file).or_default(), *before);
                }
                DiskEvent::SyncFolder { path, before } => {
                    raise(folders.entry(path.as_path()).or_default(), *before);
                }
                DiskEvent::SyncAll { before } => raise(&mut everything, *before),
                _ => {}
            }
        }
        // A synced rename took the name out of the one folder and into the other one.
        for (at, event) in events.iter().enumerate().rev() {
            if let (Some(left), Some(reached)) = (event.left_folder(), event.changed_folder())
                && folders.get(left).is_some_and(|before| at < *before)
            {
                raise(folders.entry(reached).or_default(), at + 1);
            }
        }
        Self { files, folders, everything }
    }

    fn has(&self, at: usize, event: &DiskEvent) -> bool {
        let file = event.changed_file().and_then(|file| self.files.get(&file));
        let folder = event.changed_folder().and_then(|folder| self.folders.get(folder));
        at < self.everything || [file, folder].into_iter().flatten().any(|before| at < *before)
    }
}

/// Random moments, one for each file and each folder.
struct Moments<'r> {
    first: usize,
    end: usize,
    random: &'r mut Random,
    files: HashMap<FileNumber, usize>,
    folders: HashMap<PathBuf, usize>,
}

impl Moments<'_> {
    fn of_file(&mut self, file: FileNumber) -> usize {
        let (first, end, random) = (self.first, self.end, &mut *self.random);
        *self.files.entry(file).or_insert_with(|| moment(first, end, random))
    }

    fn of_folder(&mut self, folder: &Path) -> usize {
        let (first, end, random) = (self.first, self.end, &mut *self.random);
        *self.folders.entry(folder.to_owned()).or_insert_with(|| moment(first, end, random))
    }
}

/// Returns a random moment. The last one is frequent.
fn moment(first: usize, end: usize, random: &mut Random) -> usize {
    if random.one_in(2) { end } else { first + random.below(end - first + 1) }
}

fn length_of(event: &DiskEvent) -> usize {
    match event {
        DiskEvent::Write { bytes, .. } => bytes.len(),
        _ => 0,
    }
}

/// Returns random sectors of a write, of which one in `lost` is missing.
fn parts(event: &DiskEvent, length: bool, lost: usize, random: &mut Random) -> Reached {
    let DiskEvent::Write { offset, bytes, .. } = event else {
        return Reached::Part { ranges: Vec::new(), length };
    };
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut begin = 0;
    while begin < bytes.len() {
        let to_border = SECTOR - (offset + begin as u64) % SECTOR;
        let end = bytes.len().min(begin + to_border as usize);
        if !random.one_in(lost) {
            match ranges.last_mut() {
                Some(last) if last.1 == begin => last.1 = end,
                _ => ranges.push((begin, end)),
            }
        }
        begin = end;
    }
    Reached::Part { ranges, length }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: FileNumber, offset: u64, length: usize) -> DiskEvent {
        DiskEvent::Write { file, offset, bytes: vec![1; length] }
    }

    fn chosen(events: &[DiskEvent], rule: Rule) -> impl Iterator<Item = Vec<Reached>> {
        (0..200).map(move |seed| survivors(events, rule, &mut Random::new(seed)))
    }

    #[test]
    fn what_was_synced_is_always_there() {
        let events = [
            DiskEvent::Name { file: 0, path: "a".into() },
            write(0, 0, 10),
            DiskEvent::SyncFile { file: 0, before: 2 },
            write(0, 10, 10),
            write(1, 0, 10),
            DiskEvent::SyncFolder { path: "".into(), before: 5 },
        ];
        for rule in Rule::ALL {
            for reached in chosen(&events, rule) {
                assert_eq!([&reached[0], &reached[1]], [&Reached::All; 2], "{rule:?}");
            }
        }
        let lost = |at: usize| chosen(&events, Rule::Subset).filter(move |r| r[at] != Reached::All);
        assert!(lost(3).count() > 10 && lost(4).count() > 10);
    }

    #[test]
    fn a_sync_covers_only_what_had_returned_before_it() {
        let events =
            [write(0, 0, 10), write(0, 10, 10), DiskEvent::SyncFile { file: 0, before: 1 }];
        let reached = survivors(&events, Rule::OnlySynced, &mut Random::new(1));
        assert_eq!(reached[..2], [Reached::All, Reached::Nothing]);
    }

    #[test]
    fn a_write_is_torn_at_the_borders_of_sectors() {
        let events = [write(0, 500, 1100)];
        let mut borders = std::collections::BTreeSet::new();
        for reached in chosen(&events, Rule::Torn) {
            let Reached::Part { ranges, .. } = &reached[0] else { panic!("{reached:?}") };
            borders.extend(ranges.iter().flat_map(|(begin, end)| [*begin, *end]));
        }
        assert_eq!(borders.into_iter().collect::<Vec<_>>(), [0, 12, 524, 1036, 1100]);
    }

    #[test]
    fn a_rename_is_synced_with_either_folder() {
        let rename = DiskEvent::Rename { file: 0, from: "a/x".into(), to: "y".into() };
        for folder in ["a", ""] {
            let sync = DiskEvent::SyncFolder { path: folder.into(), before: 1 };
            let events = [rename.clone(), sync];
            for reached in chosen(&events, Rule::Contents) {
                assert_eq!(reached[0], Reached::All);
            }
        }
    }
}
