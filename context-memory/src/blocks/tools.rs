//! Blocks as tools of a model.

use context_core::memory::{MemoryScope, Trust};
use context_core::message::ToolInput;
use context_core::model::{FunctionTool, Tool};
use context_core::{Error, Metadata, Part, ToolResult};
use serde_json::{Value, json};

use super::{Block, BlockEdit, BlockError, Blocks, InsertPosition, input};

const VIEW: &str = "memory_view";
const INSERT: &str = "memory_insert";
const REPLACE: &str = "memory_replace";
const DELETE: &str = "memory_delete";

/// Tools with which a model reads and edits blocks.
///
/// The application calls the tools for one scope, and no input of a model can leave that scope.
/// Every call is answered. A wrong input gives a failed result whose message tells the model what
/// to correct.
///
/// ```
/// # use std::sync::Arc;
/// # use context_conformance::FixedClock;
/// # use context_core::memory::{MemoryScope, Trust};
/// # use context_core::message::ToolInput;
/// # use context_memory::{BlockRule, BlockTools, Blocks};
/// # use context_store_inmem::InMemoryStore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_core::Result<()> {
/// let blocks = Blocks::new(Arc::new(InMemoryStore::default()), Arc::new(FixedClock::at(0)))?;
/// let tools = BlockTools::new(blocks.declare(BlockRule::new("user"))?);
/// let scope = MemoryScope::new("ada");
///
/// let input = ToolInput::from_written(r#"{"block": "user", "text": "Sits by the window."}"#);
/// let answer = tools.call(&scope, "memory_insert", &input).await;
/// assert_eq!(answer.text, "block `user` is at version 1 and has 19 of 4000 characters");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BlockTools {
    blocks: Blocks,
}

/// The answer of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct BlockAnswer {
    /// The text for the model.
    pub text: String,
    /// Whether the call failed. Nothing was changed then.
    pub is_error: bool,
    /// A failure that the model cannot correct: of the store, or of the scope of the call.
    pub fault: Option<Error>,
}

impl BlockAnswer {
    /// Returns the answer as the tool result of a call.
    pub fn into_part(self, call_id: impl Into<String>, name: &str) -> Part {
        Part::ToolResult(ToolResult {
            call_id: call_id.into(),
            name: Some(name.to_owned()),
            output: vec![Part::text(self.text)],
            is_error: self.is_error,
            metadata: Metadata::default(),
        })
    }

    fn wrong(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, fault: None }
    }
}

impl From<Result<String, BlockError>> for BlockAnswer {
    fn from(result: Result<String, BlockError>) -> Self {
        match result {
            Ok(text) => Self { text, is_error: false, fault: None },
            Err(error) => {
                let text = error.to_string();
                let fault = if let BlockError::Store(fault) = error { Some(fault) } else { None };
                Self { text, is_error: true, fault }
            }
        }
    }
}

impl BlockTools {
    /// Creates tools for these blocks. What they write has the [class](Trust) of a model.
    pub fn new(blocks: Blocks) -> Self {
        Self { blocks: blocks.written_by(Trust::Model) }
    }

    /// Returns the blocks.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns the tool definitions, which are byte-identical for identical rules.
    pub fn tools(&self) -> Vec<Tool> {
        let block = || json!({"description": "The name of the block.", "type": "string"});
        let text = |about: &str| json!({"description": about, "type": "string"});
        let number = |about: &str| json!({"description": about, "minimum": 0, "type": "integer"});
        let view = format!(
            "Shows a block with its lines numbered, or without a name the list of all blocks. Blocks are notes that stay between \
             conversations. {}",
            self.described()
        );
        let tools = [
            (
                VIEW,
                view.as_str(),
                json!({
                    "block": block(),
                    "version": number("An earlier version, if not the newest."),
                }),
                &[][..],
            ),
            (
                INSERT,
                "Puts lines into a block, at its end unless a line is named.",
                json!({
                    "block": block(),
                    "line": number("The line to insert after, counted from 1; 0 is the beginning."),
                    "text": text("The lines to insert."),
                }),
                &["block", "text"],
            ),
            (
                REPLACE,
                "Replaces a text that stands exactly once in a block.",
                json!({
                    "block": block(),
                    "new": text("What will stand there; empty to take the text away."),
                    "old": text("What stands there, exactly, without the numbers of lines."),
                }),
                &["block", "old", "new"],
            ),
            (DELETE, "Deletes a block.", json!({"block": block()}), &["block"]),
        ];
        let tool = |(name, description, properties, required): (&str, &str, Value, &[&str])| {
            let schema = json!({
                "additionalProperties": false,
                "properties": properties,
                "required": required,
                "type": "object",
            });
            Tool::from(FunctionTool::new(name, schema).description(description))
        };
        tools.into_iter().map(tool).collect()
    }

