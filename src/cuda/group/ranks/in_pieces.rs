//! Items that are sent in pieces, sorted by their buckets, and put in order where they belong.

use core::ops::Range;

use super::super::exchange::Exchange;
use super::super::layout::Layout;
use super::super::shards::Shards;
use super::super::sizes::Sizes;
use super::call::Call;
use super::engine::CudaExchange;
use super::pieces::Steps;
use super::runs::{Reach, messages};
use super::words::set_word;
use crate::error::Error;

/// How many standard deviations a run may be longer than expected.
const DEVIATIONS: f64 = 8.0;

impl CudaExchange {
    /// Moves the items in pieces. Returns false on all ranks if the bijection puts more items in a
    /// bucket, or in a rank's places, than there is room for, and then nothing was written.
    ///
    /// # Errors
    ///
    /// Those of [`shuffle_into`](Self::shuffle_into).
    ///
    /// # Safety
    ///
    /// There are as many items as the call says at its addresses. This stream may read those of
    /// the source and write those of the target; they do not overlap, and nobody else uses them
    /// until the stream has finished. If this fails, the caller waits for the streams of kernels
    /// and of messages.
    pub(super) unsafe fn move_in_pieces(
        &mut self,
        call: &Call<'_>,
        sizes: &Sizes,
    ) -> Result<bool, Error> {
        let (rank, item) = (self.rank(), call.given.item);
        let layouts: Vec<_> = (0..self.ranks()).map(|rank| Layout::new(sizes, rank)).collect();
        let layout = &layouts[rank];
        let room = Room::new(call, sizes);
        let mut memory = vec![0; self.ranks()];
        let side = (room.sides[rank] * item as u64).next_multiple_of(256).max(256);
        let mut sides = [0; 2];
        let exchange = |memory, source, out| Exchange {
            job: call.job,
            source,
            out,
            direction: call.given.direction,
            sizes,
            layouts: &layouts,
            memory,
        };
        let ready =
            self.reserve(&mut memory[rank], &mut sides, layout.bytes, side).and_then(|()| {
                // Kernels do not depend on addresses.
                let exchange = exchange(&memory, &call.source, &call.out);
                let steps = Steps::new(&exchange, rank, 0)?;
                let [count, place] = [exchange.count(rank)?, exchange.place(rank)?];
                let counted = sizes.is_counted().then_some(&count);
                let mut plans = steps.plans().into_iter().chain([&place]).chain(counted);
                plans.try_for_each(|plan| self.executor.reserve(plan))
            });
        self.all_ready(ready)?;

        // The arrays as this rank reaches them: known when the ranks know what they use.
        let (near, placed);
        let source = if sizes.is_counted() {
            // SAFETY: the caller vouches for the arrays.
            unsafe {
                self.executor.execute(&exchange(&memory, &call.source, &call.out).count(rank)?)
            }?;
            let all = memory[rank] + layout.tile_bases + 8 * sizes.counts(rank);
            // SAFETY: that is where the plan has written the sum of the counts.
            let totals = unsafe { self.words.gather_at(&self.ranks, &self.stream, &[(all, 8)]) }?;
            let used = one_after_the_other(totals.iter().map(|words| words[0]));
            if !room.is_enough(&used, &call.source) {
                return Ok(false);
            }
            // SAFETY: the word is in this stream's working memory.
            unsafe { set_word(&self.stream, memory[rank] + layout.rank, used[rank].start) }?;
            let [theirs, mine] = messages(rank, &used, &call.source, sides);
            // SAFETY: there is room for what this rank uses and others hold, as has been checked;
            // the caller vouches for what it holds and others use.
            unsafe { self.ranks.exchange(&self.stream, &mine, &theirs) }?;
            near = reach(rank, &used, &call.source, sides);
            &near
        } else {
            &call.source
        };
        let all = exchange(&memory, source, &call.out);
        let pieces = (0..sizes.pieces).map(|piece| Steps::new(&all, rank, piece));
        let pieces: Vec<_> = pieces.collect::<Result<_, _>>()?;
        // SAFETY: the caller vouches for the arrays, and waits if this fails.
        unsafe { self.lanes.send(&mut self.executor, &self.ranks, &pieces) }?;

        // SAFETY: the plans have written the overflow word and, with gaps, the sums of the counts.
        let Some(used) = unsafe { self.sorted(sizes, layout, memory[rank]) }? else {
            return Ok(false);
        };
        if !room.is_enough(&used, &call.out) {
            return Ok(false);
        }
        // SAFETY: the word is in this stream's working memory.
        unsafe { set_word(&self.stream, memory[rank] + layout.before, used[rank].start) }?;
        placed = reach(rank, &used, &call.out, sides);
        // SAFETY: the caller vouches for the arrays, and there is room for the places of others.
        unsafe { self.executor.execute(&exchange(&memory, source, &placed).place(rank)?) }?;
        let [theirs, mine] = messages(rank, &used, &call.out, sides);
        // SAFETY: what others hold has just been written beside this rank's run, and the caller
        // vouches for that.
        unsafe { self.ranks.exchange(&self.stream, &theirs, &mine) }?;
        Ok(true)
    }

