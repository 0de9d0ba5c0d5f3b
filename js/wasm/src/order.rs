//! [`JsOrder`]: a permutation with random access, and its indexes in order.

use std::cell::OnceCell;
use std::rc::Rc;

use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::bijection::{CycleWalk, Standard};
use bijective_shuffle::{Bijection, FromSeed, Seed};
use bijective_shuffle_bindings::Lookup;

/// The slots that are evaluated at a time, and those between two counts of an index.
const RUN: usize = 1 << 10;

/// The most items over which an index is built.
const MOST_INDEXED: u64 = 1 << 33;

/// The most slots that are evaluated from an end rather than build an index, as in the library.
const FAR: u64 = 1 << 12;

/// The same where there is no index.
const REACH: u64 = 1 << 20;

/// An index is built rather than evaluate more than one slot in this many.
const NEAR_SHARE: u64 = 16;

/// A permutation, or its inverse.
#[derive(Debug)]
pub struct JsOrder {
    /// Shared with inverses, for its index.
    kind: Rc<JsKind>,
    is_inverted: bool,
}

#[derive(Debug)]
enum JsKind {
    /// The order of a shuffle.
    Compacted {
        bijection: Standard,
        len: u64,
        /// The survivors before each run of slots, and of all.
        index: OnceCell<Vec<u64>>,
    },
    Walk(CycleWalk<Standard>),
}

impl JsOrder {
    pub(crate) fn new(is_walk: bool, len: u64, seed: Seed) -> Self {
        let kind = if is_walk {
            JsKind::Walk(CycleWalk::from_seed(len, seed))
        } else {
            let bijection = Standard::from_seed(len, seed);
            JsKind::Compacted { bijection, len, index: OnceCell::new() }
        };
        Self { kind: Rc::new(kind), is_inverted: false }
    }

    pub(crate) fn inverted(&self) -> Self {
        Self { kind: Rc::clone(&self.kind), is_inverted: !self.is_inverted }
    }

    /// What is looked up for a number below the length.
    pub(crate) fn look_up(&self, number: u64, lookup: Lookup) -> u64 {
        let is_ranked = (lookup == Lookup::Place) != self.is_inverted;
        match &*self.kind {
            JsKind::Walk(walk) if is_ranked => walk.inverse(number),
            JsKind::Walk(walk) => walk.forward(number),
            JsKind::Compacted { bijection, len, .. } if bijection.last() < *len => {
                if is_ranked {
                    bijection.inverse(number)
                } else {
                    bijection.forward(number)
                }
            }
            JsKind::Compacted { bijection, len, index } => {
                if index.get().is_none()
                    && let Some([found, _]) = self.near(number, lookup)
                {
                    return found;
                }
                let counts = index.get_or_init(|| counts(bijection, *len));
                if is_ranked {
                    rank(bijection, *len, counts, number)
                } else {
                    let mut index = [0];
                    select(bijection, *len, counts, number, &mut index);
                    index[0]
                }
            }
        }
    }

    /// What [`look_up`](Self::look_up) finds in a shuffle's order without an index, and its slot:
    /// `None` if it is not near an end.
    pub(crate) fn near(&self, number: u64, lookup: Lookup) -> Option<[u64; 2]> {
        let (bijection, len) = self.compacted()?;
        let last = bijection.last();
        let reach = if len > MOST_INDEXED { REACH } else { FAR.min(last / NEAR_SHARE) };
        if (lookup == Lookup::Place) != self.is_inverted {
            let slot = bijection.inverse(number);
            let behind = last - slot;
            let (first, slots) = match slot {
                _ if slot <= reach => (0, slot),
                _ if behind < reach => (slot, behind + 1),
                _ => return None,
            };
            let is_survivor = |slot: &u64| bijection.forward(first + slot) < len;
            let count = (0..slots).filter(is_survivor).count() as u64;
            return Some([if first == 0 { count } else { len - count }, slot]);
        }
        let from_end = len - 1 - number;
        let is_forward = number <= from_end;
        // At least half of all slots survive.
        let mut left = number.min(from_end);
        if left > reach / 2 {
            return None;
        }
        let mut slot = if is_forward { 0 } else { last };
        loop {
            let index = bijection.forward(slot);
            if index < len {
                if left == 0 {
                    return Some([index, slot]);
                }
                left -= 1;
            }
            slot = if is_forward { slot + 1 } else { slot - 1 };
        }
    }

    /// Writes the indexes at a run of places.
    pub(crate) fn write_run(&self, first: u64, out: &mut [u64]) {
        match &*self.kind {
            JsKind::Walk(walk) if !self.is_inverted => walk.forward_run(first, out),
            JsKind::Walk(walk) => walk.inverse_run(first, out),
            JsKind::Compacted { bijection, len, index }
                if !self.is_inverted && bijection.last() >= *len =>
            {
                let counts = index.get_or_init(|| counts(bijection, *len));
                select(bijection, *len, counts, first, out);
            }
            JsKind::Compacted { .. } => {
                for (out, place) in out.iter_mut().zip(first..) {
                    *out = self.look_up(place, Lookup::Index);
                }
            }
        }
    }

