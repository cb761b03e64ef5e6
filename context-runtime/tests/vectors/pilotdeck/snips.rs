//! Groups `snip` and `snip_seed_era`: the middle left out.
//!
//! Without a target our policy goes by turns, with one it keeps what fits. It keeps the first user
//! request, which the recorded function drops, and takes the room for it from other messages. The
//! gap note is ours. So a plain case is equal except for gaps and the first request.

use std::sync::Arc;

use context_core::model::TokenCounter;
use context_runtime::snip::Snip;
use context_runtime::{
    FragmentData, Message, Part, Role,
    compaction::{Budget, CompactionPolicy, Goal, HistoryView, Structure},
    model::{HistoryRules, Unanswered, normalize},
};

use super::Case;
use super::counting::O200k;
use super::cuts::{applied, marked};
use super::history::{pairs_valid, shown, written};
use super::messages::{Inexpressible, decode};
use super::options::{Options, Unknown};
use crate::encoding::{flag, items};
use crate::judge::{Difference, Outcome};

const COUNTER: O200k = O200k { message: 4 };
/// The symbol of any gap note.
const LEFT_OUT: &str = "user:(left out)";

/// The options of the case.
struct CaseOptions {
    target: Option<u64>,
    head: usize,
    tail: usize,
    policy: Snip,
}

impl CaseOptions {
    fn of(case: &Case) -> Result<Option<Self>, Unknown> {
        let mut options = Options::of(case);
        let off = options.switched_off();
        let target = options.number("targetTokens");
        let head = options.number("headTurns").map_or(Snip::HEAD, |turns| turns as usize);
        let tail = options.number("tailTurns").map_or(Snip::TAIL, |turns| turns as usize);
        let protected = options.names("protected");
        options.all_known()?;
        let mut policy =
            if target.is_some() { Snip::new() } else { Snip::by_turns().turns(head, tail) };
        if let Some(protected) = protected {
            policy = policy.protect(protected);
        }
        Ok((!off).then_some(Self { target, head, tail, policy }))
    }

    fn apply(&self, given: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let goal = Goal::new(Budget::new(1 << 30, 0), 0, self.target.unwrap_or(0));
        applied(given, self.policy.plan(&HistoryView::new(given, &COUNTER), &goal))
    }
}

pub(super) fn judge(case: &Case) -> Outcome {
    let options = match CaseOptions::of(case) {
        Ok(options) => options,
        Err(Unknown(what)) => {
            return Outcome::Skipped(format!("an option that is not known: {what}"));
        }
    };
    let given = match decode(items(case.input(), "messages")) {
        Ok(decoded) => marked(decoded.messages),
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let left = options.as_ref().map_or_else(|| given.clone(), |options| options.apply(&given));
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), written(&left));
    let sound = options.as_ref().map_or(Ok(()), |options| sound(options, &given, &left));
    if let Err(rule) = sound {
        return Outcome::Failed(fault(rule));
    }
    if case.is_suspect() {
        return Outcome::Passed(
            "sound: pairs, first and newest request, both ends stay; each gap is told once"
                .to_owned(),
        );
    }
    let is_cut = left != given;
    let recorded: Vec<String> = items(case.output(), "messages").iter().filter_map(told).collect();
    if flag(case.output(), "applied") != is_cut {
        // A note replaces what is left out, and must be shorter.
        let rule = "nothing is left out where a note would be as long";
        let whole = HistoryView::new(&given, &COUNTER).total();
        let first =
            given.iter().find(|message| message.is_request()).map(|first| plain(&line(first)));
        let is_small = !is_cut && tokens(&given, &recorded, first.as_deref()) >= whole;
        return if is_small {
            Outcome::Passed(rule.to_owned())
        } else {
            Outcome::Failed(fault("left out or not"))
        };
    }
    let ours = lines(&if is_cut { sent(&left) } else { left.clone() });
    let target = options.as_ref().and_then(|options| options.target).unwrap_or(u64::MAX);
    let bare = |lines: &[String], except: Option<&str>| -> Vec<String> {
        let kept = lines.iter().filter(|line| *line != LEFT_OUT && Some(line.as_str()) != except);
        kept.cloned().collect()
    };
    let first = given.iter().find(|message| message.is_request()).map(|first| plain(&line(first)));
    let first = first.as_deref().filter(|first| !recorded.iter().any(|line| line == first));
    Outcome::of(if ours == recorded {
        Ok("equal".to_owned())
    } else if !is_cut {
        Err(fault("equal"))
    } else if bare(&ours, first) == bare(&recorded, None) {
        Ok("equal but for the first request, which stays, and the gaps".to_owned())
    } else if is_part(&bare(&ours, first), &bare(&recorded, None))
        && tokens(&given, &recorded, first) > target
    {
        Ok("what of it fits beside the first request and the notes, which is the newest".to_owned())
    } else {
        Err(fault("equal"))
    })
}

