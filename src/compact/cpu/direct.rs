//! The direct strategy: evaluate every slot, keep the survivors, in order.
//!
//! Slots are evaluated a *tile* at a time into a buffer of the tile's own, where the survivors are packed. A *wave*
//! is as many tiles as keep all threads busy; after it the tiles' counts are added up, which gives each tile its
//! places in the output, and the survivors are put there. So every slot is evaluated once, and no thread ever
//! waits for another in the middle of its work.

use core::mem::MaybeUninit;

use rayon::prelude::*;

use super::places::Places;
use super::survivors::{SlotRange, Tile, Values, room_for};
use super::tuning;
use crate::base::check::{check_length, check_word, try_with_capacity};
use crate::base::memory::Buffer;
use crate::bijection::{Bijection, Trusted};
use crate::compact::{check_permutation, with_slots, wrong_count};
use crate::error::Error;
use crate::word::Word;

/// Writes the survivors among all slots, in order, over the whole of `out`, and checks that they are a
/// permutation, whatever the bijection does.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`], [`Error::IndexTooWide`], [`Error::OutOfMemory`], and
/// [`Error::NotABijection`] if there are not exactly as many survivors as places, or if one repeats.
pub(crate) fn fill_checked<N: Word>(bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    if is_nothing::<N>(bijection, out.len())? {
        return Ok(());
    }
    let values = Values::of_any(bijection, out.len());
    let copy = |places: &mut [N], survivors: &[N]| places.copy_from_slice(survivors);
    hand_out(&values, &mut *out, &mut Buffer::new(), copy)?;
    // The domain is the one that was gone through: a bijection that lies may name a larger one now.
    check_permutation(out).map_err(|error| {
        with_slots(error, values.last_slot(), |first, run| bijection.forward_run(first, run))
    })
}

/// [`fill_checked`] by a trusted bijection, which is not checked.
pub(crate) fn fill_trusted<N: Word>(trusted: &Trusted, out: &mut [N]) -> Result<(), Error> {
    let copy = |places: &mut [N], survivors: &[N]| places.copy_from_slice(survivors);
    fill_with(trusted, out, &mut Buffer::new(), copy)
}

/// [`fill_trusted`] on the calling thread alone, with working memory that is kept.
pub(crate) fn fill_alone<N: Word>(
    trusted: &Trusted,
    out: &mut [N],
    memory: &mut Buffer,
) -> Result<(), Error> {
    let (last, len) = (trusted.last(), out.len());
    if is_nothing::<N>(trusted, len)? {
        return Ok(());
    }
    let copy = |places: &mut [N], survivors: &[N]| places.copy_from_slice(survivors);
    if tuning::prefers_inverses(last, len, trusted.evaluation_picoseconds()) {
        return hand_out_in_order(&Values::by_inverses(trusted, len, memory)?, out, copy);
    }
    hand_out_in_order(&Values::of_trusted(trusted, len), out, copy)
}

/// Hands the places out in order, in runs, each with the survivors that belong to it, to be filled by `put`; several
/// runs at a time, on several threads.
///
/// # Errors
///
/// As [`fill_checked`], but whether survivors repeat is not checked. Before [`Error::NotABijection`] some of the places were handed out.
pub(in crate::compact) fn fill_with<P: Places, N: Word>(
    trusted: &Trusted,
    places: P,
    tiles: &mut Buffer,
    put: impl Fn(P, &[N]) + Sync,
) -> Result<(), Error> {
    let len = places.len();
    if is_nothing::<N>(trusted, len)? {
        return Ok(());
    }
    if tuning::prefers_inverses(trusted.last(), len, trusted.evaluation_picoseconds()) {
        let values = Values::by_inverses(trusted, len, tiles)?;
        return hand_out_in_order(&values, places, put);
    }
    hand_out(&Values::of_trusted(trusted, len), places, tiles, put)
}

/// Checks that indexes below a length are in the domain and fit the word; whether there are none.
fn is_nothing<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<bool, Error> {
    check_length(len as u64, bijection.last())?;
    check_word::<N>(len)?;
    Ok(len == 0)
}

fn hand_out<P: Places, N: Word>(
    values: &Values,
    places: P,
    tiles: &mut Buffer,
    put: impl Fn(P, &[N]) + Sync,
) -> Result<(), Error> {
    if is_parallel(values.last_slot()) {
        hand_out_in_waves(values, places, tiles, put)
    } else {
        hand_out_in_order(values, places, put)
    }
}

