//! The JSON form of fragments reads back to the same tree.

use context_core::{Fragment, FragmentData, MAX_JSON_DEPTH, Metadata, fragment, hint, role};
use proptest::prelude::*;

fn data() -> impl Strategy<Value = FragmentData> {
    let number = prop_oneof![
        any::<i64>().prop_map(FragmentData::from),
        any::<u64>().prop_map(FragmentData::from),
        any::<f64>().prop_map(FragmentData::from),
    ];
    let leaf = prop_oneof![
        Just(FragmentData::Null),
        any::<bool>().prop_map(FragmentData::from),
        number,
        ".{0,12}".prop_map(FragmentData::from),
    ];
    // Keys that mean something to the form must survive as plain keys.
    let key = prop_oneof![
        3 => "[a-z]{1,4}",
        1 => Just("$fragment".to_owned()),
        1 => Just("$number".to_owned()),
        1 => Just("$map".to_owned()),
        1 => Just("name".to_owned()),
        1 => Just("data".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(FragmentData::list),
            proptest::collection::vec((key.clone(), inner.clone()), 0..5).prop_map(FragmentData::map),
            (".{1,6}", inner, any::<bool>()).prop_map(|(name, data, persist)| {
                let fragment = Fragment::new(name, data);
                FragmentData::from(if persist { fragment.persisted().with_id("i") } else { fragment })
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_reads_back(data in data()) {
        let json = serde_json::to_string(&data).unwrap();
        prop_assert_eq!(serde_json::from_str::<FragmentData>(&json).unwrap(), data.clone(), "{}", json);
        let original = Fragment::new("f", data).with_metadata(Metadata::default().with("k", 1));
        let json = serde_json::to_string(&original).unwrap();
        prop_assert_eq!(serde_json::from_str::<Fragment>(&json).unwrap(), original.clone());
        let wrapped = format!(r#"{{"$fragment":{json}}}"#);
        prop_assert_eq!(serde_json::from_str::<Fragment>(&wrapped).unwrap(), original);
    }
}

#[test]
fn the_form_is_what_the_docs_say() {
    let tree = fragment(
        "rules",
        [
            FragmentData::from("plain"),
            hint("short").into(),
            FragmentData::map([("name", "users"), ("data", "rows")]),
            FragmentData::map([("$number", 1)]),
            f64::NAN.into(),
        ],
    )
    .with_id("r1")
    .persisted();
    insta::assert_json_snapshot!(serde_json::to_value(&tree).unwrap(), @r#"
    {
      "data": [
        "plain",
        {
          "$fragment": {
            "codec": "hint",
            "data": "short",
            "name": "hint"
          }
        },
        {
          "data": "rows",
          "name": "users"
        },
        {
          "$map": {
            "$number": 1
          }
        },
        {
          "$number": "NaN"
        }
      ],
      "id": "r1",
      "name": "rules",
      "persist": true
    }
    "#);
}

#[test]
fn what_is_no_fragment_is_refused_with_the_reason() {
    #[track_caller]
    fn check(json: &str, reason: &str) {
        let error = serde_json::from_str::<Fragment>(json).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    check(r#"{"data": 1}"#, "missing field `name`");
    check(r#"{"name": "x", "dta": 1}"#, "unknown field `dta`");
    check(r#"{"name": "x", "data": {"$fragment": {"name": "y"}, "z": 1}}"#, "only key");
    check(r#"{"name": "x", "data": {"$number": "Pi"}}"#, "no number");
}

#[test]
fn a_tree_that_no_reader_would_read_is_not_written() {
    let nested = |levels| (0..levels).fold(FragmentData::from(1), |inner, _| FragmentData::list([inner]));
    let json = serde_json::to_string(&nested(MAX_JSON_DEPTH)).unwrap();
    assert_eq!(serde_json::from_str::<FragmentData>(&json).unwrap(), nested(MAX_JSON_DEPTH));
    let error = serde_json::to_string(&nested(MAX_JSON_DEPTH + 1)).unwrap_err();
    assert!(error.to_string().contains("120"), "{error}");
    assert!(serde_json::to_string(&role(nested(200_000))).is_err());
}
