//! The JSON form of fragments can be read back as the same tree.

use context_core::fragment::{FRAGMENTS_SCHEMA, MAX_JSON_DEPTH};
use context_core::{Fragment, FragmentData, Metadata, fragment, hint, role};
use jsonschema::Validator;
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
    // Keys with a meaning in the form must survive as ordinary keys.
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
            proptest::collection::vec((key.clone(), inner.clone()), 0..5)
                .prop_map(FragmentData::map),
            (".{1,6}", inner, any::<bool>(), any::<bool>()).prop_map(
                |(name, data, persist, untrusted)| {
                    let fragment = Fragment::new(name, data);
                    let fragment = if untrusted { fragment.untrusted() } else { fragment };
                    FragmentData::from(if persist {
                        fragment.persisted().with_id("i")
                    } else {
                        fragment
                    })
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_reads_back(data in data()) {
        let json = serde_json::to_string(&data).unwrap();
        prop_assert_eq!(serde_json::from_str::<FragmentData>(&json).unwrap(), data.clone(), "{}",
            json);
        let original = Fragment::new("f", data).with_metadata(Metadata::default().with("k", 1));
        let json = serde_json::to_string(&original).unwrap();
        prop_assert_eq!(serde_json::from_str::<Fragment>(&json).unwrap(), original.clone());
        let wrapped = format!(r#"{{"$fragment":{json}}}"#);
        prop_assert_eq!(serde_json::from_str::<Fragment>(&wrapped).unwrap(), original);
    }
}

fn schema() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(FRAGMENTS_SCHEMA).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn what_is_written_fits_the_schema(trees in proptest::collection::vec(data(), 0..4)) {
        let fragments: Vec<_> = trees.into_iter().map(|data| Fragment::new("f", data)).collect();
        let json = serde_json::to_value(&fragments).unwrap();
        prop_assert!(schema().is_valid(&json), "{}", json);
        for fragment in json.as_array().unwrap() {
            prop_assert!(schema().is_valid(fragment));
        }
    }
}

#[test]
fn the_schema_takes_and_refuses_what_the_reader_does() {
    let schema = schema();
    for (json, good) in [
        (r#"{"name": "x"}"#, true),
        (
            r#"{"name": "", "data": null, "untrusted": true, "codec": "hint", "metadata": {"k": [1]}}"#,
            true,
        ),
        (r#"{"$fragment": {"name": "x", "data": {"name": "y", "data": "z"}}}"#, true),
        (
            r#"{"name": "x", "data": [{"$number": "-Infinity"}, {"$map": {"$map": 1, "$fragment": 2}}]}"#,
            true,
        ),
        (r#"{"data": 1}"#, false),
        (r#"{"name": 1}"#, false),
        (r#"{"name": "x", "dta": 1}"#, false),
        (r#"{"name": "x", "persist": "yes"}"#, false),
        (r#"{"name": "x", "data": {"$fragment": {"name": "y"}, "z": 1}}"#, false),
        (r#"{"name": "x", "data": {"$fragment": {"data": "y"}}}"#, false),
        (r#"{"name": "x", "data": {"$number": "Pi"}}"#, false),
        (r#"{"name": "x", "data": {"$map": [1]}}"#, false),
        (r#"{"name": "x", "metadata": [1]}"#, false),
        (r#""text""#, false),
    ] {
        assert_eq!(serde_json::from_str::<Fragment>(json).is_ok(), good, "{json}");
        assert_eq!(schema.is_valid(&serde_json::from_str(json).unwrap()), good, "{json}");
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
    let written = serde_json::to_string_pretty(&tree).unwrap();
    insta::assert_snapshot!(written, @r#"
    {
      "id": "r1",
      "name": "rules",
      "data": [
        "plain",
        {
          "$fragment": {
            "name": "hint",
            "data": "short",
            "codec": "hint"
          }
        },
        {
          "name": "users",
          "data": "rows"
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
    check(r#"{"name": "x", "data": {"$number": "Pi"}}"#, "not the name of a number");
}

#[test]
fn a_tree_that_no_reader_would_read_is_not_written() {
    let nested =
        |levels| (0..levels).fold(FragmentData::from(1), |inner, _| FragmentData::list([inner]));
    let json = serde_json::to_string(&nested(MAX_JSON_DEPTH)).unwrap();
    assert_eq!(serde_json::from_str::<FragmentData>(&json).unwrap(), nested(MAX_JSON_DEPTH));
    let error = serde_json::to_string(&nested(MAX_JSON_DEPTH + 1)).unwrap_err();
    assert!(error.to_string().contains("120"), "{error}");
    assert!(serde_json::to_string(&role(nested(200_000))).is_err());
}
