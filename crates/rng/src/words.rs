//! Writes the next words of a generator, also as bytes.

use super::steps::Steps;
use super::tuning::{AT_ONCE, WORDS_OF_BYTES};
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// Writes the next words of a generator.
pub(super) fn words<G: Steps>(rng: &mut G, out: &mut [u32]) {
    SimdLevel::current().run(NextWords { rng, out });
}

/// Writes the next words as bytes, low byte first. The rest of the last word is dropped.
pub(super) fn bytes<G: Steps>(rng: &mut G, out: &mut [u8]) {
    if out.len() <= 4 * WORDS_OF_BYTES {
        bytes_by::<WORDS_OF_BYTES, G>(rng, out);
    } else {
        bytes_by::<AT_ONCE, G>(rng, out);
    }
}

/// Does the same, with `WORDS` words at a time.
fn bytes_by<const WORDS: usize, G: Steps>(rng: &mut G, out: &mut [u8]) {
    let mut buffer = [0; WORDS];
    for out in out.chunks_mut(4 * WORDS) {
        let buffer = &mut buffer[..out.len().div_ceil(4)];
        words(rng, buffer);
        let (whole, rest) = out.as_chunks_mut::<4>();
        for (bytes, word) in whole.iter_mut().zip(&*buffer) {
            *bytes = word.to_le_bytes();
        }
        if let Some(last) = buffer.get(whole.len()) {
            rest.copy_from_slice(&last.to_le_bytes()[..rest.len()]);
        }
    }
}

/// Writes words in order.
pub(super) struct NextWords<'a, G> {
    pub(super) rng: &'a mut G,
    pub(super) out: &'a mut [u32],
}

impl<G: Steps> NextWords<'_, G> {
    #[inline(always)]
    fn fill<const VECTOR: usize>(self) {
        self.rng.next_words::<VECTOR>(self.out);
    }
}

/// Runs `fill` with vectors of 16, 32 or 64 bytes.
macro_rules! kernel {
    ($type:ident<$bound:ident>) => {
        impl<G: $bound> SimdKernel for $type<'_, G> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                self.fill::<16>();
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn run_avx2(self) {
                self.fill::<32>();
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn run_avx512(self) {
                self.fill::<64>();
            }
        }
    };
}

kernel!(NextWords<Steps>);

pub(super) use kernel;
