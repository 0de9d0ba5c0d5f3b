//! What a back end is to the tests: its entry points, with everything erased that an engine would
//! be compiled again for.

use bijective_shuffle::Error;
use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::prelude::*;

use crate::items::{Items, Table};

/// What an entry point answers; `None` where there is no such entry point, or none for such items.
pub type Answer = Option<Result<(), Error>>;

/// Whether items are shuffled or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Shuffle,
    Unshuffle,
}

pub const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

/// A permutation: by its bijection, and by its seed where it is the default one.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub bijection: &'a dyn Bijection,
    pub seed: Option<Seed>,
}

impl<'a> Given<'a> {
    pub fn by(bijection: &'a dyn Bijection) -> Self {
        Self { bijection, seed: None }
    }
}

/// Room for indexes of either width.
#[derive(Debug)]
pub enum Indices {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Indices {
    /// Both widths, filled with what is no index.
    pub fn both(len: usize) -> [Self; 2] {
        [Self::Narrow(vec![u32::MAX; len]), Self::Wide(vec![u64::MAX; len])]
    }

    pub fn is(&self, order: &[u64]) -> bool {
        match self {
            Self::Narrow(indices) => {
                indices.iter().map(|&x| u64::from(x)).eq(order.iter().copied())
            }
            Self::Wide(indices) => indices == order,
        }
    }
}

/// An expression of a vector of indexes of whichever width.
#[macro_export]
macro_rules! with_indices {
    ($indices:expr, $out:ident => $call:expr) => {
        match $indices {
            $crate::under_test::Indices::Narrow($out) => $call,
            $crate::under_test::Indices::Wide($out) => $call,
        }
    };
}

/// Whether a back end serves a bijection for `len` items.
pub fn serves(backend: &dyn UnderTest, given: &Given, len: usize) -> bool {
    let in_passes = || {
        let is_full = len.checked_sub(1).is_some_and(|last| last as u64 == given.bijection.last());
        backend.serves_passes() && is_full && given.bijection.passes().is_some()
    };
    backend.serves(given) || in_passes()
}

/// A back end under test. Each has the entry points that it implements; the others are absent.
pub trait UnderTest: Send {
    /// Whether it works on rayon's threads, so that it is tested in pools of several sizes.
    fn has_threads(&self) -> bool {
        false
    }

    /// Whether it serves a bijection at all.
    fn serves(&self, _given: &Given) -> bool {
        true
    }

    /// Whether it serves each bijection whose passes it serves, for as many items as points.
    fn serves_passes(&self) -> bool {
        false
    }

    /// Writes the permutation.
    fn write_indexes(&mut self, _given: &Given, _out: &mut Indices) -> Answer {
        None
    }

    /// Moves items in place.
    fn in_place(&mut self, _: &Given, _: &mut Items, _: Direction) -> Answer {
        None
    }

    /// Makes a copy that is shuffled or put back.
    fn copied<'a>(
        &mut self,
        _given: &Given,
        _source: &Items<'a>,
        _direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        None
    }

    /// Copies items to other memory, shuffled or put back.
    fn into(&mut self, _: &Given, _source: &Items, _out: &mut Items, _: Direction) -> Answer {
        None
    }

    /// Moves several columns in place.
    fn together(&mut self, _: &Given, _: &mut Table, _: Direction) -> Answer {
        None
    }

    /// Writes rows of a batch, from one on.
    fn rows(&mut self, _: &Permutations, _first: u64, _out: &mut Indices) -> Answer {
        None
    }
}
