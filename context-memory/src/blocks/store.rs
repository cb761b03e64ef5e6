//! The blocks of a store, for applications.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use context_core::base::limits;
use context_core::memory::{MemoryScope, StoredMemory, Trust};
use context_core::store::{MemoryList, MemoryOutcome};
use context_core::{Clock, Result, Store};

use super::rule::check_name;
use super::{Block, BlockEdit, BlockError, BlockRule, BlockVersion, block_record};
use crate::ScopeLevel;
use crate::records::{Records, filed};
use crate::review::RecallFilter;

pub(super) const OPERATION: &str = "blocks";
/// The number of attempts to apply an edit while other writers are faster.
const TRIES: usize = 16;
/// The number of kept records, including deleted blocks, per allowed block.
const DELETED_EACH: usize = 8;
/// The most blocks that are read at once.
pub(super) const MOST_READ: usize = 10_000;

/// The blocks of a store. Applications use the methods of this type, models use
/// [tools](super::BlockTools), and turns use it as a
/// [`MemoryProvider`](context_core::MemoryProvider) that recalls all blocks.
///
/// A scope argument states where the call comes from, as precisely as known. The block's
/// [rule](BlockRule) decides under which part of it the block is filed. `Debug` shows rules, not
/// content.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Clock, Timestamp};
/// use context_core::memory::MemoryScope;
/// use context_memory::{BlockRule, Blocks};
/// use context_store_inmem::InMemoryStore;
///
/// #[derive(Debug)]
/// struct Midnight;
///
/// impl Clock for Midnight {
///     fn now(&self) -> Timestamp {
///         Timestamp::default()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let blocks = Blocks::new(Arc::new(InMemoryStore::default()), Arc::new(Midnight))?
///     .declare(BlockRule::new("person").description("Who the user is.").max_chars(500))?;
/// let ada = MemoryScope::new("ada");
/// blocks.create(&ada, "person", "Ada. Prefers the aisle.").await?;
/// assert_eq!(blocks.view(&ada, "person").await?.text, "Ada. Prefers the aisle.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Blocks {
    pub(super) records: Records,
    clock: Arc<dyn Clock>,
    pub(super) rules: BTreeMap<String, BlockRule>,
    pub(super) other: Option<BlockRule>,
    most: usize,
    versions: usize,
    written_by: Trust,
}

