//! Items that are sent in pieces, sorted by their buckets, and put in order where they belong.

use core::ops::Range;

use super::super::exchange::MemberExchange;
use super::super::layout::MemberLayout;
use super::super::phase::MemberCopy;
use super::super::shards::MemberShards;
use super::super::sizes::GroupSizes;
use super::call::RankCall;
use super::engine::CudaExchange;
use super::near::Near;
use super::pieces::PieceSteps;
use super::runs::{Reach, messages};
use super::words::set_word;
use crate::Error;
use crate::cuda::nccl::LinkMessage;
use crate::cuda::runtime::memory::seems_free;
use crate::error::GpuError;

/// How many standard deviations a run may be longer than expected.
const DEVIATIONS: f64 = 8.0;

/// A call whose items are sent in pieces, with this rank's memory for it.
struct InPieces<'a> {
    call: &'a RankCall<'a>,
    sizes: GroupSizes,
    layouts: Vec<MemberLayout>,
    room: NeighbourPlaces,
    rank: usize,
    /// Where the working memory begins: of this rank's alone, the address is known, or of all, if
    /// they use each other's memory.
    memory: Vec<u64>,
}

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
    /// until the stream has finished.
    pub(super) unsafe fn move_in_pieces(
        &mut self,
        call: &RankCall<'_>,
        sizes: GroupSizes,
    ) -> Result<bool, Error> {
        let mut all = InPieces::new(call, sizes, self.rank());
        loop {
            // All ranks have the same sizes, so that they agree on this.
            let smaller = all.sizes.in_smaller_pieces();
            let bytes: Vec<u64> = (0..self.ranks()).map(|rank| all.bytes(rank)).collect();
            let grows = self.near.as_ref().is_some_and(|near| near.lacks(&bytes));
            if let Some(near) = self.near.as_mut().filter(|_| grows) {
                near.let_go(&self.ranks)?;
            }
            let ready = self.reserve(&mut all, smaller.is_some());
            let has_room = self.all_have_room(ready, smaller.is_some());
            if let Some(near) = self.near.as_mut().filter(|_| grows) {
                near.has_grown(&bytes, has_room == Ok(true));
                if has_room == Ok(true) && !near.map(&self.ranks)? {
                    self.near = None;
                    continue;
                }
            }
            if has_room? {
                break;
            }
            let Some(smaller) = smaller else { return Err(GpuError::OutOfMemory.into()) };
            all = InPieces::new(call, smaller, self.rank());
        }
        if let Some(near) = &self.near {
            all.memory.copy_from_slice(near.memory());
        }
        // SAFETY: the caller vouches for the arrays. If anything fails, no rank uses them any more
        // when this returns.
        unsafe { self.send_and_place(&all) }.map_err(|error| self.give_up(error))
    }

    /// Gets the memory and the kernels for a call. If it could do with less memory, memory that
    /// seems not to be there is not even asked for.
    fn reserve(&mut self, all: &mut InPieces<'_>, has_choice: bool) -> Result<(), Error> {
        let bytes = all.bytes(all.rank);
        all.memory[all.rank] = if let Some(near) = &mut self.near {
            near.grow(bytes, has_choice)?
        } else {
            let lacking = self.executor.lacking(bytes);
            if has_choice && lacking > 0 && !seems_free(self.stream.context(), lacking) {
                return Err(GpuError::OutOfMemory.into());
            }
            self.executor.working_memory(bytes)?
        };
        // Kernels do not depend on what the ranks have yet to tell each other.
        let exchange = all.exchange(&all.call.source, &all.call.out);
        for piece in all.steps(&exchange)? {
            piece.plans().into_iter().try_for_each(|plan| self.executor.reserve(plan))?;
        }
        if all.sizes.is_counted() {
            self.executor.reserve(&exchange.count(all.rank)?)?;
        }
        self.executor.reserve(&exchange.place(all.rank)?)
    }

    /// Sends the pieces, and puts what comes at its places.
    ///
    /// # Safety
    ///
    /// As [`move_in_pieces`](Self::move_in_pieces), until both streams have finished.
    unsafe fn send_and_place(&mut self, all: &InPieces<'_>) -> Result<bool, Error> {
        let (reached, placed);
        self.near.as_mut().map_or(Ok(()), Near::begin)?;
        let source = if all.sizes.is_counted() {
            // SAFETY: the caller vouches for the arrays.
            let Some(reach) = unsafe { self.reach_survivors(all) }? else { return Ok(false) };
            reached = reach;
            &reached
        } else {
            &all.call.source
        };
        let exchange = all.exchange(source, &all.call.out);
        let pieces = all.steps(&exchange)?;
        // SAFETY: the caller vouches for the arrays, and waits for both streams.
        unsafe { self.lanes.send(&mut self.executor, (&self.ranks, self.near.as_ref()), &pieces) }?;
        if let Some(near) = &mut self.near {
            near.end(all.sizes.pieces);
        }
        // SAFETY: the plans have written the overflow word and, with gaps, the sums of the counts.
        let Some(used) = unsafe { self.sorted(all) }? else { return Ok(false) };
        let (array, rank) = (&all.call.out, all.rank);
        if !all.room.is_enough(&used, array) {
            return Ok(false);
        }
        let before = all.memory[rank] + all.layout().before;
        // SAFETY: the word is in this stream's working memory.
        unsafe { set_word(&self.stream, before, used[rank].start) }?;
        placed = all.reach(&used, array);
        // SAFETY: the caller vouches for the arrays, and there is room for the places of others.
        unsafe { self.executor.execute(&all.exchange(source, &placed).place(rank)?) }?;
        if let Some(near) = &mut self.near {
            if (0..).zip(&used).all(|(rank, run)| *run == array.places(rank)) {
                return Ok(true);
            }
            // SAFETY: what others hold has just been written beside this rank's run, as on all
            // ranks, and the caller vouches for that run.
            unsafe { near.fetch(all.used_by_others(&used, array)) }?;
            return Ok(true);
        }
        let [theirs, mine] = messages(rank, &used, array, all.sides(rank));
        // SAFETY: what others hold has just been written beside this rank's run, and what they send
        // goes to places of that run, for which the caller vouches, after the kernels in this
        // stream.
        unsafe { self.exchange(&theirs, &mine) }?;
        Ok(true)
    }

    /// Counts the survivors of this rank's slots, and gets those of their items that others hold.
    /// The array that they are in; `None` if there is not enough room on one of the ranks.
    ///
    /// # Safety
    ///
    /// As [`send_and_place`](Self::send_and_place).
    unsafe fn reach_survivors(
        &mut self,
        all: &InPieces<'_>,
    ) -> Result<Option<MemberShards>, Error> {
        let (array, rank, layout) = (&all.call.source, all.rank, all.layout());
        // SAFETY: the caller vouches for the arrays.
        unsafe { self.executor.execute(&all.exchange(array, &all.call.out).count(rank)?) }?;
        let sum = all.memory[rank] + layout.tile_bases + 8 * all.sizes.counts(rank);
        // SAFETY: that is where the plan writes the sum of the counts.
        let totals = unsafe { self.gather_at(&[(sum, 8)]) }?;
        let used = one_after_the_other(totals.iter().map(|words| words[0]));
        if !all.room.is_enough(&used, array) {
            return Ok(None);
        }
        // SAFETY: the word is in this stream's working memory.
        unsafe { set_word(&self.stream, all.memory[rank] + layout.rank, used[rank].start) }?;
        if let Some(near) = &self.near {
            // SAFETY: there is room for what ranks use and others hold, as has been checked; the
            // caller vouches for what this one holds and others use. All are done with what was in
            // that room: each has told the sum of its counts, so its stream has come to this call.
            unsafe { near.hand_out(all.used_by_others(&used, array)) }?;
        } else {
            let [theirs, mine] = messages(rank, &used, array, all.sides(rank));
            // SAFETY: there is room for what this rank uses and others hold, as has been checked,
            // and the caller vouches for what this one holds and others use.
            unsafe { self.exchange(&mine, &theirs) }?;
        }
        Ok(Some(all.reach(&used, array)))
    }

    /// The places of what each rank has sorted; `None` if a bucket of any rank has overflowed.
    ///
    /// # Safety
    ///
    /// The plans of all pieces are in the stream.
    unsafe fn sorted(&mut self, all: &InPieces<'_>) -> Result<Option<Vec<Range<u64>>>, Error> {
        let (sizes, layout, memory) = (&all.sizes, all.layout(), all.memory[all.rank]);
        let sum = layout.bases + 8 * sizes.small_buckets(all.rank);
        let own = [(memory + layout.overflow, 4), (memory + sum, 8)];
        // Where there are no gaps, nothing is added up.
        let own = if sizes.dense { &own[..1] } else { &own };
        // SAFETY: the caller promises the plans in the stream, which write both of these, in as
        // many bytes.
        let words = unsafe { self.gather_at(own) }?;
        if words.iter().any(|words| words[0] != 0) {
            return Ok(None);
        }
        Ok(Some(match sizes.dense {
            true => (0..words.len()).map(|rank| sizes.keys(rank)).collect(),
            false => one_after_the_other(words.iter().map(|words| words[1])),
        }))
    }

    /// Gathers numbers that the kernels in the stream write.
    ///
    /// # Safety
    ///
    /// As [`RankWords::gather_at`](super::words::RankWords::gather_at).
    unsafe fn gather_at(&mut self, own: &[(u64, usize)]) -> Result<Vec<Vec<u64>>, Error> {
        self.lanes.messages_after_kernels()?;
        match &self.near {
            // SAFETY: the caller vouches for the addresses, and the messages wait for the kernels.
            Some(near) => unsafe { near.gather_at(&self.ranks, own) },
            // SAFETY: the caller vouches for the addresses, and the messages wait for the kernels.
            None => unsafe { self.words.gather_at(&self.ranks, self.lanes.messages(), own) },
        }
    }
}

