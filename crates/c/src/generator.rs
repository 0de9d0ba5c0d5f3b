//! Handles of random number generators.

use std::fmt::Debug;

use library::Seed;
use library::rng::{
    Fill, Generator as Family, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc,
    Philox4x32Rng, Streams, XorShift1024Weyl, Xorwow,
};

use crate::memory::{self, hand_out};
use crate::seed::{of_key, of_word};
use crate::status::{Failure, Status, done};
use crate::threads;

/// Philox4x32-10, which is counter-based. Recommended.
pub const BS_GENERATOR_PHILOX4X32: i32 = 0;
/// A linear congruential generator with a state of 32 bits.
pub const BS_GENERATOR_LCG32: i32 = 1;
/// A linear congruential generator with a state of 64 bits.
pub const BS_GENERATOR_LCG64: i32 = 2;
/// Multiply with carry.
pub const BS_GENERATOR_MWC: i32 = 3;
/// Marsaglia's XORWOW.
pub const BS_GENERATOR_XORWOW: i32 = 4;
/// A xorshift generator of 1024 bits with a Weyl sequence.
pub const BS_GENERATOR_XORSHIFT1024_WEYL: i32 = 5;
/// A lagged Fibonacci generator with lags 521 and 353.
pub const BS_GENERATOR_LAGGED_FIBONACCI521: i32 = 6;
/// A lagged Fibonacci generator with lags 1279 and 861.
pub const BS_GENERATOR_LAGGED_FIBONACCI1279: i32 = 7;

/// A stream of random numbers, or several that are filled row by row. The same seed gives the same
/// bits on every machine.
#[derive(Debug)]
pub struct Generator(Box<dyn AnyFill>);

/// [`Fill`] of any generator.
trait AnyFill: Send + Debug {
    fn fill_u32(&mut self, out: &mut [u32]);
    fn fill_u64(&mut self, out: &mut [u64]);
    fn fill_f32(&mut self, out: &mut [f32]);
    fn fill_f64(&mut self, out: &mut [f64]);
    fn fill_normal_f32(&mut self, out: &mut [f32], mean: f32, deviation: f32);
    fn fill_normal_f64(&mut self, out: &mut [f64], mean: f64, deviation: f64);
    fn fill_exponential_f32(&mut self, out: &mut [f32]);
    fn fill_exponential_f64(&mut self, out: &mut [f64]);
}

impl<G: Fill + Send + Debug> AnyFill for G {
    fn fill_u32(&mut self, out: &mut [u32]) {
        Fill::fill_u32(self, out);
    }
    fn fill_u64(&mut self, out: &mut [u64]) {
        Fill::fill_u64(self, out);
    }
    fn fill_f32(&mut self, out: &mut [f32]) {
        Fill::fill_f32(self, out);
    }
    fn fill_f64(&mut self, out: &mut [f64]) {
        Fill::fill_f64(self, out);
    }
    fn fill_normal_f32(&mut self, out: &mut [f32], mean: f32, deviation: f32) {
        Fill::fill_normal_f32_with(self, mean, deviation, out);
    }
    fn fill_normal_f64(&mut self, out: &mut [f64], mean: f64, deviation: f64) {
        Fill::fill_normal_f64_with(self, mean, deviation, out);
    }
    fn fill_exponential_f32(&mut self, out: &mut [f32]) {
        Fill::fill_exponential_f32(self, out);
    }
    fn fill_exponential_f64(&mut self, out: &mut [f64]) {
        Fill::fill_exponential_f64(self, out);
    }
}

/// One stream, or several.
#[derive(Clone, Copy)]
enum Which {
    One(u64),
    Several { first: u64, count: u64 },
}

fn make(kind: i32, seed: Seed, which: Which) -> Result<Generator, Failure> {
    fn of<G: Family + Fill>(seed: Seed, which: Which) -> Result<Generator, Failure> {
        Ok(Generator(match which {
            Which::One(stream) => Box::new(G::new(seed, stream)),
            Which::Several { first, count } => {
                let end = first.checked_add(count).ok_or_else(|| {
                    let text = format!(
                        "{count} streams from {first} on were asked for: several streams have \
                         numbers up to 2^64 - 2, and bs_generator_new makes number 2^64 - 1"
                    );
                    Failure::argument(text)
                })?;
                Box::new(Streams::<G>::new(seed, first..end)?)
            }
        }))
    }
    match kind {
        BS_GENERATOR_PHILOX4X32 => of::<Philox4x32Rng>(seed, which),
        BS_GENERATOR_LCG32 => of::<Lcg32>(seed, which),
        BS_GENERATOR_LCG64 => of::<Lcg64>(seed, which),
        BS_GENERATOR_MWC => of::<Mwc>(seed, which),
        BS_GENERATOR_XORWOW => of::<Xorwow>(seed, which),
        BS_GENERATOR_XORSHIFT1024_WEYL => of::<XorShift1024Weyl>(seed, which),
        BS_GENERATOR_LAGGED_FIBONACCI521 => of::<LaggedFibonacci521>(seed, which),
        BS_GENERATOR_LAGGED_FIBONACCI1279 => of::<LaggedFibonacci1279>(seed, which),
        _ => {
            let text = format!("there is no generator {kind}: take a BS_GENERATOR_..");
            Err(Failure::argument(text))
        }
    }
}

/// Makes one stream of a generator: `generator` is a BS_GENERATOR_.., and `stream` any number. The
/// streams of a seed are independent.
///
/// # Safety
///
/// `made` leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_new(
    generator: i32,
    seed: u64,
    epoch: u64,
    stream: u64,
    made: *mut *mut Generator,
) -> Status {
    let make = || make(generator, of_word(seed, epoch), Which::One(stream));
    // SAFETY: the caller promises memory for a pointer at `made`.
    done(|| unsafe { hand_out(made, "the generator", make) })
}

