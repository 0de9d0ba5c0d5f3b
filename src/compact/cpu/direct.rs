//! The direct strategy: evaluate every slot, keep the survivors, in order.
//!
//! ```text
//! from_ends, on one thread or two:       in_waves, on more:
//! for batch in slots, from an end:       for wave in slots:
//!     w = survivors of f(batch)              each tile of the wave, on any thread:
//!     take w.len places from that end            w[tile] = survivors of f(tile)
//!     step.move_run(places, w)               each tile in order: take w[tile].len places
//!                                            each tile, on any thread:
//!                                                step.move_run(places[tile], w[tile])
//! ```
//!
//! Two threads begin at both ends and meet: each knows where its survivors belong without knowing
//! how many the other has, and does as much as it has time for. So nobody waits for a thread that
//! is slow to wake up.
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
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::each_once::check_each_once;
use super::places::DivisiblePlaces;
use super::survivors::{InLines, SlotBatches, SlotRange, SurvivorTile, Values, room_for, workers};
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
    let threads = threads_for(values.last_slot());
    if threads > 2 {
        in_waves(&values, &mut *out, &mut Buffer::new(), &WriteIndices)?;
    } else {
        from_ends(&values, &mut *out, threads, &WriteIndices)?;
    }
    // `last_slot` is that of the domain that was evaluated; a wrong bijection may return a
    // different one now.
    check_each_once(out).map_err(|error| {
        with_slots(error, values.last_slot(), |first, run| bijection.forward_run(first, run))
    })
}

/// [`fill_checked`] for a trusted bijection, without the check, and in the caller's working memory.
pub(crate) fn fill_trusted<N: Word>(
    trusted: &Trusted,
    out: &mut [N],
    memory: &mut Buffer,
) -> Result<(), Error> {
    let threads = threads_for(trusted.last());
    if threads == 1 {
        return fill_alone(trusted, out, memory);
    }
    if is_nothing::<N>(trusted, out.len())? {
        return Ok(());
    }
    let values = Values::of_trusted(trusted, out.len());
    parallel::inside(workers(trusted), || match threads {
        2 => from_ends(&values, out, 2, &WriteIndices),
        _ => in_waves(&values, out, memory, &WriteIndices),
    })
}

/// [`fill_trusted`] on the calling thread alone.
pub(crate) fn fill_alone<N: Word>(
    trusted: &Trusted,
    out: &mut [N],
    memory: &mut Buffer,
) -> Result<(), Error> {
    if is_nothing::<N>(trusted, out.len())? {
        return Ok(());
    }
    from_ends(&Values::on_one_thread(trusted, out.len(), memory)?, out, 1, &WriteIndices)
}

/// Checks that indexes below a length are in the domain and fit the word. Returns whether the
/// length is 0.
fn is_nothing<N: Word>(bijection: &dyn Bijection, len: usize) -> Result<bool, Error> {
    check_length(len as u64, bijection.last())?;
    check_word::<N>(len)?;
    Ok(len == 0)
}

/// How many threads evaluate the slots up to `last_slot`.
pub(super) fn threads_for(last_slot: u64) -> usize {
    if last_slot >= tuning::SEQUENTIAL_SLOTS { rayon::current_num_threads() } else { 1 }
}

/// Whether the slots up to `last_slot` are evaluated on several threads.
pub(crate) fn is_parallel(last_slot: u64) -> bool {
    threads_for(last_slot) > 1
}

/// Whether evaluating the slots up to `last_slot` takes memory for tiles. One thread or two have
/// theirs on their stacks.
pub(crate) fn keeps_tiles(last_slot: u64) -> bool {
    threads_for(last_slot) > 2
}

