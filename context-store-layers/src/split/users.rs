//! A merged listing of the users of two stores.

use context_core::store::{Cursor, Maintenance, Page};
use context_core::{Error, Result, UserId};
use serde::{Deserialize, Serialize};

use super::shadow;

/// The positions in the listings of the two stores.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Place {
    main: Side,
    other: Side,
}

/// The position in one listing.
#[derive(Clone, Default, Serialize, Deserialize)]
enum Side {
    #[default]
    Start,
    Behind(String),
    End,
}

/// Returns the users of either store, sorted and without duplicates.
pub(super) async fn of_both(
    main: &dyn Maintenance,
    other: &dyn Maintenance,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<UserId>> {
    context_core::base::limits::check_page("users", limit)?;
    let place: Place = match after {
        None => Place::default(),
        Some(cursor) => serde_json::from_str(cursor.as_str())
            .map_err(|_| Error::invalid("users", "not a cursor of this listing"))?,
    };
    let of_main = page(main, &place.main, limit).await?;
    let of_other = page(other, &place.other, limit).await?;
    let (mut at, mut behind, mut items) = (0, 0, Vec::new());
    while items.len() < limit {
        let (one, two) = (of_main.items.get(at), of_other.items.get(behind));
        let Some(next) = [one, two].into_iter().flatten().min().cloned() else { break };
        at += usize::from(one == Some(&next));
        behind += usize::from(two == Some(&next));
        // The user of the register is not a real user.
        if !shadow::is_register(&next) {
            items.push(next);
        }
    }
    let place = Place {
        main: advanced(main, place.main, &of_main, at).await?,
        other: advanced(other, place.other, &of_other, behind).await?,
    };
    let next = match (&place.main, &place.other) {
        (Side::End, Side::End) => None,
        _ => serde_json::to_string(&place).ok().map(Cursor::new),
    };
    Ok(Page { items, next })
}

async fn page(store: &dyn Maintenance, side: &Side, limit: usize) -> Result<Page<UserId>> {
    match side {
        Side::Start => store.users(limit, None).await,
        Side::Behind(cursor) => store.users(limit, Some(&Cursor::new(cursor.as_str()))).await,
        Side::End => Ok(Page { items: Vec::new(), next: None }),
    }
}

/// Returns the position after this many items of a page. Within a page, the store is asked for a
/// shorter page, because only the store knows its cursors.
async fn advanced(
    store: &dyn Maintenance,
    side: Side,
    page: &Page<UserId>,
    taken: usize,
) -> Result<Side> {
    let next = match taken {
        0 if !page.items.is_empty() => return Ok(side),
        _ if taken == page.items.len() => page.next.clone(),
        _ => self::page(store, &side, taken).await?.next,
    };
    Ok(next.map_or(Side::End, |cursor| Side::Behind(cursor.as_str().to_owned())))
}
