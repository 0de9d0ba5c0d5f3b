//! What [`Packed`](crate::Packed) and [`Lengths`](crate::Lengths) stand on: the lengths of items,
//! their order, and an index for each epoch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bijective_shuffle::bijection::{CycleWalk, Standard};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::{FromSeed, KeyDomain, Seed};
use bijective_shuffle_engine::{check, parallel, saved};

use crate::Error;

/// The order of `Permutation::walk`.
pub(crate) type StandardWalk = CycleWalk<Standard>;

/// The order of `len` items that loader `number` has in the epoch of a seed. The length is not 0.
pub(crate) fn order(len: u64, seed: Seed, number: u32) -> StandardWalk {
    StandardWalk::from_seed(len, seed.child(KeyDomain::Loader(number)))
}

/// A number below `count`, from a word. What makes some numbers likelier is less than `count` in
/// 2^64.
pub(crate) fn below(word: u64, count: u64) -> u64 {
    ((u128::from(word) * u128::from(count)) >> 64) as u64
}

/// Checks that as many places from one on are below 2^64.
pub(crate) fn check_places(first: u64, count: usize) -> Result<(), Error> {
    let count = count as u64;
    if count > 0 && first.checked_add(count - 1).is_none() {
        return Err(Error::PlacesOutOfRange { first, count });
    }
    Ok(())
}

/// Checks that there is room for one item for each place.
pub(crate) fn check_lengths(places: usize, out: usize) -> Result<(), Error> {
    if places == out {
        return Ok(());
    }
    let (expected, actual) = (places as u64, out as u64);
    Err(bijective_shuffle::Error::LengthMismatch { expected, actual }.into())
}

/// Checks that a place is below a length.
pub(crate) fn check_place(place: u64, len: u64) -> Result<(), Error> {
    if place >= len {
        let (start, end) = (place.into(), u128::from(place) + 1);
        return Err(
            bijective_shuffle::Error::View(ViewError::OutOfRange { start, end, len }).into()
        );
    }
    Ok(())
}

/// The lengths of items or documents, in tokens: a slice, a vector, a file that is mapped into
/// memory, or a number of items and a function.
///
/// They have to stay as they are. If one changes, sequences and batches are wrong, or
/// [`Error::LengthsChanged`] says so.
pub trait ItemLengths: Sync {
    /// The number of items.
    fn count(&self) -> u64;

    /// The length of an item, which is below [`count`](Self::count).
    fn length(&self, item: u64) -> u64;
}

impl ItemLengths for [u32] {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        self[item as usize].into()
    }
}

impl ItemLengths for Vec<u32> {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        self[item as usize].into()
    }
}

/// A number of items, and a function that returns an item's length.
impl<F: Fn(u64) -> u64 + Sync> ItemLengths for (u64, F) {
    fn count(&self) -> u64 {
        self.0
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        (self.1)(item)
    }
}

impl<T: ItemLengths + ?Sized> ItemLengths for &T {
    fn count(&self) -> u64 {
        (**self).count()
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        (**self).length(item)
    }
}

impl<T: ItemLengths + Send + ?Sized> ItemLengths for Arc<T> {
    fn count(&self) -> u64 {
        (**self).count()
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        (**self).length(item)
    }
}

/// How many lengths a thread adds up at a time.
const CHUNK: u64 = 1 << 16;

/// What a look at all lengths says.
#[derive(Clone, Copy)]
pub(crate) struct Survey {
    /// The sum of all lengths.
    pub(crate) total: u64,
    /// The largest length, and the first item that has it.
    pub(crate) longest: u64,
    pub(crate) longest_item: u64,
}

/// Looks at all lengths, on all cores.
pub(crate) fn survey(lengths: &impl ItemLengths) -> Result<Survey, Error> {
    let count = lengths.count();
    let chunks = count.div_ceil(CHUNK);
    let mut surveys = check::try_with_capacity_u64(chunks)?;
    surveys.resize(chunks as usize, Survey { total: 0, longest: 0, longest_item: 0 });
    parallel::each_chunk(&mut surveys, 1, |chunk, out| {
        let first = chunk as u64 * CHUNK;
        let mut survey = Survey { total: 0, longest: 0, longest_item: first };
        for item in first..count.min(first + CHUNK) {
            let length = lengths.length(item);
            survey = survey.with(Survey { total: length, longest: length, longest_item: item });
        }
        out[0] = survey;
    });
    let all = surveys.into_iter().reduce(Survey::with);
    let all = all.unwrap_or(Survey { total: 0, longest: 0, longest_item: 0 });
    if all.total < 1 << 63 { Ok(all) } else { Err(Error::TotalLengthTooLarge) }
}

impl Survey {
    /// With what comes after.
    #[inline]
    fn with(mut self, next: Self) -> Self {
        self.total = self.total.saturating_add(next.total);
        if next.longest > self.longest {
            (self.longest, self.longest_item) = (next.longest, next.longest_item);
        }
        self
    }
}

/// What tells lengths from others, without a look at all of them.
pub(crate) fn fingerprint(lengths: &impl ItemLengths, numbers: &[u64], seed: Seed) -> u64 {
    let samples = saved::sample_points(lengths.count() - 1).map(|item| lengths.length(item));
    let numbers = [&[lengths.count()], numbers, seed.keys()].concat();
    saved::check(numbers.into_iter().chain(samples))
}

/// The indexes of the two epochs that were asked for last, shared by clones. Where one epoch
/// follows another, a batch may have items of both.
#[derive(Debug)]
pub(crate) struct PerEpoch<T>(Arc<Mutex<KeptEpochs<T>>>);

/// Epochs and their indexes, the one that was asked for last at the end.
type KeptEpochs<T> = Vec<(u64, Arc<T>)>;

/// The number of epochs whose indexes are kept.
const EPOCHS: usize = 2;

impl<T> PerEpoch<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// The index of an epoch, which is built if it is not one of those that are kept.
    ///
    /// Threads that ask at once may build it twice. The lock is not held meanwhile: a thread of the
    /// pool that waits for parts of its index may get a task that asks for the index, too, and
    /// would wait for itself.
    pub(crate) fn get(
        &self,
        epoch: u64,
        build: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        {
            let mut kept = self.kept();
            if let Some(at) = kept.iter().position(|(of, _)| *of == epoch) {
                kept[at..].rotate_left(1);
                return Ok(kept[kept.len() - 1].1.clone());
            }
            // Its memory is free before the new one takes its own, unless someone is using it.
            Self::drop_oldest(&mut kept);
        }
        let index = Arc::new(build()?);
        let mut kept = self.kept();
        kept.retain(|(of, _)| *of != epoch);
        Self::drop_oldest(&mut kept);
        kept.push((epoch, index.clone()));
        Ok(index)
    }

    /// Drops the index that was asked for longest ago, if as many are kept as may be.
    fn drop_oldest(kept: &mut KeptEpochs<T>) {
        if kept.len() == EPOCHS {
            kept.remove(0);
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptEpochs<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for PerEpoch<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Checks a number of places that was given for an epoch with a number of its own.
pub(crate) fn own_places(asked: Option<u64>, has: u64) -> Result<u64, Error> {
    match asked {
        Some(asked) if asked != has => Err(Error::EpochLengthMismatch { asked, has }),
        _ => Ok(has),
    }
}
