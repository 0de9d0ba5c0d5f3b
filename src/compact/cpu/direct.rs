//! The direct strategy: evaluate every slot, keep the survivors, in order.
//!
//! Slots are evaluated a *tile* at a time into a buffer of the tile's own, where the survivors are packed. A *wave*
//! is as many tiles as keep all threads busy; after it the tiles' counts are added up, which gives each tile its
//! places in the output, and the survivors are put there. So every slot is evaluated once, and no thread ever
//! waits for another in the middle of its work.

use core::mem::MaybeUninit;

use rayon::prelude::*;

use super::memory::{Buffer, assume_init};
use super::pack::{SLACK, pack};
use super::tuning;
use crate::bijection::Bijection;
use crate::compact::{check_length, check_word, wrong_count};
use crate::error::Error;
use crate::word::Word;

/// Writes the survivors among all slots, in order, over the whole of `out`.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`], [`Error::IndexTooWide`], and [`Error::NotABijection`] if there are not exactly as
/// many survivors as places. Whether they are different is not checked.
pub(crate) fn fill<N: Word>(bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    let copy = |places: &mut [N], survivors: &[N]| places.copy_from_slice(survivors);
    fill_with(bijection, out, &mut Buffer::new(), copy)
}

/// Hands the places out in order, in runs, each with the survivors that belong to it, to be filled by `put`; several
/// runs at a time, on several threads.
///
/// # Errors
///
/// As [`fill`]. Before [`Error::NotABijection`] some of the places were handed out.
pub(crate) fn fill_with<P: Send, N: Word>(
    bijection: &dyn Bijection,
    places: &mut [P],
    tiles: &mut Buffer,
    put: impl Fn(&mut [P], &[N]) + Sync,
) -> Result<(), Error> {
    let last = bijection.last();
    let len = places.len();
    check_length(len as u64, last)?;
    check_word::<N>(len)?;
    if len == 0 {
        return Ok(());
    }
    let left = if last < tuning::SEQUENTIAL_SLOTS || rayon::current_num_threads() == 1 {
        fill_sequentially(bijection, last, places, put)?
    } else {
        fill_in_waves(bijection, last, places, tiles, put)?
    };
    if left == 0 { Ok(()) } else { Err(wrong_count(len, len - left)) }
}

/// Returns how many places are left over.
fn fill_sequentially<P, N: Word>(
    bijection: &dyn Bijection,
    last: u64,
    places: &mut [P],
    put: impl Fn(&mut [P], &[N]),
) -> Result<usize, Error> {
    let len = places.len();
    let mut output = Output { len, rest: places };
    let mut room = [MaybeUninit::uninit(); tuning::RUN + SLACK];
    let mut run = Some(SlotRange::first(last, tuning::RUN));
    while let Some(slots) = run {
        let survivors = slots.compact(bijection, len as u64, &mut room);
        put(output.take(survivors.len())?, survivors);
        run = slots.next(last, tuning::RUN);
    }
    Ok(output.rest.len())
}

/// Returns how many places are left over.
fn fill_in_waves<P: Send, N: Word>(
    bijection: &dyn Bijection,
    last: u64,
    places: &mut [P],
    buffer: &mut Buffer,
    put: impl Fn(&mut [P], &[N]) + Sync,
) -> Result<usize, Error> {
    let len = places.len();
    let mut output = Output { len, rest: places };
    let tiles = rayon::current_num_threads() * tuning::TILES_PER_THREAD;
    // No more than there are in the domain.
    let tiles = (last / tuning::TILE as u64).min(tiles as u64 - 1) + 1;
    let room = buffer.room(tiles as usize * (tuning::TILE + SLACK))?;
    let mut wave: Vec<Tile<N>> = room.chunks_mut(tuning::TILE + SLACK).map(Tile::new).collect();
    let mut next = Some(SlotRange::first(last, tuning::TILE));
    while next.is_some() {
        for tile in &mut wave {
            tile.slots = next;
            next = next.and_then(|slots| slots.next(last, tuning::TILE));
        }
        wave.par_iter_mut().with_max_len(1).for_each(|tile| tile.evaluate(bijection, len as u64));
        let outputs: Vec<&mut [P]> =
            wave.iter().map(|tile| output.take(tile.count)).collect::<Result<_, _>>()?;
        outputs
            .into_par_iter()
            .zip(&wave)
            .with_max_len(1)
            .for_each(|(places, tile)| put(places, tile.survivors()));
    }
    Ok(output.rest.len())
}

