//! Evaluating runs of slots and keeping the survivors.
//!
//! ```text
//! for run in slots:                  1024 slots, whose values stay in the L1 cache
//!     values = f(run)                in the narrowest words that hold them: 16, 32 or 64 bits
//!     append values <= last_index    pack.rs; no branch for a value
//! ```

use core::mem::MaybeUninit;
use core::ops::Range;

use super::pack::{SLACK, pack, pack_wide};
use super::tuning;
use crate::bijection::hooks::Hooked;
use crate::engine::bijection::{ItemCopies, StandardCipher};
use crate::engine::memory::{Buffer, assume_init, assume_init_mut};
use crate::engine::parallel::Workers;
use crate::engine::word::Index;
use crate::{Bijection, Error, Trusted};

/// Who may evaluate a bijection: a crew, whose tasks may not run a user's code, if it has none.
pub(super) fn workers(f: &Trusted) -> Workers {
    if f.conduct().only_computes { Workers::Crew } else { Workers::Pool }
}

/// The values at all slots of a domain. Those below a length survive; the length is at least 1.
pub(crate) struct Values<'a> {
    last_slot: u64,
    last_index: u64,
    form: ValueForm<'a>,
    /// What evaluates, if it is the default family's.
    cipher: Option<&'a StandardCipher>,
}

