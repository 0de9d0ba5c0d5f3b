//! [`Order`]: a permutation of any of the kinds that the header can make, and what is asked of one.

use library::bijection::BlockShuffle;
use library::prelude::*;
use library::{Permutation, Rows, Walk, Word};

use crate::bijection::Custom;
use crate::status::{BS_ERROR_RANGE, Failure};
use crate::threads::FEW;

/// A permutation of any kind.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Compacted(Permutation),
    Walk(Walk),
    Blocks(Permutation<BlockShuffle>),
    Custom(Permutation<Custom>),
}

/// The places from an end that the library counts to rather than build an index: it does so for
/// more.
const NEAR: u64 = 1 << 10;

/// Does the same for every kind.
macro_rules! each_kind {
    ($order:expr, $p:ident => $code:expr) => {
        match $order {
            Order::Compacted($p) => $code,
            Order::Walk($p) => $code,
            Order::Blocks($p) => $code,
            Order::Custom($p) => $code,
        }
    };
}

/// Which way items are moved.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Apply,
    Undo,
}

/// What is looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The item at a place.
    Item,
    /// The place of an item.
    Place,
}

impl Order {
    pub(crate) fn compacted(len: u64, seed: Seed) -> Self {
        Self::Compacted(Permutation::new(len, seed))
    }

    pub(crate) fn walk(len: u64, seed: Seed) -> Self {
        Self::Walk(Permutation::walk(len, seed))
    }

    pub(crate) fn blocks(len: u64, block: u64, window: u64, seed: Seed) -> Result<Self, Failure> {
        let blocks = BlockShuffle::new(len, block, window, seed)?;
        Ok(Self::Blocks(Permutation::from_bijection(len, blocks)?))
    }

    pub(crate) fn custom(len: u64, bijection: Custom) -> Result<Self, Failure> {
        Ok(Self::Custom(Permutation::from_bijection(len, bijection)?))
    }

    pub(crate) fn inverse(&self) -> Self {
        match self {
            Self::Compacted(p) => Self::Compacted(p.inverse()),
            Self::Walk(p) => Self::Walk(p.inverse()),
            Self::Blocks(p) => Self::Blocks(p.inverse()),
            Self::Custom(p) => Self::Custom(p.inverse()),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        each_kind!(self, p => p.len())
    }

    /// Whether single values can be had without building an index for them.
    fn is_random_access(&self) -> bool {
        each_kind!(self, p => {
            p.is_empty() || p.len() - 1 == p.bijection().last() || p.index_bytes().is_some()
        })
    }

    /// The points that all items are found among.
    pub(crate) fn points(&self) -> u64 {
        each_kind!(self, p => p.bijection().last()).saturating_add(1)
    }

    /// Whether looking up a number builds no index, or one over few points.
    pub(crate) fn is_at_hand(&self, number: u64, lookup: Lookup) -> bool {
        // The slot of an item may be anywhere, but places near the ends are counted to, if the
        // items are spread evenly over at most twice as many points.
        let is_place = (lookup == Lookup::Item) != each_kind!(self, p => p.is_inverse());
        let from_end = self.len().saturating_sub(number);
        let is_counted =
            matches!(self, Self::Compacted(_)) && is_place && number.min(from_end) < NEAR;
        self.is_random_access() || self.points() < FEW || is_counted
    }

    pub(crate) fn look_up(&self, number: u64, lookup: Lookup) -> Result<u64, Failure> {
        let len = self.len();
        if number >= len {
            let what = if lookup == Lookup::Item { "place" } else { "item" };
            let text = format!("there is no {what} {number} in a permutation of {len} items");
            return Err(Failure::new(BS_ERROR_RANGE, text));
        }
        let found = each_kind!(self, p => match lookup {
            Lookup::Item => p.try_get(number),
            Lookup::Place => p.try_position(number),
        })?;
        found.filter(|&found| found < len).ok_or_else(Failure::not_a_bijection)
    }

    pub(crate) fn build_index(&self) -> Result<(), Failure> {
        Ok(each_kind!(self, p => p.build_index())?)
    }

    /// The points that [`write_run`](Self::write_run) evaluates; `None` if it builds an index.
    pub(crate) fn points_of_run(&self, first: u64, count: u64) -> Option<u64> {
        if first == 0 && count == self.len() {
            Some(self.points())
        } else {
            self.is_random_access().then_some(count)
        }
    }

    /// Writes the items at some places, which are all within the permutation.
    pub(crate) fn write_run(&self, first: u64, out: &mut [u64]) -> Result<(), Failure> {
        if first == 0 && out.len() as u64 == self.len() {
            return self.write_all(out);
        }
        match self {
            // They fill their domains, so this is one evaluation for each, by vectors.
            Self::Walk(p) => p.forward_run(first, out),
            Self::Blocks(p) => p.forward_run(first, out),
            Self::Compacted(p) => write_range(p, first, out)?,
            Self::Custom(p) => write_range(p, first, out)?,
        }
        Ok(())
    }

    /// Writes all items.
    pub(crate) fn write_all<N: Word>(&self, out: &mut [N]) -> Result<(), Failure> {
        Ok(each_kind!(self, p => p.write_indexes(out))?)
    }

    /// Moves the items of an array.
    pub(crate) fn reorder<T: Send>(&self, items: &mut [T], way: Way) -> Result<(), Failure> {
        Ok(each_kind!(self, p => match way {
            Way::Apply => p.apply_in_place(items),
            Way::Undo => p.unapply_in_place(items),
        })?)
    }

    /// Moves the rows of several arrays together.
    pub(crate) fn reorder_rows(&self, rows: Vec<Rows<'_, u8>>, way: Way) -> Result<(), Failure> {
        Ok(each_kind!(self, p => match way {
            Way::Apply => p.apply_together(rows),
            Way::Undo => p.unapply_together(rows),
        })?)
    }
}

fn write_range<B: Bijection>(
    p: &Permutation<B>,
    first: u64,
    out: &mut [u64],
) -> Result<(), Failure> {
    let items = p.range(first..first + out.len() as u64)?;
    let mut written = 0;
    Ok(items.try_for_each_run(|run| {
        out[written..][..run.len()].copy_from_slice(run);
        written += run.len();
    })?)
}

/// Shuffles an array by a seed, or undoes that.
pub(crate) fn reorder_by_seed<T: Send>(
    items: &mut [T],
    seed: Seed,
    way: Way,
) -> Result<(), Failure> {
    Ok(match way {
        Way::Apply => items.try_par_bijective_shuffle(seed),
        Way::Undo => items.try_par_bijective_unshuffle(seed),
    }?)
}

/// Shuffles the rows of several arrays together by a seed, or undoes that.
pub(crate) fn reorder_rows_by_seed(
    rows: Vec<Rows<'_, u8>>,
    seed: Seed,
    way: Way,
) -> Result<(), Failure> {
    Ok(match way {
        Way::Apply => rows.try_par_bijective_shuffle_together(seed),
        Way::Undo => rows.try_par_bijective_unshuffle_together(seed),
    }?)
}
