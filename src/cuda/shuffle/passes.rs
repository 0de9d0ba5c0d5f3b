//! [`Jobs`]: what is done for one bijection.

use core::iter;

use super::job::Job;
use super::movement::{MovedArray, Movement, Moves};
use super::strategy::{self, CudaStrategy};
use crate::bijection::Lcg;
use crate::compact::{Direction, passes};
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::{Address, DevicePlan, MOST_POINTS};
use crate::error::GpuError;
use crate::{Bijection, Error};

/// A job or, for a bijection that has passes (`EngineHooks::passes`), one for each of them.
pub(in crate::cuda) struct Jobs {
    first: Job,
    /// Those of the later passes: for most bijections there are none.
    others: Vec<Job>,
    /// The bytes of what is moved from pass to pass.
    kept: u64,
}

impl Jobs {
    /// Reads what there is to evaluate, and checks the length.
    ///
    /// The last pass writes where the movement does, and the pass before it to working memory; the
    /// earlier ones take turns with these two. Only the first reads the movement's source.
    ///
    /// # Errors
    ///
    /// As [`Job::new`], and [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if no
    /// device has memory for that many items.
    pub(in crate::cuda) fn new(
        f: &dyn Bijection,
        len: u64,
        movement: Movement,
    ) -> Result<Self, Error> {
        let passes = usize::try_from(len).ok().and_then(|len| passes::passes(f, len));
        let Some(passes) = passes else {
            return Ok(Self { first: Job::new(f, len, movement)?, others: Vec::new(), kept: 0 });
        };
        if len > MOST_POINTS {
            return Err(Error::Gpu(GpuError::OutOfMemory));
        }
        let passes = match movement.direction() {
            Direction::Shuffle => passes,
            Direction::Unshuffle => passes.inverted(),
        };
        let identity = Lcg::new((len - 1).max(1).ilog2() + 1, 1, 0)?;
        let passes = passes::in_order(&passes);
        let mut passes: Vec<_> = passes.map(|(f, to)| (f as &dyn Bijection, to)).collect();
        // A kernel that writes indexes writes them in the order of their slots. What is to undo a
        // shuffle moves all numbers in order.
        if movement.writes_indexes() && passes[0].1 == Direction::Unshuffle {
            passes.insert(0, (&identity, Direction::Shuffle));
        }
        let (arrays, kept) = with_room_between(&movement, len);
        // Where a pass writes.
        let target = |number: usize, &(array, between): &(MovedArray, Address)| {
            if (passes.len() - number).is_multiple_of(2) { between } else { array.out }
        };
        let mut jobs = passes.iter().enumerate().map(|(number, &(f, direction))| {
            let moved = arrays.iter().map(|both| {
                let before = number.checked_sub(1).map(|before| target(before, both));
                let source = before.unwrap_or(both.0.source);
                MovedArray { source, out: target(number, both), item: both.0.item }
            });
            let movement = match movement {
                Movement::Indices { word, .. } if number == 0 => {
                    Movement::Indices { out: target(0, &arrays[0]), word }
                }
                _ => Movement::items(moved.collect(), direction)?,
            };
            Job::new(f, len, movement)
        });
        let first = jobs.next().expect("a bijection that has passes has at least one")?;
        Ok(Self { first, others: jobs.collect::<Result<_, _>>()?, kept })
    }

    /// Plans all jobs by a strategy, for a device.
    ///
    /// # Errors
    ///
    /// As [`strategy::plan`].
    pub(in crate::cuda) fn plan(
        &self,
        strategy: CudaStrategy,
        limits: &GpuLimits,
    ) -> Result<DevicePlan<'_>, Error> {
        if self.others.is_empty() {
            return strategy::plan(&self.first, strategy, limits);
        }
        let by = |strategy| {
            let mut all = DevicePlan::new();
            all.take_kept(self.kept);
            iter::once(&self.first).chain(&self.others).try_fold(all, |all, job| {
                Ok::<_, Error>(all.then(strategy::plan(job, strategy, limits)?))
            })
        };
        match strategy {
            CudaStrategy::Auto => Ok(by(strategy)?.or(by(CudaStrategy::SinglePass)?)),
            _ => by(strategy),
        }
    }
}

/// The arrays of a movement, each with its place in the memory that is kept from pass to pass, and
/// how much memory that is. Indexes are an array of words.
fn with_room_between(movement: &Movement, len: u64) -> (Vec<(MovedArray, Address)>, u64) {
    let arrays = match *movement {
        Movement::Indices { out, word } => {
            vec![MovedArray { source: out, out, item: word.bytes() }]
        }
        Movement::Items { ref arrays, .. } => arrays.clone(),
    };
    let mut bytes = 0_u64;
    let with_room = arrays.into_iter().map(|array| {
        let between = Address::Kept(bytes);
        // More than any device has, if it saturates.
        bytes = bytes.saturating_add((len * array.item as u64).next_multiple_of(256));
        (array, between)
    });
    (with_room.collect(), bytes)
}

