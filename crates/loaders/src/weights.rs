//! [`IntoWeights`]: what is taken as weights; [`ItemWeights`]: where they are read from; and
//! [`integer_weights`]: floating-point weights as whole numbers.

use core::mem::MaybeUninit;

use bijective_shuffle_engine::{check, memory, parallel};

use crate::Error;

/// The weights of items: a slice, a vector, an array, or shared memory.
///
/// They are read more than once, a run of items at a time, and have to stay as they are meanwhile.
/// If one changes, the draws are by some other weights, or [`Error::WeightsChanged`] says so.
pub trait ItemWeights: Sync {
    /// The number of items.
    fn count(&self) -> u64;

    /// Writes the weights of consecutive items, from `first` on, to `out`. All of them are below
    /// [`count`](Self::count).
    ///
    /// # Errors
    ///
    /// [`Error::NotAWeight`] for the first of them that is none.
    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error>;
}

impl ItemWeights for [u64] {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        out.copy_from_slice(&self[first as usize..][..out.len()]);
        Ok(())
    }
}

impl ItemWeights for Vec<u64> {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        self[..].read(first, out)
    }
}

impl<const N: usize> ItemWeights for [u64; N] {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        self[..].read(first, out)
    }
}

impl<T: ItemWeights + ?Sized> ItemWeights for &T {
    fn count(&self) -> u64 {
        (**self).count()
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        (**self).read(first, out)
    }
}

/// What [`Weighted`](crate::Weighted) and [`weighted_sample`](crate::weighted_sample) take as
/// weights: [`ItemWeights`], which are whole numbers and are read where they are, or a
/// reference to a slice, a vector or an array of `f64` or `f32`, which become whole numbers by
/// [`integer_weights`].
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::{Weighted, weighted_sample};
///
/// let weights = [0.1, 2.5, 0.0, 1.0];
/// let draws = Weighted::new(&weights, 42)?;
/// assert_ne!(draws.get(7), 2);
/// assert_eq!(weighted_sample(&weights, 3, 42)?.len(), 3);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
pub trait IntoWeights {
    /// The whole numbers.
    type Weights: ItemWeights;

    /// The weights as whole numbers.
    ///
    /// # Errors
    ///
    /// Those of [`integer_weights`], for floating-point numbers.
    fn into_weights(self) -> Result<Self::Weights, Error>;
}

impl<T: ItemWeights> IntoWeights for T {
    type Weights = T;

    fn into_weights(self) -> Result<T, Error> {
        Ok(self)
    }
}

macro_rules! floats {
    ($([$($generics:tt)*] $list:ty, $float:ty;)+) => {$(
        impl<$($generics)*> IntoWeights for $list {
            type Weights = Vec<u64>;

            fn into_weights(self) -> Result<Vec<u64>, Error> {
                whole::<$float>(&self[..])
            }
        }
    )+};
}

floats! {
    [] &[f64], f64;
    [] &Vec<f64>, f64;
    [const N: usize] &[f64; N], f64;
    [] &[f32], f32;
    [] &Vec<f32>, f32;
    [const N: usize] &[f32; N], f32;
}

/// The weights as whole numbers, by a rule that is exact: the same on every machine.
///
/// All weights are multiplied by the same power of two and rounded to the nearest whole number, to
/// the even one of two. It is the largest power by which the largest weight stays below
/// `2^(63 - b)`, where `2^b` is the smallest power of two that is at least the number of weights;
/// so all together they stay within 2^63. A weight above 0 that would become 0 becomes 1, so what
/// can be drawn still can be. Among 10^8 weights the largest one keeps 36 bits.
///
/// It runs on all cores.
///
/// # Errors
///
/// [`Error::NotAWeight`] names the first weight that is negative, infinite or NaN;
/// [`Error::Shuffle`] if there is too little memory.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::integer_weights;
///
/// let weights = integer_weights(&[0.5, 0.0, 1.5, 1e-300])?;
/// assert_eq!(weights, [1 << 59, 0, 3 << 59, 1]);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
pub fn integer_weights(weights: &[f64]) -> Result<Vec<u64>, Error> {
    whole(weights)
}

/// [`integer_weights`] of either type. Each `f32` is an `f64`.
fn whole<F: Copy + Into<f64> + Sync>(weights: &[F]) -> Result<Vec<u64>, Error> {
    const CHUNK: usize = 1 << 14;
    let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
    let chunks = weights.len().div_ceil(CHUNK);
    let mut each_largest = check::try_with_capacity(chunks)?;
    each_largest.resize(chunks, Ok(0.0));
    parallel::each_chunk(&mut each_largest, 1, |chunk, largest| {
        for (index, &weight) in (chunk * CHUNK..).zip(&weights[chunk * CHUNK..]).take(CHUNK) {
            let weight = weight.into();
            largest[0] = match largest[0] {
                Ok(_) if !is_weight(weight) => Err(index as u64),
                Ok(largest) => Ok(f64::max(largest, weight)),
                bad => bad,
            };
        }
    });
    let mut largest = 0.0;
    for of_chunk in each_largest {
        largest = f64::max(largest, of_chunk.map_err(|index| Error::NotAWeight { index })?);
    }
    let count_bits = weights.len().next_power_of_two().trailing_zeros() as i32;
    let (mantissa, exponent) = parts(largest);
    // The number of bits before the point, less those that there shall be.
    let width = 64 - mantissa.leading_zeros() as i32;
    let shift = 63 - count_bits - (exponent + width);
    let to_whole = |weight: f64| {
        let (mantissa, exponent) = parts(weight);
        let rounded = shifted(mantissa, exponent + shift);
        if mantissa == 0 { 0 } else { rounded.max(1) }
    };
    let len = weights.len();
    let mut out = memory::try_in_huge_pages(len)?;
    // Fresh pages take as long as what is written into them, so each thread asks for its own.
    let places: &mut [MaybeUninit<u64>] = &mut out.spare_capacity_mut()[..len];
    parallel::each_chunk(places, CHUNK, |chunk, out| {
        for (out, &weight) in out.iter_mut().zip(&weights[chunk * CHUNK..]) {
            out.write(to_whole(weight.into()));
        }
    });
    // SAFETY: there was room for that many, and each chunk has written its own.
    unsafe { out.set_len(len) };
    Ok(out)
}

/// A weight is its mantissa times 2 to the exponent.
fn parts(weight: f64) -> (u64, i32) {
    const FRACTION: u64 = (1 << 52) - 1;
    // A weight of -0 is 0.
    let bits = weight.to_bits() & (u64::MAX >> 1);
    match bits >> 52 {
        0 => (bits, -1074),
        exponent => (bits & FRACTION | (FRACTION + 1), exponent as i32 - 1075),
    }
}

/// A number of at most 53 bits times a power of two, which is below 2^63, rounded.
fn shifted(mantissa: u64, by: i32) -> u64 {
    match by {
        0.. => mantissa.checked_shl(by as u32).unwrap_or(0),
        -54..0 => {
            let away = by.unsigned_abs();
            let (whole, rest) = (mantissa >> away, mantissa & ((1 << away) - 1));
            let half = 1 << (away - 1);
            whole + u64::from(rest > half || rest == half && whole % 2 == 1)
        }
        // Less than a half.
        _ => 0,
    }
}
