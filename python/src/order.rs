//! [`Order`]: a permutation of any of the kinds that Python can make.

use bijective_shuffle::bijection::{BlockShuffle, Standard};
use bijective_shuffle::iter::IntoIter;
use bijective_shuffle::{Backend, Bijection, Error, Permutation, Rows, Walk, Word, Workspace};

use crate::key::Key;
use crate::run::Run;
use crate::threads::Stop;

/// A permutation. Its items are moved on the CPU: arrays of NumPy are in host memory, and a process
/// that has touched a GPU cannot fork workers that use one.
#[derive(Clone)]
pub(crate) enum Order {
    Compacted(Permutation),
    Walk(Walk),
    Blocks(Permutation<BlockShuffle>),
}

/// The greatest distance between places that are counted to.
const MOST_COUNTED: i64 = 1 << 10;

/// How an [`Order`] is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Compacted,
    Walk,
    Blocks { block: u64, window: u64 },
}

/// Does the same for every kind.
macro_rules! each_kind {
    ($order:expr, $p:ident => $code:expr) => {
        match $order {
            Order::Compacted($p) => $code,
            Order::Walk($p) => $code,
            Order::Blocks($p) => $code,
        }
    };
}

impl Order {
    /// The order of `len` items that a key determines.
    ///
    /// # Errors
    ///
    /// Those of [`BlockShuffle::new`].
    pub(crate) fn new(kind: Kind, len: u64, key: Key) -> Result<Self, Error> {
        Ok(match kind {
            Kind::Compacted => {
                Self::Compacted(Permutation::new(len, key.seed()).with_backend(Backend::Cpu))
            }
            Kind::Walk => Self::Walk(Permutation::walk(len, key.seed()).with_backend(Backend::Cpu)),
            Kind::Blocks { block, window } => {
                let blocks = BlockShuffle::new(len, block, window, key.seed())?;
                Self::Blocks(Permutation::from_bijection(len, blocks)?.with_backend(Backend::Cpu))
            }
        })
    }

    pub(crate) fn inverse(&self) -> Self {
        match self {
            Self::Compacted(p) => Self::Compacted(p.inverse()),
            Self::Walk(p) => Self::Walk(p.inverse()),
            Self::Blocks(p) => Self::Blocks(p.inverse()),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        each_kind!(self, p => p.len())
    }

    pub(crate) fn is_inverse(&self) -> bool {
        each_kind!(self, p => p.is_inverse())
    }

    /// What is looked up for a number below the length.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::try_get`], if the order [needs an index](Self::is_random_access).
    pub(crate) fn look_up(&self, number: u64, lookup: Lookup) -> Result<u64, Error> {
        let found = each_kind!(self, p => match lookup {
            Lookup::Value => p.try_get(number),
            Lookup::Place => p.try_position(number),
        });
        // There is one below the length, since these families keep the requirements.
        Ok(found?.unwrap_or(u64::MAX))
    }

    /// Whether there is a point for each item and none besides, so that a value is one evaluation.
    pub(crate) fn fills_domain(&self) -> bool {
        each_kind!(self, p => p.is_empty() || p.len() - 1 == p.bijection().last())
    }

    /// Whether single values can be had without building an index for them.
    pub(crate) fn is_random_access(&self) -> bool {
        self.fills_domain() || each_kind!(self, p => p.index_bytes().is_some())
    }

    /// Whether the places of a run are best counted to from the beginning, without an index.
    /// Where they are far apart, an index takes less time, and there is an error where it is not
    /// built unasked.
    pub(crate) fn is_counted(&self, run: Run) -> bool {
        let is_near = run.start == 0 && (1..=MOST_COUNTED).contains(&run.step);
        is_near && !self.is_inverse() && !self.is_random_access()
    }

    /// Whether looking up a number below the length builds no index, and takes a millisecond at
    /// most.
    pub(crate) fn is_at_hand(&self, number: u64, lookup: Lookup) -> bool {
        each_kind!(self, p => match lookup {
            Lookup::Value => p.is_place_at_hand(number),
            Lookup::Place => p.is_index_at_hand(number),
        })
    }

    /// Whether [filling](Self::fill) an array with the values of a run builds no index.
    pub(crate) fn is_run_at_hand(&self, run: Run) -> bool {
        // The slots of an inverse's values are anywhere, also where those of others are near.
        let is_near = !self.is_inverse() || self.is_random_access();
        let is_at_hand = |place| is_near && self.is_at_hand(place, Lookup::Value);
        // Either all of its places are near one end, or those behind the first follow it.
        let (reach, count) = (run.step.unsigned_abs().checked_mul(run.count), run.count);
        let is_short = run.step == 1 || reach.is_some_and(|reach| reach < self.len() / 2);
        count == 0 || (is_short && is_at_hand(run.start) && is_at_hand(run.after(count - 1).start))
    }

    /// Builds the index that single values need, if they need one, until it is stopped.
    pub(crate) fn build_index(&self, stop: &Stop) -> Result<(), Error> {
        each_kind!(self, p => p.build_index_while(|| !stop.is_set()).map(drop))
    }

    /// Builds that index if it is small enough for a view that did not ask for it. Whether it is
    /// there afterwards, [`is_random_access`](Self::is_random_access) tells.
    pub(crate) fn prepare(&self, stop: &Stop) -> Result<(), Error> {
        let last = each_kind!(self, p => p.bijection().last());
        if self.is_random_access() || last >= Permutation::AUTO_INDEX_SLOTS_MAX {
            return Ok(());
        }
        self.build_index(stop)
    }

    /// Writes the values at `start`, `start + step` and so on, all of which are places.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::range`] and [`Permutation::try_get`], if the order
    /// [needs an index](Self::is_random_access).
    pub(crate) fn fill(&self, start: u64, step: i64, out: &mut [u64]) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        if step != 1 {
            let mut place = start;
            for value in &mut *out {
                *value = place;
                // One step behind the last place may be out of range.
                place = place.wrapping_add_signed(step);
            }
            return self.each(out, Lookup::Value);
        }
        match self {
            Self::Compacted(p) => {
                let places = start..start + out.len() as u64;
                for (value, index) in out.iter_mut().zip(p.range(places)?) {
                    *value = index;
                }
            }
            // They fill their domains, so this is one evaluation for each, by vectors.
            Self::Walk(p) => p.forward_run(start, out),
            Self::Blocks(p) => p.forward_run(start, out),
        }
        Ok(())
    }