    /// The bijection of a shuffle's order, and the length.
    fn compacted(&self) -> Option<(&Standard, u64)> {
        match &*self.kind {
            JsKind::Compacted { bijection, len, .. } => Some((bijection, *len)),
            JsKind::Walk(_) => None,
        }
    }

    /// Writes the slots of a run of a shuffle's indexes, of at most 2^32.
    pub(crate) fn slots(&self, first: u64, out: &mut [u32]) {
        if let Some((bijection, _)) = self.compacted() {
            bijection.inverse_run_u32(first, out);
        }
    }

    /// Writes a shuffle's indexes, of at most 2^32, at as many slots from one on as there is room
    /// for. Returns how many there are; `None` behind the last slot.
    pub(crate) fn items(&self, slot: u64, out: &mut [u32]) -> Option<usize> {
        let (bijection, len) = self.compacted()?;
        each_item(bijection.last(), slot, out, |slot, run| {
            bijection.forward_run_u32(slot, run);
            pack(run, |value| u64::from(value) < len)
        })
    }

    /// [`items`](Self::items) of any number.
    pub(crate) fn items_wide(&self, slot: u64, out: &mut [u64]) -> Option<usize> {
        let (bijection, len) = self.compacted()?;
        each_item(bijection.last(), slot, out, |slot, run| {
            bijection.forward_run(slot, run);
            pack(run, |value| value < len)
        })
    }
}

/// Evaluates a bijection run by run. Stops where the function says so.
fn each_run(bijection: &Standard, first_run: u64, mut run: impl FnMut(&[u64]) -> bool) {
    let mut values = [0; RUN];
    let last = bijection.last();
    let mut slot = first_run * RUN as u64;
    while slot <= last {
        let count = (last - slot).min(RUN as u64 - 1) as usize + 1;
        bijection.forward_run(slot, &mut values[..count]);
        if !run(&values[..count]) {
            return;
        }
        slot += count as u64;
    }
}

/// The survivors before each run, and of all runs.
fn counts(bijection: &Standard, len: u64) -> Vec<u64> {
    let (mut counts, mut all) = (vec![0], 0);
    each_run(bijection, 0, |values| {
        all += values.iter().filter(|&&value| value < len).count() as u64;
        counts.push(all);
        true
    });
    counts
}

/// Writes the survivors from one on, all of which exist.
fn select(bijection: &Standard, len: u64, counts: &[u64], first: u64, out: &mut [u64]) {
    let run = counts.partition_point(|&before| before <= first) - 1;
    let mut skipped = (first - counts[run]) as usize;
    let mut left = out.iter_mut();
    each_run(bijection, run as u64, |values| {
        let mut survivors = values.iter().filter(|&&value| value < len).skip(skipped);
        skipped = 0;
        // Of the first a last one may be dropped, and then nothing is left to write.
        survivors.by_ref().zip(left.by_ref()).for_each(|(&value, out)| *out = value);
        left.len() > 0
    });
}

/// The number of survivors before the slot of an index.
fn rank(bijection: &Standard, len: u64, counts: &[u64], index: u64) -> u64 {
    let slot = bijection.inverse(index);
    let (run, within) = ((slot / RUN as u64) as usize, (slot % RUN as u64) as usize);
    let mut before = counts[run];
    each_run(bijection, run as u64, |values| {
        before += values[..within].iter().filter(|&&value| value < len).count() as u64;
        false
    });
    before
}

/// Writes the indexes at a run of slots, some of them at a time by `write`, which returns how many
/// there are.
fn each_item<N>(
    last: u64,
    first: u64,
    out: &mut [N],
    write: impl Fn(u64, &mut [N]) -> usize,
) -> Option<usize> {
    let slots = last.checked_sub(first)?.saturating_add(1).min(out.len() as u64);
    let mut count = 0;
    for begin in (0..slots).step_by(RUN) {
        let run = (slots - begin).min(RUN as u64) as usize;
        count += write(first + begin, &mut out[count..][..run]);
    }
    Some(count)
}

/// Moves the values that are indexes to the front, and returns how many there are.
fn pack<N: Copy>(values: &mut [N], is_index: impl Fn(N) -> bool) -> usize {
    if values.iter().all(|&value| is_index(value)) {
        return values.len();
    }
    let mut count = 0;
    for k in 0..values.len() {
        let value = values[k];
        values[count] = value;
        count += usize::from(is_index(value));
    }
    count
}
