//! Changes that a person makes: forks, rewinds, checkpoints, edits, redactions, compactions.

use context_runtime::compaction::{OnDemand, POLICIES, Pipeline, policy};
use context_runtime::store::BranchDeletion;
use context_runtime::tokens::ModelTable;
use context_runtime::{
    BranchName, CheckpointName, Edits, Fragment, MessageId, Role, SaveOutcome, assistant, limits,
    user,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The end of the sentence about a compaction, for a face that has [`Action::Undo`].
pub(crate) const CAN_BE_UNDONE: &str = " Undo takes it back.";

/// A change of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Opens a branch that ends with a message, and makes it the active one.
    #[schema(title = "Rewind")]
    Rewind {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
    },
    /// Copies the messages up to this one to a new chat.
    #[schema(title = "Fork")]
    Fork {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
        /// The new chat.
        to: String,
    },
    /// Makes a branch the active one.
    #[schema(title = "Switch")]
    Switch {
        /// The branch.
        branch: String,
    },
    /// Names a message.
    #[schema(title = "Checkpoint")]
    Checkpoint {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
        /// The name.
        name: String,
    },
    /// Replaces the text of a message on a new branch, which ends there.
    #[schema(title = "Edit")]
    Edit {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
        /// The new text.
        text: String,
    },
    /// Copies messages to the end of a branch.
    #[schema(title = "CherryPick")]
    CherryPick {
        /// The messages.
        #[schema(value_type = Vec<String>)]
        messages: Vec<MessageId>,
        /// The branch.
        branch: String,
    },
    /// Cuts the history of a branch. [`Operations::compactable`] lists the policies.
    #[schema(title = "Compact")]
    Compact {
        /// The branch.
        branch: Option<String>,
        /// The policies, gentlest first.
        policies: Vec<String>,
        /// The model, whose window and counter are used.
        model: String,
        /// The window in tokens, if it is not the model's.
        window: Option<u64>,
    },
    /// Takes the newest compaction of a branch back.
    #[schema(title = "Undo")]
    Undo {
        /// The branch.
        branch: Option<String>,
    },
    /// Removes the content of a message, with every copy that was made of it.
    #[schema(title = "Redact")]
    Redact {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
    },
    /// Deletes a branch.
    #[schema(title = "DeleteBranch")]
    DeleteBranch {
        /// The branch.
        branch: String,
    },
    /// Keeps a message out of every compaction, or no longer.
    #[schema(title = "Pin")]
    Pin {
        /// The message.
        #[schema(value_type = String)]
        message: MessageId,
        /// Whether it is pinned.
        pinned: bool,
    },
}

/// The outcome of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ActionDone {
    /// One sentence that says what was changed.
    pub text: String,
    /// The chat to show now.
    pub chat: String,
    /// The branch to show now.
    pub branch: Option<String>,
    /// The message to show now.
    #[schema(value_type = Option<String>)]
    pub message: Option<MessageId>,
    /// Further facts, such as copies that remain.
    pub notes: Vec<String>,
}

