//! Error codes and types of providers.

use context_core::model::ModelErrorCode as Code;

/// Unambiguous codes, normalized: lower case, no punctuation, no `error` or `exception` at the end.
pub(super) const SPECIFIC: [(Code, &[&str]); 9] = [
    (
        Code::ContextOverflow,
        &[
            "contextlengthexceeded",
            "contextwindowexceeded",
            "modelcontextwindowexceeded",
            "exceedcontextsize",
            "contextoverflow",
            "prompttoolong",
            "modelmaxprompttokensexceeded",
            "maxprompttokensexceeded",
            "tokenlimitexceeded",
            "1261",
        ],
    ),
    (
        Code::Billing,
        &[
            "insufficientquota",
            "insufficientbalance",
            "insufficientcredits",
            "billing",
            "billingnotactive",
            "billinghardlimitreached",
            "creditbalancetoolow",
            "exceededcurrentquota",
            "paymentrequired",
            "arrearage",
            "accountoverdue",
            "1113",
        ],
    ),
    (
        Code::Overloaded,
        &["overloaded", "engineoverloaded", "serverisoverloaded", "slowdown", "capacityexceeded"],
    ),
    (
        Code::Authentication,
        &[
            "invalidapikey",
            "authentication",
            "invalidauthentication",
            "invalidiamtoken",
            "unauthenticated",
            "unauthorized",
            "unrecognizedclient",
            "expiredtoken",
            "invalidsignature",
            "accountdeactivated",
        ],
    ),
    (Code::ModelNotFound, &["modelnotfound", "deploymentnotfound", "modelnotexist", "nosuchmodel"]),
    (
        Code::Image,
        &[
            "invalidimage",
            "imagetoolarge",
            "imagetoosmall",
            "imageparse",
            "invalidbase64image",
            "invalidimageformat",
            "invalidimageurl",
            "invalidimagemode",
            "imagefiletoolarge",
            "imagefilenotfound",
            "emptyimagefile",
            "unsupportedimagemediatype",
            "failedtodownloadimage",
        ],
    ),
    (
        Code::ContentFilter,
        &[
            "contentfilter",
            "contentfiltered",
            "contentpolicyviolation",
            "imagecontentpolicyviolation",
            "responsibleaipolicyviolation",
            "datainspectionfailed",
            "moderationblocked",
            "1301",
        ],
    ),
    (
        Code::Timeout,
        &[
            "timeout",
            "requesttimeout",
            "deadlineexceeded",
            "modeltimeout",
            "etimedout",
            "underrconnecttimeout",
            "underrheaderstimeout",
            "underrbodytimeout",
        ],
    ),
    (
        Code::Network,
        &[
            "econnrefused",
            "econnreset",
            "econnaborted",
            "enotfound",
            "eaiagain",
            "epipe",
            "ehostunreach",
            "enetunreach",
            "underrsocket",
            "certhasexpired",
            "depthzeroselfsignedcert",
            "selfsignedcertinchain",
            "unabletoverifyleafsignature",
            "errtlscertaltnameinvalid",
        ],
    ),
];

/// General codes, which cover any error of their class.
pub(super) const GENERAL: [(Code, &[&str]); 7] = [
    (
        Code::RateLimit,
        &[
            "ratelimit",
            "ratelimited",
            "ratelimitexceeded",
            "ratelimitreached",
            "toomanyrequests",
            "throttling",
            "throttlingratequota",
            "resourceexhausted",
            "1302",
            "1303",
            "1305",
        ],
    ),
    (
        Code::RequestTooLarge,
        &["requesttoolarge", "payloadtoolarge", "stringabovemaxlength", "requestentitytoolarge"],
    ),
    (Code::Overloaded, &["unavailable", "serviceunavailable", "modelnotready", "serverbusy"]),
    (Code::Authentication, &["permission", "permissiondenied", "accessdenied", "forbidden"]),
    (
        Code::Server,
        &["server", "internal", "internalserver", "internalfailure", "api", "modelstream"],
    ),
    (
        Code::InvalidRequest,
        &[
            "invalidrequest",
            "invalidprompt",
            "invalidparameter",
            "invalidvalue",
            "invalidargument",
            "badrequest",
            "validation",
            "failedprecondition",
            "outofrange",
            "unsupportedparameter",
            "unsupportedvalue",
            "unknownparameter",
            "missingrequiredparameter",
            "unprocessableentity",
        ],
    ),
    (Code::ModelNotFound, &["resourcenotfound"]),
];

/// Looks a code up in a table.
pub(super) fn lookup(table: &[(Code, &[&str])], code: &str) -> Option<Code> {
    let code = plain(code);
    table.iter().find(|(_, codes)| codes.contains(&code.as_str())).map(|(code, _)| *code)
}

/// Normalizes a code: lower case, no punctuation, no `error` or `exception` at the end, and neither
/// the namespace before the code nor the URL after it that Amazon writes.
pub(super) fn plain(code: &str) -> String {
    let code = code.rsplit('#').next().unwrap_or(code);
    let code = code.split([':', ' ']).next().unwrap_or(code);
    let code = code.rsplit('.').next().unwrap_or(code);
    let code: String =
        code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let short = code.strip_suffix("exception").or_else(|| code.strip_suffix("error"));
    short.filter(|short| !short.is_empty()).map(str::to_owned).unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_plain_and_mean_one_thing() {
        let all: Vec<&str> =
            SPECIFIC.iter().chain(&GENERAL).flat_map(|(_, codes)| *codes).copied().collect();
        for (at, code) in all.iter().enumerate() {
            assert_eq!(plain(code), *code);
            assert!(!all[..at].contains(code), "{code}");
        }
        assert_eq!(
            lookup(&GENERAL, "com.amazon.coral.availability#ThrottlingException:http://x/"),
            Some(Code::RateLimit)
        );
        assert_eq!(plain("error"), "error");
    }
}