/// How the values are computed.
enum ValueForm<'a> {
    /// Evaluated by a bijection that may be wrong.
    Any(&'a dyn Bijection),
    /// Evaluated in 32 bits: the bijection is trusted to stay below 2^32, or the caller accepts
    /// wrong values.
    Narrow(&'a dyn Bijection),
    /// Evaluated in 16 bits, for a domain of at most 2^16 points.
    Short(&'a dyn Bijection),
    /// A table of values of 16 bits. A slot that does not survive may hold any index that does not.
    Listed16(&'a [u16]),
    Listed32(&'a [u32]),
}

impl<'a> Values<'a> {
    /// The values of any bijection, which may be wrong.
    pub(super) fn of_any(bijection: &'a dyn Bijection, len: usize) -> Self {
        let (last_slot, last_index) = (bijection.last(), len as u64 - 1);
        Self { last_slot, last_index, form: ValueForm::Any(bijection), cipher: None }
    }

    /// The values of a trusted bijection.
    pub(super) fn of_trusted(trusted: &'a Trusted<'a>, len: usize) -> Self {
        Self { cipher: trusted.standard_cipher(), ..Self::unchecked(trusted, len as u64) }
    }

    /// The values of a bijection without a check. Values beyond its domain may be truncated to
    /// others, but all that survive are below the length.
    pub(crate) fn unchecked(bijection: &'a dyn Bijection, len: u64) -> Self {
        let (last_slot, last_index) = (bijection.last(), len - 1);
        let form = if is_short(last_slot) {
            ValueForm::Short(bijection)
        } else if last_slot <= u64::from(u32::MAX) {
            ValueForm::Narrow(bijection)
        } else {
            ValueForm::Any(bijection)
        };
        Self { last_slot, last_index, form, cipher: None }
    }

    /// The values of a trusted bijection, in the form that is cheaper on one thread: evaluated slot
    /// by slot, or listed in the buffer [by inverses](Self::by_inverses).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn on_one_thread(
        trusted: &'a Trusted<'a>,
        len: usize,
        buffer: &'a mut Buffer,
    ) -> Result<Self, Error> {
        if tuning::prefers_inverses(trusted.last(), len, trusted.evaluation_picoseconds()) {
            return Self::by_inverses(trusted, len, buffer);
        }
        Ok(Self::of_trusted(trusted, len))
    }

    /// The values of a trusted bijection, listed by evaluating the inverse of every surviving
    /// index. That takes fewer evaluations than there are slots, and one random access to the
    /// buffer for each. The domain must have less than `2^32` points, and the length must be less
    /// than that.
    pub(super) fn by_inverses(
        trusted: &Trusted,
        len: usize,
        buffer: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let (last_slot, last_index) = (trusted.last(), len as u64 - 1);
        assert!(last_index < last_slot && last_slot < u64::from(u32::MAX));
        let slots = last_slot as usize + 1;
        // The largest word of either width is no surviving index, since the last slot's number is
        // not.
        let form = if is_short(last_slot) {
            let table = fill(buffer.room(slots)?, u16::MAX);
            list(trusted, len, table, |index| index as u16);
            ValueForm::Listed16(table)
        } else {
            let table = fill(buffer.room(slots)?, u32::MAX);
            list(trusted, len, table, |index| index);
            ValueForm::Listed32(table)
        };
        Ok(Self { last_slot, last_index, form, cipher: None })
    }

    pub(crate) fn last_slot(&self) -> u64 {
        self.last_slot
    }

    /// Packs the survivors among some slots at the front of `out`, which has room for all the slots
    /// and [`SLACK`] more.
    pub(crate) fn survivors<'b, N: Index>(
        &self,
        slots: SlotRange,
        out: &'b mut [MaybeUninit<N>],
    ) -> &'b [N] {
        self.survivors_copying(slots, out, None)
    }

    /// [`survivors`](Self::survivors). Some copies of items may be made meanwhile.
    pub(super) fn survivors_copying<'b, N: Index>(
        &self,
        slots: SlotRange,
        out: &'b mut [MaybeUninit<N>],
        copies: Option<&mut ItemCopies<N>>,
    ) -> &'b [N] {
        let (cipher, mut copies) = (self.cipher, copies);
        if let Some(copies) = &mut copies {
            copies.spread(slots.count.div_ceil(tuning::RUN));
        }
        let survivors = match self.form {
            ValueForm::Any(bijection) => slots.pack_runs(out, |first, run, out| {
                bijection.forward_run(first, run);
                pack_wide(run, self.last_index, out)
            }),
            ValueForm::Narrow(bijection) => {
                let mut copies = copies.and_then(ItemCopies::of_words);
                slots.pack_runs(out, |first, run, out| {
                    match cipher.zip(copies.as_deref_mut()) {
                        Some((cipher, copies)) => cipher.run_u32_copying(first, run, copies),
                        None => bijection.forward_run_u32(first, run),
                    }
                    pack(run, self.last_index as u32, out)
                })
            }
            ValueForm::Short(bijection) => {
                let mut copies = copies.and_then(ItemCopies::of_words);
                slots.pack_runs(out, |first, run, out| {
                    match cipher.zip(copies.as_deref_mut()) {
                        Some((cipher, copies)) => cipher.run_u16_copying(first, run, copies),
                        None => bijection.forward_run_u16(first, run),
                    }
                    pack(run, self.last_index as u32, out)
                })
            }
            ValueForm::Listed16(table) => pack(slots.of(table), self.last_index as u32, out),
            ValueForm::Listed32(table) => pack(slots.of(table), self.last_index as u32, out),
        };
        // SAFETY: `pack` has initialised as many words as it has counted, and each run was packed
        // after the one before, so the first `survivors` words are initialised.
        unsafe { assume_init(&out[..survivors]) }
    }
}

/// Whether all values at the slots up to the last, and all indexes, fit 16 bits.
pub(super) fn is_short(last_slot: u64) -> bool {
    last_slot <= u64::from(u16::MAX)
}

/// All slots of a domain, a batch at a time, from either end.
pub(super) struct SlotBatches {
    last: u64,
    size: usize,
    /// The numbers of those that are left.
    left: Range<u64>,
}

impl SlotBatches {
    pub(super) fn new(last: u64, size: usize) -> Self {
        Self { last, size, left: 0..last / size as u64 + 1 }
    }

    /// Takes all that are left.
    pub(super) fn take_all(&mut self) {
        self.left = 0..0;
    }

    fn batch(&self, number: u64) -> SlotRange {
        SlotRange::from(number * self.size as u64, self.last, self.size)
    }
}

impl Iterator for SlotBatches {
    type Item = SlotRange;

    fn next(&mut self) -> Option<SlotRange> {
        self.left.next().map(|number| self.batch(number))
    }
}

impl DoubleEndedIterator for SlotBatches {
    fn next_back(&mut self) -> Option<SlotRange> {
        self.left.next_back().map(|number| self.batch(number))
    }
}

