//! Parsing of URLs.

use std::time::Duration;

use context_core::{Error, Result};

use super::service::{Bucket, Service, Vendor};
use super::{OPERATION, ObjectConfig};

const UNKNOWN_SCHEME: &str = "blobs are named by a url: file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX";
const UNKNOWN_OPTION: &str = "unknown option in the url of the blobs: there are create, read_only, retry_timeout_ms and request_timeout_ms; of a folder durability; of a service anonymous; of S3 region, endpoint, allow_http and virtual_hosted; of Azure account, endpoint and allow_http";

/// The options of a service, and the names that its client has for them.
const OPTIONS: [(Vendor, &str, &str); 10] = [
    (Vendor::S3, "region", "aws_region"),
    (Vendor::S3, "endpoint", "aws_endpoint"),
    (Vendor::S3, "allow_http", "allow_http"),
    (Vendor::S3, "virtual_hosted", "aws_virtual_hosted_style_request"),
    (Vendor::S3, "anonymous", "aws_skip_signature"),
    (Vendor::Gcs, "anonymous", "google_skip_signature"),
    (Vendor::Azure, "anonymous", "azure_skip_signature"),
    (Vendor::Azure, "account", "azure_storage_account_name"),
    (Vendor::Azure, "endpoint", "azure_storage_endpoint"),
    (Vendor::Azure, "allow_http", "allow_http"),
];

pub(super) fn parse(url: &str) -> Result<ObjectConfig> {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let mut config = config_of(place)?;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let millis = || value.parse().ok().map(Duration::from_millis);
        let known = match key {
            "create" => value.parse().ok().map(|create| config.create = create),
            "read_only" => value.parse().ok().map(|read_only| config.read_only = read_only),
            "retry_timeout_ms" => millis().map(|timeout| config.retry_timeout = timeout),
            "request_timeout_ms" => millis().map(|timeout| config.request_timeout = timeout),
            _ => of_service(&mut config, key, value)?,
        };
        if known.is_none() {
            return Err(Error::invalid(OPERATION, "bad value in the url").with("option", key));
        }
    }
    Ok(config)
}

/// Reads the part before the options.
fn config_of(place: &str) -> Result<ObjectConfig> {
    let Some((scheme, rest)) = place.split_once(':') else {
        return Err(Error::invalid(OPERATION, UNKNOWN_SCHEME));
    };
    let vendor = match scheme {
        "file" => {
            // `file:///a` has an empty host; `file:a` is relative.
            let path = rest.strip_prefix("//").unwrap_or(rest);
            if path.is_empty() {
                return Err(Error::invalid(OPERATION, "the url names no folder"));
            }
            return Ok(ObjectConfig::folder(path));
        }
        "s3" => Vendor::S3,
        "gs" => Vendor::Gcs,
        "az" => Vendor::Azure,
        _ => {
            return Err(Error::invalid(OPERATION, UNKNOWN_SCHEME).with("scheme", scheme));
        }
    };
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(Error::invalid(OPERATION, "the url names no bucket"));
    }
    if name.contains('@') {
        // Not repeated: what stands before the sign may be a secret.
        return Err(Error::invalid(
            OPERATION,
            "credentials come from the environment, not the url",
        ));
    }
    let bucket = Bucket { vendor, name: name.to_owned(), options: Vec::new() };
    Ok(ObjectConfig::of(Service::Bucket(bucket)).prefix(prefix))
}

/// Reads an option of one service. Returns `None` if its value is bad.
fn of_service(config: &mut ObjectConfig, key: &str, value: &str) -> Result<Option<()>> {
    match &mut config.service {
        Service::Folder(_) if key == "durability" => Ok(match value {
            "normal" | "full" => {
                config.flush = value == "full";
                Some(())
            }
            _ => None,
        }),
        Service::Bucket(bucket) => {
            let option = OPTIONS
                .iter()
                .find(|(vendor, name, _)| (*vendor, *name) == (bucket.vendor, key))
                .ok_or_else(|| unknown(key))?;
            let is_flag = matches!(key, "allow_http" | "anonymous" | "virtual_hosted");
            let good = if is_flag { value.parse::<bool>().is_ok() } else { !value.is_empty() };
            if good {
                bucket.options.push((option.2, value.to_owned()));
            }
            Ok(good.then_some(()))
        }
        _ => Err(unknown(key)),
    }
}

fn unknown(key: &str) -> Error {
    Error::invalid(OPERATION, UNKNOWN_OPTION).with("option", key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, shown: &[&str]) {
        let config = format!("{:?}", parse(url).unwrap());
        for part in shown {
            assert!(config.contains(part), "{url}: {part} is not in {config}");
        }
    }

    #[test]
    fn urls_are_read() {
        check("file:blobs", &["Folder(\"blobs\")", "create: true", "flush: false"]);
        check("file:///var/blobs?durability=full", &["Folder(\"/var/blobs\")", "flush: true"]);
        check("s3://box", &["S3", "name: \"box\"", "prefix: \"\""]);
        check(
            "s3://box/a/b?region=eu&endpoint=http://127.0.0.1:9000&allow_http=true&create=false",
            &["prefix: \"a/b\"", "aws_region", "127.0.0.1:9000", "create: false"],
        );
        check("gs://box/a?retry_timeout_ms=5", &["Gcs", "retry_timeout: 5ms"]);
        check("az://box/a?account=agents", &["Azure", "agents"]);
    }

    #[test]
    fn what_nobody_knows_is_refused_and_named() {
        let refused = [
            ("blobs", "url"),
            ("ftp://box", "scheme"),
            ("file:", "folder"),
            ("s3://", "bucket"),
            ("s3://box?account=a", "option"),
            ("gs://box?region=eu", "option"),
            ("file:a?endpoint=b", "option"),
            ("file:a?durability=some", "option"),
            ("s3://box?allow_http=maybe", "option"),
            ("s3://box?region=", "option"),
        ];
        for (url, word) in refused {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind(), context_core::ErrorKind::Invalid, "{url}");
            assert!(error.to_string().contains(word), "{url}: {error}");
        }
    }

    #[test]
    fn credentials_in_a_url_are_refused_and_not_repeated() {
        let error = parse("s3://key:s3cret@box/a").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }
}
