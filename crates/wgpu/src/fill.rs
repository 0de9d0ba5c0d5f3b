//! Fills of a program's own buffers with one stream of [`Philox4x32Rng`].

use bijective_shuffle::rng::Philox4x32Rng;
use wgpu::{BufferSlice, CommandEncoder};

use crate::WgpuWorkspace;
use crate::context::part_of;
use crate::error::WgpuError;
use bijective_shuffle_wgsl::launch::Params;
use bijective_shuffle_wgsl::shader::{self, FillNumbers, THREADS};

/// Calls a macro with the methods that fill.
macro_rules! fills {
    ($(#[doc = $what:literal] $name:ident: $numbers:ident;)*) => {$(
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// [`WgpuError::UnsuitableBuffer`] for a slice that is too short, not aligned or without a
        /// usage, and [`WgpuError::DriverFailed`]. After an error the generator's position is
        /// unchanged.
        pub fn $name<const ROUNDS: usize>(
            &mut self,
            encoder: &mut CommandEncoder,
            rng: &mut Philox4x32Rng<ROUNDS>,
            len: u64,
            into: BufferSlice<'_>,
        ) -> Result<(), WgpuError> {
            self.fill(encoder, rng, len, into, FillNumbers::$numbers)
        }
    )*};
}

/// Filling with one stream of [`Philox4x32Rng`], from its current position on, where the generator
/// then is past them. The numbers are those that the CPU's [`Fill`](bijective_shuffle::rng::Fill)
/// gives, bit for bit. `len` counts numbers. Those of 64 bits have their low word first, as a CPU
/// that is little-endian has them in memory; WGSL has no type for them.
impl WgpuWorkspace {
    fills! {
        #[doc = "Records words."]
        fill_u32: U32;
        #[doc = "Records numbers in [0, 1), multiples of 2^-24, of one word each."]
        fill_f32: F32;
        #[doc = "Records normal numbers, mean 0, variance 1: two from two words."]
        fill_normal_f32: NormalF32;
        #[doc = "Records numbers of 64 bits, of two words each."]
        fill_u64: U64;
        #[doc = "Records the bits of `f64` in [0, 1), multiples of 2^-53, of two words each."]
        fill_f64: F64;
    }

    fn fill<const ROUNDS: usize>(
        &mut self,
        encoder: &mut CommandEncoder,
        rng: &mut Philox4x32Rng<ROUNDS>,
        len: u64,
        into: BufferSlice<'_>,
        numbers: FillNumbers,
    ) -> Result<(), WgpuError> {
        // A length that overflows does not fit a buffer either.
        let bytes = len.saturating_mul(4 * numbers.words());
        let into = self.array(into, bytes.min(u64::MAX - 3))?;
        let len = len * numbers.words();
        let limits = &self.context.limits;
        // Kernels number words in words of 32 bits. Any number of words that is a multiple of the
        // alignment, of at least 32 bytes, is aligned, and ends no block and no pair in the middle.
        let alignment = u64::from(limits.min_storage_buffer_offset_alignment);
        let most = limits.max_storage_buffer_binding_size.min(1 << 33);
        let most = most / 4 / alignment * alignment;
        let text = shader::fill(numbers, ROUNDS);
        let mut after = rng.clone();
        for first in (0..len).step_by(most as usize) {
            let count = most.min(len - first);
            let position = after.position();
            let halves = |word: u64| [word as u32, (word >> 32) as u32];
            let ([a, b], [c, d]) = (halves(after.key()), halves(after.stream()));
            let [low, high] = halves((position / 4) as u64);
            let params = Params {
                len: count as u32,
                tiles: count.div_ceil(4 * u64::from(THREADS)) as u32,
                windows: [a, b, c, d],
                sizes: [low, high, (position % 4) as u32, 0],
                ..Params::default()
            };
            let bindings = [(2, part_of(&into, 4 * first, 4 * count))];
            self.context.record(encoder, &text, true, params, &bindings)?;
            after.skip(u128::from(count.next_multiple_of(numbers.group())));
        }
        *rng = after;
        Ok(())
    }
}