    /// Calls a tool for a scope.
    pub async fn call(&self, scope: &MemoryScope, name: &str, input: &ToolInput) -> BlockAnswer {
        match name {
            VIEW => match input::read(input) {
                Ok(view) => self.view(scope, view).await.into(),
                Err(wrong) => BlockAnswer::wrong(wrong),
            },
            INSERT => match input::read::<input::Insert>(input) {
                Ok(input::Insert { block, text, line }) => {
                    let place = line.map_or(InsertPosition::End, InsertPosition::Line);
                    self.edit(scope, &block, BlockEdit::Insert { place, text }).await
                }
                Err(wrong) => BlockAnswer::wrong(wrong),
            },
            REPLACE => match input::read::<input::Replace>(input) {
                Ok(input::Replace { block, old, new }) => {
                    self.edit(scope, &block, BlockEdit::Replace { old, new }).await
                }
                Err(wrong) => BlockAnswer::wrong(wrong),
            },
            DELETE => match input::read::<input::Delete>(input) {
                Ok(input::Delete { block }) => self.edit(scope, &block, BlockEdit::Delete).await,
                Err(wrong) => BlockAnswer::wrong(wrong),
            },
            _ => BlockAnswer::wrong(format!(
                "there is no such tool; there are `{VIEW}`, `{INSERT}`, `{REPLACE}` and `{DELETE}`"
            )),
        }
    }

    async fn edit(&self, scope: &MemoryScope, name: &str, edit: BlockEdit) -> BlockAnswer {
        let done = async {
            self.blocks.check_released(scope, name).await?;
            self.blocks.edit(scope, name, &edit, None).await
        };
        done.await
            .map(|block| match block.is_deleted {
                true => format!("block `{name}` is deleted"),
                false => format!("block `{name}` is at {}", size(&block)),
            })
            .into()
    }

    async fn view(&self, scope: &MemoryScope, view: input::View) -> Result<String, BlockError> {
        let Some(name) = view.block else { return self.list(scope).await };
        self.blocks.check_released(scope, &name).await?;
        if let Some(version) = view.version {
            let kept = self.blocks.view_version(scope, &name, version).await?;
            return Ok(format!("block `{name}` at version {version}\n{}", numbered(&kept.text)));
        }
        let block = self.blocks.view(scope, &name).await?;
        let text =
            if block.text.is_empty() { "It is empty.\n".to_owned() } else { numbered(&block.text) };
        Ok(format!("block `{name}` is at {}\n{text}", size(&block)))
    }

    /// Lists the blocks that can be edited from this scope. Blocks of the same name that are filed
    /// elsewhere are only recalled.
    async fn list(&self, scope: &MemoryScope) -> Result<String, BlockError> {
        let mut blocks = self.blocks.list(scope).await?;
        blocks.retain(|block| {
            self.blocks.filed(scope, &block.name).is_ok_and(|(_, filed)| filed == block.scope)
        });
        if blocks.is_empty() {
            return Ok("there are no blocks yet".to_owned());
        }
        let line = |block: &Block| {
            let description = block
                .description
                .as_ref()
                .map(|description| format!(": {description}"))
                .unwrap_or_default();
            format!("- `{}` is at {}{description}", block.name, size(block))
        };
        Ok(blocks.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    /// Describes the declared blocks for the model.
    fn described(&self) -> String {
        let mut names = Vec::new();
        for (name, rule) in &self.blocks.rules {
            let purpose =
                rule.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            names.push(format!("`{name}` (at most {} characters){purpose}", rule.max_chars));
        }
        if let Some(other) = &self.blocks.other {
            names.push(format!("any other name (at most {} characters)", other.max_chars));
        }
        if names.is_empty() { String::new() } else { format!("Blocks: {}.", names.join("; ")) }
    }
}

fn size(block: &Block) -> String {
    format!("version {} and has {} of {} characters", block.version, block.chars(), block.max_chars)
}

fn numbered(text: &str) -> String {
    text.split('\n').enumerate().map(|(at, line)| format!("{}\t{line}\n", at + 1)).collect()
}
