//! [`Turns`]: the numbers by which the devices of several processes take turns.
//!
//! Each rank has two counters. In one it counts the turns of its copies: in each turn of a piece it
//! copies to another rank, and no two copy to the same. In the other it counts its steps: that it
//! is done with earlier calls, what it has handed out, what it has sorted of what came, and what it
//! has placed. Counters never go back, so each call begins where the one before has ended.

/// What the counters of every rank have been at the end of the calls so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    ranks: u64,
    sent: u64,
    sorted: u64,
}

impl Turns {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks: ranks as u64, sent: 0, sorted: 0 }
    }

    /// The turns of a piece.
    pub(super) fn of_piece(&self) -> u64 {
        self.ranks - 1
    }

    /// To whom a rank copies in a turn.
    pub(super) fn receiver(&self, rank: usize, turn: u64) -> usize {
        ((rank as u64 + 1 + turn) % self.ranks) as usize
    }

    /// The same in a call that begins.
    pub(super) fn begun(self) -> Self {
        Self { sorted: self.sorted + 1, ..self }
    }

    /// What a rank has sorted when it is done with all calls before this one.
    pub(super) fn ready(&self) -> u64 {
        self.sorted
    }

    /// What a rank has sorted when others have what they use of its items.
    pub(super) fn handed_out(&self) -> u64 {
        self.sorted + 1
    }

    /// What a rank has sorted when it is done with a piece.
    pub(super) fn sorted(&self, piece: u64) -> u64 {
        self.sorted + 2 + piece
    }

    /// What a rank has sorted when it may receive a piece, in whose memory the one before the last
    /// came.
    pub(super) fn may_receive(&self, piece: u64) -> u64 {
        piece.checked_sub(2).map_or(self.ready(), |before| self.sorted(before))
    }

    /// What a rank has sent before a turn of a piece.
    pub(super) fn before(&self, piece: u64, turn: u64) -> u64 {
        self.sent + piece * self.of_piece() + turn
    }

    /// What a rank has sent when all of a piece has come from it.
    pub(super) fn sent(&self, piece: u64) -> u64 {
        self.before(piece + 1, 0)
    }

    /// The same after a call of `pieces` pieces.
    pub(super) fn after(self, pieces: u64) -> Self {
        Self { sent: self.before(pieces, 0), sorted: self.sorted(pieces), ..self }
    }

    /// What a rank has sorted when it has placed everything of the call that these are after.
    pub(super) fn placed(&self) -> u64 {
        self.sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// What a stream does: in `near.rs` and `pieces.rs` the same are put in it.
    #[derive(Clone, Copy, Debug)]
    enum StreamStep {
        /// Waits for a counter of a rank: 0 is what it has sent, 1 what it has sorted.
        Wait(usize, usize, u64),
        Write(usize, u64),
        /// Waits until the other stream of the rank has done as many steps.
        Behind(usize),
        /// Writes its own memory.
        Count,
        Fill(u64),
        /// Copies a piece of a call to a rank.
        Copy(usize, u64, usize),
        Sort(u64),
        /// Copies to all others what they use in a call and this rank holds.
        HandOut(usize),
        /// Uses what all others have handed out.
        Use,
        /// Puts what has come in order, from its own memory, to its places.
        Place,
        /// And those of others beside its own.
        PlaceBeside,
        /// Copies that from all others.
        Fetch,
    }

    /// The steps of a rank's two streams: kernels and copies.
    fn streams(rank: usize, ranks: usize, calls: &[u64]) -> [Vec<StreamStep>; 2] {
        let (mut kernels, mut copies) = (Vec::new(), Vec::new());
        let mut turns = Turns::new(ranks);
        let others = || (0..ranks).filter(move |&other| other != rank);
        let wait =
            |counter, value| others().map(move |other| StreamStep::Wait(other, counter, value));
        // Ranks tell each other numbers: the third counter.
        let (mut told, mut has_fetched) = (0, false);
        let mut tell = |kernels: &mut Vec<StreamStep>| {
            told += 1;
            kernels.push(StreamStep::Write(2, told));
            kernels.extend(wait(2, told));
        };
        for (call, &pieces) in calls.iter().enumerate() {
            turns = turns.begun();
            kernels.push(StreamStep::Write(1, turns.ready()));
            if std::mem::take(&mut has_fetched) {
                kernels.extend(wait(1, turns.ready()));
            }
            // In some calls survivors are counted.
            if call % 2 == 0 {
                kernels.push(StreamStep::Count);
                tell(&mut kernels);
                kernels
                    .extend([StreamStep::HandOut(call), StreamStep::Write(1, turns.handed_out())]);
                kernels.extend(wait(1, turns.handed_out()));
                kernels.push(StreamStep::Use);
            }
            let mut delivered = Vec::new();
            for number in 0..=pieces {
                if number < pieces {
                    kernels.push(StreamStep::Fill(number));
                    copies.push(StreamStep::Behind(kernels.len()));
                    copies.extend(
                        others().map(|other| StreamStep::Wait(other, 1, turns.may_receive(number))),
                    );
                    for turn in 0..turns.of_piece() {
                        let before = turns.before(number, turn);
                        copies.extend(others().map(|other| StreamStep::Wait(other, 0, before)));
                        copies.push(StreamStep::Copy(turns.receiver(rank, turn), number, call));
                        copies.push(StreamStep::Write(0, before + 1));
                    }
                    delivered.push(copies.len());
                }
                if let Some(before) = number.checked_sub(1) {
                    kernels.push(StreamStep::Behind(delivered[before as usize]));
                    kernels.extend(
                        others().map(|other| StreamStep::Wait(other, 0, turns.sent(before))),
                    );
                    kernels.push(StreamStep::Sort(before));
                    kernels.push(StreamStep::Write(1, turns.sorted(before)));
                }
            }
            turns = turns.after(pieces);
            tell(&mut kernels);
            kernels.push(StreamStep::Place);
            // In some calls everyone holds what it has placed.
            if call % 3 == 2 {
                continue;
            }
            has_fetched = true;
            kernels.extend([StreamStep::PlaceBeside, StreamStep::Write(1, turns.placed())]);
            kernels.extend(wait(1, turns.placed()));
            kernels.push(StreamStep::Fetch);
        }
        [kernels, copies]
    }

    /// In whatever order streams go on, every piece arrives in memory that is free for it, is
    /// sorted once it is there, no two ranks copy to one at the same time, and nobody waits for
    /// ever. What others hold, and what is still to be placed, may be anywhere in a rank's memory,
    /// as each call divides it anew.
    #[test]
    fn pieces_arrive_in_free_memory_in_any_order() {
        let mut random = fastrand::Rng::with_seed(7);
        for (ranks, orders) in [(2, 200), (3, 200), (4, 200), (8, 2), (16, 2)] {
            for calls in [&[1, 5, 2, 1, 3, 2, 4, 1, 1][..], &[3, 3], &[9]] {
                (0..orders).for_each(|_| take_steps(ranks, calls, &mut random));
            }
        }
    }

    /// Takes all steps of some calls, whose streams go on in a random order.
    fn take_steps(ranks: usize, calls: &[u64], random: &mut fastrand::Rng) {
        let all: Vec<_> = (0..ranks).map(|rank| streams(rank, ranks, calls)).collect();
        let mut counters = vec![[0_u64; 3]; ranks];
        let mut done = vec![[0_usize; 2]; ranks];
        // For each rank, sender and turn of the memory, the piece that is there; and the pieces of
        // a rank that are filled and not yet sent.
        let mut inbox = vec![vec![[None; 2]; ranks]; ranks];
        let mut outbox = vec![[VecDeque::new(), VecDeque::new()]; ranks];
        // What is beside a rank's own items, for each rank that holds it: `true` if it has come
        // from there, and `false` if it goes there.
        let mut sides = vec![vec![None; ranks]; ranks];
        // How many calls each rank has placed completely.
        let mut placed = vec![0; ranks];
        let mut idle = 0;
        while done
            .iter()
            .zip(&all)
            .any(|(done, all)| done.iter().zip(all).any(|(&done, stream)| done < stream.len()))
        {
            let (rank, stream) = (random.usize(..ranks), random.usize(..2));
            let Some(&step) = all[rank][stream].get(done[rank][stream]) else { continue };
            // Whose memory is written beside what others hold.
            let written = match step {
                StreamStep::Count | StreamStep::Fill(_) => Some(rank),
                StreamStep::Copy(to, ..) => Some(to),
                _ => None,
            };
            let is_held = |of: usize| sides[of].contains(&Some(false));
            assert!(!written.is_some_and(is_held), "what is not fetched is overwritten");
            let goes_on = match step {
                StreamStep::Wait(of, counter, value) => counters[of][counter] >= value,
                StreamStep::Behind(steps) => done[rank][1 - stream] >= steps,
                StreamStep::Write(counter, value) => {
                    assert!(counters[rank][counter] < value);
                    counters[rank][counter] = value;
                    true
                }
                StreamStep::HandOut(call) => {
                    for user in (0..ranks).filter(|&user| user != rank) {
                        assert!(placed[user] >= call, "what is not placed is overwritten");
                        assert_eq!(sides[user][rank].replace(true), None);
                    }
                    true
                }
                StreamStep::Use => {
                    let all = (0..ranks).filter(|&holder| holder != rank);
                    all.for_each(|holder| assert_eq!(sides[rank][holder], Some(true)));
                    true
                }
                StreamStep::Place => {
                    placed[rank] += 1;
                    true
                }
                StreamStep::PlaceBeside => {
                    for holder in (0..ranks).filter(|&holder| holder != rank) {
                        assert_ne!(sides[rank][holder].replace(false), Some(false));
                    }
                    true
                }
                StreamStep::Fetch => {
                    for user in (0..ranks).filter(|&user| user != rank) {
                        assert_eq!(sides[user][rank].take(), Some(false));
                    }
                    true
                }
                StreamStep::Count => true,
                StreamStep::Fill(piece) => {
                    let outbox: &mut VecDeque<usize> = &mut outbox[rank][(piece % 2) as usize];
                    assert!(outbox.is_empty(), "what is not sent is overwritten");
                    outbox.extend((0..ranks).filter(|&other| other != rank));
                    true
                }
                StreamStep::Copy(to, piece, call) => {
                    assert!(placed[to] >= call, "what is not placed is overwritten");
                    let half = (piece % 2) as usize;
                    outbox[rank][half].retain(|&other| other != to);
                    let place = &mut inbox[to][rank][half];
                    assert_eq!(place.replace(piece), None, "what is not sorted");
                    true
                }
                StreamStep::Sort(piece) => {
                    for sender in (0..ranks).filter(|&other| other != rank) {
                        let place = &mut inbox[rank][sender][(piece % 2) as usize];
                        assert_eq!(place.take(), Some(piece), "what has not come");
                    }
                    true
                }
            };
            if goes_on {
                done[rank][stream] += 1;
                idle = 0;
            }
            idle += 1;
            assert!(idle < 100_000, "all wait for each other");
        }
    }

    #[test]
    fn no_two_copy_to_the_same_in_a_turn() {
        for ranks in 2..=16 {
            let turns = Turns::new(ranks);
            for turn in 0..turns.of_piece() {
                let mut receivers: Vec<_> =
                    (0..ranks).map(|rank| turns.receiver(rank, turn)).collect();
                assert!(receivers.iter().enumerate().all(|(rank, &to)| rank != to));
                receivers.sort_unstable();
                assert!(receivers.into_iter().eq(0..ranks));
            }
        }
    }
}
