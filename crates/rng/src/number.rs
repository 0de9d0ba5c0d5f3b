//! Turns words into numbers of other types. gpu/rng/number.cuh is the same for a GPU, without the
//! exponential distribution.

use super::rectangle::Rectangle;
use super::tuning::{GROUPS, GROUPS_OF_NORMAL_F64};
use super::{exponential, normal};
use bijective_shuffle_engine::words::joined;

/// How words become numbers of a type and a distribution.
///
/// A *group* of words makes a group of numbers: two words make one `u64`, four words two normal
/// `f64`. Groups are converted side by side, one to a lane.
pub trait Distribution: Sized + Send + Sync + 'static {
    /// The type of the numbers.
    type Number: Bits;

    /// The number of words in a group, at most `MOST_WORDS`.
    const WORDS: usize;

    /// The number of numbers in a group, at most `MOST_NUMBERS`.
    const NUMBERS: usize;

    /// Whether the numbers are their words as they lie in memory, in order.
    const IS_WORDS: bool = false;

    /// Converts groups of words to groups of numbers. Ignores array elements beyond the sizes of a
    /// group.
    fn draw<const LANES: usize>(
        words: &WordLanes<LANES>,
        numbers: &mut NumberLanes<Self::Number, LANES>,
    );

    /// Turns words that lie in the memory of numbers into those numbers, in whole groups.
    #[inline(always)]
    fn convert(numbers: &mut [Self::Number]) {
        by_groups::<GROUPS, Self>(numbers);
    }

    /// The rows as rows of words, if each number is one word.
    fn rows_of_words(_rows: Rectangle<'_, Self::Number>) -> Option<Rectangle<'_, u32>> {
        None
    }
}

/// [`Distribution::convert`] through [`Distribution::draw`], with `LANES` groups side by side.
#[inline(always)]
fn by_groups<const LANES: usize, D: Distribution>(numbers: &mut [D::Number]) {
    let mut chunks = numbers.chunks_exact_mut(D::NUMBERS * LANES);
    for numbers in &mut chunks {
        groups::<LANES, D>(numbers, LANES);
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        groups::<LANES, D>(rest, rest.len() / D::NUMBERS);
    }
}

/// Converts up to `LANES` groups.
#[inline(always)]
fn groups<const LANES: usize, D: Distribution>(numbers: &mut [D::Number], count: usize) {
    const { assert!(D::WORDS * size_of::<u32>() == D::NUMBERS * size_of::<D::Number>()) };
    let mut of = [[0; LANES]; MOST_WORDS];
    let words = &memory(numbers)[..count * D::WORDS];
    for (k, &word) in words.iter().enumerate() {
        of[k % D::WORDS][k / D::WORDS] = word;
    }
    let mut drawn = [[D::Number::default(); LANES]; MOST_NUMBERS];
    D::draw(&of, &mut drawn);
    for (k, number) in numbers[..count * D::NUMBERS].iter_mut().enumerate() {
        *number = drawn[k % D::NUMBERS][k / D::NUMBERS];
    }
}

/// Types for which every bit pattern is a value.
///
/// # Safety
///
/// Every bit pattern is a valid value, and there is no padding. The size is a multiple of a word's,
/// and the alignment is at least a word's.
pub unsafe trait Bits: Copy + Default + Send + Sync + 'static {}

// SAFETY: every pattern of its 4 bytes is a value, there is no padding, and it has a word's size
// and alignment.
unsafe impl Bits for u32 {}

// SAFETY: every pattern of its 8 bytes is a value, there is no padding, and it is aligned like a
// word or more.
unsafe impl Bits for u64 {}

// SAFETY: every pattern of its 4 bytes is a value, there is no padding, and it is aligned like a
// word.
unsafe impl Bits for f32 {}

// SAFETY: every pattern of its 8 bytes is a value, there is no padding, and it is aligned like a
// word or more.
unsafe impl Bits for f64 {}

/// Views the memory of numbers as words. A group of numbers takes exactly the room of a group of
/// words.
#[inline(always)]
pub(super) fn memory<N: Bits>(numbers: &mut [N]) -> &mut [u32] {
    let len = size_of_val(numbers) / size_of::<u32>();
    // SAFETY: the result borrows the same memory, `len` words long. `Bits` promises that it is
    // aligned for words, has no padding, and that whatever is written as words is a valid number.
    unsafe { core::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), len) }
}

/// The most words in a group.
pub(crate) const MOST_WORDS: usize = 4;

/// The most numbers in a group.
pub(crate) const MOST_NUMBERS: usize = 2;

/// Groups of words, transposed: the same word of all lanes side by side.
pub(crate) type WordLanes<const LANES: usize> = [[u32; LANES]; MOST_WORDS];

/// Groups of numbers, transposed in the same way.
pub(crate) type NumberLanes<N, const LANES: usize> = [[N; LANES]; MOST_NUMBERS];

