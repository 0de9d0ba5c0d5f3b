//! The direct strategy: evaluate every slot, keep the survivors, in order.
//!
//! ```text
//! in_order, on one thread:               in_waves, on several:
//! for run in slots:                      for wave in slots:
//!     w = survivors of f(run)                each tile of the wave, on any thread:
//!     take w.len places                          w[tile] = survivors of f(tile)
//!     step.move_run(places, w)               each tile in order: take w[tile].len places
//!                                            each tile, on any thread:
//!                                                step.move_run(places[tile], w[tile])
//! ```
//!
//! A [`MoveRun`] says what to do with a run of survivors and their places: gather or scatter items,
//! or write the indexes. A wave has as many tiles as keep all threads busy. Every slot is evaluated
//! once, and no thread waits for another in the middle of its work.
//!
//! A chained scan, as on the GPU, would do it in one pass without barriers: a tile waits for the
//! counts of the tiles before it. On a rayon pool that can deadlock. While a bijection that itself
//! uses rayon waits for its own threads, its thread may pick up another tile further down the same
//! stack, and that tile would wait for the suspended one.

use core::mem::MaybeUninit;

use super::each_once::check_each_once;
use super::places::DivisiblePlaces;
use super::survivors::{InLines, SlotRange, SurvivorTile, Values, room_for};
use super::tuning;
use crate::bijection::hooks::Hooked;
use crate::compact::{with_slots, wrong_count};
use crate::engine::bijection::ItemCopies;
use crate::engine::check::{check_length, check_word, try_with_capacity};
use crate::engine::memory::Buffer;
use crate::engine::parallel;
use crate::engine::word::Index;
use crate::{Bijection, Error, Trusted, Word};

/// What to do with a run of places and the indexes that belong to them, one for each place.
pub(super) trait MoveRun<P, N>: Sync {
    /// Moves a run. There are as many indexes as places.
    fn move_run(&self, places: P, indices: &[N]);

    /// The same as copies, if that is what it does.
    fn copies<'a>(&self, _places: &'a mut P, _indices: &'a [N]) -> Option<ItemCopies<'a, N>> {
        None
    }
}

/// Writes each index to its place.
struct WriteIndices;

impl<N: Word> MoveRun<&mut [N], N> for WriteIndices {
    #[inline]
    fn move_run(&self, places: &mut [N], indices: &[N]) {
        places.copy_from_slice(indices);
    }
}

/// Writes the survivors among all slots, in order, to `out`, and checks that they are a
/// permutation. The bijection may do anything.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`], [`Error::IndexTooWide`], [`Error::OutOfMemory`], and
/// [`Error::NotABijection`] if there are not exactly as many survivors as places, or if one
/// repeats; and those of [`Hooked::build_indexes`].
pub(super) fn fill_checked<N: Word>(bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    if is_nothing::<N>(bijection, out.len())? {
        return Ok(());
    }
    // Once, and not by each thread.
    bijection.build_indexes(false)?;
    let values = Values::of_any(bijection, out.len());
    if is_parallel(values.last_slot()) {
        in_waves(&values, &mut *out, &mut Buffer::new(), &WriteIndices)?;
    } else {
        in_order(&values, &mut *out, &WriteIndices)?;
    }
    // `last_slot` is that of the domain that was evaluated; a wrong bijection may return a
    // different one now.
    check_each_once(out).map_err(|error| {
        with_slots(error, values.last_slot(), |first, run| bijection.forward_run(first, run))
    })
}

/// [`fill_checked`] for a trusted bijection, without the check.
pub(crate) fn fill_trusted<N: Word>(trusted: &Trusted, out: &mut [N]) -> Result<(), Error> {
    let mut memory = Buffer::new();
    if !is_parallel(trusted.last()) {
        return fill_alone(trusted, out, &mut memory);
    }
    if is_nothing::<N>(trusted, out.len())? {
        return Ok(());
    }
    in_waves(&Values::of_trusted(trusted, out.len()), out, &mut memory, &WriteIndices)
}