/// Whether the slots up to the last are evaluated on several threads.
pub(crate) fn is_parallel(last_slot: u64) -> bool {
    last_slot >= tuning::SEQUENTIAL_SLOTS && rayon::current_num_threads() > 1
}

/// Hands out on the calling thread.
fn hand_out_in_order<P: Places, N: Word>(
    values: &Values,
    places: P,
    put: impl Fn(P, &[N]),
) -> Result<(), Error> {
    let mut output = Output::new(places);
    let mut room = [MaybeUninit::uninit(); room_for(tuning::RUN)];
    let mut run = Some(SlotRange::first(values.last_slot(), tuning::RUN));
    while let Some(slots) = run {
        let survivors = values.survivors(slots, &mut room);
        put(output.take(survivors.len())?, survivors);
        run = slots.next(values.last_slot(), tuning::RUN);
    }
    output.finish()
}

/// Hands out on all threads.
fn hand_out_in_waves<P: Places, N: Word>(
    values: &Values,
    places: P,
    buffer: &mut Buffer,
    put: impl Fn(P, &[N]) + Sync,
) -> Result<(), Error> {
    let mut output = Output::new(places);
    let last = values.last_slot();
    let tiles = rayon::current_num_threads() * tuning::TILES_PER_THREAD;
    // No more than there are in the domain.
    let tiles = (last / tuning::TILE as u64).min(tiles as u64 - 1) as usize + 1;
    let room = buffer.room(tiles * room_for(tuning::TILE))?;
    let mut wave: Vec<Tile<N>> = try_with_capacity(tiles)?;
    wave.extend(room.chunks_mut(room_for(tuning::TILE)).map(Tile::new));
    let mut next = Some(SlotRange::first(last, tuning::TILE));
    while next.is_some() {
        for tile in &mut wave {
            tile.slots = next;
            next = next.and_then(|slots| slots.next(last, tuning::TILE));
        }
        wave.par_iter_mut().with_max_len(1).for_each(|tile| tile.evaluate(values));
        let mut outputs: Vec<P> = try_with_capacity(tiles)?;
        for tile in &wave {
            outputs.push(output.take(tile.survivors().len())?);
        }
        outputs
            .into_par_iter()
            .zip(&wave)
            .with_max_len(1)
            .for_each(|(places, tile)| put(places, tile.survivors()));
    }
    output.finish()
}

/// The part of the output that has not been given out.
struct Output<P> {
    len: usize,
    /// Always there but while it is cut.
    rest: Option<P>,
}

impl<P: Places> Output<P> {
    fn new(places: P) -> Self {
        Self { len: places.len(), rest: Some(places) }
    }

    /// How many are left.
    fn left(&self) -> usize {
        self.rest.as_ref().map_or(0, P::len)
    }

    /// Gives out the next places.
    fn take(&mut self, count: usize) -> Result<P, Error> {
        let left = self.left();
        match self.rest.take() {
            Some(rest) if count <= left => {
                let (places, rest) = rest.cut(count);
                self.rest = Some(rest);
                Ok(places)
            }
            _ => Err(wrong_count(self.len, self.len - left + count)),
        }
    }

    /// Checks that nothing is left.
    fn finish(self) -> Result<(), Error> {
        match self.left() {
            0 => Ok(()),
            left => Err(wrong_count(self.len, self.len - left)),
        }
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
                    let mut one = vec![0; len as usize];
                    hand_out_in_order(&Values::of_any(f, one.len()), &mut one[..], copy).unwrap();
                    let mut waves = vec![0; len as usize];
                    let trusted = f.trusted().unwrap();
                    let values = Values::of_trusted(&trusted, waves.len());
                    let mut buffer = Buffer::new();
                    let run = || hand_out_in_waves(&values, &mut waves[..], &mut buffer, copy);
                    pool.install(run).unwrap();
                    assert!(one == waves, "length {len}, {threads} threads");
                    if f.last() == len - 1 {
                        continue;
                    }
                    let mut inverses = vec![0; len as usize];
                    let values = Values::by_inverses(&trusted, one.len(), &mut buffer).unwrap();
                    hand_out_in_order(&values, &mut inverses[..], copy).unwrap();
                    assert!(one == inverses, "length {len}, by inverses");
                }
            }
        }
    }
}