impl Operations {
    /// Returns the policies that can cut a history without a model.
    pub fn compactable() -> impl Iterator<Item = &'static str> {
        POLICIES.iter().copied()
    }

    /// Changes a chat. Refused if the inspector is read-only.
    pub async fn act(&self, chat: &str, action: Action) -> Result<ActionDone, OperationError> {
        self.check_writable()?;
        let mut done = ActionDone { chat: chat.to_owned(), ..ActionDone::default() };
        match action {
            Action::Rewind { message } => {
                let mut engine = self.engine(chat, None).await?;
                let moved = engine.rewind(&message).await?;
                done.text = format!("Opened the branch {}; nothing is lost.", moved.branch);
                done.branch = Some(moved.branch.to_string());
                done.message = Some(message);
            }
            Action::Fork { message, to } => {
                limits::check_id("fork", "chat", &to)?;
                let view = self.branch_with(chat, None, &message).await?;
                let mut engine = self.engine(chat, Some(view.branch.as_str())).await?;
                engine.fork_at(to.as_str(), &message).await?;
                done.text = format!("Copied the messages up to this one to the chat {to}.");
                done.chat = to;
            }
            Action::Switch { branch } => {
                let branch = BranchName::from(branch.as_str());
                let (chat, now) = (self.chat_ref(chat), self.clock.now());
                self.history().activate_branch(&chat, &branch, now).await?;
                done.text = format!("{branch} is the active branch now.");
                done.branch = Some(branch.to_string());
            }
            Action::Checkpoint { message, name } => {
                limits::check_id("checkpoint", "checkpoint", &name)?;
                let (chat, now) = (self.chat_ref(chat), self.clock.now());
                let name = CheckpointName::from(name.as_str());
                self.history().set_checkpoint(&chat, &name, &message, now).await?;
                done.text = format!("The checkpoint {name} names this message.");
                done.message = Some(message);
            }
            Action::Edit { message, text } => self.edit(chat, message, text, &mut done).await?,
            Action::CherryPick { messages, branch } => {
                let mut engine = self.engine(chat, Some(&branch)).await?;
                let picked = engine.cherry_pick(&messages, branch.as_str()).await?;
                let count = picked.copies.len();
                let plural = if count == 1 { "" } else { "s" };
                done.text = format!("Copied {count} message{plural} to the end of {branch}.");
                done.message = picked.copies.last().map(|(_, copy)| copy.clone());
                done.branch = Some(branch);
            }
            Action::Compact { branch, policies, model, window } => {
                self.compact(chat, branch, (&policies, &model, window), &mut done).await?;
            }
            Action::Undo { branch } => {
                let mut engine = self.engine(chat, branch.as_deref()).await?;
                let undone = engine.undo_compaction().await?;
                done.branch = branch;
                done.text = match undone {
                    Some(_) => "Took the newest compaction back.".to_owned(),
                    None => "There is no compaction to take back.".to_owned(),
                };
                if undone.is_some() {
                    let _saved = engine.save().await?;
                }
            }
            Action::Redact { message } => {
                let mut engine = self.engine(chat, None).await?;
                let report = engine.redact(&message).await?;
                done.text = "Removed the content. The message keeps its place.".to_owned();
                done.notes =
                    report.removed().map(|(count, kind)| format!("{count} × {kind}")).collect();
                done.notes.extend(report.remaining.iter().map(ToString::to_string));
                done.message = Some(message);
            }
            Action::DeleteBranch { branch } => {
                let name = BranchName::from(branch.as_str());
                let (chat, now) = (self.chat_ref(chat), self.clock.now());
                let branches = self.history().branches(&chat).await?;
                let found = branches.iter().find(|it| it.name == name);
                let head = found.and_then(|branch| branch.head.clone());
                let deleted =
                    self.history().delete_branch(&chat, &name, head.as_ref(), now).await?;
                done.text = match deleted {
                    BranchDeletion::Deleted { messages } => {
                        format!("Deleted {branch}, with {messages} messages that no other has.")
                    }
                    _ => format!("{branch} has changed meanwhile and was left as it is."),
                };
            }
            Action::Pin { message, pinned } => {
                let mut engine = self.engine(chat, None).await?;
                let changed = if pinned {
                    engine.pin(&message).await?
                } else {
                    engine.unpin(&message).await?
                };
                done.text = match (pinned, changed) {
                    (true, true) => "No compaction takes this message any more.",
                    (false, true) => "Compactions may take this message again.",
                    (true, false) => "The message was pinned already.",
                    (false, false) => "The message was not pinned.",
                }
                .to_owned();
                done.message = Some(message);
            }
        }
        Ok(done)
    }

    async fn edit(
        &self,
        chat: &str,
        message: MessageId,
        text: String,
        done: &mut ActionDone,
    ) -> Result<(), OperationError> {
        let view = self.branch_with(chat, None, &message).await?;
        let node = view.chain.position(&message).and_then(|at| view.chain.get(at));
        let edited: Fragment = match node.and_then(|node| node.role()) {
            Some(Role::User) => user(text),
            Some(Role::Assistant) => assistant(text),
            _ => {
                let problem = "only requests and answers can be edited";
                return Err(OperationError::invalid("message", problem));
            }
        };
        // A set message with a stored id is an edit: the new branch and the message on it are one
        // commit.
        let mut engine = self.engine(chat, Some(view.branch.as_str())).await?;
        let saved = engine.set([edited.with_id(message.as_str())]).save_with(Edits::Branch).await?;
        done.text = match saved.outcome {
            SaveOutcome::Unchanged => "The message has this text already.".to_owned(),
            _ => format!("Wrote the new text on the branch {}.", saved.branch),
        };
        done.branch = Some(saved.branch.to_string());
        done.message = saved.head.clone();
        Ok(())
    }

    async fn compact(
        &self,
        chat: &str,
        branch: Option<String>,
        (names, model, window): (&[String], &str, Option<u64>),
        done: &mut ActionDone,
    ) -> Result<(), OperationError> {
        let stage = |name: &String| match policy(name) {
            Some(policy) => Ok(OnDemand::stage(policy)),
            None => Err(OperationError::invalid("policies", format!("there is no {name} here"))),
        };
        let stages = names.iter().map(stage).collect::<Result<Vec<_>, _>>()?;
        let pipeline = Pipeline::new(stages)
            .map_err(|faults| OperationError::invalid("policies", faults.to_string()))?;
        let model = ModelTable::builtin().model(model);
        let budget = model
            .budget(window, None)
            .map_err(|error| OperationError::invalid("window", error.to_string()))?;
        let mut engine = self.engine(chat, branch.as_deref()).await?;
        let turn = engine.resolve().await?;
        let plan = OnDemand::plan(&turn, &pipeline, (&model, budget), self.clock.now());
        done.branch = Some(engine.branch().to_string());
        let Some(rewrite) = &plan.planned.rewrite else {
            done.text =
                "The policies find nothing to cut that is worth the provider's cache.".to_owned();
            return Ok(());
        };
        done.message = engine.compact(&turn, rewrite, &plan.reports()).await?;
        let _saved = engine.save().await?;
        let (before, after) = (plan.before, plan.planned.after);
        done.text = format!("{before} tokens of messages became {after}.{CAN_BE_UNDONE}");
        Ok(())
    }
}