impl<'a> InPieces<'a> {
    /// A call of a rank that has no memory for it yet.
    fn new(call: &'a RankCall<'a>, sizes: GroupSizes, rank: usize) -> Self {
        let ranks = sizes.members();
        Self {
            layouts: (0..ranks).map(|rank| MemberLayout::new(&sizes, rank)).collect(),
            room: NeighbourPlaces::new(call, &sizes),
            memory: vec![0; ranks],
            call,
            sizes,
            rank,
        }
    }

    fn layout(&self) -> &MemberLayout {
        &self.layouts[self.rank]
    }

    /// The bytes of memory for the places of others, on each side of a rank's.
    fn side(&self, rank: usize) -> u64 {
        (self.room.sides[rank] * self.call.given.item as u64).next_multiple_of(256)
    }

    /// The bytes of working memory of a rank.
    fn bytes(&self, rank: usize) -> u64 {
        self.layouts[rank].bytes + 2 * self.side(rank)
    }

    /// A rank's memory for the places of others, before its own and after them.
    fn sides(&self, rank: usize) -> [u64; 2] {
        let before = self.memory[rank] + self.layouts[rank].bytes;
        [before, before + self.side(rank)]
    }

    /// What other ranks use of an array and this one holds, from there to their memory.
    fn used_by_others(&self, used: &[Range<u64>], array: &MemberShards) -> Vec<MemberCopy> {
        let rank = self.rank;
        let [_, mine] = messages(rank, used, array, self.sides(rank));
        let copies = mine.into_iter().flat_map(|LinkMessage { peer, address: from, bytes }| {
            let [theirs, _] = messages(peer, used, array, self.sides(peer));
            let there = theirs.into_iter().filter(move |message| message.peer == rank);
            there.map(move |there| MemberCopy { receiver: peer, from, to: there.address, bytes })
        });
        copies.collect()
    }