impl Blocks {
    /// Creates blocks on a store, with timestamps from this clock. Defaults: any name, at most 32
    /// blocks per scope, ten earlier versions each. Fails with
    /// [`Unsupported`](context_core::ErrorKind::Unsupported) if the store does not support
    /// memories.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self> {
        let records = Records::new(store, OPERATION)?;
        let other = Some(BlockRule::new(""));
        Ok(Self {
            records,
            clock,
            rules: BTreeMap::new(),
            other,
            most: 32,
            versions: 10,
            written_by: Trust::Program,
        })
    }

    /// Declares a block. A later declaration of the same name replaces an earlier one. Fails if the
    /// name or the limit is invalid.
    pub fn declare(mut self, rule: BlockRule) -> Result<Self> {
        rule.check()?;
        self.rules.insert(rule.name.clone(), rule);
        Ok(self)
    }

    /// Sets the limit in characters and the scope level of all blocks that are not declared. Fails
    /// if the limit is invalid.
    pub fn others(mut self, max_chars: usize, level: ScopeLevel) -> Result<Self> {
        let rule = BlockRule::new("other").max_chars(max_chars).scope_level(level);
        rule.check()?;
        self.other = Some(rule);
        Ok(self)
    }

    /// Allows declared blocks only.
    #[must_use]
    pub fn only_declared(mut self) -> Self {
        self.other = None;
        self
    }

    /// Sets the largest number of blocks per scope, from 1 to 100.
    #[must_use]
    pub fn max_blocks(mut self, blocks: usize) -> Self {
        self.most = blocks.clamp(1, 100);
        self
    }

    /// Sets how many earlier versions of a block are kept, at most 100. Large blocks keep fewer, at
    /// most 768 KiB in total.
    #[must_use]
    pub fn keep_versions(mut self, versions: usize) -> Self {
        self.versions = versions.min(100);
        self
    }

    /// Sets the class of trust of what is written through this value. Default: the program. [Tools
    /// of a model](super::BlockTools) write with the class of a model.
    #[must_use]
    pub fn written_by(mut self, trust: Trust) -> Self {
        self.written_by = trust;
        self
    }

    /// Returns the blocks visible from a scope, by name and then from the widest scope to the
    /// narrowest. Declared blocks that were never written are included and empty, and blocks in
    /// quarantine are left out.
    pub async fn list(&self, scope: &MemoryScope) -> Result<Vec<Block>> {
        let filter = RecallFilter::read(&self.records, scope, None).await?;
        let (shown, hidden): (Vec<_>, Vec<_>) = self
            .stored(scope.visible())
            .await?
            .into_iter()
            .partition(|stored| filter.takes(&stored.record));
        let mut blocks: Vec<Block> = shown.iter().map(|stored| self.block(stored)).collect();
        let is_hidden = |filed: &MemoryScope, name: &str| {
            let id = Block::id(name);
            hidden.iter().any(|stored| stored.record.id == id && stored.record.scope == *filed)
        };
        for rule in self.rules.values() {
            let Ok(filed) = filed(rule.scope_level, scope, OPERATION) else { continue };
            let is_there =
                blocks.iter().any(|block| block.name == rule.name && block.scope == filed);
            if !is_there && !is_hidden(&filed, &rule.name) {
                blocks.push(empty(rule, &rule.name, filed));
            }
        }
        blocks.retain(|block| !block.is_deleted);
        let width = |scope: &MemoryScope| {
            usize::from(scope.project.is_some())
                + usize::from(scope.agent.is_some())
                + usize::from(scope.session.is_some())
        };
        blocks.sort_by_cached_key(|block| {
            (block.name.clone(), width(&block.scope), block.scope.key())
        });
        Ok(blocks)
    }

    /// Returns a block. A declared block that was never written is empty. Fails with
    /// [`Unknown`](BlockError::Unknown) if the block does not exist or was deleted.
    pub async fn view(&self, scope: &MemoryScope, name: &str) -> Result<Block, BlockError> {
        let (rule, filed) = self.filed(scope, name)?;
        match self.read(&filed, name).await? {
            Some(stored) if !block_record::is_deleted(&stored) => Ok(self.block(&stored)),
            None if self.rules.contains_key(name) => Ok(empty(rule, name, filed)),
            _ => Err(BlockError::Unknown { name: name.to_owned() }),
        }
    }

    /// Returns the kept versions of a block, newest first, also of a deleted block.
    pub async fn history(
        &self,
        scope: &MemoryScope,
        name: &str,
    ) -> Result<Vec<BlockVersion>, BlockError> {
        let (_, filed) = self.filed(scope, name)?;
        match self.read(&filed, name).await? {
            Some(stored) => Ok(block_record::versions(&stored)?),
            None => Err(BlockError::Unknown { name: name.to_owned() }),
        }
    }

    /// Returns one version of a block.
    pub async fn view_version(
        &self,
        scope: &MemoryScope,
        name: &str,
        version: u64,
    ) -> Result<BlockVersion, BlockError> {
        let mut versions = self.history(scope, name).await?.into_iter();
        let found = versions.find(|kept| kept.version == version);
        found.ok_or_else(|| BlockError::NoSuchVersion { name: name.to_owned(), version })
    }

    /// Edits a block. `seen` is the version that the edit was made for, if known. If the block has
    /// another version by now, an edit that means the same on any text is applied to the current
    /// text; any other edit fails with a [conflict](BlockError::Changed).
    pub async fn edit(
        &self,
        scope: &MemoryScope,
        name: &str,
        edit: &BlockEdit,
        seen: Option<u64>,
    ) -> Result<Block, BlockError> {
        let (rule, filed) = self.filed(scope, name)?;
        let changed = |version| BlockError::Changed { name: name.to_owned(), version };
        let mut before = self.read(&filed, name).await?;
        let first = seen.unwrap_or(version_of(before.as_ref()));
        for _ in 0..TRIES {
            let version = version_of(before.as_ref());
            if version != first && !edit.commutes() {
                return Err(changed(version));
            }
            let now = before.as_ref().and_then(block_record::text);
            // A declared block can be edited before it is first written, but not deleted.
            let declared = before.is_none() && self.rules.contains_key(name);
            let now =
                now.or_else(|| (declared && !matches!(edit, BlockEdit::Delete)).then_some(""));
            let now =
                now.filter(|now| !(now.is_empty() && matches!(edit, BlockEdit::Create { .. })));
            let after = edit.apply(name, version, now)?;
            check_length(rule, name, after.as_deref())?;
            if let (Some(before), true) =
                (&before, after.as_deref() == before.as_ref().and_then(block_record::text))
            {
                return Ok(self.block(before));
            }
            let is_new = before.as_ref().and_then(block_record::text).is_none();
            if is_new && after.is_some() {
                self.check_room(&filed, before.is_some()).await?;
            }
            let mut write = block_record::write(
                &filed,
                name,
                after.as_deref(),
                self.clock.now(),
                before.as_ref(),
                self.versions,
            )?;
            if let Some(trust) = edit.trust(self.written_by, now, before.as_ref()) {
                write.record.set_trust(trust);
            }
            match self.records.get(OPERATION)?.write_memories(std::slice::from_ref(&write)).await? {
                MemoryOutcome::Applied(_) => {
                    return Ok(self.block(&StoredMemory::new(write.record, version + 1, 0)));
                }
                MemoryOutcome::Conflict { stored, .. } => before = stored.map(|stored| *stored),
                // The enum may gain further outcomes.
                _ => return Err(changed(version)),
            }
        }
        Err(changed(version_of(before.as_ref())))
    }

    /// Creates a block. Fails with [`Exists`](BlockError::Exists) if there is one that is not
    /// empty.
    pub async fn create(
        &self,
        scope: &MemoryScope,
        name: &str,
        text: &str,
    ) -> Result<Block, BlockError> {
        self.edit(scope, name, &BlockEdit::Create { text: text.to_owned() }, None).await
    }

    /// Returns the rule of a block name and the scope under which the block is filed.
    pub(super) fn filed(
        &self,
        scope: &MemoryScope,
        name: &str,
    ) -> Result<(&BlockRule, MemoryScope), BlockError> {
        check_name(name)?;
        let Some(rule) = self.rules.get(name).or(self.other.as_ref()) else {
            let declared: Vec<_> = self.rules.keys().map(|name| format!("`{name}`")).collect();
            let declared =
                if declared.is_empty() { "none".to_owned() } else { declared.join(", ") };
            return Err(BlockError::NotDeclared { name: name.to_owned(), declared });
        };
        Ok((rule, filed(rule.scope_level, scope, OPERATION)?))
    }

    /// Fails if a block is in quarantine.
    pub(super) async fn check_released(
        &self,
        scope: &MemoryScope,
        name: &str,
    ) -> Result<(), BlockError> {
        let (_, filed) = self.filed(scope, name)?;
        let filter = RecallFilter::read(&self.records, &filed, None).await?;
        match self.read(&filed, name).await? {
            Some(stored) if !filter.takes(&stored.record) => {
                Err(BlockError::Quarantined { name: name.to_owned() })
            }
            _ => Ok(()),
        }
    }

    async fn read(&self, filed: &MemoryScope, name: &str) -> Result<Option<StoredMemory>> {
        let mut found = self.records.get(OPERATION)?.memories(filed, &[Block::id(name)]).await?;
        Ok(found.pop())
    }

    async fn stored(&self, scopes: Vec<MemoryScope>) -> Result<Vec<StoredMemory>> {
        let list = MemoryList::new(scopes, limits::MAX_PAGE).kind(block_record::KIND);
        self.records.all(list, MOST_READ, OPERATION).await
    }

    /// Fails if one more block would exceed a limit.
    async fn check_room(&self, filed: &MemoryScope, has_history: bool) -> Result<(), BlockError> {
        let stored = self.stored(vec![filed.clone()]).await?;
        let there = stored.iter().filter(|stored| !block_record::is_deleted(stored)).count();
        if there >= self.most {
            return Err(BlockError::TooMany { limit: self.most });
        }
        let limit = self.most * DELETED_EACH;
        if !has_history && stored.len() >= limit {
            return Err(BlockError::TooManyDeleted { limit });
        }
        Ok(())
    }

    fn block(&self, stored: &StoredMemory) -> Block {
        let record = &stored.record;
        let name = record.key.clone().unwrap_or_default();
        let rule = self.rules.get(&name).or(self.other.as_ref());
        Block {
            description: rule.and_then(|rule| rule.description.clone()),
            max_chars: rule.map_or(BlockRule::DEFAULT_CHARS, |rule| rule.max_chars),
            text: record.text.clone(),
            scope: record.scope.clone(),
            version: stored.version,
            at: Some(record.at),
            is_deleted: block_record::is_deleted(stored),
            trust: record.trust(),
            name,
        }
    }
}

fn version_of(stored: Option<&StoredMemory>) -> u64 {
    stored.map_or(0, |stored| stored.version)
}

fn empty(rule: &BlockRule, name: &str, scope: MemoryScope) -> Block {
    Block {
        name: name.to_owned(),
        text: String::new(),
        scope,
        version: 0,
        at: None,
        description: rule.description.clone(),
        max_chars: rule.max_chars,
        is_deleted: false,
        trust: None,
    }
}

fn check_length(rule: &BlockRule, name: &str, text: Option<&str>) -> Result<(), BlockError> {
    let chars = text.map_or(0, |text| text.chars().count());
    if chars <= rule.max_chars {
        return Ok(());
    }
    Err(BlockError::TooLong { name: name.to_owned(), limit: rule.max_chars, chars })
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("rules", &self.rules)
            .field("other", &self.other)
            .field("most", &self.most)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}
