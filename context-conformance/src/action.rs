//! Writes to a chat as data, which are applied to the store and to the model.

use context_core::base::{CheckpointName, FragmentId};
use context_core::store::{
    BranchDeletion, Checkpoint, Commit, CommitOutcome, NewChat, StoredFragment,
};
use context_core::{BranchName, ErrorKind, MessageId, Result, Timestamp};

use crate::chat_fixture::ChatFixture;
use crate::model::Model;

/// A call that changes a chat.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Commit(Box<Commit>),
    Put(StoredFragment, Timestamp),
    Remove(FragmentId, Timestamp),
    Activate(BranchName, Timestamp),
    Rename(BranchName, BranchName, Timestamp),
    DeleteBranch(BranchName, Option<MessageId>, Timestamp),
    Checkpoint(Checkpoint),
    DeleteCheckpoint(CheckpointName, Timestamp),
    /// Deletes the chat if it is idle since then, and if so creates it again.
    DeleteChat {
        idle_since: Timestamp,
        at: Timestamp,
    },
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Done,
    Was(bool),
    Set(Checkpoint),
    Commit(CommitOutcome),
    Branch(BranchDeletion),
}

impl Action {
    /// Applies the action to the store.
    pub(crate) async fn perform(&self, fixture: &ChatFixture) -> Result<Answer> {
        let (history, fragments, chat) = (fixture.history(), fixture.fragments(), &fixture.chat);
        Ok(match self {
            Self::Commit(commit) => Answer::Commit(history.commit((**commit).clone()).await?),
            Self::Put(fragment, at) => {
                fragments.put_fragments(chat, std::slice::from_ref(fragment), *at).await?;
                Answer::Done
            }
            Self::Remove(id, at) => Answer::Was(fragments.remove_fragment(chat, id, *at).await?),
            Self::Activate(branch, at) => {
                history.activate_branch(chat, branch, *at).await?;
                Answer::Done
            }
            Self::Rename(from, to, at) => {
                history.rename_branch(chat, from, to, *at).await?;
                Answer::Done
            }
            Self::DeleteBranch(branch, expected, at) => {
                Answer::Branch(history.delete_branch(chat, branch, expected.as_ref(), *at).await?)
            }
            Self::Checkpoint(set) => Answer::Set(
                history.set_checkpoint(chat, &set.name, &set.message, set.created_at).await?,
            ),
            Self::DeleteCheckpoint(name, at) => {
                Answer::Was(history.delete_checkpoint(chat, name, *at).await?)
            }
            Self::DeleteChat { idle_since, at } => {
                let deleted = history.delete_chat(chat, Some(*idle_since)).await?;
                // The chat exists, unless it was just deleted, possibly by a call whose reply was
                // lost.
                let _created = history.create_chat(NewChat::new(chat.clone(), *at)).await?;
                Answer::Was(deleted)
            }
        })
    }

    /// Applies the action to the model.
    pub(crate) fn expect(&self, model: &mut Model) -> Result<Answer, ErrorKind> {
        let known = |known: bool| known.then_some(Answer::Done).ok_or(ErrorKind::NotFound);
        match self {
            Self::Commit(commit) => model.commit(commit).map(Answer::Commit),
            Self::Put(fragment, at) => {
                model.put_fragments(std::slice::from_ref(fragment));
                model.touch(*at);
                Ok(Answer::Done)
            }
            Self::Remove(id, at) => {
                model.touch(*at);
                let before = model.fragments.len();
                model.fragments.retain(|fragment| fragment.id.as_ref() != Some(id));
                Ok(Answer::Was(model.fragments.len() < before))
            }
            Self::Activate(branch, at) => known(model.activate(branch, *at)),
            Self::Rename(from, to, at) => model.rename(from, to, *at).map(|()| Answer::Done),
            Self::DeleteBranch(branch, expected, at) => {
                model.delete_branch(branch, expected.as_ref(), *at).map(Answer::Branch)
            }
            Self::Checkpoint(set) => {
                known(model.set_checkpoint(set.clone())).map(|_| Answer::Set(set.clone()))
            }
            Self::DeleteCheckpoint(name, at) => Ok(Answer::Was(model.delete_checkpoint(name, *at))),
            Self::DeleteChat { idle_since, at } => {
                let idle = model.chat.updated_at <= *idle_since;
                if idle {
                    *model = Model::new(context_core::store::Chat::new(NewChat::new(
                        model.chat.chat.clone(),
                        *at,
                    )));
                }
                Ok(Answer::Was(idle))
            }
        }
    }
}
