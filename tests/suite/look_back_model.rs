//! A model of the look-back of gpu/runtime/lookback.cuh, and of the blocks of `move_survivors` in
//! gpu/shuffle/direct.cuh and of `move_row_tiles` in gpu/batch/tiles.cuh that use it, checked by
//! loom: whatever the order of their steps, and whatever values relaxed loads may return. The names
//! are those of the device code. gpu/runtime/lookback.md has the argument in words.
//!
//! What is bounded:
//!
//! * Blocks are 2 or 3, tiles up to 4, launches up to 4. The window has 2 lanes and the epoch 0 to
//!   2 bits, for 32 and 16 on the device.
//! * `Some(n)` bounds how many times a block that could go on is interrupted; `None` says that
//!   nothing does. `BIJECTIVE_SHUFFLE_LONG` raises some of these bounds, or takes them away.
//! * Once a look-back has polled in vain `POLLS` times, the execution is followed to its end in one
//!   order only. A poll in vain changes nothing, so what might follow is met in executions with
//!   fewer of them as well.
//!
//! What is not modelled: a block is one thread here, since its warps speak to each other through
//! shared memory and barriers. And loom lets no load return what is stored because of a later step
//! of the same thread (load buffering).

// Elsewhere loom has no 64-bit atomics.

use Variant::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::{skip_branch, thread};

use bijective_shuffle_laws::long;

/// The order of every access.
const RELAXED: Ordering = Ordering::Relaxed;
/// Lanes of the warp that looks back.
const LANES: usize = 2;
/// In one look-back, before the search stops to branch.
const POLLS: u32 = 2;
/// The tiles' counts.
type Launches = &'static [&'static [u64]];

/// The device code, or a change of it.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Device,
    /// The device code of two rows. The first has one tile, and the second has all others.
    Rows,
    /// The same, where a row's first tile announces no `PREFIX`.
    RowsRunOn,
    /// A block announces its next tile after it has looked back for this one.
    AnnounceLate,
    /// Tickets count down.
    OutOfOrder,
    /// What a tile says is two words.
    TwoWords,
    /// Words of other epochs count as well.
    NoEpochs,
    /// The words are not cleared when the epochs begin again.
    NoClearing,
    /// The words are cleared, but what was written before may come after it.
    NoFences,
}

struct Chain {
    ticket: AtomicU32,
    finished: AtomicU32,
    epoch: AtomicU32,
    total: AtomicU64,
    /// The second of each pair is for `TwoWords`.
    status: Vec<[AtomicU64; 2]>,
    epoch_bits: u32,
    variant: Variant,
}

impl Chain {
    fn new(capacity: usize, epoch_bits: u32, variant: Variant) -> Self {
        let [ticket, finished, epoch] = std::array::from_fn(|_| AtomicU32::new(0));
        let pair = || [AtomicU64::new(0), AtomicU64::new(0)];
        let status = (0..capacity).map(|_| pair()).collect();
        Self { ticket, finished, epoch, total: AtomicU64::new(0), status, epoch_bits, variant }
    }

    fn store(&self, tile: u32, word: u64) {
        let [whole, tag] = &self.status[tile as usize];
        whole.store(word, RELAXED);
        if self.variant == TwoWords {
            tag.store(word >> Status::COUNT_BITS, RELAXED);
        }
    }

    /// The tile with which the counts for a tile begin.
    fn start(&self, tile: u32) -> u32 {
        if matches!(self.variant, Rows | RowsRunOn) { tile.min(1) } else { 0 }
    }

    fn load(&self, tile: u32) -> u64 {
        let [whole, tag] = &self.status[tile as usize];
        match self.variant {
            TwoWords => {
                tag.load(RELAXED) << Status::COUNT_BITS | Status::count(whole.load(RELAXED))
            }
            _ => whole.load(RELAXED),
        }
    }
}

struct Status;

impl Status {
    const COUNT_BITS: u32 = 46;
    const OWN: u32 = 1;
    const PREFIX: u32 = 2;

    fn pack(epoch: u32, kind: u32, count: u64) -> u64 {
        u64::from(epoch << 2 | kind) << Self::COUNT_BITS | count
    }

    fn count(word: u64) -> u64 {
        word & ((1 << Self::COUNT_BITS) - 1)
    }

    fn kind(word: u64, epoch: u32, chain: &Chain) -> u32 {
        let tag = (word >> Self::COUNT_BITS) as u32;
        if tag >> 2 == epoch || chain.variant == NoEpochs { tag & 3 } else { 0 }
    }
}

#[derive(Clone, Copy)]
struct Turn {
    tile: u32,
    epoch: u32,
}

impl Turn {
    fn take(chain: &Chain, tiles: u32) -> Self {
        let mut tile = chain.ticket.fetch_add(1, RELAXED);
        if tile < tiles && chain.variant == OutOfOrder {
            tile = tiles - 1 - tile;
        }
        Self { tile, epoch: chain.epoch.load(RELAXED) }
    }
}

