//! [`parm`]: applies a function to the two parts into which a mask divides an array.

use super::in_place::{InPlacePlan, PlanMemory};
use super::{BitMatrix, tuning};
use crate::Affine;
use crate::MatrixError;

/// Applies a function to the two parts into which a mask divides an array, and puts the items back:
/// the combinator `parm` of Bouverot-Dupuis and Sheeran (2023, section 7).
///
/// Index `x` is in the first part if `x & mask` has an even number of ones. Mask 1 thus divides the
/// items at even places from those at odd places, and the highest bit alone divides the two halves.
/// Each part is contiguous and in order when the function sees it; [`BitMatrix::partition`] brings
/// the parts together. The function may run on both parts at the same time.
///
/// # Errors
///
/// [`MatrixError::NotAPowerOfTwo`], [`MatrixError::EmptyMask`] if the mask has none of the index's
/// bits, and [`MatrixError::OutOfMemory`], each as the function's type of error. The items are then
/// unchanged. The function's own error is passed on. In that case, and if the function
/// panics, the parts are put back as the function left them, and its call for the other part has
/// either finished or not begun.
///
/// # Memory
///
/// The call holds memory for a copy of the items until it returns, unless the mask is a single bit
/// or there are just two items.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::affine::parm;
/// use bijective_shuffle::prelude::*;
///
/// let mut items = [0, 10, 20, 30, 40, 50, 60, 70];
/// parm(0b001, &mut items, |part| {
///     part.reverse();
///     Ok::<(), Error>(())
/// })?;
/// assert_eq!(items, [60, 70, 40, 50, 20, 30, 0, 10]);
///
/// // Even and odd places are shuffled among themselves.
/// parm(0b001, &mut items, |part| part.try_par_bijective_shuffle(42))?;
/// # Ok::<(), Error>(())
/// ```
#[inline]
pub fn parm<T: Copy + Send + Sync, E: From<MatrixError> + Send>(
    mask: u64,
    items: &mut [T],
    f: impl Fn(&mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let to_parts = Affine::new(&BitMatrix::partition(index_bits(items.len())?, mask)?, 0)?;
    let (there, back) =
        (InPlacePlan::new::<T>(&to_parts), InPlacePlan::new::<T>(&to_parts.inverted()));
    let mut memory = PlanMemory::default();
    memory.reserve::<T>(&there)?;
    memory.reserve::<T>(&back)?;
    there.run(items, &mut memory)?;
    let parts = OrderedParts { items, back, memory };
    let (first, second) = parts.items.split_at_mut(parts.items.len() / 2);
    if tuning::is_sequential::<T>(2 * first.len()) {
        f(first)?;
        f(second)
    } else {
        let (first, second) = rayon_core::join(|| f(first), || f(second));
        first.and(second)
    }
}

/// Items in the order of their parts. Dropping this puts them back, also during a panic.
struct OrderedParts<'a, T: Copy + Send + Sync> {
    items: &'a mut [T],
    back: InPlacePlan,
    memory: PlanMemory,
}

impl<T: Copy + Send + Sync> Drop for OrderedParts<'_, T> {
    fn drop(&mut self) {
        self.back.run(self.items, &mut self.memory).expect("the memory is there");
    }
}

/// The width in bits of the indexes of an array whose length is a power of two.
pub(crate) fn index_bits(len: usize) -> Result<u32, MatrixError> {
    if len.is_power_of_two() {
        Ok(len.ilog2())
    } else {
        Err(MatrixError::NotAPowerOfTwo { len: len as u64 })
    }
}