    fn exchange<'e>(
        &'e self,
        source: &'e MemberShards,
        out: &'e MemberShards,
    ) -> MemberExchange<'e> {
        MemberExchange {
            job: self.call.job,
            source,
            out,
            direction: self.call.given.direction,
            sizes: &self.sizes,
            layouts: &self.layouts,
            memory: &self.memory,
        }
    }

    /// What this rank does with all pieces.
    fn steps<'e>(&self, exchange: &MemberExchange<'e>) -> Result<Vec<PieceSteps<'e>>, Error> {
        (0..self.sizes.pieces).map(|piece| PieceSteps::new(exchange, self.rank, piece)).collect()
    }

    /// The array that this rank uses: what it holds, and what others do, on either side.
    fn reach(&self, used: &[Range<u64>], array: &MemberShards) -> MemberShards {
        let own = array.places(self.rank);
        let reach = Reach::new(&used[self.rank], &own);
        reach.array((array.address(self.rank), own), self.sides(self.rank), array.item())
    }
}

/// Runs of these lengths, each of which begins where the one before ends.
pub(super) fn one_after_the_other(lens: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
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
struct NeighbourPlaces {
    sides: Vec<u64>,
}

impl NeighbourPlaces {
    fn new(call: &RankCall<'_>, sizes: &GroupSizes) -> Self {
        let len = call.job.len;
        let points = call.job.last as f64 + 1.0;
        let share = len as f64 / points;
        // Of the points in a run as many are items as of all, up to chance.
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
    fn is_enough(&self, used: &[Range<u64>], array: &MemberShards) -> bool {
        let mut ranks = used.iter().zip(&self.sides).enumerate();
        ranks.all(|(rank, (used, &room))| Reach::new(used, &array.places(rank)).most() <= room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::given::nowhere;
    use super::super::super::sizes::tests::{LIMITS, even};
    use super::super::call::Given;
    use super::*;
    use crate::FromSeed;
    use crate::bijection::Standard;
    use crate::compact::Direction;
    use crate::cuda::runtime::word_type::WordType;
    use crate::cuda::shuffle::job::Job;

    /// However many ranks there are, most places that one uses are its own.
    #[test]
    fn ranks_need_room_for_few_places_of_others() {
        for ranks in [17, 33, 64, 512] {
            let len = ranks << 20 | 1;
            let job = Job::new(&Standard::from_seed(len, 1), len, nowhere()).unwrap();
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                let array = even(len, ranks, 8);
                let given = Given { source: 256, out: 256, lens: [0; 2], item: 8, direction };
                let call = RankCall { job: &job, given, source: array.clone(), out: array };
                let last = if direction == Direction::Shuffle { job.last } else { len - 1 };
                let (array, keys) = (&call.source, [last, job.last]);
                let sizes = GroupSizes::new(&LIMITS, WordType::U64, keys, array, array).unwrap();
                let sides = NeighbourPlaces::new(&call, &sizes).sides;
                assert!(sides.iter().all(|&side| side <= 3 << 17), "{ranks}: {sides:?}");
            }
        }
    }

    #[test]
    fn runs_follow_each_other() {
        let runs = one_after_the_other([3, 0, 5].into_iter());
        assert_eq!(runs, [0..3, 3..3, 3..8]);
    }
}