fn announce(chain: &Chain, turn: Turn, count: u64) {
    let starts = turn.tile == chain.start(turn.tile) && chain.variant != RowsRunOn;
    let kind = if starts { Status::PREFIX } else { Status::OWN };
    chain.store(turn.tile, Status::pack(turn.epoch, kind, count));
}

fn look_back(chain: &Chain, turn: Turn, count: u64) -> u64 {
    if turn.tile == chain.start(turn.tile) {
        return 0;
    }
    let (mut before, mut polls) = (0, 0);
    let mut nearest = i64::from(turn.tile) - 1;
    loop {
        let (words, prefix, end) = loop {
            let words: [u64; LANES] =
                std::array::from_fn(|lane| match u32::try_from(nearest - lane as i64) {
                    Ok(tile) => chain.load(tile),
                    Err(_) => Status::pack(turn.epoch, Status::PREFIX, 0),
                });
            let kinds = words.map(|word| Status::kind(word, turn.epoch, chain));
            let prefix = kinds.iter().position(|&kind| kind == Status::PREFIX);
            let wanted = prefix.map_or(LANES, |lane| lane + 1);
            if !kinds[..wanted].contains(&0) {
                break (words, prefix, wanted);
            }
            polls += 1;
            if polls > POLLS {
                skip_branch();
            }
            thread::yield_now();
        };
        before += words[..end].iter().map(|&word| Status::count(word)).sum::<u64>();
        if prefix.is_some() {
            break;
        }
        nearest -= LANES as i64;
    }
    chain.store(turn.tile, Status::pack(turn.epoch, Status::PREFIX, before + count));
    before
}

fn finish(chain: &Chain, epoch: u32, blocks: u32) {
    let next = (epoch + 1) & ((1 << chain.epoch_bits) - 1);
    let wraps = next == 0;
    let threadfence = || (wraps && chain.variant != NoFences).then(|| fence(Ordering::AcqRel));
    threadfence();
    if chain.finished.fetch_add(1, RELAXED) != blocks - 1 {
        return;
    }
    threadfence();
    chain.ticket.swap(0, RELAXED);
    chain.finished.swap(0, RELAXED);
    if wraps && chain.variant != NoClearing {
        for tile in 0..chain.status.len() as u32 {
            chain.store(tile, 0);
        }
    }
    chain.epoch.swap(next, RELAXED);
}

/// One block. To evaluate a tile is to look up its count, and what is moved is the tile's number
/// with its base.
fn move_survivors(chain: &Chain, counts: &[u64], blocks: u32) -> Vec<(u32, u64)> {
    if matches!(chain.variant, Rows | RowsRunOn) {
        return move_row_tiles(chain, counts, blocks);
    }
    let tiles = counts.len() as u32;
    let evaluate = |tile: u32| counts[tile as usize];
    let mut moved = Vec::new();
    let mut turn = Turn::take(chain, tiles);
    let mut next_turn = turn;
    if turn.tile < tiles {
        announce(chain, turn, evaluate(turn.tile));
        next_turn = Turn::take(chain, tiles);
    }
    while turn.tile < tiles {
        let next = next_turn;
        let more = next.tile < tiles;
        if more && chain.variant != AnnounceLate {
            announce(chain, next, evaluate(next.tile));
        }
        let all = evaluate(turn.tile);
        let base = look_back(chain, turn, all);
        if more && chain.variant == AnnounceLate {
            announce(chain, next, evaluate(next.tile));
        }
        if turn.tile == tiles - 1 {
            chain.total.store(base + all, RELAXED);
        }
        if more {
            next_turn = Turn::take(chain, tiles);
        }
        moved.push((turn.tile, base));
        turn = next;
    }
    finish(chain, turn.epoch, blocks);
    moved
}

/// One block of rows. It has one tile at a time, and takes the next before it moves what it has.
fn move_row_tiles(chain: &Chain, counts: &[u64], blocks: u32) -> Vec<(u32, u64)> {
    let tiles = counts.len() as u32;
    let mut moved = Vec::new();
    let mut turn = Turn::take(chain, tiles);
    while turn.tile < tiles {
        let all = counts[turn.tile as usize];
        announce(chain, turn, all);
        moved.push((turn.tile, look_back(chain, turn, all)));
        turn = Turn::take(chain, tiles);
    }
    finish(chain, turn.epoch, blocks);
    moved
}

