//! Cases about lost replies and lost requests: a repeated call completes the work exactly once.

use std::fmt::Write;
use std::sync::Arc;

use context_core::store::{ChatPatch, Commit, CommitOutcome, Window};
use context_core::{ErrorKind, Metadata};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, message, says, stored};
use crate::expect::{applied, fail, refused, same};
use crate::life::Life;
use crate::polls::polled;
use crate::step::Step;
use crate::verdict::{Check, Stop};
use crate::visible_chat::VisibleChat;
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

cases!("fault":
    a_lost_reply_is_found_out_by_the_same_commit,
    what_did_not_arrive_is_applied_by_the_same_commit,
    silence_is_found_out_by_the_same_commit,
    a_read_that_fails_harms_nothing,
    random_faults_with_retries_end_as_they_must,
);

/// The number of steps of a sequence with faults.
const STEPS: usize = 30;

/// Returns two fixtures of one chat: one that reads, and one that writes through planned faults.
async fn faulty(case: &CaseContext, plan: FaultPlan) -> Check<(ChatFixture, ChatFixture)> {
    let view = case.fixture().await?;
    view.applied(view.extend("", ["a", "b", "c"])).await?;
    let store = Arc::new(FaultStore::new(Arc::clone(&view.store), plan));
    let fixture = view.through(store);
    Ok((view, fixture))
}

type BuildCommit = fn(&ChatFixture) -> Commit;

/// Repeatable commits of every shape.
const SHAPES: [(&str, BuildCommit); 6] = [
    ("an append without a key", |fixture| fixture.extend("c", ["d", "e"])),
    ("a keyed append with all there is", |fixture| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        redactions: vec![says("b", "[redacted]")],
        fragments: vec![stored("f", "x"), stored("", "y")],
        patch: Some(ChatPatch { add: Metadata::default().with("n", 1), ..ChatPatch::default() }),
        ..fixture.extend("c", ["d"])
    }),
    ("a fork that names its branch", |fixture| fixture.fork("side", "b", ["x"])),
    ("a keyed fork of the next version", |fixture| Commit {
        key: Some("k".into()),
        nodes: vec![message("x")],
        ..fixture.next_version("main", "b")
    }),
    ("a keyed amendment", |fixture| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        ..fixture.stay()
    }),
    ("a keyed redaction", |fixture| Commit {
        key: Some("k".into()),
        redactions: vec![says("a", "[redacted]")],
        ..fixture.stay()
    }),
];

async fn a_lost_reply_is_found_out_by_the_same_commit(case: &CaseContext) -> Check {
    for (label, build) in SHAPES {
        let plan = FaultPlan::default().with(Operation::Commit, 0, Fault::AfterApply);
        let (view, fixture) = faulty(case, plan).await?;
        let commit = build(&fixture);
        let lost = fixture.history().commit(commit.clone()).await;
        refused(format!("{label}, of which the reply is lost"), lost, ErrorKind::Unavailable)?;
        let before = VisibleChat::of(&view).await?;
        // Repeat later, and more than once.
        for _ in 0..3 {
            let again = Commit { at: fixture.at(), ..commit.clone() };
            match fixture.commit(again).await? {
                CommitOutcome::Replayed(_) => {}
                other => return fail(format!("{label}, again after a lost reply: saw {other:?}")),
            }
            same(
                format!("the chat after {label} was sent again"),
                &VisibleChat::of(&view).await?,
                &before,
            )?;
        }
    }
    Ok(())
}

async fn what_did_not_arrive_is_applied_by_the_same_commit(case: &CaseContext) -> Check {
    for (label, build) in SHAPES {
        let plan = FaultPlan::default().with(Operation::Commit, 0, Fault::BeforeApply);
        let (view, fixture) = faulty(case, plan).await?;
        let (commit, before) = (build(&fixture), VisibleChat::of(&view).await?);
        refused(label, fixture.history().commit(commit.clone()).await, ErrorKind::Unavailable)?;
        same(
            format!("the chat after {label} did not arrive"),
            &VisibleChat::of(&view).await?,
            &before,
        )?;
        applied(format!("{label}, again"), fixture.commit(commit).await?)?;
    }
    Ok(())
}