/// Consecutive slots, at least one.
#[derive(Clone, Copy)]
pub(crate) struct SlotRange {
    first: u64,
    count: usize,
}

impl SlotRange {
    /// The first `most` slots of `[0, last]`.
    pub(super) fn first(last: u64, most: usize) -> Self {
        Self::from(0, last, most)
    }

    /// The next slots after these, at most `most`; `None` after `last`.
    pub(crate) fn next(self, last: u64, most: usize) -> Option<Self> {
        let end = self.first + (self.count as u64 - 1);
        (end < last).then(|| Self::from(end + 1, last, most))
    }

    /// At most `most` slots from `first` on, up to `last`, which is not before `first`.
    pub(crate) fn from(first: u64, last: u64, most: usize) -> Self {
        // `last - first` is one less than the number of slots left, which may be 2^64.
        let count = last.saturating_sub(first).min(most as u64 - 1) as usize + 1;
        Self { first, count }
    }

    /// The number of slots.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// The slots' part of a table.
    fn of<V>(self, table: &[V]) -> &[V] {
        &table[self.first as usize..][..self.count]
    }

    /// Packs the slots' values a run at a time, and returns the number of survivors.
    #[inline]
    fn pack_runs<M: Index, N>(
        self,
        out: &mut [MaybeUninit<N>],
        mut pack: impl FnMut(u64, &mut [M], &mut [MaybeUninit<N>]) -> usize,
    ) -> usize {
        let mut room = InLines([MaybeUninit::<M>::uninit(); 2 * tuning::RUN]);
        let room = if self.count <= tuning::RUN {
            apart(&mut room.0, out, self.count)
        } else {
            &mut room.0
        };
        let room = fill(room, M::ZERO);
        let (mut first, mut left, mut survivors) = (self.first, self.count, 0);
        while left > 0 {
            let out = &mut out[survivors..];
            let run = apart(room, out, left.min(tuning::RUN));
            left -= run.len();
            survivors += pack(first, run, out);
            first = first.wrapping_add(run.len() as u64);
        }
        survivors
    }
}

const LINE: usize = 64;

/// Memory that begins with a cache line, so that no vector is part of two.
#[repr(align(64))]
pub(super) struct InLines<T>(pub(super) T);

/// The address of a run's survivors is this many bytes above that of their values, modulo a page.
///
/// While values are packed, a load of the next ones must not seem to need what was stored just
/// before, and a processor compares the lowest 12 bits of addresses first. At 2^16 + 1 items, where
/// a slot in two survives, 0.90 ns an item for all indexes with 2048, and 0.62 with 0, 512, 1024,
/// 3072 and 3584.
const APART: usize = 1024;

/// A part of some room for values, in whole cache lines, that is so far below their survivors.
fn apart<'r, V, N>(room: &'r mut [V], survivors: &[N], len: usize) -> &'r mut [V] {
    const PAGE: usize = 1 << 12;
    let survivors = survivors.as_ptr().addr();
    let below = survivors.wrapping_sub(APART).wrapping_sub(room.as_ptr().addr());
    let first = below % PAGE / LINE * LINE / size_of::<V>();
    let first = first.min(room.len() - len);
    &mut room[first..][..len]
}

/// Fills memory with a value.
fn fill<V: Copy>(room: &mut [MaybeUninit<V>], value: V) -> &mut [V] {
    room.fill(MaybeUninit::new(value));
    // SAFETY: `fill` has just written the value to each place of the room.
    unsafe { assume_init_mut(room) }
}

/// Writes every index below a length to the table, at the slot whose value it is.
fn list<V>(trusted: &Trusted, len: usize, table: &mut [V], narrow: impl Fn(u32) -> V) {
    let mut room = [MaybeUninit::uninit(); tuning::RUN];
    let run = fill(&mut room[..len.min(tuning::RUN)], 0);
    for first in (0..len).step_by(tuning::RUN) {
        let run = &mut run[..(len - first).min(tuning::RUN)];
        trusted.inverse_run_u32(first as u64, run);
        for (index, &slot) in (first as u32..).zip(&*run) {
            debug_assert!((slot as usize) < table.len());
            // SAFETY: the inverse of a trusted bijection returns slots of its domain, and the table
            // is as long as the domain.
            unsafe { *table.get_unchecked_mut(slot as usize) = narrow(index) };
        }
    }
}

