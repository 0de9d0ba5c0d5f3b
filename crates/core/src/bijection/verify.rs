//! [`verify`]: searches for points at which a bijection breaks its requirements.

use super::Bijection;
use super::hooks::Hooked;
use crate::base::philox4x32::Philox4x32;
use crate::error::{BijectionError, Defect};
use crate::word::{Index, Word};
use alloc::vec::Vec;

/// Searches for points at which a bijection breaks its [requirements](Bijection#requirements). Call
/// it in the tests of a bijection of your own.
///
/// The engines check only what would lose an item. A shuffle therefore does not notice a wrong
/// `inverse`, which then shows in wrong results of
/// `Permutation::position` and
/// [`Inverse`](crate::bijection::Inverse).
///
/// If the domain has at most `samples` points, all of them are checked, in order, and a map that
/// passes is a bijection. For a larger domain the function checks the first and last points, those
/// in the middle and around `2^32`, and `samples` points from a generator with a fixed key, the
/// same in every call. A map that is wrong at few points may then pass. In both cases it checks
/// that
///
/// * `forward` and `inverse` stay in the domain and undo each other;
/// * `forward_run`, `inverse_run` and their 32-bit forms, for runs of 1 to 1024 points, and
///   `forward_each` and `inverse_each` agree with them;
/// * all of these agree in the [`trusted`](Bijection::trusted) form, if there is one;
/// * `last`, `forward` and `inverse` return the same when they are called again.
///
/// It does not check [`device_source`](Bijection::device_source). It costs about ten evaluations
/// for each sample, twice that if there is a trusted form, all on the calling thread, and almost no
/// memory.
///
/// # Errors
///
/// [`BijectionError::NotABijection`] with the first [`Defect`] found.
///
/// # Panics
///
/// If the bijection panics.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::error::BijectionError;
/// use bijective_shuffle::bijection;
///
/// /// Rotates the points by `by` places; the inverse is wrong.
/// struct Rotate {
///     points: u64,
///     by: u64,
/// }
///
/// impl Bijection for Rotate {
///     fn last(&self) -> u64 {
///         self.points - 1
///     }
///     fn forward(&self, slot: u64) -> u64 {
///         (slot + self.by) % self.points
///     }
///     fn inverse(&self, index: u64) -> u64 {
///         (index + self.by) % self.points
///     }
/// }
///
/// let f = Rotate { points: 10, by: 3 };
/// // Shuffles do not need the inverse.
/// assert!([1, 2, 3].try_par_bijective_shuffle(&f).is_ok());
///
/// let error = bijection::verify(&f, 1000).unwrap_err();
/// assert!(matches!(error, BijectionError::NotABijection(_)));
/// assert_eq!(
///     error.to_string(),
///     "the map is not a bijection: `inverse` gives 6 at point 3 and not 0"
/// );
///
/// bijection::verify(&Standard::from_seed(1 << 40, 42), 1000)?;
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub fn verify<N, B>(bijection: &B, samples: u64) -> Result<(), BijectionError>
where
    N: Word,
    B: Bijection<N> + ?Sized,
{
    // `B` may be unsized, but `&B` is sized and is itself a bijection.
    let alone: &dyn Bijection<N> = &bijection;
    let last = alone.last();
    Check { alone, form: alone, methods: &PLAIN, last }.all(samples)?;
    if let Some(trusted) = alone.trusted() {
        let form: &dyn Bijection<N> = &trusted;
        let actual = form.last();
        if actual != last {
            let (expected, actual) = (last.widen(), actual.widen());
            let (method, point) = ("trusted().last", 0);
            return found(Defect::Disagrees { method, point, expected, actual });
        }
        Check { alone, form, methods: &TRUSTED, last }.all(samples)?;
    }
    let (before, after) = (last.widen(), alone.last().widen());
    if before != after {
        return found(Defect::DomainChanges { before, after });
    }
    Ok(())
}

/// The names of the methods to be compared.
struct Methods {
    forward: &'static str,
    inverse: &'static str,
    forward_run: &'static str,
    inverse_run: &'static str,
    forward_run_u16: &'static str,
    forward_run_u32: &'static str,
    inverse_run_u32: &'static str,
    forward_each: &'static str,
    inverse_each: &'static str,
    forward_each_u32: &'static str,
}

