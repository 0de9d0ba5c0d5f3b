//! [`Order`]: the order that workspaces and slices move items in.

use core::fmt;

use crate::bijection::Standard;
use crate::{Bijection, FromSeed, Seed};

/// The order to move items in, given by a seed or a bijection.
///
/// Methods that take an `impl Into<Order>` take a seed as a `u64`, as a [`Seed`] or as its 32
/// bytes, or a reference to any [`Bijection`], such as a family of [`bijection`](crate::bijection)
/// or a [`Permutation`](crate::Permutation).
///
/// The order of a seed is that of [`Permutation::new`](crate::Permutation::new). For that of
/// [`Permutation::walk`](crate::Permutation::walk), which is different, pass the walk itself.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Lcg;
/// use bijective_shuffle::prelude::*;
///
/// let mut workspace = Workspace::new();
/// let mut items = ['a', 'b', 'c', 'd', 'e'];
/// workspace.shuffle(42, &mut items)?;
/// workspace.unshuffle(Seed::new(42), &mut items)?;
///
/// workspace.shuffle(&Lcg::new(3, 5, 3)?, &mut items)?; // 3 0 5 2 7 4 1 6
/// assert_eq!(items, ['d', 'a', 'c', 'e', 'b']);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Order<'a>(pub(crate) OrderBy<'a>);

#[derive(Clone, Copy)]
pub(crate) enum OrderBy<'a> {
    Seed(Seed),
    Bijection(&'a dyn Bijection),
}

impl<'a> Order<'a> {
    /// The bijection to move `len` items by.
    pub(crate) fn for_len(self, len: u64) -> Chosen<'a> {
        match self.0 {
            OrderBy::Seed(seed) => Chosen::Drawn(Standard::from_seed(len, seed)),
            OrderBy::Bijection(bijection) => Chosen::Given(bijection),
        }
    }
}

/// The bijection of an [`Order`] for one length.
#[allow(clippy::large_enum_variant, reason = "a box would allocate in each call")]
pub(crate) enum Chosen<'a> {
    Drawn(Standard),
    Given(&'a dyn Bijection),
}

impl Chosen<'_> {
    pub(crate) fn bijection(&self) -> &dyn Bijection {
        match self {
            Self::Drawn(standard) => standard,
            Self::Given(bijection) => *bijection,
        }
    }
}

impl From<u64> for Order<'_> {
    fn from(seed: u64) -> Self {
        Self(OrderBy::Seed(seed.into()))
    }
}

impl From<[u8; 32]> for Order<'_> {
    fn from(seed: [u8; 32]) -> Self {
        Self(OrderBy::Seed(seed.into()))
    }
}

impl From<Seed> for Order<'_> {
    fn from(seed: Seed) -> Self {
        Self(OrderBy::Seed(seed))
    }
}

impl<'a, B: Bijection> From<&'a B> for Order<'a> {
    fn from(bijection: &'a B) -> Self {
        Self(OrderBy::Bijection(bijection))
    }
}

impl<'a> From<&'a dyn Bijection> for Order<'a> {
    fn from(bijection: &'a dyn Bijection) -> Self {
        Self(OrderBy::Bijection(bijection))
    }
}

impl fmt::Debug for Order<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // As the seed prints itself: it is no secret.
            OrderBy::Seed(seed) => f.debug_tuple("Seed").field(&seed).finish(),
            OrderBy::Bijection(bijection) => {
                f.debug_struct("Bijection").field("last", &bijection.last()).finish_non_exhaustive()
            }
        }
    }
}
