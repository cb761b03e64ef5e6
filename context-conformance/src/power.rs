//! Loss of power: the states in which a disk may be afterwards, and a test of each of them.
//!
//! A process that writes files runs under strace. Its log of writes, syncs and renames is the
//! recording. From a recording and a seed come states: power is lost after some event, and the disk
//! has kept what was synced and a part of the rest. Each state is written to a folder of its own,
//! and the test opens it.
//!
//! Implement [`PowerTest`] and call [`main`] in a test target with `harness = false`.
//!
//! # The model of the disk
//!
//! | a disk | source |
//! |---|---|
//! | writes a sector of 512 bytes completely or not at all, and changes no bytes outside of a write | SQLite, "Atomic Commit In SQLite", 2.0 and 9.2; `SQLITE_POWERSAFE_OVERWRITE` |
//! | writes the sectors of everything that is not synced in any order, each or not | SQLite, the same; Pillai et al., OSDI 2014 (ALICE) |
//! | may keep the new length of a file and not its bytes, which are then zeros, or the bytes and not the length; the lengths of one file change in order | SQLite, the same, 2.0; ALICE, table 1 |
//! | has, after `fsync` and `fdatasync` of a file, all writes to it that had returned before, and its length | POSIX |
//! | has, after `fsync` of a folder, all changes of its entries that had returned before. A sync of a file says nothing about its name, and one of a folder nothing about the entry of the folder in its parent | the manual of `fsync(2)` |
//! | changes the entries of one folder in order, those of two folders independently. A rename, a link and a removal are atomic | ext4, XFS and btrfs journal them so; ALICE; Mohan et al., OSDI 2018 (CrashMonkey) |
//!
//! A disk that acknowledges a sync too early, bad sectors and changed bits are outside of the
//! model. So are system calls that a recording cannot follow: writable shared mappings, `io_uring`,
//! direct input and output, holes, further processes. A recording with one of these is an error,
//! not a pass.
//!
//! # The states
//!
//! The moments of the loss are spread evenly over the recording; half of them are just before or
//! after a sync, a change of a name or an acknowledgement. What the disk keeps follows a rule
//! that is drawn for each state: everything, only what was synced, everything up to some moment
//! (with the last write torn), each file up to a moment of its own, a subset of the writes, a
//! subset of the sectors, all names without content, or all content without names. States that do
//! not differ are checked once.
//!
//! A failure prints the seed, the number of the state and the folder of the recording. With these
//! in the environment, the state is checked again, alone.
//!
//! | variable | meaning |
//! |---|---|
//! | `CONTEXT_POWER_STATES` | the number of states of each test |
//! | `CONTEXT_CONFORMANCE_SEED` | the seed of their choice |
//! | `CONTEXT_POWER_RECORDING` | the folder of a kept recording |
//! | `CONTEXT_POWER_STATE` | the number of the only state to check |

mod acknowledgement;
mod disk_event;
mod disk_image;
mod error;
mod event_reader;
mod folder_tree;
mod open_files;
mod power_test;
mod program;
mod recorder;
mod recording;
mod survivors;
mod trace_log;
mod trace_value;

pub use acknowledgement::acknowledge;
pub use error::PowerError;
pub use power_test::{
    PowerFailure, PowerOutcome, PowerReport, PowerSettings, PowerTest, check_power_loss,
};
pub use program::{main, run_child};
pub use recorder::{check_recorder, record};
pub use recording::{DiskRecording, DiskState};