/// The jobs of shuffling and unshuffling an array.
pub(in crate::cuda) fn there_and_back(
    bijection: &dyn Bijection,
    len: usize,
    array: MovedArray,
) -> Result<Vec<Jobs>, Error> {
    if array.item == 0 {
        return Ok(Vec::new());
    }
    let both = [Direction::Shuffle, Direction::Unshuffle].into_iter();
    both.map(|direction| {
        let movement = Movement::items(vec![array], direction)?;
        Jobs::new(bijection, len as u64, movement)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::Table;
    use crate::cuda::runtime::word_type::WordType;
    use crate::cuda::tests::LARGE;
    use crate::cuda::tests::emulation::Emulation;
    use crate::{FromSeed, Permutation};

    const LEN: u64 = 1500;

    /// Memory for look-backs, the working memory, and the items; and for what is written, half a
    /// MiB for each launch.
    const MEMORY: u64 = 0x4000_0000_0000;
    const SCRATCH: u64 = MEMORY + (1 << 20);
    const SOURCE: u64 = MEMORY + (1 << 24);
    const fn out(number: u64) -> u64 {
        SOURCE + ((1 + number) << 19)
    }

    fn inverse_of(order: &[u64]) -> Vec<u64> {
        let mut inverse = vec![0; order.len()];
        (0..).zip(order).for_each(|(place, &index)| inverse[index as usize] = place);
        inverse
    }

    /// Two and three passes with their orders. The first pass shuffles, or undoes a shuffle.
    fn compositions() -> Vec<(Box<dyn Bijection>, Vec<u64>)> {
        let [p, q, r] = [1, 2, 3].map(|seed| Permutation::new(LEN, seed));
        let [first, second, third] = [&p, &q, &r].map(Permutation::to_vec);
        let then = |first: &[u64], second: &[u64]| -> Vec<u64> {
            second.iter().map(|&place| first[place as usize]).collect()
        };
        let both = p.then(&q).unwrap();
        let two = then(&first, &second);
        let back = p.inverted().then(&q).unwrap();
        let three = both.then(&r.inverted()).unwrap();
        vec![
            (Box::new(both), two.clone()),
            (Box::new(back), then(&inverse_of(&first), &second)),
            (Box::new(three.inverted()), inverse_of(&then(&two, &inverse_of(&third)))),
            (Box::new(three), then(&two, &inverse_of(&third))),
        ]
    }

    /// All plans, with what each writes to the array or arrays at `out`.
    #[test]
    fn passes_write_what_their_composition_is() {
        let all = compositions();
        let mut jobs = Vec::new();
        for (f, order) in &all {
            let at = Address::Given(out(jobs.len() as u64));
            let indices = Movement::Indices { out: at, word: WordType::U64 };
            jobs.push((Jobs::new(&**f, LEN, indices).unwrap(), order.clone(), 1));
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                for items in [&[8][..], &[8, 8]] {
                    let at = jobs.len() as u64;
                    let arrays = (0..).zip(items).map(|(number, &item): (u64, _)| {
                        MovedArray::given(SOURCE + (number << 16), out(at) + (number << 16), item)
                    });
                    let movement = Movement::items(arrays.collect(), direction).unwrap();
                    let order = match direction {
                        Direction::Shuffle => order.clone(),
                        Direction::Unshuffle => inverse_of(order),
                    };
                    jobs.push((Jobs::new(&**f, LEN, movement).unwrap(), order, items.len()));
                }
            }
        }
        assert!(jobs.iter().all(|(jobs, ..)| !jobs.others.is_empty()));
        let plans: Vec<DevicePlan<'_>> = jobs
            .iter()
            .map(|(jobs, ..)| jobs.plan(CudaStrategy::SinglePass, &LARGE).unwrap())
            .collect();
        let Some(mut emulation) = Emulation::new() else { return };
        emulation.map(MEMORY, out(jobs.len() as u64) - MEMORY);
        emulation.make_tile_states(MEMORY);
        for number in 0..2 {
            emulation.fill(SOURCE + (number << 16), 0, LEN, "k");
        }
        for ((number, plan), (.., arrays)) in (0..).zip(&plans).zip(&jobs) {
            emulation.execute_on(plan, plan.ground(SCRATCH, MEMORY));
            for array in 0..*arrays as u64 {
                emulation.print("uint64_t", out(number) + (array << 16), LEN);
            }
        }
        let lines = emulation.run(&jobs[0].0.first.source);
        let expected = jobs.iter().flat_map(|(_, order, arrays)| vec![order; *arrays]);
        assert_eq!(lines.len(), jobs.iter().map(|(.., arrays)| arrays).sum::<usize>());
        assert!(lines.iter().eq(expected));
    }

    /// The sorts of all passes take turns with one working memory, followed by what they move.
    #[test]
    fn all_memory_is_that_of_one_plan() {
        let p = Permutation::new((1 << 26) + 1, 1);
        let both = p.then(&p.inverted()).unwrap();
        let movement =
            || Movement::items(vec![MovedArray::given(256, 512, 8)], Direction::Shuffle).unwrap();
        let jobs = Jobs::new(&both, p.len(), movement()).unwrap();
        let plan = jobs.plan(CudaStrategy::Auto, &LARGE).unwrap();
        let one = Jobs::new(p.bijection(), p.len(), movement()).unwrap();
        let alone = one.plan(CudaStrategy::Auto, &LARGE).unwrap();
        assert!(one.others.is_empty() && plan.launches().len() >= 2 * alone.launches().len() - 2);
        let ground = plan.ground(1 << 40, 0);
        let end_of_one = alone.ground(1 << 40, 0).at(Address::Kept(0));
        assert!(ground.at(Address::Kept(0)) >= end_of_one);
        assert_eq!(jobs.kept, (8 * p.len()).next_multiple_of(256));
    }

    #[test]
    fn a_part_without_a_text_is_refused() {
        let p = Permutation::new(LEN, 1);
        let table = Permutation::from_bijection(LEN, Table::from_seed(LEN, 1)).unwrap();
        let both = p.then(&table).unwrap();
        let movement = Movement::items(vec![], Direction::Shuffle).unwrap();
        let refused = Jobs::new(&both, LEN, movement).err().unwrap();
        assert_eq!(refused, Error::Gpu(GpuError::NoSource));
    }
}