const PLAIN: Methods = Methods {
    forward: "forward",
    inverse: "inverse",
    forward_run: "forward_run",
    inverse_run: "inverse_run",
    forward_run_u16: "forward_run_u16",
    forward_run_u32: "forward_run_u32",
    inverse_run_u32: "inverse_run_u32",
    forward_each: "forward_each",
    inverse_each: "inverse_each",
    forward_each_u32: "forward_each_u32",
};

const TRUSTED: Methods = Methods {
    forward: "trusted().forward",
    inverse: "trusted().inverse",
    forward_run: "trusted().forward_run",
    inverse_run: "trusted().inverse_run",
    forward_run_u16: "trusted().forward_run_u16",
    forward_run_u32: "trusted().forward_run_u32",
    inverse_run_u32: "trusted().inverse_run_u32",
    forward_each: "trusted().forward_each",
    inverse_each: "trusted().inverse_each",
    forward_each_u32: "trusted().forward_each_u32",
};

/// The lengths of the runs, in turn: the engines' longest, and some that no vector length divides.
const RUNS: [u64; 7] = [1, 2, 3, 17, 64, 255, 1024];

/// How many random points are checked together. A run starts from the first of them.
const BATCH: u64 = 64;

/// A form of a bijection, to be compared with the values at single points.
struct Check<'a, N: Word> {
    /// The bijection that is evaluated point by point.
    alone: &'a dyn Bijection<N>,
    /// The bijection that is evaluated by every method: the original or its trusted form.
    form: &'a dyn Bijection<N>,
    methods: &'static Methods,
    last: N,
}