/// Moves all runs on one thread, or on two that begin at both ends and meet, so that neither has to
/// know how many survivors the other has. When it returns `Ok`, each place was in one run.
///
/// # Errors
///
/// [`Error::NotABijection`] if there are not exactly as many survivors as places. Some runs have
/// been moved by then.
pub(super) fn from_ends<P: DivisiblePlaces, N: Index>(
    values: &Values,
    places: P,
    threads: usize,
    step: &impl MoveRun<P, N>,
) -> Result<(), Error> {
    if values.last_slot() < tuning::RUN as u64 {
        return in_one_run(values, places, step);
    }
    let size = if threads == 1 { tuning::RUN } else { tuning::BATCH };
    let slots = SlotBatches::new(values.last_slot(), size);
    let mut middle = Middle { slots, unfilled: Unfilled::new(places), error: None };
    if threads == 1 {
        with_rooms::<{ room_for(tuning::RUN) }, N>(|rooms| {
            from_end(values, step, rooms, &mut |count| middle.take(SlotEnd::Front, count));
        });
        return middle.finish();
    }
    let middle = Mutex::new(middle);
    parallel::each(2, &|number| {
        let end = [SlotEnd::Front, SlotEnd::Back][number];
        let _stop = StopOther(&middle);
        with_rooms::<{ room_for(tuning::BATCH) }, N>(|rooms| {
            from_end(values, step, rooms, &mut |count| locked(&middle).take(end, count));
        });
    });
    middle.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
}

fn locked<P>(middle: &Mutex<Middle<P>>) -> MutexGuard<'_, Middle<P>> {
    middle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a bijection panics on one thread, leaves no slots to the other.
struct StopOther<'a, P>(&'a Mutex<Middle<P>>);

impl<P> Drop for StopOther<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(self.0).slots.take_all();
        }
    }
}

/// Calls a function with two rooms on the stack, no larger than its batches need.
#[inline(never)]
fn with_rooms<const ROOM: usize, N>(run: impl FnOnce([&mut [MaybeUninit<N>]; 2])) {
    let mut one = InLines([const { MaybeUninit::uninit() }; ROOM]);
    let mut other = InLines([const { MaybeUninit::uninit() }; ROOM]);
    run([&mut one.0, &mut other.0]);
}

/// Moves all places in a single run, which holds all slots.
#[inline]
pub(super) fn in_one_run<P: DivisiblePlaces, N: Index>(
    values: &Values,
    places: P,
    step: &impl MoveRun<P, N>,
) -> Result<(), Error> {
    let mut room = [MaybeUninit::uninit(); room_for(tuning::RUN)];
    let slots = SlotRange::first(values.last_slot(), tuning::RUN);
    let survivors = values.survivors(slots, &mut room);
    let mut unfilled = Unfilled::new(places);
    step.move_run(unfilled.take(survivors.len())?, survivors);
    unfilled.finish()
}

/// Moves batches from one end, as long as there are any. `take` gets the places for a number of
/// survivors, and the next slots. A room holds the survivors of a batch.
#[inline(never)]
fn from_end<P: DivisiblePlaces, N: Index>(
    values: &Values,
    step: &impl MoveRun<P, N>,
    rooms: [&mut [MaybeUninit<N>]; 2],
    take: &mut dyn FnMut(usize) -> Option<(P, Option<SlotRange>)>,
) {
    // The batch before, whose items are copied while this one's slots are evaluated.
    let [mut now, mut before] = rooms.map(SurvivorTile::new);
    while let Some((mut places, slots)) = take(before.survivors().len()) {
        now.slots = slots;
        let mut copies = step.copies(&mut places, before.survivors());
        now.evaluate(values, copies.as_mut());
        let done = copies.map_or(0, |copies| copies.done());
        step.move_run(places.cut(done).1, &before.survivors()[done..]);
        if slots.is_none() {
            return;
        }
        core::mem::swap(&mut now, &mut before);
    }
}

#[derive(Clone, Copy)]
enum SlotEnd {
    Front,
    Back,
}

/// The slots and places between two ends.
struct Middle<P> {
    slots: SlotBatches,
    unfilled: Unfilled<P>,
    error: Option<Error>,
}

impl<P: DivisiblePlaces> Middle<P> {
    /// Takes the next places at an end, and the next slots if any are left; nothing after an error.
    fn take(&mut self, end: SlotEnd, count: usize) -> Option<(P, Option<SlotRange>)> {
        if self.error.is_some() {
            return None;
        }
        let (places, slots) = match end {
            SlotEnd::Front => (self.unfilled.take(count), self.slots.next()),
            SlotEnd::Back => (self.unfilled.take_back(count), self.slots.next_back()),
        };
        places.map_err(|error| self.error = Some(error)).ok().map(|places| (places, slots))
    }

