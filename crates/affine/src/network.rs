//! [`Network`]: applies a function to pairs of items, between affine permutations of the array.
//!
//! A network stores maps and no nested calls. `parm` of a permutation is a permutation, and `parm`
//! of a layer of pairs is that layer between two permutations. So a nest of `parm`s becomes a list
//! with one permutation for each layer, before anything moves.

use super::in_place::{InPlacePlan, PlanMemory};
use super::parm::index_bits;
use super::permute::check_length;
use super::{BitMatrix, tuning};
use crate::Affine;
use crate::MatrixError;
use bijective_shuffle_engine::parallel;

/// A sequence of steps that permute an array by affine maps and, in between, apply a function to
/// pairs of neighbours.
///
/// Nested uses of [`parm`](super::parm()) compile to a network: `parm` of a step is that step on
/// twice as many items, between two permutations, and adjacent permutations fuse (Bouverot-Dupuis
/// and Sheeran 2023, sections 3 and 7.2). So a network of `d` layers takes at most `d + 1`
/// permutations, however deeply it is nested.
///
/// # Examples
///
/// The sorting network of section 7.1:
///
/// ```
/// use bijective_shuffle::affine::Network;
///
/// let mut items = [5, 2, 7, 1, 8, 6, 3, 4];
/// let sort = Network::sorting(3)?;
/// assert_eq!(sort.maps().len(), 7);
/// sort.run(&mut items, |a, b| if a > b { core::mem::swap(a, b) })?;
/// assert_eq!(items, [1, 2, 3, 4, 5, 6, 7, 8]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    bits: u32,
    /// The map before each layer of pairs.
    before: Vec<Affine>,
    /// The map after the last layer.
    after: Affine,
}

impl Network {
    /// A network of a single pair: the function is applied to two items.
    pub fn pair() -> Self {
        let identity = Affine::translation(1, 0).expect("there are words of one bit");
        Self { bits: 1, before: vec![identity.clone()], after: identity }
    }

    /// A network that only permutes.
    pub fn permutation(map: Affine) -> Self {
        Self { bits: map.bits(), before: Vec::new(), after: map }
    }

    /// This network, followed by another one.
    ///
    /// # Errors
    ///
    /// [`BijectionError::DomainMismatch`](bijective_shuffle_core::error::BijectionError::DomainMismatch)
    /// if the widths differ.
    #[inline]
    pub fn then(&self, next: &Self) -> Result<Self, MatrixError> {
        let mut all = self.clone();
        let mut maps = next.before.iter().chain([&next.after]);
        let join =
            maps.next().map_or_else(|| Ok(self.after.clone()), |map| self.after.then(map))?;
        if next.before.is_empty() {
            all.after = join;
        } else {
            all.before.push(join);
            all.before.extend(next.before[1..].iter().cloned());
            all.after = next.after.clone();
        }
        Ok(all)
    }

    /// Applies this network to both parts of an array of twice as many items, divided by a mask.
    ///
    /// # Errors
    ///
    /// [`MatrixError::EmptyMask`] if the mask is 0, and
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// beyond 64 bits.
    #[inline]
    pub fn parm(&self, mask: u64) -> Result<Self, MatrixError> {
        let bits = self.bits + 1;
        let to_parts = Affine::new(&BitMatrix::partition(bits, mask)?, 0)?;
        // Pairs of each half are pairs of the whole array, so only the maps change: on the halves
        // they keep the highest bit. The items stay in the order of the parts until the end.
        let top = 1 << self.bits;
        let on_halves = |map: &Affine| map.parm(top);
        let maps = self.before.iter().map(on_halves).collect::<Result<Vec<_>, _>>()?;
        let halves = Self { bits, before: maps, after: on_halves(&self.after)? };
        Self::permutation(to_parts.clone())
            .then(&halves)?
            .then(&Self::permutation(to_parts.inverted()))
    }

