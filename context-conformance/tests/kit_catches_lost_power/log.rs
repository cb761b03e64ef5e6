//! A log of lines with a checksum, written correctly or not.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use context_conformance::power::{DiskState, PowerOutcome, PowerTest, acknowledge};

/// The number of records. Each is longer than a sector.
const RECORDS: usize = 12;
const LENGTH: usize = 700;

/// A fault in the way the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFault {
    /// No fault: each record is synced before it is acknowledged.
    None,
    /// No fault: nothing is synced, and nothing acknowledged.
    Weak,
    AcknowledgesBeforeTheSync,
    SyncsNoName,
    HasNoChecksums,
    /// Rewrites the number of its records in place, and trusts it.
    TrustsItsLength,
}

impl LogFault {
    pub(crate) const ALL: [Self; 6] = [
        Self::None,
        Self::Weak,
        Self::AcknowledgesBeforeTheSync,
        Self::SyncsNoName,
        Self::HasNoChecksums,
        Self::TrustsItsLength,
    ];

    /// Returns the beginning of the failure that the fault must have.
    pub(crate) fn found_as(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Weak => None,
            Self::AcknowledgesBeforeTheSync | Self::SyncsNoName => Some("an acknowledged record"),
            Self::HasNoChecksums | Self::TrustsItsLength => Some("a damaged record"),
        }
    }
}

pub(crate) struct Log(pub(crate) LogFault);

fn record(n: usize) -> Vec<u8> {
    let text = format!("{n} ").repeat(LENGTH);
    text.into_bytes()[..LENGTH].to_vec()
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

impl Log {
    fn write_all(&self, folder: &Path) -> io::Result<()> {
        let mut file = File::create_new(folder.join("log"))?;
        file.write_all(&[0; 4])?;
        if self.0 != LogFault::SyncsNoName {
            File::open(folder)?.sync_all()?;
        }
        for n in 0..RECORDS {
            let mut bytes = record(n);
            let checksum = checksum(&bytes);
            bytes.extend(checksum.to_le_bytes());
            file.write_all(&bytes)?;
            if self.0 == LogFault::TrustsItsLength {
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&(n as u32 + 1).to_le_bytes())?;
                file.seek(SeekFrom::End(0))?;
            }
            match self.0 {
                LogFault::Weak => {}
                LogFault::AcknowledgesBeforeTheSync => {
                    acknowledge("record")?;
                    file.sync_data()?;
                }
                _ => {
                    file.sync_data()?;
                    acknowledge("record")?;
                }
            }
        }
        Ok(())
    }
}

impl PowerTest for Log {
    fn name(&self) -> &str {
        match self.0 {
            LogFault::None => "log",
            LogFault::Weak => "weak_log",
            LogFault::AcknowledgesBeforeTheSync => "acknowledges_before_the_sync",
            LogFault::SyncsNoName => "syncs_no_name",
            LogFault::HasNoChecksums => "has_no_checksums",
            LogFault::TrustsItsLength => "trusts_its_length",
        }
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        Ok(self.write_all(folder)?)
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        let bytes = fs::read(state.folder().join("log")).unwrap_or_default();
        let (head, mut rest) = bytes.split_at_checked(4).unwrap_or((&[], &[]));
        let length = head.first_chunk().map_or(0, |head| u32::from_le_bytes(*head) as usize);
        let mut found = 0;
        while let Some((there, after)) = rest.split_at_checked(LENGTH + 4) {
            let (bytes, sum) = there.split_at(LENGTH);
            if self.0 != LogFault::HasNoChecksums && checksum(bytes).to_le_bytes() != *sum {
                break;
            }
            if bytes != record(found) {
                return Err("a damaged record was read".into());
            }
            (found, rest) = (found + 1, after);
        }
        if self.0 == LogFault::TrustsItsLength && found < length {
            return Err("a damaged record is counted".into());
        }
        let acknowledged = state.acknowledged().len();
        if found < acknowledged {
            return Err(format!("an acknowledged record is lost: {found} of {acknowledged}").into());
        }
        Ok(())
    }
}