    /// Gets working memory, of which some is for the places of others on either side.
    fn reserve(
        &mut self,
        memory: &mut u64,
        sides: &mut [u64; 2],
        bytes: u64,
        side: u64,
    ) -> Result<(), Error> {
        *memory = self.executor.working_memory(bytes)?;
        let before = self.sides.room(&self.stream, 2 * side)?.0;
        *sides = [before, before + side];
        Ok(())
    }

    /// The places of what each rank has sorted; `None` if a bucket of any rank has overflowed.
    ///
    /// # Safety
    ///
    /// The plans of all pieces are in the stream, and `memory` is their working memory.
    unsafe fn sorted(
        &mut self,
        sizes: &Sizes,
        layout: &Layout,
        memory: u64,
    ) -> Result<Option<Vec<Range<u64>>>, Error> {
        let all = layout.bases + 8 * sizes.small_buckets(self.rank());
        let own = [(memory + layout.overflow, 4), (memory + all, 8)];
        // Where there are no gaps, nothing is added up.
        let own = if sizes.dense { &own[..1] } else { &own };
        // SAFETY: as the caller promises, both have been written, in as many bytes.
        let words = unsafe { self.words.gather_at(&self.ranks, &self.stream, own) }?;
        if words.iter().any(|words| words[0] != 0) {
            return Ok(None);
        }
        Ok(Some(match sizes.dense {
            true => (0..words.len()).map(|rank| sizes.keys(rank)).collect(),
            false => one_after_the_other(words.iter().map(|words| words[1])),
        }))
    }
}

/// The array that a rank uses: what it holds, and what others do, on either side.
fn reach(rank: usize, used: &[Range<u64>], array: &Shards, sides: [u64; 2]) -> Shards {
    let own = array.places(rank);
    Reach::new(&used[rank], &own).array((array.address(rank), own), sides, array.item())
}

/// Runs of these lengths, each of which begins where the one before ends.
fn one_after_the_other(lens: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut end = 0;
    let run = |len| {
        let start = end;
        end += len;
        start..end
    };
    lens.map(run).collect()
}

/// For each rank, how many places of others it may use on either side of its own.
#[derive(Debug)]
struct Room {
    sides: Vec<u64>,
}

impl Room {
    fn new(call: &Call<'_>, sizes: &Sizes) -> Self {
        let len = call.job.len;
        let points = call.job.last as f64 + 1.0;
        let share = len as f64 / points;
        // Of the points in a run as many are items as of all, but for chance.
        let deviation = DEVIATIONS * (points * share * (1.0 - share)).sqrt();
        let near = |run: Range<u64>, share: f64, deviation: f64| {
            let first = (run.start as f64 * share - deviation - 1.0).max(0.0) as u64;
            let end = (run.end as f64 * share + deviation + 2.0) as u64;
            first..end.min(len)
        };
        let sides = (0..sizes.members()).map(|rank| {
            let keys = sizes.keys(rank);
            let (share, slack) = if sizes.dense { (1.0, 0.0) } else { (share, deviation) };
            let placed = Reach::new(&near(keys, share, slack), &call.out.places(rank)).most();
            let sent = if sizes.is_counted() {
                let share = len as f64 / points;
                let used = near(sizes.slots(rank), share, deviation);
                Reach::new(&used, &call.source.places(rank)).most()
            } else {
                0
            };
            placed.max(sent)
        });
        Self { sides: sides.collect() }
    }

    /// Whether all ranks have room for what they use of an array.
    fn is_enough(&self, used: &[Range<u64>], array: &Shards) -> bool {
        let mut ranks = used.iter().zip(&self.sides).enumerate();
        ranks.all(|(rank, (used, &room))| Reach::new(used, &array.places(rank)).most() <= room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_each_other() {
        let runs = one_after_the_other([3, 0, 5].into_iter());
        assert_eq!(runs, [0..3, 3..3, 3..8]);
    }
}
