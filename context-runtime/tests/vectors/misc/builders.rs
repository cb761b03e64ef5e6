//! Builders: the stored form of their fragments, and the fragments read back.
//!
//! The recorded stored form has the kind as `type` among the fields. Ours has it beside the bytes,
//! with a version. Inner fragments are written the same way. A fragment that was read is recorded
//! as `{name, data}`.

use context_runtime::{Fragment, FragmentData, fragments::CodecRegistry};

use super::written;
use crate::encoding::{Unknown, decode, entry, flag, text};
use crate::judge::{BoxError, Difference, Outcome};

pub(super) fn judge(row: &FragmentData) -> Outcome {
    let call = [("$b", entry(row, "builder")), ("args", entry(row, "args"))];
    let call =
        FragmentData::map(call.into_iter().filter_map(|(key, value)| Some((key, value?.clone()))));
    match decode(&call, None) {
        Ok(FragmentData::Fragment(fragment)) => Outcome::of(check(row, &fragment)),
        Ok(_) => Outcome::Skipped("the builder makes no fragment".to_owned()),
        Err(Unknown(what)) => Outcome::Skipped(format!("not known: {what}")),
    }
}

fn check(row: &FragmentData, built: &Fragment) -> Result<String, Difference> {
    let registry = CodecRegistry::default();
    let name = text(row, "name").unwrap_or_default();
    if built.name() != name {
        return Err(Difference::new("has the name", name, built.name()));
    }
    let failed = |error: BoxError| Difference::new("is stored and read", "a stored form", error);
    let stored = stored_form(&registry, built).map_err(failed)?;
    same("is stored as", entry(row, "serialized"), &stored)?;
    let back = registry
        .encode(built)
        .and_then(|encoded| registry.decode(&encoded))
        .map_err(|error| failed(error.into()))?;
    same(
        "is read as",
        entry(row, "decoded"),
        &read_form(back.data().unwrap_or(&FragmentData::Null)),
    )?;
    if flag(row, "roundtrip") && back != built.clone().persisted() {
        return Err(Difference::new(
            "comes back as it was",
            format!("{built:?}"),
            format!("{back:?}"),
        ));
    }
    Ok("stored form, read form and round trip equal".to_owned())
}

fn same(
    rule: &str,
    expected: Option<&FragmentData>,
    ours: &FragmentData,
) -> Result<(), Difference> {
    let expected = expected.unwrap_or(&FragmentData::Null);
    if expected == ours {
        Ok(())
    } else {
        Err(Difference::new(rule, written(expected), written(ours)))
    }
}

/// Returns the stored form as recorded: the kind as `type`, then the fields.
pub(super) fn stored_form(
    registry: &CodecRegistry,
    fragment: &Fragment,
) -> Result<FragmentData, BoxError> {
    let encoded = registry.encode(fragment)?;
    let FragmentData::Map(fields) = serde_json::from_slice(encoded.bytes())? else {
        return Err(format!("the stored form of {:?} is no object", encoded.kind()).into());
    };
    let mut entries = vec![("type", FragmentData::from(encoded.kind()))];
    for (key, value) in &fields {
        entries.push((key, stored_value(registry, value)?));
    }
    Ok(FragmentData::map(entries))
}

fn stored_value(registry: &CodecRegistry, data: &FragmentData) -> Result<FragmentData, BoxError> {
    match data {
        FragmentData::Fragment(fragment) => stored_form(registry, fragment),
        FragmentData::List(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| stored_value(registry, item)).collect();
            items.map(FragmentData::list)
        }
        FragmentData::Map(map) => {
            let entries = map.iter().map(|(key, value)| Ok((key, stored_value(registry, value)?)));
            entries.collect::<Result<Vec<_>, BoxError>>().map(FragmentData::map)
        }
        plain => Ok(plain.clone()),
    }
}

/// Returns data as recorded: an inner fragment as `{name, data}`.
fn read_form(data: &FragmentData) -> FragmentData {
    match data {
        FragmentData::Fragment(fragment) => {
            let data = fragment.data().map(read_form).unwrap_or_default();
            FragmentData::map([("name", fragment.name().into()), ("data", data)])
        }
        FragmentData::List(items) => FragmentData::list(items.iter().map(read_form)),
        FragmentData::Map(map) => {
            FragmentData::map(map.iter().map(|(key, value)| (key, read_form(value))))
        }
        plain => plain.clone(),
    }
}