    /// A sorting network for `2^bits` items: merge sort by the balanced periodic merger (Dowd,
    /// Perl, Saks and Rudolph 1983), in the form of Bouverot-Dupuis and Sheeran (2023, section
    /// 7.1). Run it with a function that puts a pair in order.
    ///
    /// It sorts if the function orders any two items. With floating-point numbers compared by `>`,
    /// a NaN counts as in order with everything: no item is lost, but if there is a NaN, the order
    /// of all items is unspecified. With `f64::total_cmp` they are sorted.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    #[inline]
    pub fn sorting(bits: u32) -> Result<Self, MatrixError> {
        BitMatrix::zero(bits)?;
        // Sorts the items at even places and those at odd places, and then merges them.
        let mut sorter = Self::permutation(Affine::translation(0, 0)?);
        for width in 1..=bits {
            sorter = sorter.parm(1)?.then(&Self::merger(width)?)?;
        }
        Ok(sorter)
    }

    /// A network that merges the items at even places with those at odd places, both already
    /// sorted.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 bits.
    #[inline]
    pub fn merger(bits: u32) -> Result<Self, MatrixError> {
        BitMatrix::zero(bits)?;
        let mut merger = Self::permutation(Affine::translation(0, 0)?);
        let mut column = Self::pair();
        for width in 1..=bits {
            if width > 1 {
                column = column.parm(3)?;
            }
            merger = column.then(&merger.parm(1 << (width - 1))?)?;
        }
        Ok(merger)
    }

    /// The width of an index in bits; the network is for `2^bits` items.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The permutations in order: one before each layer, and one after the last layer.
    pub fn maps(&self) -> impl ExactSizeIterator<Item = &Affine> {
        (0..self.before.len() + 1).map(|k| self.before.get(k).unwrap_or(&self.after))
    }