impl<N: Word> Check<'_, N> {
    fn all(&self, samples: u64) -> Result<(), BijectionError> {
        if self.last.widen() < samples { self.every_point() } else { self.some_points(samples) }
    }

    fn every_point(&self) -> Result<(), BijectionError> {
        let mut lengths = RUNS.iter().cycle();
        let mut next = Some(0);
        while let (Some(first), Some(&length)) = (next, lengths.next()) {
            let count = self.run(first, length)?;
            next = first.checked_add(count).filter(|&next| next <= self.last.widen());
        }
        Ok(())
    }

    fn some_points(&self, samples: u64) -> Result<(), BijectionError> {
        let last = self.last.widen();
        let [.., longest] = RUNS;
        let around = |point: u64| point.saturating_sub(longest / 2).min(last);
        for first in [0, around(last / 2), around(1 << 32), last.saturating_sub(longest - 1)] {
            self.run(first, longest)?;
        }
        let random = Philox4x32::<10>::new([0x7665_7269, 0x6679_2121]);
        let mut lengths = RUNS.iter().cycle();
        for first in (0..samples).step_by(BATCH as usize) {
            let numbers = first..samples.min(first + BATCH);
            let points: Vec<N> = numbers
                .map(|number| {
                    let [low, high, ..] =
                        random.block([number as u32, (number >> 32) as u32, 0, 0]);
                    let drawn = u64::from(high) << 32 | u64::from(low);
                    let points = u128::from(last) + 1;
                    N::wrap(((u128::from(drawn) * points) >> 64) as u64)
                })
                .collect();
            self.points(&points)?;
            if let (Some(start), Some(&length)) = (points.first(), lengths.next()) {
                self.run(start.widen(), length)?;
            }
        }
        Ok(())
    }

    /// Checks a run of up to `length` consecutive points, and returns how many there were.
    fn run(&self, first: u64, length: u64) -> Result<u64, BijectionError> {
        let count = (self.last.widen() - first).min(length - 1) + 1;
        let points: Vec<N> = (0..count).map(|k| N::wrap(first + k)).collect();
        let (forward, inverse) = self.points(&points)?;
        let (form, methods) = (self.form, self.methods);
        let first = N::wrap(first);

        let mut out = others(&forward);
        form.forward_run(first, &mut out);
        agree(methods.forward_run, &points, &forward, &out)?;
        let mut out = others(&inverse);
        form.inverse_run(first, &mut out);
        agree(methods.inverse_run, &points, &inverse, &out)?;
        if self.last.widen() <= u64::from(u32::MAX) {
            let mut out: Vec<u32> = others(&forward).iter().map(|x| x.widen() as u32).collect();
            form.forward_run_u32(first, &mut out);
            agree(methods.forward_run_u32, &points, &forward, &out)?;
            let mut out: Vec<u32> = others(&inverse).iter().map(|x| x.widen() as u32).collect();
            form.inverse_run_u32(first, &mut out);
            agree(methods.inverse_run_u32, &points, &inverse, &out)?;
        }
        if self.last.widen() <= u64::from(u16::MAX) {
            let mut out: Vec<u16> = others(&forward).iter().map(|x| x.widen() as u16).collect();
            form.forward_run_u16(first, &mut out);
            agree(methods.forward_run_u16, &points, &forward, &out)?;
        }
        Ok(count)
    }

    /// Checks arbitrary points, and returns the values and the slots that belong to them.
    fn points(&self, points: &[N]) -> Result<(Vec<N>, Vec<N>), BijectionError> {
        let (form, methods) = (self.form, self.methods);
        let (mut forward, mut inverse) = (Vec::new(), Vec::new());
        for &point in points {
            forward.push(self.value_of(point)?);
            inverse.push(self.slot_of(point)?);
        }
        let again: Vec<N> = points.iter().map(|&point| form.forward(point)).collect();
        agree(methods.forward, points, &forward, &again)?;
        let again: Vec<N> = points.iter().map(|&point| form.inverse(point)).collect();
        agree(methods.inverse, points, &inverse, &again)?;
        let mut each = points.to_vec();
        form.forward_each(&mut each);
        agree(methods.forward_each, points, &forward, &each)?;
        let mut each = points.to_vec();
        form.inverse_each(&mut each);
        agree(methods.inverse_each, points, &inverse, &each)?;
        if self.last.widen() <= u64::from(u32::MAX) {
            // Of consecutive points, these are not consecutive.
            let mut each: Vec<u32> = inverse.iter().map(|slot| slot.widen() as u32).collect();
            form.forward_each_u32(&mut each);
            agree(methods.forward_each_u32, &inverse, points, &each)?;
        }
        Ok((forward, inverse))
    }

    /// Returns the value at a slot, after checking that its inverse is the slot.
    fn value_of(&self, slot: N) -> Result<N, BijectionError> {
        let index = self.forward(slot)?;
        let inverse = self.inverse(index)?;
        if inverse == slot {
            return Ok(index);
        }
        let repeats = self.forward(inverse)? == index;
        let [slot, index, inverse] = [slot, index, inverse].map(N::widen);
        found(if repeats {
            let slots = Some([slot.min(inverse), slot.max(inverse)]);
            Defect::Repeats { index, slots }
        } else {
            Defect::Disagrees { method: "inverse", point: index, expected: slot, actual: inverse }
        })
    }

    /// Returns the inverse of an index, after checking that its value is the index.
    fn slot_of(&self, index: N) -> Result<N, BijectionError> {
        let slot = self.inverse(index)?;
        let value = self.forward(slot)?;
        if value == index {
            return Ok(slot);
        }
        let [index, slot, value] = [index, slot, value].map(N::widen);
        found(Defect::Disagrees { method: "forward", point: slot, expected: index, actual: value })
    }

    /// Returns the value at a slot, after checking that it is in the domain.
    fn forward(&self, slot: N) -> Result<N, BijectionError> {
        let index = self.alone.forward(slot);
        if index <= self.last {
            return Ok(index);
        }
        let [point, value, last] = [slot, index, self.last].map(N::widen);
        found(Defect::OutOfRange { method: "forward", point, value, last })
    }

    /// Returns the slot of an index, after checking that it is in the domain.
    fn inverse(&self, index: N) -> Result<N, BijectionError> {
        let slot = self.alone.inverse(index);
        if slot <= self.last {
            return Ok(slot);
        }
        let [point, value, last] = [index, slot, self.last].map(N::widen);
        found(Defect::OutOfRange { method: "inverse", point, value, last })
    }
}

/// Values that all differ from the given ones, to prefill a buffer: they show where a method does
/// not write.
fn others<N: Word>(values: &[N]) -> Vec<N> {
    values.iter().map(|&value| value ^ N::ONE).collect()
}

/// Checks that a method returned the same values as `forward` or `inverse` did point by point.
fn agree<N: Word, M: Index>(
    method: &'static str,
    points: &[N],
    expected: &[N],
    actual: &[M],
) -> Result<(), BijectionError> {
    for ((point, expected), actual) in points.iter().zip(expected).zip(actual) {
        let (point, expected, actual) = (point.widen(), expected.widen(), actual.extend());
        if expected != actual {
            return found(Defect::Disagrees { method, point, expected, actual });
        }
    }
    Ok(())
}

fn found<R>(defect: Defect) -> Result<R, BijectionError> {
    Err(BijectionError::NotABijection(defect))
}
