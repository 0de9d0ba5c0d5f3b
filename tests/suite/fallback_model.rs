//! A model of the look-back with fallback of crates/wgsl/src/shaders/look_back.wgsl, checked by
//! loom: whatever the order of the steps, whatever values relaxed loads may return, and also where
//! workgroups stop for ever. The names are those of the shaders.
//!
//! WGSL promises no workgroup that another one runs on. Unlike the look-back of CUDA, whose model
//! is in `look_back_model`, this one must end by itself, so no poll in vain is left out here, and
//! the loops have no bound.
//!
//! What is bounded: workgroups are 2 or 3, tiles up to 4, launches up to 2. The window has 2 lanes
//! for 4 to 128, and a status is missing once before its tile is counted again. `check` bounds how
//! many times a workgroup that could go on is interrupted; `BIJECTIVE_SHUFFLE_LONG` raises that.
//!
//! What is not modelled: a workgroup is one thread here, since its threads speak to each other
//! through its memory and barriers.

use Variant::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use bijective_shuffle_laws::long;

/// The order of every access: WGSL has no other.
const RELAXED: Ordering = Ordering::Relaxed;
/// Lanes that look back.
const LANES: u32 = 2;
/// The turns without progress after which a missing tile is counted again.
const PATIENCE: u32 = 0;

/// The bits of a count.
const BITS: u32 = 23;
const OWN: u32 = 1;
const PREFIX: u32 = 2;

/// The shaders, or a change of them.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// A status is one word with the launch's number, and is never cleared.
    Short,
    /// A status is one word.
    Narrow,
    /// A status is three words.
    Wide,
    /// A missing tile is waited for.
    NoFallback,
    /// A tile that was counted again is posted as if there were none before it.
    FallbackPostsPrefix,
    /// A prefix of three words is read when one half of it is there.
    HalfAPrefix,
    /// The statuses are not cleared before a launch.
    NoClearing,
    /// Nor are those that have the launch's number, which two launches share.
    SameNumber,
}

/// What a workgroup does for the others.
#[derive(Clone, Copy, PartialEq)]
enum Posts {
    All,
    /// Tiles of even numbers post nothing.
    LeavesOut,
    /// The workgroup that begins first stops for ever.
    Stops,
}

/// A thread of the model: the workgroups `number`, `number + groups`, ..
#[derive(Clone, Copy)]
struct Part {
    posts: Posts,
    groups: u32,
    number: u32,
    is_reversed: bool,
}

struct State {
    /// The launch's number.
    launch: AtomicU32,
    survivors: AtomicU32,
    statuses: Vec<[AtomicU32; 3]>,
    variant: Variant,
}

impl State {
    fn new(tiles: usize, variant: Variant) -> Self {
        let statuses = (0..tiles).map(|_| std::array::from_fn(|_| AtomicU32::new(0))).collect();
        let [launch, survivors] = std::array::from_fn(|_| AtomicU32::new(0));
        Self { launch, survivors, statuses, variant }
    }

    /// What the host does before a launch.
    fn begin(&self, launch: u32) {
        match self.variant {
            Short => self.launch.store(launch, RELAXED),
            SameNumber => self.launch.store(1, RELAXED),
            _ => {}
        }
        if !matches!(self.variant, Short | SameNumber | NoClearing) {
            self.statuses.iter().flatten().for_each(|word| word.store(0, RELAXED));
        }
    }

    fn is_wide(&self) -> bool {
        matches!(self.variant, Wide | HalfAPrefix)
    }

    fn put_status(&self, word: &AtomicU32, kind: u32, count: u32) {
        word.store((4 * self.launch.load(RELAXED) + kind) << BITS | count, RELAXED);
    }

    fn post_own(&self, tile: u32, count: u32) {
        let word = &self.statuses[tile as usize][0];
        match self.is_wide() {
            false => self.put_status(word, OWN, count),
            true => word.store(count + 1, RELAXED),
        }
    }

