//! Adding many rows with few statements.

/// How many rows are added by one statement, if there are as many.
const MANY: usize = 16;
/// And by another, of those that are left: a round of a usual length has no sixteen nodes of one kind.
const FEW: usize = 4;

/// Adds rows: [`MANY`] of them, [`FEW`], or one.
pub(crate) struct Insert {
    one: String,
    few: String,
    many: String,
}

impl Insert {
    pub(crate) fn new(table: &str, columns: &[String]) -> Self {
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        let rows = |rows| {
            let values = vec![row.as_str(); rows].join(", ");
            format!("INSERT INTO {table} ({}) VALUES {values}", columns.join(", "))
        };
        Self { one: rows(1), few: rows(FEW), many: rows(MANY) }
    }

    pub(crate) fn named(table: &str, columns: &[&str]) -> Self {
        Self::new(table, &columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    /// Items in groups, each with the statement that adds it.
    pub(crate) fn groups<'a, T>(
        &'static self,
        items: &'a [T],
    ) -> impl Iterator<Item = (&'static str, &'a [T])> {
        let (many, rest) = items.as_chunks::<MANY>();
        let (few, rest) = rest.as_chunks::<FEW>();
        let many = many.iter().map(|group| (self.many.as_str(), group.as_slice()));
        let few = few.iter().map(|group| (self.few.as_str(), group.as_slice()));
        many.chain(few).chain(rest.chunks(1).map(|one| (self.one.as_str(), one)))
    }

    /// Its statements, for the test that prepares all.
    #[cfg(test)]
    pub(crate) fn all(&self) -> [&str; 3] {
        [&self.one, &self.few, &self.many]
    }
}
