//! [`Jobs`]: what is done for one bijection.

use core::iter;

use cudarc::driver::DeviceRepr;

use super::job::{Job, any_address};
use super::movement::{Array, Movement, Moves};
use super::strategy::{self, CudaStrategy};
use crate::bijection::{Bijection, Lcg};
use crate::compact::{Direction, passes};
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::plan::{Address, MOST_POINTS, Plan};
use crate::error::{Error, GpuError};

/// A job or, for a bijection that has [passes](Bijection::passes), one for each of them.
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
    /// As [`Job::new`], and [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if no device
    /// has memory for so many items.
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
        let target = |number: usize, &(array, between): &(Array, Address)| {
            if (passes.len() - number).is_multiple_of(2) { between } else { array.out }
        };
        let mut jobs = passes.iter().enumerate().map(|(number, &(f, direction))| {
            let moved = arrays.iter().map(|both| {
                let before = number.checked_sub(1).map(|before| target(before, both));
                let source = before.unwrap_or(both.0.source);
                Array { source, out: target(number, both), item: both.0.item }
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
        limits: &Limits,
    ) -> Result<Plan<'_>, Error> {
        if self.others.is_empty() {
            return strategy::plan(&self.first, strategy, limits);
        }
        let by = |strategy| {
            let mut all = Plan::new();
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
fn with_room_between(movement: &Movement, len: u64) -> (Vec<(Array, Address)>, u64) {
    let arrays = match *movement {
        Movement::Indices { out, word } => vec![Array { source: out, out, item: word.bytes() }],
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

/// The jobs of shuffling and unshuffling items of type T.
pub(in crate::cuda) fn there_and_back<T: DeviceRepr>(
    bijection: &dyn Bijection,
    len: usize,
) -> Result<Vec<Jobs>, Error> {
    if size_of::<T>() == 0 {
        return Ok(Vec::new());
    }
    let both = [Direction::Shuffle, Direction::Unshuffle].into_iter();
    both.map(|direction| {
        let at = any_address::<T>();
        let movement = Movement::items(vec![Array::given(at, at, size_of::<T>())], direction)?;
        Jobs::new(bijection, len as u64, movement)
    })
    .collect()
}
