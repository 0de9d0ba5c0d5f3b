//! [`Lcg`] with vectors.

use bijective_shuffle::Word;
use bijective_shuffle::bijection::Lcg;
use bijective_shuffle::prelude::*;
use wide::{u32x4, u32x8, u64x2, u64x4};

use crate::contest::{Contest, POINTS, Run, RunOf, Task, others};
use crate::vector::{Limbs16, Limbs32, Vector};

/// The values or, with `INVERSE`, the slots.
fn run<V: Vector, W: Word, const INVERSE: bool>(lcg: &Lcg<W>, first: W, out: &mut [W; POINTS]) {
    let (multiplier, increment) = (lcg.multiplier(), lcg.increment());
    let multiplier = if INVERSE { multiplier.odd_inverse() } else { multiplier };
    let multiplier = V::multiplier(multiplier.widen());
    let increment = V::splat(increment.widen());
    let mask = V::splat(u64::low_mask(lcg.bits()));
    let step = V::splat(V::LANES as u64);
    let mut x = V::count_from(first.widen());
    for out in out.chunks_exact_mut(V::LANES) {
        let value = if INVERSE {
            (x - increment).times(multiplier)
        } else {
            x.times(multiplier) + increment
        };
        (value & mask).store(out);
        x = x + step;
    }
}

fn contest<W: Word, const INVERSE: bool>(
    task: &Task,
    lcg: Lcg<W>,
    runs: &[(&'static str, RunOf<Lcg<W>, W>)],
) {
    let ours: Run<W> =
        Box::new(
            |first, out| {
                if INVERSE { lcg.inverse_run(first, out) } else { lcg.forward_run(first, out) }
            },
        );
    let (bits, others) = (lcg.bits(), others(&lcg, runs));
    Contest { family: "Lcg", bits, is_inverse: INVERSE, ours, others }.hold(task);
}

pub(crate) fn contests<const INVERSE: bool>(task: &Task) {
    contest::<_, INVERSE>(
        task,
        Lcg::from_seed(1 << 32, 1).to_word().expect("32 bits fit"),
        &[
            ("u32x4", run::<u32x4, u32, INVERSE>),
            ("u32x8", run::<u32x8, u32, INVERSE>),
            ("u32x4 in limbs of 16 bits", run::<Limbs16, u32, INVERSE>),
        ],
    );
    contest::<_, INVERSE>(
        task,
        Lcg::from_seed(u64::MAX, 1),
        &[
            ("u64x2", run::<u64x2, u64, INVERSE>),
            ("u64x4", run::<u64x4, u64, INVERSE>),
            ("u64x2 in limbs of 32 bits", run::<Limbs32, u64, INVERSE>),
        ],
    );
}
