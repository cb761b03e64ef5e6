//! The recordings' encoding of fragments.
//!
//! A file is read into [`FragmentData`], the one tree here whose maps keep their order. Inside it
//! `$f` is a fragment, `$b` the call of a builder, `$undef` an undefined value, `$num` a number
//! that JSON cannot express, and `$ref` a repeated value. What this program cannot build is an
//! [`Unknown`], never a guess.

mod builders;

use context_core::fragment::FragmentMap;
use context_runtime::{Fragment, FragmentData};

use self::builders::build;
use crate::judge::BoxError;

/// A value that the encoding or the library does not have.
#[derive(Debug)]
pub(crate) struct Unknown(pub(crate) String);

/// Reads the cases of a file.
pub(crate) fn cases(text: &str) -> Result<Vec<FragmentData>, BoxError> {
    let file: FragmentData = serde_json::from_str(text)?;
    match entry(&file, "cases") {
        Some(FragmentData::List(cases)) => Ok(cases.as_slice().to_vec()),
        _ => Err("the file has no list of cases".into()),
    }
}

/// Returns a value of a map.
pub(crate) fn entry<'a>(data: &'a FragmentData, key: &str) -> Option<&'a FragmentData> {
    match data {
        FragmentData::Map(map) => map.get(key),
        _ => None,
    }
}

/// Returns a text of a map.
pub(crate) fn text<'a>(data: &'a FragmentData, key: &str) -> Option<&'a str> {
    entry(data, key)?.as_text()
}

/// Whether a map has `true` under this key.
pub(crate) fn flag(data: &FragmentData, key: &str) -> bool {
    entry(data, key) == Some(&FragmentData::Bool(true))
}

/// Returns the items of a list in a map. Empty if there is no such list.
pub(crate) fn items<'a>(data: &'a FragmentData, key: &str) -> &'a [FragmentData] {
    match entry(data, key) {
        Some(FragmentData::List(list)) => list.as_slice(),
        _ => &[],
    }
}

/// The definitions that `$ref` refers to.
pub(crate) type Defs<'a> = Option<&'a FragmentData>;

/// Decodes a value that must be a fragment.
pub(crate) fn decode_fragment(data: &FragmentData, defs: Defs<'_>) -> Result<Fragment, Unknown> {
    match decode(data, defs)? {
        FragmentData::Fragment(fragment) => Ok(*fragment),
        other => Err(Unknown(format!("no fragment: {other:?}"))),
    }
}

/// Decodes any value.
pub(crate) fn decode(data: &FragmentData, defs: Defs<'_>) -> Result<FragmentData, Unknown> {
    match data {
        FragmentData::List(list) => {
            let items: Vec<_> =
                list.iter().map(|item| decode(item, defs)).collect::<Result<_, _>>()?;
            Ok(FragmentData::list(items))
        }
        FragmentData::Map(map) => decode_map(data, map, defs),
        plain => Ok(plain.clone()),
    }
}

fn decode_map(
    data: &FragmentData,
    map: &FragmentMap,
    defs: Defs<'_>,
) -> Result<FragmentData, Unknown> {
    if let Some(name) = text(data, "$f") {
        let data = map.get("d").map(|data| decode(data, defs)).transpose()?;
        return Ok(Fragment::new(name, data.unwrap_or_default()).into());
    }
    if let Some(builder) = text(data, "$b") {
        let args = items(data, "args")
            .iter()
            .map(|arg| decode(arg, defs))
            .collect::<Result<Vec<_>, _>>()?;
        return build(builder, &args).map(Into::into);
    }
    if let Some(id) = text(data, "$ref") {
        let target = defs.and_then(|defs| entry(defs, id));
        return decode(target.ok_or_else(|| Unknown(format!("$ref {id:?}")))?, defs);
    }
    if map.get("$undef").is_some() {
        return Ok(FragmentData::Null);
    }
    if let Some(number) = text(data, "$num") {
        let parsed = number.parse::<f64>().map_err(|_| Unknown(format!("$num {number:?}")))?;
        return Ok(parsed.into());
    }
    if let Some((key, _)) = map.iter().find(|(key, _)| key.starts_with('$')) {
        return Err(Unknown(key.clone()));
    }
    let entries: Vec<_> = map
        .iter()
        .map(|(key, value)| Ok((key.clone(), decode(value, defs)?)))
        .collect::<Result<_, _>>()?;
    Ok(FragmentData::map(entries))
}