    /// Checks that all places were taken.
    fn finish(self) -> Result<(), Error> {
        self.error.map_or_else(|| self.unfilled.finish(), Err)
    }
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

    /// Takes the last `count` places, for a run.
    fn take_back(&mut self, count: usize) -> Result<P, Error> {
        let left = self.left();
        match self.rest.take() {
            Some(rest) if count <= left => {
                let (rest, places) = rest.cut(left - count);
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
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use rayon::{ThreadPool, ThreadPoolBuilder};

    use super::*;
    use crate::FromSeed;
    use crate::bijection::{GridFeistel, MulXorshift};
    use crate::compact::{Compactor, Direction, Serial, Strategy, Workspace};

    /// Small domains are never evaluated in waves on their own, so this calls the waves directly.
    fn check_waves(f: &dyn Bijection, len: usize, pool: &ThreadPool) {
        let write = &WriteIndices;
        let mut one = vec![0_u32; len];
        from_ends(&Values::of_any(f, one.len()), &mut one[..], 1, write).unwrap();
        let mut waves = vec![0_u32; len];
        let trusted = f.trusted().unwrap();
        let values = Values::of_trusted(&trusted, waves.len());
        let mut buffer = Buffer::new();
        let run = || in_waves(&values, &mut waves[..], &mut buffer, write);
        pool.install(run).unwrap();
        assert!(one == waves, "length {len}, {} threads", pool.current_num_threads());
        waves.fill(0);
        pool.install(|| from_ends(&values, &mut waves[..], 2, write)).unwrap();
        assert!(one == waves, "length {len}, from both ends");
        if f.last() == len as u64 - 1 {
            return;
        }
        let mut inverses = vec![0_u32; len];
        let values = Values::by_inverses(&trusted, one.len(), &mut buffer).unwrap();
        from_ends(&values, &mut inverses[..], 1, write).unwrap();
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

    /// A user's identity that panics at a slot, once another thread evaluates elsewhere.
    struct PanicsAt {
        slot: u64,
        is_elsewhere: AtomicBool,
        runs: AtomicUsize,
    }

    impl PanicsAt {
        const LAST: u64 = (1 << 18) - 1;
    }

    impl Bijection for PanicsAt {
        fn last(&self) -> u64 {
            Self::LAST
        }

        fn forward(&self, slot: u64) -> u64 {
            slot
        }

        fn inverse(&self, index: u64) -> u64 {
            index
        }

        fn forward_run(&self, first: u64, out: &mut [u64]) {
            if (first..first + out.len() as u64).contains(&self.slot) {
                while !self.is_elsewhere.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                // Without a message.
                resume_unwind(Box::new("at its slot"));
            }
            self.is_elsewhere.store(true, Ordering::Relaxed);
            self.runs.fetch_add(1, Ordering::Relaxed);
            // The other thread has come to its end long before this one has evaluated all slots.
            thread::sleep(Duration::from_millis(10));
            out.iter_mut().zip(first..).for_each(|(value, slot)| *value = slot);
        }

        fn trusted(&self) -> Option<Trusted<'_>> {
            Some(Trusted::new(self))
        }
    }

    // SAFETY: it is the identity, of a last point that never changes, where it does not panic.
    unsafe impl crate::TrustedBijection for PanicsAt {}

    #[test]
    fn a_panic_on_one_of_two_threads_stops_the_other_and_no_item_moves() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let len = PanicsAt::LAST as usize + 1;
        let mut items: Vec<u32> = (0..len as u32).collect();
        for slot in [0, PanicsAt::LAST] {
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                let (is_elsewhere, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
                let f = PanicsAt { slot, is_elsewhere, runs };
                let mut workspace = Workspace::new().with_strategy(Strategy::Direct);
                let call = || pool.install(|| workspace.reorder_by(&f, &mut items, direction));
                let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                assert_eq!(panic.downcast_ref::<&str>(), Some(&"at its slot"));
                let runs = f.runs.into_inner();
                assert!((1..len / tuning::RUN - tuning::BATCH / tuning::RUN).contains(&runs));
                assert!(items.iter().copied().eq(0..len as u32), "from slot {slot}");
            }
        }
    }
}
