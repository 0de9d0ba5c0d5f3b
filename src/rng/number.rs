//! Numbers of other types, made of words; gpu/rng/number.cuh is the same for a GPU.

use super::normal;

/// How words become numbers of a type.
///
/// A *group* of words gives a group of numbers: two words one `u64`, four words two normal `f64`. Groups are drawn side by side,
/// one a lane.
pub trait Draw: Send + Sync + 'static {
    /// The type of the numbers.
    type Number: Copy + Default + Send + Sync + 'static;

    /// Words of a group: up to [`MOST_WORDS`].
    const WORDS: usize;

    /// Numbers of a group: up to [`MOST_NUMBERS`].
    const NUMBERS: usize;

    /// Turns groups into numbers. Words and numbers that a group does not have are ignored.
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<Self::Number, LANES>);

    /// The numbers themselves, where they are words.
    fn as_words(_numbers: &mut [Self::Number]) -> Option<&mut [u32]> {
        None
    }
}

/// The most words of a group.
pub(crate) const MOST_WORDS: usize = 4;

/// The most numbers of a group.
pub(crate) const MOST_NUMBERS: usize = 2;

/// Groups of words, the same word of all lanes side by side.
pub(crate) type Words<const LANES: usize> = [[u32; LANES]; MOST_WORDS];

/// Groups of numbers, likewise.
pub(crate) type Numbers<N, const LANES: usize> = [[N; LANES]; MOST_NUMBERS];

/// Words as they are.
#[derive(Debug)]
pub(crate) struct U32;

/// Two words, the low one first.
#[derive(Debug)]
pub(crate) struct U64;

/// The top 24 bits of a word, below 1.
#[derive(Debug)]
pub(crate) struct F32;

/// The top 53 bits of two words, below 1.
#[derive(Debug)]
pub(crate) struct F64;

/// Normal numbers, two of two words.
#[derive(Debug)]
pub(crate) struct NormalF32;

/// Normal numbers, two of four words.
#[derive(Debug)]
pub(crate) struct NormalF64;

#[inline(always)]
fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Draw for U32 {
    type Number = u32;
    const WORDS: usize = 1;
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<u32, LANES>) {
        numbers[0] = words[0];
    }

    fn as_words(numbers: &mut [u32]) -> Option<&mut [u32]> {
        Some(numbers)
    }
}

impl Draw for U64 {
    type Number = u64;
    const WORDS: usize = 2;
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<u64, LANES>) {
        for lane in 0..LANES {
            numbers[0][lane] = join(words[0][lane], words[1][lane]);
        }
    }
}

impl Draw for F32 {
    type Number = f32;
    const WORDS: usize = 1;
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<f32, LANES>) {
        const UNIT: f32 = 1.0 / (1 << 24) as f32;
        for lane in 0..LANES {
            // Signed, as older vector instructions convert nothing else.
            numbers[0][lane] = (words[0][lane] >> 8) as i32 as f32 * UNIT;
        }
    }
}

impl Draw for F64 {
    type Number = f64;
    const WORDS: usize = 2;
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<f64, LANES>) {
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        for lane in 0..LANES {
            numbers[0][lane] = (join(words[0][lane], words[1][lane]) >> 11) as f64 * UNIT;
        }
    }
}

impl Draw for NormalF32 {
    type Number = f32;
    const WORDS: usize = 2;
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<f32, LANES>) {
        for lane in 0..LANES {
            [numbers[0][lane], numbers[1][lane]] = normal::pair_f32(words[0][lane], words[1][lane]);
        }
    }
}

impl Draw for NormalF64 {
    type Number = f64;
    const WORDS: usize = 4;
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn draw<const LANES: usize>(words: &Words<LANES>, numbers: &mut Numbers<f64, LANES>) {
        for lane in 0..LANES {
            let word = |k: usize| words[k][lane];
            [numbers[0][lane], numbers[1][lane]] =
                normal::pair_f64(join(word(0), word(1)), join(word(2), word(3)));
        }
    }
}

/// How many groups are drawn side by side from words in a row.
const SIDE_BY_SIDE: usize = 16;

/// Turns words in a row into numbers in a row. What is left of the last group is dropped.
#[inline(always)]
pub(super) fn in_order<D: Draw>(words: &[u32], numbers: &mut [D::Number]) {
    let mut groups = words.chunks(D::WORDS * SIDE_BY_SIDE);
    let mut rest = numbers.chunks_mut(D::NUMBERS * SIDE_BY_SIDE);
    for (words, numbers) in (&mut groups).zip(&mut rest) {
        let mut of = [[0; SIDE_BY_SIDE]; MOST_WORDS];
        let mut drawn = [[D::Number::default(); SIDE_BY_SIDE]; MOST_NUMBERS];
        if words.len() == D::WORDS * SIDE_BY_SIDE && numbers.len() == D::NUMBERS * SIDE_BY_SIDE {
            for k in 0..D::WORDS * SIDE_BY_SIDE {
                of[k % D::WORDS][k / D::WORDS] = words[k];
            }
            D::draw(&of, &mut drawn);
            for k in 0..D::NUMBERS * SIDE_BY_SIDE {
                numbers[k] = drawn[k % D::NUMBERS][k / D::NUMBERS];
            }
        } else {
            for (k, &word) in words.iter().enumerate() {
                of[k % D::WORDS][k / D::WORDS] = word;
            }
            D::draw(&of, &mut drawn);
            for (k, number) in numbers.iter_mut().enumerate() {
                *number = drawn[k % D::NUMBERS][k / D::NUMBERS];
            }
        }
    }
}
