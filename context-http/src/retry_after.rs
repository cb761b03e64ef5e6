//! The wait that a service asks for.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Reads `retry-after-ms`, and `retry-after` in seconds or as a date. A date counts from the
/// reply's own `date`: no clock is read, and clocks that differ do no harm. If the reply has no
/// `date`, a `retry-after` date is ignored.
pub(crate) fn read(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|number| read_number(number, 1_000.0)) {
        return Some(wait);
    }
    let asked = text(RETRY_AFTER.as_str())?;
    read_number(asked, 1.0).or_else(|| {
        let with_limits = httpdate::parse_http_date(asked).ok()?;
        let now = httpdate::parse_http_date(text(DATE.as_str())?).ok()?;
        Some(with_limits.duration_since(now).unwrap_or_default())
    })
}

/// Reads a number in units of `1 / per_second` seconds. A number beyond the range becomes the
/// longest duration.
fn read_number(text: &str, per_second: f64) -> Option<Duration> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = text.parse().ok().filter(|_| is_number)?;
    Some(Duration::try_from_secs_f64(number / per_second).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        read(&headers)
    }

    #[test]
    fn every_form_of_a_wait_is_read() {
        let seconds = Duration::from_secs;
        assert_eq!(asked(&[("retry-after", "20")]), Some(seconds(20)));
        assert_eq!(asked(&[("retry-after", "1.5")]), Some(Duration::from_millis(1_500)));
        assert_eq!(
            asked(&[("retry-after", "2"), ("retry-after-ms", "1500")]),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(asked(&[("retry-after", "99999999999999999999999999")]), Some(Duration::MAX));
        let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            asked(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), now]),
            Some(seconds(30))
        );
        assert_eq!(
            asked(&[("retry-after", "Sunday, 06-Nov-94 08:50:07 GMT"), now]),
            Some(seconds(30))
        );
        assert_eq!(
            asked(&[("retry-after", "Sun Nov  6 08:49:00 1994"), now]),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn what_is_none_is_none() {
        for text in ["", "-1", "inf", "NaN", "soon", "1e9", "Sun, 06 Nov 1994 08:50:07 GMT"] {
            assert_eq!(asked(&[("retry-after", text)]), None, "{text:?}");
        }
        assert_eq!(asked(&[]), None);
    }
}
