//! [`Contest`]: a family's own evaluator beside some that are written with vectors.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bijective_shuffle::Word;
use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::prelude::*;

/// The number of points in a call.
pub(crate) const POINTS: usize = 1024;

/// How long a contender runs before it is the next one's turn.
const TURN: Duration = Duration::from_micros(300);

/// How often it is everyone's turn.
const TURNS: usize = 60;

/// Writes the values at a point and the next ones.
pub(crate) type Run<'a, W> = Box<dyn Fn(W, &mut [W; POINTS]) + 'a>;

/// The same for a map that is given.
pub(crate) type RunOf<B, W> = fn(&B, W, &mut [W; POINTS]);

/// What is to be done with the contests.
pub(crate) struct Task {
    /// Whether the contenders are timed, after their values were checked.
    pub(crate) is_timed: bool,
    /// Only families whose names contain this take part.
    pub(crate) filter: String,
}

/// Evaluators of one map in one direction.
pub(crate) struct Contest<'a, W> {
    pub(crate) family: &'static str,
    pub(crate) bits: u32,
    pub(crate) is_inverse: bool,
    pub(crate) ours: Run<'a, W>,
    /// Others, each with a name.
    pub(crate) others: Vec<(&'static str, Run<'a, W>)>,
}

impl<W: Word> Contest<'_, W> {
    pub(crate) fn hold(&self, task: &Task) {
        if self.family.contains(&task.filter) {
            self.check();
            if task.is_timed {
                self.measure();
            }
        }
    }

    /// Panics if an evaluator gives other values than ours.
    fn check(&self) {
        for first in [7, 0x1357] {
            let (mut expected, mut out) = ([W::ZERO; POINTS], [W::ZERO; POINTS]);
            (self.ours)(W::wrap(first), &mut expected);
            for (name, other) in &self.others {
                other(W::wrap(first), &mut out);
                assert!(
                    out == expected,
                    "{}, {} bits, {name}: another map",
                    self.family,
                    self.bits
                );
            }
        }
    }

    /// Lets the contenders take turns, and prints a row for each of the others.
    fn measure(&self) {
        let contenders = || [&self.ours].into_iter().chain(self.others.iter().map(|(_, run)| run));
        // The fastest turn of each: other programs on the machine slow down some of them.
        let mut best: Vec<f64> = contenders().map(|_| 0.0).collect();
        for _ in 0..TURNS {
            for (run, best) in contenders().zip(&mut best) {
                *best = speed(run).max(*best);
            }
        }
        let ours = best[0];
        for ((name, _), other) in self.others.iter().zip(&best[1..]) {
            let (family, bits, ratio) = (self.family, self.bits, other / ours);
            let direction = if self.is_inverse { "inverse" } else { "forward" };
            println!("{family},{bits},{direction},{name},{ours:.0},{other:.0},{ratio:.3}");
        }
    }
}

/// Millions of points a second in one turn.
fn speed<W: Word>(run: &Run<W>) -> f64 {
    /// So many calls that looking at the clock costs nothing.
    const CALLS: usize = 16;
    let mut out = [W::ZERO; POINTS];
    let (start, mut calls) = (Instant::now(), 0);
    loop {
        for _ in 0..CALLS {
            run(black_box(W::wrap(7)), black_box(&mut out));
        }
        calls += CALLS;
        let time = start.elapsed();
        if time >= TURN {
            return (calls * POINTS) as f64 / time.as_secs_f64() / 1e6;
        }
    }
}

/// A word in which runs of a map on 64-bit words are written.
pub(crate) trait RunWord: Word {
    fn forward_run<B: Bijection>(f: &B, first: Self, out: &mut [Self; POINTS]);
    fn inverse_run<B: Bijection>(f: &B, first: Self, out: &mut [Self; POINTS]);
}

macro_rules! run_word {
    ($word:ty, $forward:ident, $inverse:ident) => {
        impl RunWord for $word {
            fn forward_run<B: Bijection>(f: &B, first: Self, out: &mut [Self; POINTS]) {
                f.$forward(first.widen(), out);
            }

            fn inverse_run<B: Bijection>(f: &B, first: Self, out: &mut [Self; POINTS]) {
                f.$inverse(first.widen(), out);
            }
        }
    };
}

run_word!(u32, forward_run_u32, inverse_run_u32);
run_word!(u64, forward_run, inverse_run);

/// The family's own evaluator.
pub(crate) fn ours<B: Bijection, W: RunWord>(f: &B, is_inverse: bool) -> Run<'_, W> {
    Box::new(
        move |first, out| {
            if is_inverse { W::inverse_run(f, first, out) } else { W::forward_run(f, first, out) }
        },
    )
}

/// The others of a map.
pub(crate) fn others<'a, B, W: Word>(
    f: &'a B,
    runs: &[(&'static str, RunOf<B, W>)],
) -> Vec<(&'static str, Run<'a, W>)>
where
    B: 'a,
{
    let mut others: Vec<(&'static str, Run<'a, W>)> = Vec::new();
    for &(name, run) in runs {
        others.push((name, Box::new(move |first, out| run(f, first, out))));
    }
    others
}
