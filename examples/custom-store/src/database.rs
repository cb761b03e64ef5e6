//! The database of a file, opened to change it or only to read it.

use std::path::Path;

use context_core::{Error, ErrorKind, Result};
use redb::{Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, WriteTransaction};

use crate::failed;

pub(crate) enum OpenedDatabase {
    ToWrite(Database),
    ToRead(ReadOnlyDatabase),
}

impl OpenedDatabase {
    pub(crate) fn to_write(path: &Path) -> Result<Self> {
        Database::open(path).map(Self::ToWrite).map_err(failed("open"))
    }

    pub(crate) fn to_read(path: &Path) -> Result<Self> {
        ReadOnlyDatabase::open(path).map(Self::ToRead).map_err(failed("open"))
    }

    pub(crate) fn read(&self) -> Result<ReadTransaction> {
        let begun = match self {
            Self::ToWrite(db) => db.begin_read(),
            Self::ToRead(db) => db.begin_read(),
        };
        begun.map_err(failed("read"))
    }

    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        match self {
            Self::ToWrite(db) => db.begin_write().map_err(failed("write")),
            Self::ToRead(_) => {
                Err(Error::new(ErrorKind::Unsupported, "write", "the store was opened to be read"))
            }
        }
    }
}

impl std::fmt::Debug for OpenedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ToWrite(_) => "OpenedDatabase::ToWrite",
            Self::ToRead(_) => "OpenedDatabase::ToRead",
        })
    }
}
