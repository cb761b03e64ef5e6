//! Building blocks for the types of kinds.

use crate::base::MisfitError;
use crate::fragment::FragmentMap;
use crate::{Fragment, FragmentData};

/// Returns whether an optional part is left out.
pub(super) fn is_omitted(data: &FragmentData) -> bool {
    match data {
        FragmentData::Null => true,
        FragmentData::Text(text) => text.is_empty(),
        FragmentData::List(list) => list.as_slice().is_empty(),
        FragmentData::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// A part of a kind: one value or a list of them.
pub(super) trait Part: Sized + Default {
    fn to_data(&self) -> FragmentData;

    /// Converts data into the part. `None` if the data has another shape.
    fn from_data(data: &FragmentData) -> Option<Self>;
}

impl Part for FragmentData {
    fn to_data(&self) -> FragmentData {
        self.clone()
    }

    fn from_data(data: &FragmentData) -> Option<Self> {
        Some(data.clone())
    }
}

impl Part for Vec<FragmentData> {
    fn to_data(&self) -> FragmentData {
        FragmentData::list(self.iter().cloned())
    }

    fn from_data(data: &FragmentData) -> Option<Self> {
        match data {
            FragmentData::List(list) => Some(list.iter().cloned().collect()),
            _ => None,
        }
    }
}

/// Returns the data of a fragment that is expected to be of a kind.
pub(super) fn data_of<'a>(
    fragment: &'a Fragment,
    expected: &'static str,
) -> Result<&'a FragmentData, MisfitError> {
    if fragment.name() != expected {
        return Err(MisfitError::Name { expected });
    }
    fragment.data().filter(|_| !fragment.is_message()).ok_or(MisfitError::NotData)
}

/// Extracts the parts of a kind from a fragment's map.
pub(super) struct Parts<'a> {
    map: &'a FragmentMap,
    taken: Vec<&'static str>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(fragment: &'a Fragment, name: &'static str) -> Result<Self, MisfitError> {
        match data_of(fragment, name)? {
            FragmentData::Map(map) => Ok(Self { map, taken: Vec::new() }),
            _ => Err(MisfitError::Shape { part: "its data", expected: "map" }),
        }
    }

    pub(super) fn required<P: Part>(&mut self, part: &'static str) -> Result<P, MisfitError> {
        let data = self.map.get(part).ok_or(MisfitError::Missing { part })?;
        self.taken.push(part);
        P::from_data(data).ok_or(MisfitError::Shape { part, expected: "list" })
    }

    pub(super) fn optional<P: Part>(&mut self, part: &'static str) -> Result<P, MisfitError> {
        if self.map.get(part).is_some() { self.required(part) } else { Ok(P::default()) }
    }

    /// Refuses parts that the kind does not know, because they would be lost.
    pub(super) fn end(self) -> Result<(), MisfitError> {
        match self.map.iter().find(|(key, _)| !self.taken.contains(&key.as_str())) {
            Some((key, _)) => Err(MisfitError::NoPlace { part: key.clone() }),
            None => Ok(()),
        }
    }
}

/// Defines the type of a kind: its parts in order, and their position in the fragment's map.
macro_rules! kind {
    (
        $(#[$doc:meta])*
        $type:ident, $name:literal
        $(, required { $($(#[$rdoc:meta])* $rkind:ident $required:ident),* $(,)? })?
        $(, optional { $($(#[$odoc:meta])* $okind:ident $optional:ident),* $(,)? })?
    ) => {
        $(#[$doc])*
        #[doc = concat!("\n\nKind `", $name, "`, version 1.")]
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $type {
            $($($(#[$rdoc])* pub $required: kind!(@type $rkind),)*)?
            $($($(#[$odoc])* #[serde(default, skip_serializing_if = "is_part_omitted")]
                pub $optional: kind!(@type $okind),)*)?
        }

        impl $type {
            /// Creates the kind with its required parts only.
            #[allow(clippy::needless_update, reason = "some kinds have nothing optional")]
            pub fn new($($($required: kind!(@arg $rkind)),*)?) -> Self {
                Self {
                    $($($required: kind!(@take $rkind $required),)*)?
                    ..Self::default()
                }
            }

            $($(
                $(#[$odoc])*
                #[must_use]
                pub fn $optional(mut self, $optional: kind!(@arg $okind)) -> Self {
                    self.$optional = kind!(@take $okind $optional);
                    self
                }
            )*)?
        }

        impl From<$type> for crate::Fragment {
            fn from(kind: $type) -> Self {
                crate::fragment::FragmentBody::into_fragment(kind).with_codec($name)
            }
        }

        impl From<$type> for crate::FragmentData {
            fn from(kind: $type) -> Self {
                crate::Fragment::from(kind).into()
            }
        }

        impl crate::fragment::FragmentBody for $type {
            const KIND: &'static str = $name;
            const VERSION: u16 = 1;

            #[allow(clippy::vec_init_then_push, reason = "some kinds have nothing optional")]
            fn into_fragment(self) -> crate::Fragment {
                use super::body::Part as _;
                let mut entries: Vec<(&str, crate::FragmentData)> = Vec::new();
                $($(entries.push((stringify!($required), self.$required.to_data()));)*)?
                $($(
                    let data = self.$optional.to_data();
                    if !super::body::is_omitted(&data) {
                        entries.push((stringify!($optional), data));
                    }
                )*)?
                crate::Fragment::new($name, crate::FragmentData::map(entries))
            }

            fn from_fragment(fragment: &crate::Fragment) -> Result<Self, crate::base::MisfitError> {
                let mut parts = super::body::Parts::of(fragment, $name)?;
                let kind = Self {
                    $($($required: parts.required(stringify!($required))?,)*)?
                    $($($optional: parts.optional(stringify!($optional))?,)*)?
                };
                parts.end()?;
                Ok(kind)
            }
        }
    };
    (@type data) => { crate::FragmentData };
    (@type list) => { Vec<crate::FragmentData> };
    (@arg data) => { impl Into<crate::FragmentData> };
    (@arg list) => { impl IntoIterator<Item: Into<crate::FragmentData>> };
    (@take data $name:ident) => { $name.into() };
    (@take list $name:ident) => { $name.into_iter().map(Into::into).collect() };
}
pub(super) use kind;
