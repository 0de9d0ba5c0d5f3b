//! Draws below a range, each a function of the key, the row and its number in the row.

use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// How many words are drawn at a time.
pub(super) const CHUNK: usize = 1024;

/// How far the words of a draw lie apart, if the first ones are rejected.
const NEXT: u128 = 1 << 58;

/// The draws of one row: draw `j` is made of word `j` of the stream that has the row's number, as
/// `floor(word range / 2^32)`. Where that would make some numbers likelier, it is made of word `j +
/// 2^58` instead, then `j + 2 * 2^58`, and so on (Lemire, *Fast random integer generation in an
/// interval*, 2019). If ranges are beyond 2^32, the draws take words of 64 bits.
#[derive(Clone)]
pub(super) struct RowDraws {
    rng: Philox4x32Rng,
    is_wide: bool,
}

impl RowDraws {
    pub(super) fn of_row(key: u64, row: u64, is_wide: bool) -> Self {
        Self { rng: Philox4x32Rng::from_key(key, row), is_wide }
    }

    /// A single draw.
    pub(super) fn get(&self, number: u64, range: u64) -> u64 {
        self.retry(0, number, range)
    }

    #[cold]
    fn retry(&self, attempt: u128, number: u64, range: u64) -> u64 {
        let mut rng = self.rng.clone();
        let mut position = u128::from(number) << u32::from(self.is_wide);
        position += attempt * NEXT;
        loop {
            rng.set_position(position);
            let drawn = if self.is_wide {
                let mut word = [0_u64];
                rng.fill_u64(&mut word);
                let product = u128::from(word[0]) * u128::from(range);
                (product as u64 >= range.wrapping_neg() % range).then_some((product >> 64) as u64)
            } else {
                let mut word = [0_u32];
                rng.fill_u32(&mut word);
                let product = u64::from(word[0]) * range;
                (product as u32 >= rejected(range)).then_some(product >> 32)
            };
            match drawn {
                Some(drawn) => return drawn,
                None => position += NEXT,
            }
        }
    }

    /// Passes the draws from 0 up to `count`, all of one range of at most 2^32.
    pub(super) fn each(&mut self, count: usize, range: u64, taker: &mut impl Taker) {
        debug_assert!(!self.is_wide && range <= 1 << 32);
        let level = SimdLevel::current();
        let mut words = [0; CHUNK];
        self.rng.set_position(0);
        let mut first = 0;
        while first < count {
            let words = &mut words[..CHUNK.min(count - first)];
            self.rng.fill_u32(words);
            level.run(Take { draws: self, words, first: first as u64, range, taker });
            first += words.len();
        }
    }

    /// The draws in order, each of a range of its own.
    pub(super) fn in_order(self) -> DrawsInOrder {
        DrawsInOrder { draws: self, words: [0; CHUNK], next: 0 }
    }
}

/// `2^32 mod range`, for a range of at most 2^32.
fn rejected(range: u64) -> u32 {
    ((1 << 32) % range) as u32
}

/// What is done with draws. It is called within code for vectors, so it has to be inlined.
pub(super) trait Taker {
    fn take(&mut self, item: usize);
}

/// Scales words to draws and passes them on.
struct Take<'a, T> {
    draws: &'a RowDraws,
    words: &'a [u32],
    /// The number of the first draw.
    first: u64,
    range: u64,
    taker: &'a mut T,
}

impl<T: Taker> SimdKernel for Take<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (range, rejected) = (self.range, rejected(self.range));
        let mut drawn = [0; CHUNK];
        let drawn = &mut drawn[..self.words.len()];
        let mut is_any = 0;
        for (&word, out) in self.words.iter().zip(&mut *drawn) {
            let product = u64::from(word) * range;
            is_any |= u32::from((product as u32) < rejected);
            *out = (product >> 32) as u32;
        }
        if is_any > 0 {
            for ((number, word), out) in (self.first..).zip(self.words).zip(&mut *drawn) {
                if ((u64::from(*word) * range) as u32) < rejected {
                    *out = self.draws.retry(1, number, range) as u32;
                }
            }
        }
        for &item in &*drawn {
            self.taker.take(item as usize);
        }
    }
}

/// The draws of a row, one after another.
pub(super) struct DrawsInOrder {
    draws: RowDraws,
    words: [u32; CHUNK],
    next: u64,
}

impl DrawsInOrder {
    /// The next draw.
    #[inline(always)]
    pub(super) fn next(&mut self, range: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.draws.is_wide {
            return self.draws.get(number, range);
        }
        let place = number as usize % CHUNK;
        if place == 0 {
            self.draws.rng.fill_u32(&mut self.words);
        }
        let product = u64::from(self.words[place]) * range;
        // Most words are far from being rejected, which needs no division to see.
        if u64::from(product as u32) < range && (product as u32) < rejected(range) {
            return self.draws.retry(1, number, range);
        }
        product >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>);

    impl Taker for List {
        #[inline(always)]
        fn take(&mut self, item: usize) {
            self.0.push(item as u64);
        }
    }

    #[test]
    fn draws_in_order_are_those_that_are_drawn_alone() {
        // The last ranges reject about half of all words.
        for range in [1, 2, 3, 10_000, 1 << 31, (1 << 31) + 1, 3 << 30, 1 << 32] {
            let mut draws = RowDraws::of_row(7, 3, false);
            let alone: Vec<_> = (0..3000).map(|number| draws.get(number, range)).collect();
            assert!(alone.iter().all(|&drawn| drawn < range));
            let mut in_order = draws.clone().in_order();
            assert!(alone.iter().all(|&drawn| drawn == in_order.next(range)), "{range}");
            let mut all = List(Vec::new());
            draws.each(3000, range, &mut all);
            assert!(all.0 == alone, "{range}");
        }
    }

    #[test]
    fn wide_draws_are_in_range_and_use_other_words_where_rejected() {
        let draws = RowDraws::of_row(7, 3, true);
        let range = (1 << 63) + 1;
        let mut rng = Philox4x32Rng::<10>::from_key(7, 3);
        let mut words = [0_u64; 64];
        rng.fill_u64(&mut words);
        let mut again = 0;
        for (number, word) in (0..).zip(words) {
            let product = u128::from(word) * u128::from(range);
            let drawn = draws.get(number, range);
            assert!(drawn < range);
            again += usize::from(drawn != (product >> 64) as u64);
        }
        assert!((20..45).contains(&again));
    }
}