/// bs_generator_new with a key of 32 bytes.
///
/// # Safety
///
/// `key` leads to 32 bytes, and `made` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_new_keyed(
    generator: i32,
    key: *const u8,
    epoch: u64,
    stream: u64,
    made: *mut *mut Generator,
) -> Status {
    // SAFETY: the caller promises 32 bytes at `key`.
    let make = || make(generator, unsafe { of_key(key, epoch) }?, Which::One(stream));
    // SAFETY: the caller promises memory for a pointer at `made`.
    done(|| unsafe { hand_out(made, "the generator", make) })
}

/// Makes `count` streams of a generator, from number `first` on, that are filled row by row: a
/// block of the first stream, one of the second, and so on. Long fills are shared by all threads.
/// The numbers depend on how many streams there are, and not on the threads.
///
/// A fill draws whole rows. What does not fit is dropped, and the next fill goes on with the next
/// row.
///
/// # Safety
///
/// `made` leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_streams(
    generator: i32,
    seed: u64,
    epoch: u64,
    first: u64,
    count: u64,
    made: *mut *mut Generator,
) -> Status {
    let make = || make(generator, of_word(seed, epoch), Which::Several { first, count });
    // SAFETY: the caller promises memory for a pointer at `made`.
    done(|| unsafe { hand_out(made, "the generator", make) })
}

/// bs_generator_streams with a key of 32 bytes.
///
/// # Safety
///
/// `key` leads to 32 bytes, and `made` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_streams_keyed(
    generator: i32,
    key: *const u8,
    epoch: u64,
    first: u64,
    count: u64,
    made: *mut *mut Generator,
) -> Status {
    // SAFETY: the caller promises 32 bytes at `key`.
    let make = || make(generator, unsafe { of_key(key, epoch) }?, Which::Several { first, count });
    // SAFETY: the caller promises memory for a pointer at `made`.
    done(|| unsafe { hand_out(made, "the generator", make) })
}

/// Frees a generator.
///
/// # Safety
///
/// `generator` is null, or was made by this library, has not been freed and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_free(generator: *mut Generator) {
    // SAFETY: the caller promises a generator that this library made and that is not used any more.
    unsafe { memory::take_back(generator) };
}

/// Fills an array.
///
/// # Safety
///
/// The pointers are null, or lead to a generator that nobody else uses and to memory for `count`
/// numbers.
unsafe fn fill<T: Send>(
    generator: *mut Generator,
    numbers: *mut T,
    count: usize,
    fill: impl FnOnce(&mut dyn AnyFill, &mut [T]) + Send,
) -> Status {
    done(|| {
        // SAFETY: the caller promises a live generator that nobody else uses.
        let generator = unsafe { memory::exclusive(generator, "the generator") }?;
        // SAFETY: the caller promises memory for `count` numbers at `numbers`; any bytes are such a
        // number.
        let numbers = unsafe { memory::items_mut(numbers, count, "the numbers") }?;
        threads::on_points(count as u64, size_of_val(numbers) as u64, || {
            fill(&mut *generator.0, numbers);
        })
    })
}

/// Fills an array with integers of 32 bits.
///
/// # Safety
///
/// `generator` was made by this library and not freed, and `numbers` leads to memory for `count`
/// numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_u32(
    generator: *mut Generator,
    numbers: *mut u32,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe { fill(generator, numbers, count, |generator, numbers| generator.fill_u32(numbers)) }
}

/// Fills an array with integers of 64 bits.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_u64(
    generator: *mut Generator,
    numbers: *mut u64,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe { fill(generator, numbers, count, |generator, numbers| generator.fill_u64(numbers)) }
}

/// Fills an array with numbers that are uniform from 0 up to, but not including, 1, with 24 random
/// bits.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_f32(
    generator: *mut Generator,
    numbers: *mut f32,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe { fill(generator, numbers, count, |generator, numbers| generator.fill_f32(numbers)) }
}

/// Fills an array with numbers that are uniform from 0 up to, but not including, 1, with 53 random
/// bits.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_f64(
    generator: *mut Generator,
    numbers: *mut f64,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe { fill(generator, numbers, count, |generator, numbers| generator.fill_f64(numbers)) }
}

/// Fills an array with normal numbers of a mean and a standard deviation: `mean + deviation * x`,
/// for an `x` of mean 0 and deviation 1.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_normal_f32(
    generator: *mut Generator,
    numbers: *mut f32,
    count: usize,
    mean: f32,
    deviation: f32,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe {
        fill(generator, numbers, count, |generator, numbers| {
            generator.fill_normal_f32(numbers, mean, deviation);
        })
    }
}

/// Fills an array with normal numbers of a mean and a standard deviation, as
/// bs_generator_fill_normal_f32 does.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_normal_f64(
    generator: *mut Generator,
    numbers: *mut f64,
    count: usize,
    mean: f64,
    deviation: f64,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe {
        fill(generator, numbers, count, |generator, numbers| {
            generator.fill_normal_f64(numbers, mean, deviation);
        })
    }
}

/// Fills an array with exponential numbers of mean 1.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_exponential_f32(
    generator: *mut Generator,
    numbers: *mut f32,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe {
        fill(generator, numbers, count, |generator, numbers| {
            generator.fill_exponential_f32(numbers);
        })
    }
}

/// Fills an array with exponential numbers of mean 1.
///
/// # Safety
///
/// As for bs_generator_fill_u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_generator_fill_exponential_f64(
    generator: *mut Generator,
    numbers: *mut f64,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live generator, and memory for `count` numbers at `numbers`.
    unsafe {
        fill(generator, numbers, count, |generator, numbers| {
            generator.fill_exponential_f64(numbers);
        })
    }
}