/// The number of words of room that the survivors of `slots` slots need.
pub(crate) const fn room_for(slots: usize) -> usize {
    slots + SLACK
}

/// A tile of slots, with room for their survivors.
pub(super) struct SurvivorTile<'a, N> {
    pub(super) slots: Option<SlotRange>,
    room: &'a mut [MaybeUninit<N>],
    /// The number of survivors at the front of the room.
    count: usize,
}

impl<'a, N: Index> SurvivorTile<'a, N> {
    /// A tile without slots yet. `room` is [`room_for`] the slots that it will get.
    pub(super) fn new(room: &'a mut [MaybeUninit<N>]) -> Self {
        Self { slots: None, room, count: 0 }
    }

    pub(super) fn evaluate(&mut self, values: &Values, copies: Option<&mut ItemCopies<N>>) {
        self.count = match self.slots {
            Some(slots) => values.survivors_copying(slots, self.room, copies).len(),
            None => 0,
        };
    }

    pub(super) fn survivors(&self) -> &[N] {
        // SAFETY: `evaluate` sets `count` to the number of survivors that it has packed at the
        // front, which are initialised; before that `count` is 0.
        unsafe { assume_init(&self.room[..self.count]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{
        BlockShuffle, Compose, GridFeistel, Inverse, Lcg, MulXorshift, Standard, SwapOrNot, Table,
        VariablePhilox,
    };
    use crate::{FromSeed, Permutation};

    /// A trusted bijection of a user's, who says all that a user can.
    struct Users;

    impl Bijection for Users {
        fn last(&self) -> u64 {
            511
        }

        fn forward(&self, slot: u64) -> u64 {
            slot
        }

        fn inverse(&self, index: u64) -> u64 {
            index
        }

        fn trusted(&self) -> Option<Trusted<'_>> {
            Some(Trusted::new(self).panic_free())
        }
    }

    // SAFETY: it is the identity, of a last point that never changes.
    unsafe impl crate::TrustedBijection for Users {}

    fn workers_of(f: &dyn Bijection) -> Workers {
        workers(&f.trusted().expect("a trusted bijection"))
    }

    #[test]
    fn crews_evaluate_these_packages_bijections_and_no_user_s() {
        let standard = |len| Standard::from_seed(len, 1);
        let ours: [(&str, Box<dyn Bijection>); 12] = [
            ("a table of few points", Box::new(standard(256))),
            ("a cipher", Box::new(standard(257))),
            ("a large cipher", Box::new(standard(1 << 40))),
            ("an inverse", Box::new(Inverse::new(standard(300)))),
            ("a composition", Box::new(Compose::new(standard(300), standard(300)).unwrap())),
            ("blocks", Box::new(BlockShuffle::new(3000, 7, 20, 1).unwrap())),
            ("a permutation", Box::new(Permutation::new(512, 1))),
            ("VariablePhilox", Box::new(VariablePhilox::<24>::from_seed(300, 1))),
            ("SwapOrNot", Box::new(SwapOrNot::from_seed(300, 1))),
            ("MulXorshift", Box::new(MulXorshift::<10>::from_seed(300, 1))),
            ("GridFeistel", Box::new(GridFeistel::<12>::from_seed(300, 1))),
            ("Lcg", Box::new(Lcg::new(9, 5, 3).unwrap())),
        ];
        for (name, f) in &ours {
            assert_eq!(workers_of(f), Workers::Crew, "{name}");
        }
        assert_eq!(workers_of(&Table::new(vec![2, 0, 1]).unwrap()), Workers::Crew);

        let same = || Standard::from_seed(300, 1);
        let users: [(&str, Box<dyn Bijection>); 4] = [
            ("a user's", Box::new(Users)),
            ("its inverse", Box::new(Inverse::new(Users))),
            ("it after another", Box::new(Compose::new(same(), Users).unwrap())),
            ("another after it", Box::new(Compose::new(Users, same()).unwrap())),
        ];
        for (name, f) in &users {
            assert_eq!(workers_of(f), Workers::Pool, "{name}");
        }
    }
}
