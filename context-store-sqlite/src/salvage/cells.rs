//! The cells of a page of a tree, and the values of a row.

use std::collections::HashSet;
use std::io;

use super::pages::{Pages, number_at};
use crate::checksums::Value;

/// The kinds of pages of trees, by their first byte.
const INDEX_INNER: u8 = 2;
const TABLE_INNER: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// The largest row that is read, in bytes. SQLite has a limit of about this size.
const MOST: u64 = 1 << 30;

/// A page of a tree.
#[derive(Debug, Default)]
pub(super) struct TreePage {
    /// The pages below this one, in order.
    pub(super) children: Vec<u32>,
    pub(super) rows: Vec<TreeRow>,
    /// The number of cells that are damaged.
    pub(super) damaged: usize,
    /// Whether the rows have numbers: whether this is a page of a table, not of an index.
    pub(super) has_numbers: bool,
}

/// A row, or an entry of an index.
#[derive(Clone, Debug)]
pub(super) struct TreeRow {
    /// Its number, if it is the row of a table with numbers.
    pub(super) number: Option<i64>,
    pub(super) values: Vec<Value<'static>>,
    /// Whether the last value is cut off because a page behind it is lost.
    pub(super) cut_off: bool,
}

/// Reads a page of a tree. `None` if it is none.
pub(super) fn tree_page(
    pages: &mut Pages,
    number: u32,
    used: &mut HashSet<u32>,
) -> io::Result<Option<TreePage>> {
    let Some(page) = pages.page(number)? else { return Ok(None) };
    let start = if number == 1 { 100 } else { 0 };
    let kind = page[start];
    let inner = matches!(kind, INDEX_INNER | TABLE_INNER);
    if !inner && !matches!(kind, INDEX_LEAF | TABLE_LEAF) {
        return Ok(None);
    }
    let cells = usize::from(short_at(&page, start + 3));
    let pointers = start + if inner { 12 } else { 8 };
    if pointers + 2 * cells > pages.usable {
        return Ok(None);
    }
    let mut tree = TreePage { has_numbers: kind == TABLE_LEAF, ..TreePage::default() };
    for cell in 0..cells {
        let at = usize::from(short_at(&page, pointers + 2 * cell));
        if at < pointers + 2 * cells || at + 4 > pages.usable {
            tree.damaged += 1;
            continue;
        }
        if inner {
            tree.children.push(number_at(&page, at));
        }
        if kind == TABLE_INNER {
            continue;
        }
        let payload = if inner { at + 4 } else { at };
        match row(pages, &page, payload, kind == TABLE_LEAF, used)? {
            Some(row) => tree.rows.push(row),
            None => tree.damaged += 1,
        }
    }
    if inner {
        tree.children.push(number_at(&page, start + 8));
    }
    Ok(Some(tree))
}

/// Reads the row of a cell. `None` if it is damaged.
fn row(
    pages: &mut Pages,
    page: &[u8],
    at: usize,
    is_table: bool,
    used: &mut HashSet<u32>,
) -> io::Result<Option<TreeRow>> {
    let mut rest = &page[at..pages.usable];
    let Some(length) = varint(&mut rest).filter(|length| *length <= MOST) else { return Ok(None) };
    let number = match is_table {
        false => None,
        true => match varint(&mut rest) {
            Some(number) => Some(number.cast_signed()),
            None => return Ok(None),
        },
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let most = if is_table { pages.usable - 35 } else { (pages.usable - 12) * 64 / 255 - 23 };
    let least = (pages.usable - 12) * 32 / 255 - 23;
    let (local, mut next) = if length <= most {
        (length, 0)
    } else {
        let local = least + (length - least) % (pages.usable - 4);
        let local = if local <= most { local } else { least };
        (local, number_at(rest, local))
    };
    let Some(begin) = rest.get(..local) else { return Ok(None) };
    let mut payload = begin.to_vec();
    let mut own = HashSet::new();
    while payload.len() < length && next > 0 && own.insert(next) {
        let Some(page) = pages.page(next)? else { break };
        let take = (length - payload.len()).min(pages.usable - 4);
        payload.extend_from_slice(&page[4..4 + take]);
        next = number_at(&page, 0);
    }
    let cut_off = payload.len() < length;
    used.extend(own);
    Ok(values(&payload, cut_off).map(|values| TreeRow { number, values, cut_off }))
}

/// Reads the values of a row. If it is cut off, the last value may be shorter, and later ones are
/// missing.
fn values(payload: &[u8], cut_off: bool) -> Option<Vec<Value<'static>>> {
    let mut rest = payload;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    let before = payload.len() - rest.len();
    let mut types = payload.get(before..header)?;
    let mut body = payload.get(header..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        let kind = varint(&mut types)?;
        let length = usize::try_from(match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 => 8,
            12.. => (kind - 12) / 2,
            _ => return None,
        })
        .ok()?;
        let (bytes, behind) = match body.split_at_checked(length) {
            Some(split) => split,
            // Numbers and texts are not cut.
            None if cut_off && kind >= 12 && kind % 2 == 0 => {
                values.push(Value::from(body.to_vec()));
                return Some(values);
            }
            None if cut_off => return Some(values),
            None => return None,
        };
        body = behind;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Int(0),
            9 => Value::Int(1),
            1..=6 => {
                let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
                Value::Int(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
            }
            _ if kind % 2 == 0 => Value::from(bytes.to_vec()),
            _ => Value::from(String::from_utf8(bytes.to_vec()).ok()?),
        });
    }
    Some(values)
}

/// Takes a number of one to nine bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for at in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if at == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn short_at(bytes: &[u8], at: usize) -> u16 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
    u16::from_be_bytes(bytes.unwrap_or_default())
}

/// Finds the free pages. `None` if the list of them is damaged.
pub(super) fn free_pages(pages: &mut Pages) -> io::Result<Option<HashSet<u32>>> {
    let Some((mut next, count)) = pages.free else { return Ok(None) };
    let mut free = HashSet::new();
    while next > 0 {
        let Some(page) = pages.page(next)? else { return Ok(None) };
        let Some(leaves) = trunk(&page, pages).filter(|_| free.insert(next)) else {
            return Ok(None);
        };
        free.extend(leaves);
        next = number_at(&page, 0);
    }
    Ok((free.len() == count as usize).then_some(free))
}

/// Finds the free pages of a file whose list of them is damaged, by the form of that list's pages.
pub(super) fn likely_free_pages(pages: &mut Pages) -> io::Result<HashSet<u32>> {
    let mut free = HashSet::new();
    for number in 2..=pages.count {
        if let Some(page) = pages.page(number)?
            && number_at(&page, 0) <= pages.count
            && let Some(leaves) = trunk(&page, pages).filter(|leaves| !leaves.is_empty())
        {
            free.insert(number);
            free.extend(leaves);
        }
    }
    Ok(free)
}

/// Reads a page of the list of free pages. `None` if it cannot be one.
fn trunk(page: &[u8], pages: &Pages) -> Option<HashSet<u32>> {
    let count = number_at(page, 4) as usize;
    if count > pages.usable / 4 - 2 {
        return None;
    }
    let leaves: HashSet<u32> = (0..count).map(|at| number_at(page, 8 + 4 * at)).collect();
    let fits = leaves.len() == count && leaves.iter().all(|leaf| (2..=pages.count).contains(leaf));
    fits.then_some(leaves)
}