    fn post_prefix(&self, tile: u32, count: u32) {
        let [word, low, high] = &self.statuses[tile as usize];
        if !self.is_wide() {
            return self.put_status(word, PREFIX, count);
        }
        low.store(1 << 31 | count & 0xFFFF, RELAXED);
        high.store(1 << 31 | count >> 16, RELAXED);
    }

    /// The kind and the count.
    fn status(&self, tile: u32) -> (u32, u32) {
        let [word, low, high] = &self.statuses[tile as usize];
        if !self.is_wide() {
            let word = word.load(RELAXED);
            let kind = (word >> BITS).wrapping_sub(4 * self.launch.load(RELAXED));
            return (if kind <= PREFIX { kind } else { 0 }, word & ((1 << BITS) - 1));
        }
        let (low, high) = (low.load(RELAXED), high.load(RELAXED));
        let there = match self.variant {
            HalfAPrefix => low | high,
            _ => low & high,
        };
        if there >= 1 << 31 {
            return (PREFIX, (high & 0xFFFF) << 16 | low & 0xFFFF);
        }
        match word.load(RELAXED) {
            0 => (0, 0),
            own => (OWN, own - 1),
        }
    }
}

/// Adds up statuses before the tile `at` until there is a prefix, and returns whether there was; or
/// until the tile before `at` has been missing for too long.
fn search(state: &State, at: &mut u32, sum: &mut u32) -> bool {
    let mut waits = 0;
    loop {
        let statuses: [(u32, u32); LANES as usize] =
            std::array::from_fn(|lane| match at.checked_sub(1 + lane as u32) {
                Some(tile) => state.status(tile),
                None => (PREFIX, 0),
            });
        let first = |kind| {
            let lane = statuses.iter().position(|status| status.0 == kind);
            lane.map_or(LANES, |lane| lane as u32)
        };
        let (near, gap) = (first(PREFIX), first(0));
        let end = (near + 1).min(gap).min(LANES);
        *sum += statuses[..end as usize].iter().map(|status| status.1).sum::<u32>();
        if near < gap {
            return true;
        }
        *at -= end;
        waits = if end == 0 { waits + 1 } else { 0 };
        if waits > PATIENCE && state.variant != NoFallback {
            return false;
        }
        thread::yield_now();
    }
}

fn look_back(state: &State, counts: &[u32], tile: u32, leaves_out: bool) -> u32 {
    let (mut at, mut sum) = (tile, 0);
    while !search(state, &mut at, &mut sum) {
        at -= 1;
        let count = counts[at as usize];
        match state.variant {
            FallbackPostsPrefix => state.post_prefix(at, count),
            _ => state.post_own(at, count),
        }
        sum += count;
    }
    if !leaves_out {
        state.post_prefix(tile, sum + counts[tile as usize]);
    }
    sum
}

/// One workgroup for each tile. This thread is several workgroups, one after the other, in either
/// order of their numbers. To evaluate a tile is to look up its count, and what is moved is the
/// tile's number with its base.
fn survivors(state: &State, counts: &[u32], part: Part) -> Vec<(u32, u32)> {
    let Part { posts, groups, number, is_reversed } = part;
    let mut tiles: Vec<u32> = (number..counts.len() as u32).step_by(groups as usize).collect();
    if is_reversed {
        tiles.reverse();
    }
    if posts == Posts::Stops && number == 0 {
        tiles.remove(0);
    }
    let mut moved = Vec::new();
    for tile in tiles {
        let all = counts[tile as usize];
        let leaves_out = posts == Posts::LeavesOut && tile.is_multiple_of(2);
        if !leaves_out {
            match tile {
                0 => state.post_prefix(0, all),
                _ => state.post_own(tile, all),
            }
        }
        let before = match tile {
            0 => 0,
            _ => look_back(state, counts, tile, leaves_out),
        };
        if tile as usize == counts.len() - 1 {
            state.survivors.store(before + all, RELAXED);
        }
        moved.push((tile, before));
    }
    moved
}