impl Affine {
    /// A single map that applies this map to each of the two parts into which a mask divides twice
    /// as many indexes: `parm m (bmmc A c) = bmmc A' c'` (Bouverot-Dupuis and Sheeran 2023, section
    /// 3).
    ///
    /// # Errors
    ///
    /// [`MatrixError::EmptyMask`] if the mask has none of the index's bits, and
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// if the map already has 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::affine::{parm, permute_in_place, permuted};
    /// use bijective_shuffle::affine::Affine;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let map = Affine::from_seed(1 << 4, 1);
    /// let mut items: Vec<u32> = (0..1 << 5).collect();
    /// let by_one_map = permuted(&map.parm(0b10110)?, &items)?;
    /// parm(0b10110, &mut items, |part| permute_in_place(&map, part))?;
    /// assert_eq!(items, by_one_map);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn parm(&self, mask: u64) -> Result<Self, MatrixError> {
        let bits = self.bits() + 1;
        let to_parts = Self::new(&BitMatrix::partition(bits, mask)?, 0)?;
        // On the two halves the highest bit stays.
        let mut columns = self.matrix().columns().to_vec();
        columns.push(1 << self.bits());
        let on_halves = Self::new(&BitMatrix::from_columns(&columns)?, self.offset())?;
        to_parts.then(&on_halves)?.then(&to_parts.inverted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{permute_in_place, permuted};
    use bijective_shuffle_core::error::BijectionError;
    use bijective_shuffle_core::{Bijection, FromSeed};

    #[test]
    fn parts_are_those_of_the_definition() {
        for bits in 1..=6 {
            for mask in 1..1_u64 << bits {
                let seen = std::sync::Mutex::new(Vec::new());
                let mut items: Vec<u64> = (0..1 << bits).collect();
                let original = items.clone();
                parm(mask, &mut items, |part| {
                    seen.lock().unwrap().push(part.to_vec());
                    part.reverse();
                    Ok::<(), MatrixError>(())
                })
                .unwrap();
                let part = |odd: u32| {
                    let belongs = |x: &u64| (x & mask).count_ones() % 2 == odd;
                    original.iter().copied().filter(belongs).collect::<Vec<u64>>()
                };
                assert_eq!(seen.into_inner().unwrap(), [part(0), part(1)]);
                // Each part is reversed on its own.
                for odd in [0, 1] {
                    let places = part(odd);
                    let now: Vec<u64> = places.iter().map(|&x| items[x as usize]).collect();
                    assert!(now.iter().rev().eq(&places), "{bits} bits, mask {mask:b}");
                }
            }
        }
    }

    #[test]
    fn a_map_under_parm_is_a_map() {
        for bits in 0..=8 {
            let map = Affine::from_seed(1 << bits, 7);
            for mask in 1..1_u64 << (bits + 1) {
                let mut items: Vec<u64> = (0..1 << (bits + 1)).collect();
                let expected = permuted(&map.parm(mask).unwrap(), &items).unwrap();
                parm(mask, &mut items, |part| permute_in_place(&map, part)).unwrap();
                assert_eq!(items, expected, "{map:?}, mask {mask:b}");
            }
        }
        // The result for 63 bits has all 64-bit words as points, and there is no map for more.
        assert_eq!(Affine::reversal(63).unwrap().parm(1).unwrap().last(), u64::MAX);
        assert!(Affine::reversal(64).unwrap().parm(1).is_err());
    }

    #[test]
    fn errors_are_said() {
        let nothing = |_: &mut [u8]| Ok(());
        assert_eq!(parm(1, &mut [0; 3], nothing), Err(MatrixError::NotAPowerOfTwo { len: 3 }));
        assert_eq!(parm(1, &mut [0; 0], nothing), Err(MatrixError::NotAPowerOfTwo { len: 0 }));
        assert_eq!(parm(4, &mut [0; 4], nothing), Err(MatrixError::EmptyMask));
        assert_eq!(parm(1, &mut [0; 1], nothing), Err(MatrixError::EmptyMask));
        let fails = |part: &mut [u8]| {
            if part[0] == 0 {
                Err(MatrixError::Bijection(BijectionError::EmptyDomain))
            } else {
                Ok(())
            }
        };
        assert_eq!(
            parm(1, &mut [0; 4], fails),
            Err(MatrixError::Bijection(BijectionError::EmptyDomain))
        );
    }

    #[test]
    fn the_function_has_an_error_of_the_callers() {
        #[derive(Debug, PartialEq)]
        enum Own {
            Matrix(MatrixError),
            Stopped,
        }
        impl From<MatrixError> for Own {
            fn from(error: MatrixError) -> Self {
                Self::Matrix(error)
            }
        }
        let stops = |part: &mut [u8]| if part[0] == 1 { Err(Own::Stopped) } else { Ok(()) };
        assert_eq!(parm(1, &mut [0, 1, 2, 3], stops), Err(Own::Stopped));
        assert_eq!(parm(1, &mut [0, 2, 2, 3], stops), Ok(()));
        assert_eq!(parm(4, &mut [0; 4], stops), Err(Own::Matrix(MatrixError::EmptyMask)));
    }

    #[test]
    fn parts_are_put_back_whatever_happens() {
        for bits in [3_u32, 18] {
            for mask in [0b1, 0b100, 0b101] {
                let original: Vec<u64> = (0..1 << bits).collect();
                let odd = |x: &u64| (x & mask).count_ones() % 2 == 1;
                // What the function has done to the first part remains.
                let mut expected = original.clone();
                expected.iter_mut().filter(|x| !odd(x)).for_each(|x| *x += 1 << 40);
                for panics in [false, true] {
                    let fails = |part: &mut [u64]| {
                        if !odd(&part[0]) {
                            part.iter_mut().for_each(|x| *x += 1 << 40);
                            return Ok(());
                        }
                        if panics {
                            panic!("as it should")
                        } else {
                            Err(MatrixError::Bijection(BijectionError::EmptyDomain))
                        }
                    };
                    let mut items = original.clone();
                    let all = core::panic::AssertUnwindSafe(|| parm(mask, &mut items, fails));
                    match std::panic::catch_unwind(all) {
                        Ok(answer) => assert!(
                            !panics
                                && answer
                                    == Err(MatrixError::Bijection(BijectionError::EmptyDomain))
                        ),
                        Err(_) => assert!(panics),
                    }
                    assert!(items == expected, "{bits} bits, mask {mask:b}, panics: {panics}");
                }
            }
        }
    }
}
