//! Differences between JSON values, as JSON values.
//!
//! Values are compared as JSON values, except for numbers, which are compared as text: `1`, `1.0`
//! and `1e0` differ, because another reader may distinguish them. Key order is ignored.

use serde_json::value::RawValue;

use crate::wire::{Entries, Key, array, from_map, null, object};
use context_core::Json;
use context_core::base::JsonMap;

/// Maximum depth of the comparison. Deeper values are replaced as a whole. Wire forms are far less
/// deep.
const MAX_DEPTH: usize = 32;

/// A patch that turns one JSON value into another. Its JSON form is `{"set": value}`,
/// `{"gone": [key, …], "keys": {key: patch, …}}` or `{"items": {index: patch, …}}`.
///
/// ```
/// use context_core::Json;
/// use context_codec_kit::JsonPatch;
///
/// let plain = Json::from_text(r#"{"role": "user", "content": "hi"}"#)?;
/// let source = Json::from_text(r#"{"role": "user", "content": "hi", "seen": true}"#)?;
/// let patch = JsonPatch::between(&plain, &source).expect("they differ");
/// assert_eq!(patch.as_json().as_str(), r#"{"keys":{"seen":{"set":true}}}"#);
/// assert_eq!(patch.apply(&plain).expect("it fits").as_str(), source.compact().as_str());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPatch(Json);

impl JsonPatch {
    /// Returns the patch that turns `from` into `to`. `None` if they are equal.
    pub fn between(from: &Json, to: &Json) -> Option<Self> {
        Self::between_raw(from.as_raw(), to.as_raw())
    }

    /// Like [`between`](Self::between), for borrowed values.
    pub fn between_raw(from: &RawValue, to: &RawValue) -> Option<Self> {
        diff(from, to, 0).map(Self)
    }

    /// Applies the patch to a value. Returns `None` if the patch is malformed or does not fit the
    /// value.
    pub fn apply(&self, value: &Json) -> Option<Json> {
        patched(value, &self.0, 0)
    }

    /// Returns the JSON form.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// Returns the JSON form.
    pub fn into_json(self) -> Json {
        self.0
    }
}

impl From<Json> for JsonPatch {
    /// Creates a patch from its JSON form, which is validated when it is applied.
    fn from(json: Json) -> Self {
        Self(json)
    }
}

/// Returns the patch that turns `from` into `to`. `None` if they are equal.
fn diff(from: &RawValue, to: &RawValue, depth: usize) -> Option<Json> {
    if from.get() == to.get() {
        return None;
    }
    let set = || Some(object([("set", owned(to))]));
    if depth > MAX_DEPTH {
        return set();
    }
    match (from.get().as_bytes().first(), to.get().as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => {
            let (Ok(a), Ok(b)) = (entries(from), entries(to)) else { return set() };
            let removed: Vec<_> =
                a.keys().filter(|key| !b.contains_key(*key)).map(|key| (*key.0).into()).collect();
            let keys: JsonMap = b
                .iter()
                .filter_map(|(key, value)| {
                    let patch = match a.get(key) {
                        Some(before) => diff(before, value, depth + 1)?,
                        None => object([("set", owned(value))]),
                    };
                    Some((key.0.clone().into_owned(), patch))
                })
                .collect();
            let removed = (!removed.is_empty()).then(|| ("gone", array(&removed)));
            let keys = (!keys.is_empty()).then(|| ("keys", from_map(&keys)));
            (removed.is_some() || keys.is_some()).then(|| object(removed.into_iter().chain(keys)))
        }
        (Some(b'['), Some(b'[')) => {
            let (Ok(a), Ok(b)) = (items(from), items(to)) else { return set() };
            if a.len() != b.len() {
                return set();
            }
            let items: JsonMap = a
                .iter()
                .zip(&b)
                .enumerate()
                .filter_map(|(i, (a, b))| Some((i.to_string(), diff(a, b, depth + 1)?)))
                .collect();
            (!items.is_empty()).then(|| object([("items", from_map(&items))]))
        }
        (Some(b'"'), Some(b'"')) => match (plain_text(from), plain_text(to)) {
            (Some(a), Some(b)) if a == b => None,
            _ => set(),
        },
        _ => set(),
    }
}

fn owned(value: &RawValue) -> Json {
    Json::from(value.to_owned()).compact()
}

fn entries(value: &RawValue) -> Result<Entries<'_>, serde_json::Error> {
    serde_json::from_str(value.get())
}

fn items(value: &RawValue) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(value.get())
}

/// Returns the text of a string that is valid Unicode. A lone surrogate is not.
fn plain_text(value: &RawValue) -> Option<Key<'_>> {
    serde_json::from_str(value.get()).ok()
}

/// Applies a patch to a value. `None` if the patch does not fit.
fn patched(value: &Json, patch: &Json, depth: usize) -> Option<Json> {
    if depth > MAX_DEPTH + 1 {
        return None;
    }
    let patch: JsonMap = patch.parse().ok()?;
    if let Some(set) = patch.get("set") {
        return Some(set.clone());
    }
    if let Some(items) = patch.get("items") {
        let mut list: Vec<Json> = value.parse().ok()?;
        for (index, patch) in &items.parse::<JsonMap>().ok()? {
            let item = list.get_mut(index.parse::<usize>().ok()?)?;
            *item = patched(item, patch, depth + 1)?;
        }
        return Some(array(&list));
    }
    let mut map: JsonMap = value.parse().ok()?;
    if let Some(gone) = patch.get("gone") {
        for key in &gone.parse::<Vec<String>>().ok()? {
            map.shift_remove(key);
        }
    }
    if let Some(keys) = patch.get("keys") {
        for (key, patch) in &keys.parse::<JsonMap>().ok()? {
            let before = map.get(key).cloned().unwrap_or_else(null);
            map.insert(key.clone(), patched(&before, patch, depth + 1)?);
        }
    }
    Some(from_map(&map))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-b\\PC]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-c]{0,1}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_patch_leads_from_the_one_to_the_other(from in any_json(), to in any_json()) {
            let (a, b) = (Json::from(&from), Json::from(&to));
            let reached = match JsonPatch::between(&a, &b) {
                None => Some(a.clone()),
                Some(patch) => JsonPatch::from(patch.into_json()).apply(&a),
            };
            prop_assert_eq!(reached.unwrap().parse::<Value>().unwrap(), to);
            prop_assert!(JsonPatch::between(&b, &b).is_none());
        }

        #[test]
        fn what_is_no_patch_does_not_fit_and_does_no_harm(value in any_json(),
            patch in any_json()) {
            let _ = JsonPatch::from(Json::from(&patch)).apply(&Json::from(&value));
        }
    }

    #[test]
    fn a_patch_of_any_depth_ends() {
        let nested = |levels: usize| {
            let (open, close) = (r#"{"keys":{"a":"#.repeat(levels), "}}".repeat(levels));
            Json::from_text(format!(r#"{open}{{"set":1}}{close}"#)).unwrap()
        };
        assert!(JsonPatch::from(nested(30)).apply(&json!({}).into()).is_none());
        assert!(JsonPatch::from(nested(10_000)).apply(&json!({}).into()).is_none());
        let deep =
            |n: usize| Json::from_text(format!("{}0{}", "[".repeat(n), "]".repeat(n))).unwrap();
        let (from, to) = (deep(200_000), deep(200_001));
        let patch = JsonPatch::between(&from, &to).unwrap();
        assert_eq!(patch.apply(&from).unwrap(), to);
    }
}
