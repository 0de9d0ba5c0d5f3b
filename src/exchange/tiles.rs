//! Evaluating runs of slots, a tile at a time.

use core::mem::MaybeUninit;

use crate::Bijection;
use crate::Word;
use crate::compact::{SlotRange, Values, room_for};
use crate::permutation::Permutation;

/// The number of slots in a tile: their survivors stay in the L1 cache.
const TILE: usize = 1 << 10;

/// Whether the values of a permutation's slots fit 32 bits, in which they are evaluated faster.
pub(super) fn fit_u32<B: Bijection>(p: &Permutation<B>) -> bool {
    p.bijection().last() <= u64::from(u32::MAX)
}

/// The number of survivors among some slots of the domain.
pub(super) fn count<B: Bijection>(p: &Permutation<B>, first: u64, slots: u64) -> u64 {
    let mut sum = 0;
    if fit_u32(p) {
        for_each::<u32, B>(p, first, slots, |_, _, survivors| sum += survivors.len() as u64);
    } else {
        for_each::<u64, B>(p, first, slots, |_, _, survivors| sum += survivors.len() as u64);
    }
    sum
}

/// Visits `slots` slots of the domain from `first` on, at least one, a tile at a time: the tile's
/// first slot, its number of slots, and the values of its survivors in the order of their slots.
///
/// N is a word that the values fit.
#[inline(always)]
pub(super) fn for_each<N: Word, B: Bijection>(
    p: &Permutation<B>,
    first: u64,
    slots: u64,
    mut visit: impl FnMut(u64, u64, &[N]),
) {
    let values = Values::unchecked(p.bijection(), p.len());
    let last = first + (slots - 1);
    let mut room = [MaybeUninit::<N>::uninit(); room_for(TILE)];
    let mut tile = Some((first, SlotRange::from(first, last, TILE)));
    while let Some((first, slots)) = tile {
        visit(first, slots.count() as u64, values.survivors(slots, &mut room));
        tile = slots.next(last, TILE).map(|next| (first + slots.count() as u64, next));
    }
}