    /// Runs the network on the threads of the current rayon pool. The function is applied to the
    /// pairs of items at places `2 k` and `2 k + 1`.
    ///
    /// If the function panics, the items stay in the order of that layer: none is lost, each is as
    /// the function left it, but the order is neither the original nor the final one.
    ///
    /// # Errors
    ///
    /// [`MatrixError::NotAPowerOfTwo`] or [`MatrixError::LengthMismatch`] if there are not `2^bits`
    /// items, and [`MatrixError::OutOfMemory`]. The items are then unchanged. Memory is
    /// allocated once for all layers: that of a copy of the items, unless
    /// [`permute_in_place`](super::permute_in_place) needs none for any of the maps.
    pub fn run<T: Copy + Send + Sync>(
        &self,
        items: &mut [T],
        f: impl Fn(&mut T, &mut T) + Sync,
    ) -> Result<(), MatrixError> {
        index_bits(items.len())?;
        check_length(&self.after, items.len())?;
        let plans: Vec<InPlacePlan> = self.maps().map(InPlacePlan::new::<T>).collect();
        let mut memory = PlanMemory::default();
        plans.iter().try_for_each(|plan| memory.reserve::<T>(plan))?;
        for (layer, plan) in plans.iter().enumerate() {
            plan.run(items, &mut memory)?;
            if layer == self.before.len() {
                break;
            }
            let (pairs, _) = items.as_chunks_mut::<2>();
            let each = |[a, b]: &mut [T; 2]| f(a, b);
            if tuning::is_sequential::<T>(2 * pairs.len()) {
                pairs.iter_mut().for_each(each);
            } else {
                parallel::each_chunk(pairs, tuning::piece::<[T; 2]>(), |_, pairs| {
                    pairs.iter_mut().for_each(each);
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MatrixError;
    use crate::parm;
    use bijective_shuffle_core::error::BijectionError;

    fn order<T: PartialOrd>(a: &mut T, b: &mut T) {
        if *a > *b {
            core::mem::swap(a, b);
        }
    }

    /// The definitions of section 7.1, taken literally.
    fn column(items: &mut [u32]) -> Result<(), MatrixError> {
        match items {
            [] | [_] => Ok(()),
            [a, b] => {
                order(a, b);
                Ok(())
            }
            _ => parm(3, items, column),
        }
    }

    fn merge(items: &mut [u32]) -> Result<(), MatrixError> {
        column(items)?;
        if items.len() > 1 { parm(items.len() as u64 / 2, items, merge) } else { Ok(()) }
    }

    fn sort(items: &mut [u32]) -> Result<(), MatrixError> {
        if items.len() > 1 {
            parm(1, items, sort)?;
        }
        merge(items)
    }

    #[test]
    fn the_network_is_that_of_the_definition() {
        for bits in 0..=7 {
            let random = |seed| bijective_shuffle::Permutation::new(1 << bits, seed).to_vec();
            for seed in 0..5 {
                let items: Vec<u32> = random(seed).into_iter().map(|x| x as u32).collect();
                let (mut a, mut b, mut c) = (items.clone(), items.clone(), items.clone());
                sort(&mut a).unwrap();
                Network::sorting(bits).unwrap().run(&mut b, order).unwrap();
                assert_eq!(a, b);
                assert!(a.is_sorted());
                // The merger alone must agree with its definition, too, on items that are not
                // sorted.
                merge(&mut c).unwrap();
                let mut d = items;
                Network::merger(bits).unwrap().run(&mut d, order).unwrap();
                assert_eq!(c, d);
            }
        }
    }

    #[test]
    fn every_array_of_zeros_and_ones_is_sorted() {
        // By the 0-1 principle, all arrays are then sorted.
        for bits in 0..=4 {
            let network = Network::sorting(bits).unwrap();
            for word in 0..1_u32 << (1 << bits) {
                let mut items: Vec<u8> = (0..1 << bits).map(|k| (word >> k & 1) as u8).collect();
                network.run(&mut items, order).unwrap();
                assert!(items.is_sorted(), "{word:b}");
            }
        }
    }

    #[test]
    fn permutations_fuse() {
        for bits in 0..=20_u32 {
            let network = Network::sorting(bits).unwrap();
            assert_eq!(network.bits(), bits);
            assert_eq!(network.maps().len(), (bits * (bits + 1) / 2) as usize + 1);
        }
    }

    #[test]
    fn many_items_are_sorted() {
        let mut items: Vec<u64> =
            (0..1 << 18).map(|x: u64| x.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        Network::sorting(18).unwrap().run(&mut items, order).unwrap();
        assert!(items == expected);
    }

    #[test]
    fn networks_refuse_other_lengths() {
        let network = Network::sorting(3).unwrap();
        assert_eq!(network.run(&mut [1; 7], order), Err(MatrixError::NotAPowerOfTwo { len: 7 }));
        let error = MatrixError::LengthMismatch { expected: 8, actual: 4 };
        assert_eq!(network.run(&mut [1; 4], order), Err(error));
    }

    #[test]
    fn widths_that_there_are_not_are_refused_at_once() {
        for bits in [65, 1000, u32::MAX] {
            let error =
                MatrixError::Bijection(BijectionError::BitsOutOfRange { bits, min: 0, max: 64 });
            assert_eq!(Network::sorting(bits), Err(error.clone()));
            assert_eq!(Network::merger(bits), Err(error));
        }
        assert_eq!(Network::merger(64).unwrap().maps().len(), 65);
    }

    #[test]
    fn not_a_number_takes_nothing_away() {
        let mut items: Vec<f64> = (0..64).map(|k| f64::from(k * 37 % 64)).collect();
        items[5] = f64::NAN;
        items[40] = -f64::NAN;
        let sorted = |items: &[f64]| {
            let mut items = items.to_vec();
            items.sort_by(f64::total_cmp);
            items.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let expected = sorted(&items);
        let network = Network::sorting(6).unwrap();
        let mut by_less = items.clone();
        network.run(&mut by_less, order).unwrap();
        assert_eq!(sorted(&by_less), expected);
        let swap = |a: &mut f64, b: &mut f64| {
            if a.total_cmp(b).is_gt() {
                core::mem::swap(a, b);
            }
        };
        network.run(&mut items, swap).unwrap();
        assert!(items.iter().map(|item| item.to_bits()).eq(expected));
    }

    #[test]
    fn a_panic_loses_nothing() {
        let mut items: Vec<u32> = (0..1 << 10).rev().collect();
        let network = Network::sorting(10).unwrap();
        let calls = core::sync::atomic::AtomicUsize::new(0);
        let panics = |a: &mut u32, b: &mut u32| {
            let call = calls.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            assert!(call < 5 << 9, "as it should in the sixth layer");
            order(a, b);
        };
        let all = core::panic::AssertUnwindSafe(|| network.run(&mut items, panics));
        assert!(std::panic::catch_unwind(all).is_err());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1 << 10));
    }
}