/// A launch: the blocks run, and what comes after it in the stream begins when all have ended. This
/// thread is one of the blocks, since loom has few threads.
fn launch(chain: &Arc<Chain>, counts: &'static [u64], blocks: u32) {
    let others: Vec<_> = (1..blocks)
        .map(|_| {
            let chain = chain.clone();
            thread::spawn(move || move_survivors(&chain, counts, blocks))
        })
        .collect();
    let mut moved = move_survivors(chain, counts, blocks);
    moved.extend(others.into_iter().flat_map(|other| other.join().unwrap()));
    moved.sort_unstable();
    let base = |tile: u32| counts[chain.start(tile) as usize..tile as usize].iter().sum();
    let expected: Vec<(u32, u64)> =
        (0..counts.len() as u32).map(|tile| (tile, base(tile))).collect();
    assert_eq!(moved, expected, "a tile's base is wrong");
    if !matches!(chain.variant, Rows | RowsRunOn) {
        let total = counts.iter().sum::<u64>();
        assert_eq!(chain.total.load(RELAXED), total, "the total is wrong");
    }
}

/// Launches one after the other on one chain.
fn check(variant: Variant, epoch_bits: u32, blocks: u32, most: Option<usize>, launches: Launches) {
    let mut builder = Builder::new();
    builder.preemption_bound = most;
    builder.check(move || {
        let capacity = launches.iter().map(|counts| counts.len()).max();
        let chain = Arc::new(Chain::new(capacity.unwrap(), epoch_bits, variant));
        for counts in launches {
            launch(&chain, counts, blocks);
        }
    });
}

/// The bound of the long form, or of the short one.
fn bound(in_long: Option<usize>, short: Option<usize>) -> Option<usize> {
    if long() { in_long } else { short }
}

#[test]
fn tiles_of_one_launch_get_their_places() {
    check(Device, 2, 2, None, &[&[3, 5, 0]]);
    check(Device, 2, 2, bound(Some(5), Some(3)), &[&[3, 0, 5, 2]]);
    check(Device, 2, 3, bound(Some(3), Some(2)), &[&[3, 0, 5]]);
    check(Device, 2, 3, Some(2), &[&[0, 3, 5, 2]]);
}

#[test]
fn rows_have_counts_of_their_own() {
    check(Rows, 2, 2, bound(Some(5), Some(3)), &[&[3, 7, 5, 2]]);
    check(Rows, 2, 3, bound(Some(3), Some(2)), &[&[3, 7, 5, 2]]);
    check(Rows, 1, 2, bound(Some(3), Some(2)), &[&[3, 7, 5], &[4], &[1, 6, 2]]);
}

#[test]
fn the_next_launch_finds_the_chain_ready() {
    check(Device, 2, 2, bound(None, Some(3)), &[&[3, 5], &[4, 0]]);
    check(Device, 2, 2, bound(Some(3), Some(2)), &[&[3, 5, 7, 2], &[4, 1]]);
    check(Device, 2, 2, bound(Some(3), Some(2)), &[&[4, 1], &[3, 0, 5, 2]]);
    check(Device, 2, 3, Some(2), &[&[3, 5, 2], &[4, 0]]);
    check(Device, 2, 3, Some(2), &[&[4], &[3, 0, 5, 2]]);
}

/// With an epoch of one bit, the third launch finds words of the first, or the fourth of the
/// second.
const FIRST_AGAIN: Launches = &[&[3, 5, 7], &[4], &[1, 6, 2]];
const SECOND_AGAIN: Launches = &[&[3], &[4, 5, 7], &[6], &[1, 0, 2]];

#[test]
fn epochs_begin_again() {
    check(Device, 1, 2, bound(Some(3), Some(2)), FIRST_AGAIN);
    check(Device, 1, 2, bound(Some(3), Some(2)), SECOND_AGAIN);
    // With no bit, every launch is the last of its epochs.
    check(Device, 0, 3, Some(2), &[&[3, 5, 7], &[4, 0, 2]]);
}

/// To announce first saves time. That none waits for ever is due to the tickets alone.
#[test]
fn tiles_may_be_announced_late() {
    check(AnnounceLate, 2, 2, Some(3), &[&[3, 0, 5, 2]]);
    check(AnnounceLate, 2, 3, Some(2), &[&[3, 0, 5, 2]]);
}

// Negative controls: protocols that are wrong, and must be seen to be.
macro_rules! control {
    ($name:ident, $panic:literal, $variant:ident, $epoch_bits:literal, $launches:expr) => {
        #[test]
        #[should_panic(expected = $panic)]
        fn $name() {
            check($variant, $epoch_bits, 2, Some(2), $launches);
        }
    };
}
control!(tiles_out_of_order, "exceeded maximum number of branches", OutOfOrder, 2, &[&[1; 5]]);
control!(two_words, "base is wrong", TwoWords, 2, &[&[3, 5, 7]]);
control!(rows_run_on, "base is wrong", RowsRunOn, 2, &[&[3, 7, 5]]);
control!(no_epochs, "base is wrong", NoEpochs, 2, &[&[3, 5], &[1, 6]]);
control!(no_clearing, "base is wrong", NoClearing, 1, FIRST_AGAIN);
control!(no_fences, "base is wrong", NoFences, 1, SECOND_AGAIN);