/// The part of the output that has not been given out.
struct Output<'a, P> {
    len: usize,
    rest: &'a mut [P],
}

impl<'a, P> Output<'a, P> {
    /// Gives out the next places.
    fn take(&mut self, count: usize) -> Result<&'a mut [P], Error> {
        let left = self.rest.len();
        self.rest
            .split_off_mut(..count)
            .ok_or_else(|| wrong_count(self.len, self.len - left + count))
    }
}

/// Slots from `first` on, at least one.
#[derive(Clone, Copy)]
pub(super) struct SlotRange {
    first: u64,
    count: usize,
}

impl SlotRange {
    /// The first `most` slots of `[0, last]`.
    pub(super) fn first(last: u64, most: usize) -> Self {
        Self::from(0, last, most)
    }

    /// The `most` slots after these.
    pub(super) fn next(self, last: u64, most: usize) -> Option<Self> {
        let end = self.first + (self.count as u64 - 1);
        (end < last).then(|| Self::from(end + 1, last, most))
    }

    fn from(first: u64, last: u64, most: usize) -> Self {
        // `last - first` is one less than the number of slots left, which may be 2^64.
        let count = (last - first).min(most as u64 - 1) as usize + 1;
        Self { first, count }
    }

    /// Packs the survivors at the front of `out`, which has room for all the slots and [`SLACK`].
    fn compact<'a, N: Word>(
        self,
        bijection: &dyn Bijection,
        len: u64,
        out: &'a mut [MaybeUninit<N>],
    ) -> &'a [N] {
        let mut run = [0; tuning::RUN];
        let mut survivors = 0;
        let mut first = self.first;
        let mut left = self.count;
        while left > 0 {
            let run = &mut run[..left.min(tuning::RUN)];
            bijection.forward_run(first, run);
            survivors += pack(run, len, &mut out[survivors..]);
            left -= run.len();
            first = first.wrapping_add(run.len() as u64);
        }
        // SAFETY: `pack` has initialised so many words, one run's after the other's.
        unsafe { assume_init(&out[..survivors]) }
    }
}

/// A tile and its room in the buffer.
pub(super) struct Tile<'a, N> {
    pub(super) slots: Option<SlotRange>,
    room: &'a mut [MaybeUninit<N>],
    /// How many survivors are at the front of the room.
    count: usize,
}

impl<'a, N: Word> Tile<'a, N> {
    /// A tile of no slots yet. The room is for [`TILE`](tuning::TILE) words and [`SLACK`].
    pub(super) fn new(room: &'a mut [MaybeUninit<N>]) -> Self {
        Self { slots: None, room, count: 0 }
    }

    pub(super) fn evaluate(&mut self, bijection: &dyn Bijection, len: u64) {
        self.count = match self.slots {
            Some(slots) => slots.compact(bijection, len, self.room).len(),
            None => 0,
        };
    }

    pub(super) fn survivors(&self) -> &[N] {
        // SAFETY: `evaluate` has counted what `compact` had initialised; before it there are none.
        unsafe { assume_init(&self.room[..self.count]) }
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::bijection::{FromSeed, GridFeistel, MulXorshift};

    /// Small domains never get to waves by themselves, so they are sent there.
    #[test]
    fn waves_give_what_one_thread_gives() {
        let copy = |places: &mut [u32], survivors: &[u32]| places.copy_from_slice(survivors);
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for len in [1, 2, 1000, 32_767, 32_768, 32_769, 65_537, 150_000] {
                let chain = MulXorshift::<8>::from_seed(len, 1);
                let grid = GridFeistel::<12>::from_seed(len, 1);
                for f in [&chain as &dyn Bijection, &grid] {
                    let (mut one, mut waves) = (vec![0; len as usize], vec![0; len as usize]);
                    assert_eq!(fill_sequentially(f, f.last(), &mut one, copy), Ok(0));
                    let left = pool.install(|| {
                        fill_in_waves(f, f.last(), &mut waves, &mut Buffer::new(), copy)
                    });
                    assert_eq!(left, Ok(0));
                    assert!(one == waves, "length {len}, {threads} threads");
                }
            }
        }
    }
}
