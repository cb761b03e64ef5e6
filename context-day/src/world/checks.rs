//! Checks of one chat and of one turn.

use std::sync::Arc;

use context_runtime::ChatRef;
use context_runtime::model::Usage;
use context_runtime::store::{Chain, ChainEnd, HistoryStore, Window};
use context_runtime::trajectory::{AgentRef, Trajectories};

use super::{TurnSum, World, chat_ref};
use crate::failure::{DayFailure, Invariant};
use crate::marker::{DayMarker, markers};
use crate::scene::{ChatSlot, UserSlot, VENDORS};
use crate::worker::Account;

/// The stored branches of a chat: the active one, and the texts of each.
type StoredBranches = (String, Vec<(String, Vec<DayMarker>)>);

impl World {
    /// Compares a chat with what is stored: its active branch, or all of them.
    pub(super) fn check_chat(
        &mut self,
        user: UserSlot,
        chat: &str,
        whole: bool,
    ) -> Result<(), DayFailure> {
        if !self.user(user).chats.contains_key(chat) {
            return Ok(());
        }
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let reference = chat_ref(user, chat);
        let read = process.run(async move { branches(raw.history(), &reference, whole).await });
        let place = format!("{}'s {chat}", crate::scene::USERS[user]);
        let stored = match read {
            Some(Ok(stored)) => Some(stored),
            Some(Err(error)) if error.is_not_found() => None,
            Some(Err(error)) => return Err(DayFailure::unexpected(&place, error)),
            None => return Err(DayFailure::unexpected(&place, "it hung")),
        };
        let Some(expected) = self.user(user).chats.get_mut(chat) else { return Ok(()) };
        let Some((active, stored)) = stored else {
            let is_lost = expected.branches.values().any(|entries| !entries.is_empty());
            return match is_lost {
                true => Err(DayFailure::new(Invariant::Kept, format_args!("{place} is lost"))),
                false => Ok(()),
            };
        };
        if active != expected.active {
            if !expected.moved_perhaps {
                let text = format!("{place}: {active} is active and not {}", expected.active);
                return Err(DayFailure::new(Invariant::Kept, text));
            }
            expected.active.clone_from(&active);
        }
        if whole {
            let lost = expected
                .branches
                .keys()
                .find(|name| !stored.iter().any(|(stored, _)| stored == *name));
            if let Some(lost) = lost {
                let text = format!("{place}: branch {lost} is lost");
                return Err(DayFailure::new(Invariant::Kept, text));
            }
        }
        for (branch, texts) in stored {
            expected.compare(&place, &branch, &texts)?;
        }
        Ok(())
    }

    /// Compares what a turn reports and records with what its provider charged.
    pub(super) fn check_account(
        &mut self,
        slot: ChatSlot,
        account: &Account,
    ) -> Result<(), DayFailure> {
        let vendor = VENDORS.get(self.vendor(slot)).copied().unwrap_or(VENDORS[0]);
        let (reported, charged) = (account.report.usage, account.charged);
        let broken = |text: String| {
            Err(DayFailure::new(Invariant::Costs, format_args!("a turn of {slot} {text}")))
        };
        let parts =
            |usage: &Usage| [usage.input, usage.output, usage.cache_read, usage.cache_write];
        // A summary that is written ahead is charged when it is asked for, and reported later.
        let is_exact = !vendor.ahead;
        let fits = parts(&reported)
            .iter()
            .zip(parts(&charged))
            .all(|(told, charged)| if is_exact { *told == charged } else { *told >= charged });
        if !fits {
            return broken(format!("reports {reported:?} and was charged {charged:?}"));
        }
        let usd = account.report.cost_usd.unwrap_or_default();
        if is_exact && (usd - account.usd).abs() > 1e-9 {
            return broken(format!("reports {usd} USD and was charged {}", account.usd));
        }
        let sum = self.turns.entry(slot).or_insert(TurnSum::unknown());
        sum.usage += reported;
        // A reply that broke off was paid and has no node.
        sum.is_disturbed |= account.is_hit && !account.is_answered;
        if !account.is_answered {
            return Ok(());
        }
        let sum = self.turns.remove(&slot).unwrap_or(TurnSum::unknown());
        if sum.is_disturbed {
            return Ok(());
        }
        let recorded = self.recorded(slot)?;
        let told = (sum.usage.total_input(), sum.usage.output);
        match recorded == told {
            true => Ok(()),
            false => {
                let notes: Vec<_> =
                    account.report.diagnostics.iter().map(ToString::to_string).collect();
                let notes = notes.join("; ");
                broken(format!("used {told:?} tokens, and {recorded:?} are recorded; {notes}"))
            }
        }
    }

    /// Returns the tokens of the newest recorded round of a chat.
    fn recorded(&mut self, slot: ChatSlot) -> Result<(u64, u64), DayFailure> {
        let process = self.process()?;
        let agent = AgentRef::main(slot.user_name(), slot.chat_name());
        let raw = Arc::clone(&process.raw);
        let read = process.run(async move {
            Trajectories::builder(raw).build()?.trajectory_end(&agent, 1).await
        });
        let trajectory = match read {
            Some(Ok(trajectory)) => trajectory,
            Some(Err(error)) => return Err(DayFailure::unexpected("trajectory", error)),
            None => return Err(DayFailure::unexpected("trajectory", "it hung")),
        };
        let rounds = trajectory.rounds();
        let nodes = rounds.flat_map(|round| {
            round
                .nodes()
                .map(|node| {
                    let measures = node.measures.as_ref();
                    let input = measures.and_then(|all| all.input_tokens).unwrap_or(0);
                    (input, measures.and_then(|all| all.output_tokens).unwrap_or(0))
                })
                .collect::<Vec<_>>()
        });
        Ok(nodes.fold((0, 0), |sum, (input, output)| (sum.0 + input, sum.1 + output)))
    }
}

/// Reads the active branch of a chat, or all of them.
async fn branches(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    whole: bool,
) -> context_runtime::Result<StoredBranches> {
    let mut stored = Vec::new();
    let mut active = String::new();
    for branch in history.branches(chat).await? {
        if branch.active {
            active = branch.name.to_string();
        }
        if branch.active || whole {
            let end = ChainEnd::Branch(branch.name.clone());
            let chain: Chain = history.chain(chat, &end, &Window::Whole).await?;
            let texts = chain.iter().filter_map(|node| node.message().ok());
            let texts =
                texts.flat_map(|message| markers(&message.readable_text()).collect::<Vec<_>>());
            stored.push((branch.name.to_string(), texts.collect()));
        }
    }
    Ok((active, stored))
}