fn told(line: &FragmentData) -> Option<String> {
    let line = line.as_text()?;
    Some(if line.starts_with("user:<snip-boundary") { LEFT_OUT.to_owned() } else { plain(line) })
}

/// Returns a line without content of calls and results, since only their ids count.
pub(super) fn plain(line: &str) -> String {
    let (role, said) = line.split_once(':').unwrap_or_default();
    let pieces = said.split('|').map(|piece| {
        match piece.strip_suffix(')').and_then(|piece| piece.rsplit_once('(')) {
            Some((_, id)) => format!("({id})"),
            None => piece.to_owned(),
        }
    });
    format!("{role}:{}", pieces.collect::<Vec<_>>().join("|"))
}

/// Whether `some` is a subsequence of `of`.
fn is_part(some: &[String], of: &[String]) -> bool {
    let mut of = of.iter();
    some.iter().all(|line| of.any(|other| other == line))
}

/// Returns the tokens of the recorded result plus the first request and a note.
fn tokens(given: &[Arc<Message>], recorded: &[String], first: Option<&str>) -> u64 {
    const NOTE: u64 = 24;
    let stays =
        |line: &str| recorded.iter().any(|recorded| recorded == line) || first == Some(line);
    let kept = given.iter().filter(|message| stays(&plain(&line(message))));
    kept.map(|message| COUNTER.count_message(message).tokens()).sum::<u64>() + NOTE
}

fn sent(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut rules = HistoryRules::new();
    rules.assistant_last = false;
    normalize(messages, &rules, Unanswered::Remove, false).messages.into_owned()
}

fn lines(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| plain(&line(message))).collect()
}

/// Returns a message as these cases write it.
pub(super) fn line(message: &Message) -> String {
    if message.is_gap() {
        return LEFT_OUT.to_owned();
    }
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.clone(),
        Part::ToolCall(call) => format!("tool_call({})", call.id).into(),
        Part::ToolResult(result) => format!("tool_result({})", result.call_id).into(),
        _ => "media".into(),
    };
    format!("{role}:{}", message.parts.iter().map(part).collect::<Vec<_>>().join("|"))
}

fn sound(
    options: &CaseOptions,
    given: &[Arc<Message>],
    left: &[Arc<Message>],
) -> Result<(), &'static str> {
    if pairs_valid(given).is_ok() && pairs_valid(left).is_err() {
        return Err("valid pairs");
    }
    let structure = Structure::of(given);
    let stays = |at: usize| left.contains(&given[at]);
    if !structure.anchors().all(stays) || !(0..structure.checkpoints).all(stays) {
        return Err("checkpoint, first and newest request stay");
    }
    let is_gap = |message: &Arc<Message>| message.is_gap();
    if left.windows(2).any(|pair| is_gap(&pair[0]) && is_gap(&pair[1])) {
        return Err("one note for each gap");
    }
    if left.iter().any(|message| !is_gap(message) && !given.contains(message)) {
        return Err("nothing but notes is new");
    }
    let (before, after) =
        (HistoryView::new(given, &COUNTER).total(), HistoryView::new(left, &COUNTER).total());
    if left != given && (after >= before || !left.iter().any(is_gap)) {
        return Err("shorter, and told");
    }
    if options.target.is_none() {
        let turns = structure.turns(given.len());
        let ends =
            turns.iter().take(options.head).chain(turns.iter().rev().take(options.tail.max(1)));
        if !ends.cloned().flatten().all(stays) {
            return Err("the first and the last turns stay whole");
        }
    }
    if options.apply(left) == left { Ok(()) } else { Err("a second pass has nothing to do") }
}