/// [`fill_trusted`] on the calling thread alone, with the caller's working memory.
pub(crate) fn fill_alone<N: Word>(
    trusted: &Trusted,
    out: &mut [N],
    memory: &mut Buffer,
) -> Result<(), Error> {
    if is_nothing::<N>(trusted, out.len())? {
        return Ok(());
    }
    in_order(&Values::on_one_thread(trusted, out.len(), memory)?, out, &WriteIndices)
}

/// Checks that indexes below a length are in the domain and fit the word. Returns whether the
/// length is 0.
fn is_nothing<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<bool, Error> {
    check_length(len as u64, bijection.last())?;
    check_word::<N>(len)?;
    Ok(len == 0)
}

/// Whether the slots up to `last_slot` are evaluated on several threads.
pub(crate) fn is_parallel(last_slot: u64) -> bool {
    last_slot >= tuning::SEQUENTIAL_SLOTS && rayon::current_num_threads() > 1
}

/// Moves all runs on the calling thread, in order. When it returns `Ok`, each place was in one run.
///
/// # Errors
///
/// [`Error::NotABijection`] if there are not exactly as many survivors as places. Some runs have
/// been moved by then.
pub(super) fn in_order<P: DivisiblePlaces, N: Index>(
    values: &Values,
    places: P,
    step: &impl MoveRun<P, N>,
) -> Result<(), Error> {
    let mut unfilled = Unfilled::new(places);
    let mut rooms = [(); 2].map(|()| InLines([MaybeUninit::uninit(); room_for(tuning::RUN)]));
    // The run before, whose items are copied while this one's slots are evaluated.
    let [mut now, mut before] = rooms.each_mut().map(|room| SurvivorTile::new(&mut room.0));
    let mut places = unfilled.take(0)?;
    let mut run = Some(SlotRange::first(values.last_slot(), tuning::RUN));
    while let Some(slots) = run {
        now.slots = run;
        let mut copies = step.copies(&mut places, before.survivors());
        now.evaluate(values, copies.as_mut());
        let done = copies.map_or(0, |copies| copies.done());
        step.move_run(places.cut(done).1, &before.survivors()[done..]);
        places = unfilled.take(now.survivors().len())?;
        core::mem::swap(&mut now, &mut before);
        run = slots.next(values.last_slot(), tuning::RUN);
    }
    step.move_run(places, before.survivors());
    unfilled.finish()
}

/// Moves all runs on all threads, in waves of tiles. When it returns `Ok`, each place was in one
/// run.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and [`Error::NotABijection`] if there are not exactly as many survivors
/// as places. Some runs may have been moved by then.
pub(super) fn in_waves<P: DivisiblePlaces, N: Word>(
    values: &Values,
    places: P,
    buffer: &mut Buffer,
    step: &impl MoveRun<P, N>,
) -> Result<(), Error> {
    let mut unfilled = Unfilled::new(places);
    let last = values.last_slot();
    let threads = rayon::current_num_threads();
    let size = tuning::tile(last, threads);
    let tiles = threads * tuning::TILES_PER_THREAD;
    // No more tiles than the domain has.
    let tiles = (last / size as u64).min(tiles as u64 - 1) as usize + 1;
    let room = buffer.room_in_pages(tiles * room_for(size))?;
    let mut wave: Vec<SurvivorTile<N>> = try_with_capacity(tiles)?;
    wave.extend(room.chunks_mut(room_for(size)).map(SurvivorTile::new));
    let mut next = Some(SlotRange::first(last, size));
    while next.is_some() {
        for tile in &mut wave {
            tile.slots = next;
            next = next.and_then(|slots| slots.next(last, size));
        }
        parallel::each_mut(&mut wave, |_, tile| tile.evaluate(values, None));
        let mut runs = try_with_capacity(tiles)?;
        for tile in &wave {
            let survivors = tile.survivors();
            runs.push((unfilled.take(survivors.len())?, survivors));
        }
        parallel::each_of(runs, |(places, survivors)| step.move_run(places, survivors));
    }
    unfilled.finish()
}