/// What comes after a launch begins when all workgroups have ended.
fn launch(state: &Arc<State>, number: u32, counts: &'static [u32], first: Part) {
    state.begin(number);
    let others: Vec<_> = (1..first.groups)
        .map(|number| {
            let state = state.clone();
            thread::spawn(move || survivors(&state, counts, Part { number, ..first }))
        })
        .collect();
    let mut moved = survivors(state, counts, first);
    moved.extend(others.into_iter().flat_map(|other| other.join().unwrap()));
    moved.sort_unstable();
    let base = |tile: usize| counts[..tile].iter().sum::<u32>();
    assert!(moved.iter().all(|&(tile, before)| before == base(tile as usize)), "a base is wrong");
    let stopped = usize::from(first.posts == Posts::Stops);
    assert!(moved.len() >= counts.len() - stopped, "a tile is missing");
    if moved.last().is_some_and(|&(tile, _)| tile as usize == counts.len() - 1) {
        assert_eq!(state.survivors.load(RELAXED), base(counts.len()), "the total is wrong");
    }
}

/// The tiles' counts.
type Launches = &'static [&'static [u32]];

/// Launches one after the other.
fn check(variant: Variant, posts: Posts, groups: u32, most: usize, launches: Launches) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(most + usize::from(long()));
    for is_reversed in [false, true] {
        builder.check(move || {
            let tiles = launches.iter().map(|counts| counts.len()).max();
            let state = Arc::new(State::new(tiles.unwrap(), variant));
            // The numbers count up as calls are recorded, and these are submitted the other way
            // round.
            for (number, counts) in (1..=launches.len() as u32).rev().zip(launches) {
                launch(&state, number, counts, Part { posts, groups, number: 0, is_reversed });
            }
        });
    }
}

/// Counts whose sums need both halves.
const LARGE: &[u32] = &[0xFFFF, 3, 0x1_0000];

#[test]
fn all_tiles_post() {
    for variant in [Short, Narrow, Wide] {
        check(variant, Posts::All, 2, 3, &[&[3, 5, 0]]);
        check(variant, Posts::All, 2, 2, &[LARGE]);
        check(variant, Posts::All, 2, 2, &[&[3, 0, 5, 2]]);
        check(variant, Posts::All, 3, 1, &[&[3, 0, 5]]);
        check(variant, Posts::All, 2, 2, &[&[3, 5], &[4, 0]]);
    }
}

#[test]
fn tiles_may_post_nothing() {
    for variant in [Short, Narrow, Wide] {
        check(variant, Posts::LeavesOut, 2, 2, &[&[3, 5, 0]]);
        check(variant, Posts::LeavesOut, 2, 2, &[&[3, 0, 5, 2]]);
        check(variant, Posts::LeavesOut, 3, 1, &[LARGE]);
        check(variant, Posts::LeavesOut, 2, 2, &[&[3, 5, 7], &[1, 6]]);
    }
}

#[test]
fn a_workgroup_may_stop_for_ever() {
    for variant in [Short, Narrow, Wide] {
        check(variant, Posts::Stops, 2, 3, &[&[3, 5, 0]]);
        check(variant, Posts::Stops, 2, 2, &[&[3, 0, 5, 2]]);
        check(variant, Posts::Stops, 3, 1, &[&[3, 0, 5]]);
    }
}

// Negative controls: protocols that are wrong, and must be seen to be.
macro_rules! control {
    ($name:ident, $panic:literal, $variant:ident, $posts:ident, $launches:expr) => {
        #[test]
        #[should_panic(expected = $panic)]
        fn $name() {
            check($variant, Posts::$posts, 2, 2, $launches);
        }
    };
}
control!(no_fallback, "exceeded maximum number of branches", NoFallback, Stops, &[&[3, 5, 0]]);
control!(posts_a_prefix, "a base is wrong", FallbackPostsPrefix, LeavesOut, &[&[3, 5, 7, 1]]);
control!(half_a_prefix, "a base is wrong", HalfAPrefix, All, &[LARGE]);
control!(no_clearing, "a base is wrong", NoClearing, All, &[&[3, 5], &[1, 6]]);
control!(same_number, "a base is wrong", SameNumber, All, &[&[3, 5], &[1, 6]]);
