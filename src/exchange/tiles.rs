//! [`Compaction`]: what ranks evaluate of a permutation; and evaluating runs of its slots, a tile
//! at a time.

use core::mem::MaybeUninit;

use crate::bijection::hooks::EngineForm;
use crate::compact::{SlotRange, Values, room_for};
use crate::engine::check::check_length;
use crate::permutation::Permutation;
use crate::{Bijection, Error, Word};

/// The number of slots in a tile: their survivors stay in the L1 cache.
const TILE: usize = 1 << 10;

/// What ranks evaluate of a permutation, and nothing else of it: its bijection, in the form that is
/// asked for once, and its length.
pub(super) struct Compaction<'p> {
    pub(super) form: EngineForm<'p>,
    pub(super) len: u64,
}

impl<'p> Compaction<'p> {
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`] if the trusted form has fewer points than the bijection.
    pub(super) fn of<B: Bijection>(p: &'p Permutation<B>) -> Result<Self, Error> {
        let (form, len) = (EngineForm::of(p.bijection()), p.len());
        check_length(len, form.last())?;
        Ok(Self { form, len })
    }
}

/// Whether the values of a permutation's slots fit 32 bits, in which they are evaluated faster.
pub(super) fn fit_u32(p: &Compaction) -> bool {
    p.form.last() <= u64::from(u32::MAX)
}

/// The number of survivors among some slots of the domain.
pub(super) fn count(p: &Compaction, first: u64, slots: u64) -> u64 {
    let mut sum = 0;
    if fit_u32(p) {
        for_each::<u32>(p, first, slots, |_, _, survivors| sum += survivors.len() as u64);
    } else {
        for_each::<u64>(p, first, slots, |_, _, survivors| sum += survivors.len() as u64);
    }
    sum
}

/// Visits `slots` slots of the domain from `first` on, at least one, a tile at a time: the tile's
/// first slot, its number of slots, and the values of its survivors in the order of their slots.
///
/// N is a word that the values fit.
#[inline(always)]
pub(super) fn for_each<N: Word>(
    p: &Compaction,
    first: u64,
    slots: u64,
    mut visit: impl FnMut(u64, u64, &[N]),
) {
    let values = Values::unchecked(&*p.form, p.len);
    let last = first + (slots - 1);
    let mut room = [MaybeUninit::<N>::uninit(); room_for(TILE)];
    let mut tile = Some((first, SlotRange::from(first, last, TILE)));
    while let Some((first, slots)) = tile {
        visit(first, slots.count() as u64, values.survivors(slots, &mut room));
        tile = slots.next(last, TILE).map(|next| (first + slots.count() as u64, next));
    }
}
