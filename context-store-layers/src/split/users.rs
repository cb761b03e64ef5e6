//! A merged listing of the users of two stores.

use context_core::store::{Cursor, Maintenance, Page};
use context_core::{Error, Result, UserId};
use serde::{Deserialize, Serialize};

use super::shadow;

/// The positions in the listings of the two stores.
#[derive(Clone, Default, Serialize, Deserialize)]
struct UsersCursor {
    main: SidePosition,
    other: SidePosition,
}

/// The position in one listing.
#[derive(Clone, Default, Serialize, Deserialize)]
enum SidePosition {
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
    let position: UsersCursor = match after {
        None => UsersCursor::default(),
        Some(cursor) => serde_json::from_str(cursor.as_str())
            .map_err(|_| Error::invalid("users", "not a cursor of this listing"))?,
    };
    let of_main = page(main, &position.main, limit).await?;
    let of_other = page(other, &position.other, limit).await?;
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
    let position = UsersCursor {
        main: advanced(main, position.main, &of_main, at).await?,
        other: advanced(other, position.other, &of_other, behind).await?,
    };
    let next = match (&position.main, &position.other) {
        (SidePosition::End, SidePosition::End) => None,
        _ => serde_json::to_string(&position).ok().map(Cursor::new),
    };
    Ok(Page { items, next })
}

async fn page(store: &dyn Maintenance, side: &SidePosition, limit: usize) -> Result<Page<UserId>> {
    match side {
        SidePosition::Start => store.users(limit, None).await,
        SidePosition::Behind(cursor) => {
            store.users(limit, Some(&Cursor::new(cursor.as_str()))).await
        }
        SidePosition::End => Ok(Page { items: Vec::new(), next: None }),
    }
}

/// Returns the position after this many items of a page. Within a page, the store is asked for a
/// shorter page, because only the store knows its cursors.
async fn advanced(
    store: &dyn Maintenance,
    side: SidePosition,
    page: &Page<UserId>,
    taken: usize,
) -> Result<SidePosition> {
    let next = match taken {
        0 if !page.items.is_empty() => return Ok(side),
        _ if taken == page.items.len() => page.next.clone(),
        _ => self::page(store, &side, taken).await?.next,
    };
    Ok(next.map_or(SidePosition::End, |cursor| SidePosition::Behind(cursor.as_str().to_owned())))
}
