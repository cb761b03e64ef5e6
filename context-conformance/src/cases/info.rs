//! Cases about the self-description of a store, and whether it is true.

use context_core::store::Durability;

use crate::case::cases;
use crate::checked::Checked;
use crate::expect::{ensure, same};
use crate::lab::Lab;

cases!("info": says_the_same_each_time, offers_what_it_claims);

async fn says_the_same_each_time(lab: &Lab) -> Checked {
    let (one, two) = (lab.open("one").await?, lab.open("two").await?);
    same("info() of two stores of one backend", &one.info(), &two.info())?;
    same("info() asked twice", &one.info(), &one.info())?;
    ensure(!one.info().name.is_empty(), || {
        "info().name: expected a name, saw an empty text".to_owned()
    })
}

async fn offers_what_it_claims(lab: &Lab) -> Checked {
    let info = lab.info().await?;
    if info.shared {
        let second = lab.subject().second_handle(&lab.namespace("info")).await?;
        ensure(second.is_some(), || {
            "claims to be shared, but the subject has no second handle".to_owned()
        })?;
    }
    if info.durability > Durability::Process {
        let reopened = lab.subject().reopen(&lab.namespace("info")).await?;
        ensure(reopened.is_some(), || {
            format!("claims durability {:?}, but the subject cannot reopen it", info.durability)
        })?;
    }
    Ok(())
}
