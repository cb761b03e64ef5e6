//! Properties for every conversation.

use context_conformance::policy::assert_policy_conforms;
use context_core::history::ToolNames;
use context_policy_snip::Snip;

#[test]
fn fitting_keeps_the_contract() {
    assert_policy_conforms(&Snip::new());
}

#[test]
fn by_turns_keeps_the_contract() {
    assert_policy_conforms(&Snip::by_turns());
    assert_policy_conforms(&Snip::by_turns().turns(0, 1));
}

#[test]
fn protection_keeps_the_contract() {
    assert_policy_conforms(&Snip::new().protect(ToolNames::new(["search", "read_file"])));
    assert_policy_conforms(&Snip::by_turns().turns(1, 1).protect(ToolNames::new(["search"])));
}
