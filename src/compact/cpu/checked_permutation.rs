//! [`CheckedPermutation`]: a permutation by which items may be moved. All unsafe code that moves
//! items rests on its being a permutation, and never on a user's code that nobody has vouched for.

use core::mem::MaybeUninit;

use super::direct::{MoveRun, fill_checked, from_ends, in_chunks, in_waves, threads_for};
use super::partitioned::{PartitionedBuffers, Sorting};
use super::places::{DivisiblePlaces, ItemNumbers, Span};
use super::survivors::{Values, is_short, workers};
use super::tuning;
use crate::bijection::hooks::{EngineForm, Hooked};
use crate::compact::Direction;
use crate::engine::bijection::StandardCipher;
use crate::engine::check::{check_length, try_with_capacity};
use crate::engine::memory::Buffer;
use crate::engine::parallel::Workers;
use crate::{Bijection, Error, Trusted, Word};

/// A permutation by which items may be moved: each index below its length is at exactly one place.
pub(super) struct CheckedPermutation<'a> {
    len: usize,
    indices: Indices<'a>,
    /// Lists the indexes, if the items may be few for the slots.
    list: Option<ListIndexes>,
}

type ListIndexes = fn(&Trusted, usize, &mut PartitionedBuffers) -> Result<Option<Vec<u32>>, Error>;

/// Where the indexes come from.
enum Indices<'a> {
    /// Evaluated by a trusted bijection while the items move.
    Evaluated(Trusted<'a>),
    /// Listed before any item moves: computed by a bijection that is not trusted, and checked, or
    /// by a trusted one.
    Narrow(Vec<u32>),
    /// The same, for more items than 32 bits can count.
    Wide(Vec<u64>),
}

impl<'a> CheckedPermutation<'a> {
    /// The permutation that a bijection compacts to. A bijection that is not trusted is evaluated
    /// and checked here, and never called again.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] and [`Error::OutOfMemory`].
    #[inline]
    pub(super) fn new(bijection: &'a dyn Bijection, len: usize) -> Result<Self, Error> {
        let indices = match EngineForm::of(uncompacted(bijection, len)?) {
            EngineForm::Trusted(trusted) => {
                check_length(len as u64, trusted.last())?;
                Indices::Evaluated(trusted)
            }
            EngineForm::Unchecked(bijection) if fits_u32(len) => {
                Indices::Narrow(checked_indices(bijection, len)?)
            }
            EngineForm::Unchecked(bijection) => Indices::Wide(checked_indices(bijection, len)?),
        };
        Ok(Self { len, indices, list: Some(list) })
    }

    /// The permutation of a seed, whose slots are never many for the items. It checks nothing and
    /// lists nothing, so that a program that shuffles by seeds alone has no code for that.
    pub(super) fn of_seed(cipher: &'a StandardCipher, len: usize) -> Self {
        let trusted = cipher.trust();
        debug_assert!(len as u64 - 1 <= trusted.last() && !tuning::is_sparse(trusted.last(), len));
        Self { len, indices: Indices::Evaluated(trusted), list: None }
    }

