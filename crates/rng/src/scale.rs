//! Normal numbers of any mean and standard deviation.

use core::ops::{Add, Mul};

use super::tuning;
use bijective_shuffle_engine::parallel;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// Replaces each number `x` with `mean + deviation * x`. The product and the sum are each rounded.
pub(super) fn scale<N>(numbers: &mut [N], mean: N, deviation: N)
where
    N: Copy + Add<Output = N> + Mul<Output = N> + Send + Sync,
{
    let level = SimdLevel::current();
    if tuning::is_sequential(size_of_val(numbers) / size_of::<u32>()) {
        level.run(Scale { numbers, mean, deviation });
    } else {
        parallel::each_chunk(numbers, tuning::TASK, |_, numbers| {
            level.run(Scale { numbers, mean, deviation });
        });
    }
}

struct Scale<'a, N> {
    numbers: &'a mut [N],
    mean: N,
    deviation: N,
}

impl<N: Copy + Add<Output = N> + Mul<Output = N>> SimdKernel for Scale<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { numbers, mean, deviation } = self;
        for number in numbers {
            *number = mean + deviation * *number;
        }
    }
}