async fn silence_is_found_out_by_the_same_commit(case: &CaseContext) -> Check {
    for (label, build) in SHAPES {
        for (fault, arrives) in [(Fault::HangAfterApply, true), (Fault::Hang, false)] {
            let plan = FaultPlan::default().with(Operation::Commit, 0, fault);
            let (view, fixture) = faulty(case, plan).await?;
            let (commit, before) = (build(&fixture), VisibleChat::of(&view).await?);
            {
                let mut silent = std::pin::pin!(fixture.history().commit(commit.clone()));
                // Poll until the commit has arrived or, if it never will, for a while.
                for _ in 0..10_000 {
                    if let Some(result) = polled(silent.as_mut(), 1).await {
                        return fail(format!("{label}, with {fault:?}: saw {result:?}"));
                    }
                    if !arrives || VisibleChat::of(&view).await? != before {
                        break;
                    }
                }
            }
            let outcome = fixture.commit(commit).await?;
            let replayed = matches!(outcome, CommitOutcome::Replayed(_));
            same(
                format!("whether {label} with {fault:?} was there: {outcome:?}"),
                &replayed,
                &arrives,
            )?;
        }
    }
    Ok(())
}

/// Checks that reads fail once before and once after they take effect, and that all other calls
/// still work.
async fn a_read_that_fails_harms_nothing(case: &CaseContext) -> Check {
    let both = |plan: FaultPlan, read: &Operation| {
        plan.with(*read, 0, Fault::BeforeApply).with(*read, 2, Fault::AfterApply)
    };
    let plan = Operation::READS.iter().fold(FaultPlan::default(), both);
    let (view, fixture) = faulty(case, plan).await?;
    let mut head = "c".to_owned();
    let mut failed = 0;
    for round in 0..60 {
        failed += usize::from(VisibleChat::of(&fixture).await.is_err());
        let slots = fixture.history().messages(&fixture.chat, &["a".into()]).await;
        failed += usize::from(slots.is_err());
        failed += usize::from(fixture.history().chat_size(&fixture.chat).await.is_err());
        let next = format!("n{round}");
        fixture.applied(fixture.extend(&head, [next.as_str()])).await?;
        head = next;
    }
    // Each read fails twice, except those of revisions, which only amended messages have. Another
    // number means that the loop above does not make each call of `Operation::READS`.
    same(
        "the number of failed reads of `Operation::READS`",
        &failed,
        &(2 * (Operation::READS.len() - 2)),
    )?;
    same(
        "the chat through the other handle",
        &VisibleChat::of(&fixture).await?,
        &VisibleChat::of(&view).await?,
    )?;
    same("its length", &fixture.read("main", Window::Whole).await?.len(), &63)
}

async fn fails(case: &CaseContext, steps: &[Step], plan: &FaultPlan) -> Check<Option<String>> {
    let view = case.life().await?;
    let store = Arc::new(FaultStore::new(Arc::clone(&view.store), plan.clone()));
    match Life::begin(view, Some(store)).await?.live(steps).await {
        Ok(()) => Ok(None),
        Err(Stop::Fail(text)) => Ok(Some(text)),
        Err(skip) => Err(skip),
    }
}

async fn random_faults_with_retries_end_as_they_must(case: &CaseContext) -> Check {
    for i in 0..u64::from(case.settings.sequences) {
        let seed = case.settings.seed.wrapping_add(i);
        let mut steps = Step::life(seed, STEPS);
        let mut plan = FaultPlan::random(seed, Operation::WRITES, 12, 24);
        let Some(mut text) = fails(case, &steps, &plan).await? else { continue };
        // Remove the faults and steps that the failure does not need.
        for at in (0..plan.faults.len()).rev() {
            let mut fewer = plan.clone();
            fewer.faults.remove(at);
            if let Some(still) = fails(case, &steps, &fewer).await? {
                (plan, text) = (fewer, still);
            }
        }
        for at in (0..steps.len()).rev() {
            let mut fewer = steps.clone();
            fewer.remove(at);
            if let Some(still) = fails(case, &fewer, &plan).await? {
                (steps, text) = (fewer, still);
            }
        }
        let mut report = format!("{text}\nafter these steps, with these faults: {plan}");
        for (i, step) in steps.iter().enumerate() {
            let _ = write!(report, "\n  {i} {step:?}");
        }
        let _ = write!(
            report,
            "\nagain: CONTEXT_CONFORMANCE_SEED={seed:#x} CONTEXT_CONFORMANCE_CASES=1"
        );
        return Err(Stop::Fail(report));
    }
    Ok(())
}
