//! Random trees with many parts of the same shape.

use context_core::{Fragment, FragmentData};
use proptest::prelude::*;

/// Trees with few keys and kinds, so that many of the maps in a list or a map have the same shape.
pub(crate) fn alike() -> impl Strategy<Value = Vec<Fragment>> {
    let leaf = prop_oneof![
        4 => (0_i64..10).prop_map(FragmentData::from),
        1 => prop::sample::select(vec!["x", "a,b", ""]).prop_map(FragmentData::from),
    ];
    let data = leaf.prop_recursive(4, 24, 3, |inner| {
        let key = || prop::sample::select(vec!["a", "b"]);
        prop_oneof![
            2 => prop::collection::vec((key(), inner.clone()), 1..4).prop_map(FragmentData::map),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(FragmentData::list),
            1 => prop::collection::vec((key(), inner), 1..3)
                .prop_map(|list| FragmentData::list(list.into_iter().map(|(name,
                    data)| Fragment::new(name, data)))),
        ]
    });
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let fragments = prop::collection::vec((name, data), 1..4);
    (fragments, any::<bool>()).prop_map(|(fragments, one_name)| {
        let name = |name| if one_name { "a" } else { name };
        fragments.into_iter().map(|(given, data)| Fragment::new(name(given), data)).collect()
    })
}