    /// The number of items that are permuted.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bijection that computes the indexes, if it is trusted.
    pub(super) fn trusted(&self) -> Option<&Trusted<'a>> {
        match &self.indices {
            Indices::Evaluated(trusted) => Some(trusted),
            Indices::Narrow(_) | Indices::Wide(_) => None,
        }
    }

    /// Whether the items are few for the slots, so that evaluating every slot would cost more than
    /// sorting them.
    pub(super) fn is_sparse(&self) -> bool {
        let is_sparse = |trusted: &Trusted| tuning::is_sparse(trusted.last(), self.len);
        self.list.is_some() && self.trusted().is_some_and(is_sparse)
    }

    /// The same permutation, with its indexes listed if the items are few for the slots: sorting
    /// them costs less than evaluating every slot. If there is no memory for the list, it is the
    /// permutation as it was.
    pub(super) fn listed(self, buffers: &mut PartitionedBuffers) -> Self {
        let (Some(list), true, Some(trusted)) = (self.list, self.is_sparse(), self.trusted())
        else {
            return self;
        };
        match list(trusted, self.len, buffers) {
            Ok(Some(indices)) => Self { indices: Indices::Narrow(indices), ..self },
            Ok(None) | Err(_) => self,
        }
    }

    /// Whether moving items of `item_bytes` takes long enough for several threads.
    pub(super) fn is_long(&self, item_bytes: usize) -> bool {
        !tuning::is_sequential(self.len, item_bytes)
            || self.trusted().is_some_and(|trusted| trusted.last() >= tuning::SEQUENTIAL_SLOTS)
    }

    /// Whether any step of moving items of `item_bytes` uses several threads. The caller then
    /// enters the pool once, and not for every step: entering it from outside takes ten
    /// microseconds.
    pub(super) fn is_parallel(&self, item_bytes: usize) -> bool {
        self.is_long(item_bytes) && rayon::current_num_threads() > 1
    }

    /// The threads that may move items. Indexes that are listed are only read.
    pub(super) fn workers(&self) -> Workers {
        self.trusted().map_or(Workers::Crew, workers)
    }

    /// Moves all places, in runs, together with the indexes that belong to them; several threads
    /// move several runs at a time. When it returns `Ok`, each place was in exactly one run, and so
    /// was each index.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Some runs may have been moved by then.
    ///
    /// # Panics
    ///
    /// If the number of places differs from that of the indexes.
    pub(super) fn for_each_run<P: DivisiblePlaces, M>(
        &self,
        places: P,
        tiles: &mut Buffer,
        step: &M,
    ) -> Result<(), Error>
    where
        M: MoveRun<P, u16> + MoveRun<P, u32> + MoveRun<P, u64>,
    {
        assert_eq!(self.len, places.len());
        if self.len == 0 {
            return Ok(());
        }
        match &self.indices {
            Indices::Narrow(indices) => in_chunks(indices, places, step),
            Indices::Wide(indices) => in_chunks(indices, places, step),
            Indices::Evaluated(f) => match threads_for(f.last()) {
                1 => {
                    let values = Values::on_one_thread(f, self.len, tiles)?;
                    if is_short(f.last()) {
                        from_ends::<P, u16>(&values, places, 1, step)
                    } else if fits_u32(self.len) {
                        from_ends::<P, u32>(&values, places, 1, step)
                    } else {
                        from_ends::<P, u64>(&values, places, 1, step)
                    }
                }
                threads => {
                    let values = Values::of_trusted(f, self.len);
                    match (threads, fits_u32(self.len)) {
                        (2, true) => from_ends::<P, u32>(&values, places, 2, step),
                        (2, false) => from_ends::<P, u64>(&values, places, 2, step),
                        (_, true) => in_waves::<P, u32>(&values, places, tiles, step),
                        (_, false) => in_waves::<P, u64>(&values, places, tiles, step),
                    }
                }
            },
        }
    }
}

/// The indexes of few items for the slots, in the order of their places; `None` if they are too
/// many for 32 bits.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
fn list(
    trusted: &Trusted,
    len: usize,
    buffers: &mut PartitionedBuffers,
) -> Result<Option<Vec<u32>>, Error> {
    let sorting = Sorting::new::<u32>(trusted, len, Direction::Shuffle, tuning::MOST_BUCKETS);
    let Some(sorting) = sorting.filter(|_| fits_u32(len)) else {
        return Ok(None);
    };
    let mut indices = try_with_capacity(len)?;
    indices.resize(len, 0_u32);
    // As the words that items of four bytes are moved as, for which the sort is compiled too.
    let places = core::ptr::from_mut(&mut *indices) as *mut [MaybeUninit<MaybeUninit<u32>>];
    // SAFETY: the places are those of the vector, which is not used until the sort is done.
    let span = unsafe { Span::new(places) };
    // SAFETY: there is a number for each item.
    let sorted = unsafe { sorting.sort(&ItemNumbers, span, buffers) }?;
    Ok(sorted.map(|place| place()).map(|()| indices))
}

/// The bijection to evaluate for the permutation that `bijection` compacts to for a length: often
/// `bijection` itself. The length is checked against its domain.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`].
pub(super) fn uncompacted(bijection: &dyn Bijection, len: usize) -> Result<&dyn Bijection, Error> {
    check_length(len as u64, bijection.last())?;
    Ok(bijection.uncompacted().unwrap_or(bijection))
}

/// Whether every index below a length fits 32 bits.
pub(super) fn fits_u32(len: usize) -> bool {
    len as u64 <= 1 << 32
}

fn checked_indices<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<Vec<N>, Error> {
    let mut indices = try_with_capacity(len)?;
    indices.resize(len, N::ZERO);
    fill_checked(bijection, &mut indices)?;
    Ok(indices)
}