/// Moves all runs of indexes that are in memory, on all threads if there are enough of them.
///
/// # Errors
///
/// [`Error::OutOfMemory`]; nothing has been moved then.
///
/// # Panics
///
/// If there are not as many indexes as places.
pub(super) fn in_chunks<P: DivisiblePlaces, N: Word>(
    indices: &[N],
    places: P,
    step: &impl MoveRun<P, N>,
) -> Result<(), Error> {
    assert_eq!(indices.len(), places.len());
    if places.is_sequential() {
        step.move_run(places, indices);
        return Ok(());
    }
    let mut runs = try_with_capacity(indices.len().div_ceil(tuning::MOVE_CHUNK))?;
    let mut rest = places;
    for indices in indices.chunks(tuning::MOVE_CHUNK) {
        let places;
        (places, rest) = rest.cut(indices.len());
        runs.push((places, indices));
    }
    parallel::each_of(runs, |(places, indices)| step.move_run(places, indices));
    Ok(())
}

/// The places that have not been in a run yet.
struct Unfilled<P> {
    len: usize,
    /// Always `Some`, except while it is being cut.
    rest: Option<P>,
}

impl<P: DivisiblePlaces> Unfilled<P> {
    fn new(places: P) -> Self {
        Self { len: places.len(), rest: Some(places) }
    }

    /// The number of places left.
    fn left(&self) -> usize {
        self.rest.as_ref().map_or(0, P::len)
    }

    /// Takes the next `count` places, for a run.
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

    /// Checks that no place is left.
    fn finish(self) -> Result<(), Error> {
        match self.left() {
            0 => Ok(()),
            left => Err(wrong_count(self.len, self.len - left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::{ThreadPool, ThreadPoolBuilder};

    use super::*;
    use crate::FromSeed;
    use crate::bijection::{GridFeistel, MulXorshift};
    use crate::compact::{Compactor, Serial, Strategy, Workspace};

    /// Small domains are never evaluated in waves on their own, so this calls the waves directly.
    fn check_waves(f: &dyn Bijection, len: usize, pool: &ThreadPool) {
        let write = &WriteIndices;
        let mut one = vec![0_u32; len];
        in_order(&Values::of_any(f, one.len()), &mut one[..], write).unwrap();
        let mut waves = vec![0_u32; len];
        let trusted = f.trusted().unwrap();
        let values = Values::of_trusted(&trusted, waves.len());
        let mut buffer = Buffer::new();
        let run = || in_waves(&values, &mut waves[..], &mut buffer, write);
        pool.install(run).unwrap();
        assert!(one == waves, "length {len}, {} threads", pool.current_num_threads());
        if f.last() == len as u64 - 1 {
            return;
        }
        let mut inverses = vec![0_u32; len];
        let values = Values::by_inverses(&trusted, one.len(), &mut buffer).unwrap();
        in_order(&values, &mut inverses[..], write).unwrap();
        assert!(one == inverses, "length {len}, by inverses");
    }

    #[test]
    fn waves_give_what_one_thread_gives() {
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for len in [1, 2, 1000, 32_767, 32_768, 32_769, 65_537, 150_000] {
                check_waves(&MulXorshift::<8>::from_seed(len, 1), len as usize, &pool);
                check_waves(&GridFeistel::<12>::from_seed(len, 1), len as usize, &pool);
            }
        }
    }

    /// A few hundred indexes and items, which Miri can watch. The items are boxes: one that is
    /// there twice is memory that is freed twice.
    #[test]
    fn short_form_waves_and_moves_give_the_order() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let f = MulXorshift::<2>::from_seed(300, 1);
        check_waves(&f, 300, &pool);
        let mut order = vec![0_u32; 300];
        Serial.write_indexes(&f, &mut order).unwrap();
        let mut items: Vec<_> = (0..300).map(Box::new).collect();
        let mut workspace = Workspace::new().with_strategy(Strategy::Direct);
        pool.install(|| workspace.shuffle(&f, &mut items)).unwrap();
        assert!(items.iter().map(|item| **item).eq(order));
        pool.install(|| workspace.unshuffle(&f, &mut items)).unwrap();
        assert!(items.iter().map(|item| **item).eq(0..300));
    }
}