/// Words, unchanged.
#[derive(Debug)]
pub struct U32;

/// 64-bit integers of two words, the low word first.
#[derive(Debug)]
pub struct U64;

/// Uniform numbers below 1, from the top 24 bits of a word.
#[derive(Debug)]
pub struct F32;

/// Uniform numbers below 1, from the top 53 bits of two words.
#[derive(Debug)]
pub struct F64;

/// Normal numbers, two from two words.
#[derive(Debug)]
pub struct NormalF32;

/// Normal numbers, two from four words.
#[derive(Debug)]
pub struct NormalF64;

/// Exponential numbers, one from a word.
#[derive(Debug)]
pub(crate) struct ExponentialF32;

/// Exponential numbers, one from two words.
#[derive(Debug)]
pub(crate) struct ExponentialF64;

/// Joins two words that lie in memory as one number of this machine, whatever its byte order.
#[inline(always)]
fn in_memory(number: u64) -> u64 {
    if cfg!(target_endian = "little") { number } else { number.rotate_left(32) }
}

/// A uniform number with 24 random bits.
#[inline(always)]
fn unit_f32(word: u32) -> f32 {
    const UNIT: f32 = 1.0 / (1 << 24) as f32;
    // Through a signed integer, the only kind that older vector instructions convert.
    (word >> 8) as i32 as f32 * UNIT
}

/// A uniform number with 53 random bits.
#[inline(always)]
fn unit_f64(words: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    (words >> 11) as f64 * UNIT
}

impl Distribution for U32 {
    type Number = u32;
    const WORDS: usize = 1;
    const NUMBERS: usize = 1;
    const IS_WORDS: bool = true;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<u32, LANES>) {
        numbers[0] = words[0];
    }

    #[inline(always)]
    fn convert(_numbers: &mut [u32]) {}

    fn rows_of_words(rows: Rectangle<'_, u32>) -> Option<Rectangle<'_, u32>> {
        Some(rows)
    }
}

impl Distribution for U64 {
    type Number = u64;
    const WORDS: usize = 2;
    const NUMBERS: usize = 1;
    const IS_WORDS: bool = cfg!(target_endian = "little");

    #[inline(always)]
    fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<u64, LANES>) {
        for lane in 0..LANES {
            numbers[0][lane] = joined([words[0][lane], words[1][lane]]);
        }
    }

    #[inline(always)]
    fn convert(numbers: &mut [u64]) {
        for number in numbers {
            *number = in_memory(*number);
        }
    }
}

/// Distributions whose numbers are functions of one word each.
macro_rules! of_a_word {
    ($($kind:ident: $number:ty = $of:path;)*) => {$(
        impl Distribution for $kind {
            type Number = $number;
            const WORDS: usize = 1;
            const NUMBERS: usize = 1;

            #[inline(always)]
            fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<$number, LANES>) {
                numbers[0] = words[0].map($of);
            }

            #[inline(always)]
            fn convert(numbers: &mut [$number]) {
                for number in numbers {
                    *number = $of(number.to_bits());
                }
            }
        }
    )*};
}

/// Distributions whose numbers are functions of two words each, joined to 64 bits.
macro_rules! of_two_words {
    ($($kind:ident: $number:ty = $of:path;)*) => {$(
        impl Distribution for $kind {
            type Number = $number;
            const WORDS: usize = 2;
            const NUMBERS: usize = 1;

            #[inline(always)]
            fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<$number, LANES>) {
                for lane in 0..LANES {
                    numbers[0][lane] = $of(joined([words[0][lane], words[1][lane]]));
                }
            }

            #[inline(always)]
            fn convert(numbers: &mut [$number]) {
                for number in numbers {
                    *number = $of(in_memory(number.to_bits()));
                }
            }
        }
    )*};
}

of_a_word! {
    F32: f32 = unit_f32;
    ExponentialF32: f32 = exponential::exponential_f32;
}

of_two_words! {
    F64: f64 = unit_f64;
    ExponentialF64: f64 = exponential::exponential_f64;
}

impl Distribution for NormalF32 {
    type Number = f32;
    const WORDS: usize = 2;
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<f32, LANES>) {
        for lane in 0..LANES {
            [numbers[0][lane], numbers[1][lane]] = normal::pair_f32(words[0][lane], words[1][lane]);
        }
    }
}

impl Distribution for NormalF64 {
    type Number = f64;
    const WORDS: usize = 4;
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn convert(numbers: &mut [f64]) {
        by_groups::<GROUPS_OF_NORMAL_F64, Self>(numbers);
    }

    #[inline(always)]
    fn draw<const LANES: usize>(words: &WordLanes<LANES>, numbers: &mut NumberLanes<f64, LANES>) {
        for lane in 0..LANES {
            let word = |k: usize| words[k][lane];
            [numbers[0][lane], numbers[1][lane]] =
                normal::pair_f64(joined([word(0), word(1)]), joined([word(2), word(3)]));
        }
    }
}