    /// Replaces each number, all of which are below the length, by what is looked up for it.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::try_get`], if the order [needs an index](Self::is_random_access).
    /// Some numbers may then have been replaced.
    pub(crate) fn each(&self, numbers: &mut [u64], lookup: Lookup) -> Result<(), Error> {
        match (self, lookup) {
            (Self::Walk(p), Lookup::Value) => p.forward_each(numbers),
            (Self::Walk(p), Lookup::Place) => p.inverse_each(numbers),
            (Self::Blocks(p), Lookup::Value) => p.forward_each(numbers),
            (Self::Blocks(p), Lookup::Place) => p.inverse_each(numbers),
            (Self::Compacted(_), lookup) => {
                for number in numbers {
                    *number = self.look_up(*number, lookup)?;
                }
            }
        }
        Ok(())
    }

    /// Writes all values.
    pub(crate) fn write_all<N: Word>(&self, out: &mut [N]) -> Result<(), Error> {
        each_kind!(self, p => p.write_indexes(out))
    }

    /// Iterates over all places, if those of a run [are counted to](Self::is_counted).
    pub(crate) fn forwards(&self, run: Run) -> Option<IntoIter<Standard>> {
        match self {
            Self::Compacted(p) if self.is_counted(run) => Some(p.clone().into_iter()),
            _ => None,
        }
    }

    /// Moves the items of a slice.
    pub(crate) fn reorder<T: Send>(&self, items: &mut [T], way: Way) -> Result<(), Error> {
        each_kind!(self, p => match way {
            Way::Apply => p.apply_in_place(items),
            Way::Undo => p.unapply_in_place(items),
        })
    }

    /// Copies the items of a slice in their new order to another of the same length.
    pub(crate) fn reorder_into<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        each_kind!(self, p => match p.is_inverse() {
            false => workspace.shuffle_into(p.bijection(), source, out),
            true => workspace.unshuffle_into(p.bijection(), source, out),
        })
    }

    /// Moves the rows of several matrices together.
    pub(crate) fn reorder_rows(&self, rows: Vec<Rows<'_, u8>>, way: Way) -> Result<(), Error> {
        each_kind!(self, p => match way {
            Way::Apply => p.apply_together(rows),
            Way::Undo => p.unapply_together(rows),
        })
    }

    /// The shuffle of blocks behind it, if it is one.
    pub(crate) fn blocks(&self) -> Option<&BlockShuffle> {
        match self {
            Self::Blocks(p) => Some(p.bijection()),
            _ => None,
        }
    }
}

/// What [`Order::each`] looks up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The value at a place.
    Value,
    /// The place of a value.
    Place,
}

/// Which way items are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Apply,
    Undo,
}
