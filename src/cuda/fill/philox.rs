//! Filling arrays with one stream of [`Philox4x32Rng`], from its current position.

use super::generator::{DeviceDraw, six_fills};
use super::kernels;
use super::tuning::{self, FillShape};
use crate::Error;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::array::DeviceArrayMut;
use crate::cuda::runtime::in_use::writing;
use crate::cuda::runtime::plan::{DevicePlan, Grid, Launch};
use crate::cuda::runtime::stream::{check_device, check_slices, enter};
use crate::rng::Philox4x32Rng;
use crate::rng::engine::{F32, F64, NormalF32, NormalF64, U32, U64};

/// How the generator's blocks of words are aligned with the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockAlignment {
    /// The generator's blocks fall on aligned places, and no number's words come from two blocks.
    Aligned(kernels::FillPhilox),
    /// Anything else.
    Anywhere(kernels::FillPhiloxAnywhere),
}

impl BlockAlignment {
    /// The alignment for `words` words from the address `out` on. Numbers are drawn from groups of
    /// `group` words.
    pub(super) fn new<const ROUNDS: usize>(
        rng: &Philox4x32Rng<ROUNDS>,
        out: u64,
        words: u64,
        group: usize,
    ) -> Self {
        let (key, stream) = (rng.key(), rng.stream());
        let (block, skip) = ((rng.position() / 4) as u64, (rng.position() % 4) as u64);
        let before = out % 16 / 4;
        if before == skip && skip.is_multiple_of(group as u64) {
            let (out, first, end) = (out - 4 * before, skip, skip + words);
            Self::Aligned(kernels::FillPhilox { key, stream, block, out, first, end })
        } else {
            Self::Anywhere(kernels::FillPhiloxAnywhere { key, stream, block, skip, out, words })
        }
    }

    /// The kernel that fills them.
    fn launch<const ROUNDS: usize>(
        self,
        number: &'static str,
        words: u64,
        multiprocessors: u32,
    ) -> Result<Launch<'static>, Error> {
        let blocks = (words + 3).div_ceil(4);
        Ok(match self {
            Self::Aligned(arguments) => {
                let tuned = tuning::fill_philox(ROUNDS, words);
                let kernel = kernels::philox(number, ROUNDS, tuned.0);
                Launch::new(kernel, grid(blocks, tuned, multiprocessors)?, move |_| arguments)
            }
            Self::Anywhere(arguments) => {
                let tuned = tuning::fill_anywhere(words);
                let kernel = kernels::philox(number, ROUNDS, tuned.0);
                Launch::new(kernel, grid(blocks, tuned, multiprocessors)?, move |_| arguments)
            }
        })
    }
}

/// Calls a function with the plans of fills by one stream, of every shape.
pub(super) fn each_plan<D: DeviceDraw, const ROUNDS: usize>(
    multiprocessors: u32,
    run: &mut dyn FnMut(&DevicePlan<'_>),
) -> Result<(), Error> {
    let rng = Philox4x32Rng::<ROUNDS>::from_key(0, 0);
    for words in [1 << 10, 1 << 30] {
        // An address at which the stream's blocks are aligned, and one at which they are not.
        for out in [256, 260] {
            let places = BlockAlignment::new(&rng, out, words, D::WORDS);
            let mut plan = DevicePlan::new();
            plan.launch(places.launch::<ROUNDS>(D::NAME, words, multiprocessors)?);
            run(&plan);
        }
    }
    Ok(())
}

/// The number of blocks of threads for `blocks` blocks of the generator.
fn grid(
    blocks: u64,
    (shape, waves): (FillShape, u32),
    multiprocessors: u32,
) -> Result<Grid, Error> {
    let FillShape { threads, together, blocks: resident } = shape;
    let held = u64::from(multiprocessors * resident * waves);
    Grid::blocks(blocks.div_ceil(u64::from(threads * together)).min(held))
}

/// The methods that fill with one stream of Philox4x32.
macro_rules! philox_fills {
    ($(#[doc = $what:literal] $name:ident: $kind:ident, $number:ty;)*) => {$(
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
        /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
        /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed). After an error the
        /// generator's position is unchanged.
        pub fn $name<const ROUNDS: usize>(
            &self,
            rng: &mut Philox4x32Rng<ROUNDS>,
            out: &mut impl DeviceArrayMut<$number>,
        ) -> Result<(), Error> {
            self.fill::<$kind, ROUNDS>(rng, out)
        }
    )*};
}

/// Filling slices in device memory with one stream of [`Philox4x32Rng`], from its current position
/// on. The numbers are those that the CPU's [`Fill`](crate::rng::Fill) gives, bit for bit, and the
/// generator advances past them. Each call launches one kernel in the engine's stream and returns.
/// A slice may begin at any address. A fill is fastest if the slice begins at a multiple of 16
/// bytes and the stream at a multiple of 4 words, or if it continues a fill for which that holds,
/// in memory and in the stream.
impl Cuda {
    six_fills!(philox_fills);

    fn fill<D: DeviceDraw, const ROUNDS: usize>(
        &self,
        rng: &mut Philox4x32Rng<ROUNDS>,
        out: &mut impl DeviceArrayMut<D::Number>,
    ) -> Result<(), Error> {
        let Self { device, stream, may_be_captured, .. } = self;
        let len = out.len();
        check_device(stream, out.stream())?;
        if len == 0 {
            return Ok(());
        }
        enter(stream, *may_be_captured)?;
        let (address, _guard) = writing(out, stream);
        check_slices(stream, *may_be_captured)?;
        let words = D::words(len);
        let places = BlockAlignment::new(rng, address, words, D::WORDS);
        let mut plan = DevicePlan::new();
        plan.launch(places.launch::<ROUNDS>(D::NAME, words, device.limits.multiprocessors)?);
        // SAFETY: the plan writes `words` words from the address on, which are exactly the slice.
        // The slice belongs to the context and is borrowed mutably, and the guard, an `InUse`,
        // ensures that it is neither freed nor otherwise used before the stream has finished with
        // it.
        unsafe { self.executor().execute(&plan) }?;
        let groups = len.div_ceil(D::NUMBERS);
        rng.skip(groups as u128 * D::WORDS as u128);
        Ok(())
    }
}
