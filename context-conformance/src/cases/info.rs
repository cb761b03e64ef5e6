//! Cases about the self-description of a store, and whether it is true.

use context_core::store::Durability;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::expect::{ensure, same};
use crate::verdict::Check;

cases!("info": says_the_same_each_time, offers_what_it_claims);

async fn says_the_same_each_time(case: &CaseContext) -> Check {
    let (one, two) = (case.open("one").await?, case.open("two").await?);
    same("info() of two stores of one backend", &one.info(), &two.info())?;
    same("info() asked twice", &one.info(), &one.info())?;
    ensure(!one.info().name.is_empty(), || {
        "info().name: expected a name, saw an empty text".to_owned()
    })
}

async fn offers_what_it_claims(case: &CaseContext) -> Check {
    let info = case.info().await?;
    if info.shared {
        let second = case.subject().second_handle(&case.namespace("info")).await?;
        ensure(second.is_some(), || {
            "claims to be shared, but the subject has no second handle".to_owned()
        })?;
    }
    if info.durability > Durability::Process {
        let reopened = case.subject().reopen(&case.namespace("info")).await?;
        ensure(reopened.is_some(), || {
            format!("claims durability {:?}, but the subject cannot reopen it", info.durability)
        })?;
    }
    Ok(())
}
