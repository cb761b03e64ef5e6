//! All calls in all orders.

use std::sync::Arc;

use context_runtime::CancelSignal;
use proptest::prelude::*;

use super::traces::Traces;
use super::world::{STEPS, Step, USERS, WORDS, World};

type Steps = Vec<(usize, usize, Step)>;

fn steps() -> impl Strategy<Value = Steps> {
    let step = (0..2_usize, 0..2_usize, proptest::sample::select(&STEPS[..]));
    proptest::collection::vec(step, 1..40)
}

fn run(url: &str, steps: &Steps) {
    let traces = Traces::default();
    let guard = tracing::subscriber::set_default(traces.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(context_runtime::open(url).await.unwrap()).await;
        for (of, chat, step) in steps {
            let came = world.take(*of, *chat, *step).await;
            assert!(!came.contains(WORDS[1 - of]), "{step:?} of {}: {came}", USERS[*of]);
        }
        world.runtime.flush().await.unwrap();
        // The first preparation may cut, and the cuts stay.
        let _first = world.everything(0).await;
        let (hers, his) = (world.everything(0).await, world.everything(1).await);
        assert!(!hers.contains(WORDS[1]) && !his.contains(WORDS[0]), "{hers}\n{his}");

        let store = Arc::clone(&world.store);
        let erase = store.maintenance().unwrap();
        assert_eq!(
            erase.erase_user(&USERS[1].into(), &CancelSignal::never()).await.unwrap().remaining,
            0
        );
        world.runtime.forget_user(&USERS[1].into());
        let left = (world.everything(0).await, world.everything(1).await);
        assert!(left.0 == hers, "of the other user all is left: {hers}\n{}", left.0);
        assert!(!left.1.contains(WORDS[1]) && !left.1.contains(WORDS[0]), "{}", left.1);
        assert!(
            !format!("{:?}", world.runtime).contains(WORDS[1]),
            "no memories of who was erased"
        );
        let report = erase.check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
    });
    drop(guard);
    let told = traces.lines();
    assert!(!told.is_empty(), "spans are traced");
    let leaks = |line: &&String| WORDS.iter().any(|word| line.contains(word));
    assert_eq!(told.iter().find(leaks), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_one_user_is_in_anything_of_another(steps in steps()) {
        run("mem:", &steps);
    }
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn and_neither_in_a_file(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        run(&format!("sqlite:{}", folder.path().join("chat.db").display()), &steps);
    }
}
