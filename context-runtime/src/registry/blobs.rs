//! The option `blobs` of every store URL: blobs in a service of objects, the rest in the store.

use std::borrow::Cow;
use std::sync::Arc;

use context_core::{Error, Result, Store};

use super::OpenMode;

const OPERATION: &str = "open";
const OPTION: &str = "blobs=";

/// Splits the option from a URL. Returns the URL of the other data and that of the blobs.
pub(super) fn split(url: &str) -> Result<(Cow<'_, str>, Option<String>)> {
    let Some((place, options)) = url.split_once('?') else { return Ok((url.into(), None)) };
    let (ours, others): (Vec<_>, Vec<_>) =
        options.split('&').partition(|option| option.starts_with(OPTION));
    let blobs = match ours[..] {
        [] => return Ok((url.into(), None)),
        [option] => &option[OPTION.len()..],
        _ => return Err(Error::invalid(OPERATION, "the url has the option `blobs` twice")),
    };
    let blobs = decoded(blobs)
        .ok_or_else(|| Error::invalid(OPERATION, "bad value in the url").with("option", "blobs"))?;
    let rest = match others.is_empty() {
        true => place.to_owned(),
        false => format!("{place}?{}", others.join("&")),
    };
    Ok((rest.into(), Some(blobs)))
}

/// Decodes the percent-encoded bytes of a value. An `&` in it has to be one of them.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Opens the store of the blobs, and joins it with the other one.
#[cfg(feature = "object")]
pub(super) async fn join(
    store: Arc<dyn Store>,
    blobs: &str,
    mode: OpenMode,
) -> Result<Arc<dyn Store>> {
    let open = async {
        let mut config = context_store_object::ObjectConfig::from_url(blobs)?;
        config.read_only |= mode == OpenMode::Read;
        config.create &= mode == OpenMode::Create;
        context_store_object::ObjectBlobs::open(config).await
    };
    match open.await {
        Ok(blobs) => {
            let split = context_store_layers::SplitStore::builder(store).blobs(Arc::new(blobs));
            Ok(Arc::new(split.build()?))
        }
        Err(error) => {
            // The first error counts.
            let _closed = store.close().await;
            Err(error.with("option", "blobs"))
        }
    }
}

#[cfg(not(feature = "object"))]
pub(super) async fn join(_: Arc<dyn Store>, _: &str, _: OpenMode) -> Result<Arc<dyn Store>> {
    let message = "this program was built without stores of blobs";
    Err(Error::new(context_core::ErrorKind::Unsupported, OPERATION, message)
        .with("option", "blobs")
        .with("feature", "object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, rest: &str, blobs: Option<&str>) {
        let (seen, option) = split(url).unwrap();
        assert_eq!((&*seen, option.as_deref()), (rest, blobs), "{url}");
    }

    #[test]
    fn the_option_is_split_from_any_url() {
        check("mem:", "mem:", None);
        check("sqlite:a.db?readers=2", "sqlite:a.db?readers=2", None);
        check("mem:?blobs=file:b", "mem:", Some("file:b"));
        check(
            "postgres://a:p%3Fw@h/d?schema=s&blobs=s3://box/a?region=eu%26create=false&full_text=off",
            "postgres://a:p%3Fw@h/d?schema=s&full_text=off",
            Some("s3://box/a?region=eu&create=false"),
        );
        for bad in ["mem:?blobs=a&blobs=b", "mem:?blobs=%f", "mem:?blobs=%+1", "mem:?blobs=%ff"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}
