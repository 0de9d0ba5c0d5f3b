//! Segments of different lengths, each permuted within itself by an epoch of its own.
//!
//! Work is divided where the segments' costs are, so that neither many short segments nor a single
//! long one keep other threads waiting. The keys of several segments are drawn side by side, each
//! lane with the domain of its own length. Nothing is allocated for a segment.

use core::mem;
use core::ops::Range;

use crate::bijection::Standard;
use crate::compact::cpu::direct;
use crate::compact::cpu::exact::{exchange_by, is_exact, words};
use crate::compact::{Direction, Workspace};
use crate::engine::bijection::{StandardCipher, draw_exchanges};
use crate::engine::memory::Buffer;
use crate::engine::seed::words_of;
use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::{Error, FromSeed, Seed, Word};

/// The number of segments whose keys are drawn together.
const TOGETHER: usize = 8;

/// What a segment costs besides its items, in items: its keys and the calls for it. No other number
/// was tried.
const SEGMENT_COST: usize = 8;

/// The cost of a task, which a thread does alone unless it is a single segment: as the items of a
/// task of rows in `rows.rs`.
const TASK_COST: usize = 1 << 14;

/// Consecutive segments.
#[derive(Debug)]
pub(crate) struct SegmentRun<'a, N> {
    /// Where the segments begin, and where the last one ends: in order, and at least one.
    offsets: &'a [N],
    /// The epoch of the first segment.
    first: u64,
    seed: Seed,
}

impl<N> Copy for SegmentRun<'_, N> {}

impl<N> Clone for SegmentRun<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, N: Copy + TryInto<usize>> SegmentRun<'a, N> {
    /// All segments between some offsets, which are in order and not empty.
    pub(crate) fn new(offsets: &'a [N], seed: Seed) -> Self {
        Self { offsets, first: 0, seed }
    }

    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The place where a segment begins, counted from the run's first item.
    fn start(&self, number: usize) -> usize {
        place(self.offsets[number]) - place(self.offsets[0])
    }

    fn segment_len(&self, number: usize) -> usize {
        place(self.offsets[number + 1]) - place(self.offsets[number])
    }

    /// The cost of the segments below `number`.
    fn cost(&self, number: usize) -> usize {
        self.start(number).saturating_add(SEGMENT_COST.saturating_mul(number))
    }

    /// Divides at least two segments into two runs that cost about the same.
    fn divided(self) -> (Self, Self) {
        let half = self.cost(self.count()) / 2;
        let (mut low, mut high) = (1, self.count() - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.cost(middle) < half { low = middle + 1 } else { high = middle }
        }
        let first = self.first + low as u64;
        let left = Self { offsets: &self.offsets[..=low], ..self };
        (left, Self { offsets: &self.offsets[low..], first, ..self })
    }
}

/// An offset that was checked to fit.
fn place(offset: impl TryInto<usize>) -> usize {
    offset.try_into().unwrap_or(usize::MAX)
}

/// Shuffles each segment of some items, or puts its items back.
///
/// # Errors
///
/// [`Error::OutOfMemory`]; each segment is then either done or unchanged.
pub(crate) fn reorder_segments<N: Copy + Sync + TryInto<usize>, T: Send>(
    run: SegmentRun<'_, N>,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    share(run, items, &|run, items| {
        let mut workspace = Workspace::once();
        each_order(run, items, |order, segment| match order {
            SegmentOrder::Exact(seed, known) => {
                exchange_by(words(&seed, segment.len(), known), segment, direction);
                Ok(())
            }
            SegmentOrder::Cipher(cipher) => match direction {
                Direction::Shuffle => workspace.shuffle(&cipher, segment),
                Direction::Unshuffle => workspace.unshuffle(&cipher, segment),
            },
        })
    })
}

/// Writes the permutation of each segment, whose indexes count from the segment's first item.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn fill_segments<N: Copy + Sync + TryInto<usize>, W: Word>(
    run: SegmentRun<'_, N>,
    out: &mut [W],
) -> Result<(), Error> {
    share(run, out, &|run, out| {
        let (mut memory, is_alone) = (Buffer::new(), run.count() > 1);
        each_order(run, out, |order, segment| match order {
            SegmentOrder::Exact(seed, known) => {
                segment.iter_mut().zip(0..).for_each(|(out, index)| *out = W::wrap(index));
                let len = segment.len();
                draw_exchanges(len, words(&seed, len, known), |a, b| segment.swap(a, b));
                Ok(())
            }
            SegmentOrder::Cipher(cipher) if is_alone => {
                direct::fill_alone(&cipher.trust(), segment, &mut memory)
            }
            SegmentOrder::Cipher(cipher) => {
                direct::fill_trusted(&cipher.trust(), segment, &mut memory)
            }
        })
    })
}

/// Divides segments and their items among the threads of the pool.
fn share<N: Copy + Sync + TryInto<usize>, T: Send>(
    run: SegmentRun<'_, N>,
    items: &mut [T],
    work: &(impl Fn(SegmentRun<'_, N>, &mut [T]) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let count = run.count();
    if count < 2 || run.cost(count) <= TASK_COST {
        return work(run, items);
    }
    let (left, right) = run.divided();
    let (items, others) = items.split_at_mut(left.start(left.count()));
    let (done, also) = rayon::join(|| share(left, items, work), || share(right, others, work));
    done.and(also)
}

/// What determines the order of a segment.
enum SegmentOrder<'k> {
    /// The segment's seed, and the first blocks of the words that its order is drawn from.
    Exact(Seed, &'k [[u64; 2]]),
    Cipher(StandardCipher),
}

/// Calls a function with the order and the items of each segment that has any.
fn each_order<N: Copy + TryInto<usize>, T>(
    run: SegmentRun<'_, N>,
    mut items: &mut [T],
    mut visit: impl FnMut(SegmentOrder<'_>, &mut [T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let level = SimdLevel::current();
    for first in (0..run.count()).step_by(TOGETHER) {
        let numbers = first..run.count().min(first + TOGETHER);
        let keys = level.run(DrawSegmentKeys::new(&run, numbers.clone()));
        for (lane, number) in numbers.enumerate() {
            let len = run.segment_len(number);
            let (segment, others) = mem::take(&mut items).split_at_mut(len);
            items = others;
            if len == 0 {
                continue;
            }
            let known = keys.words.map(|block| block.map(|word| word[lane]));
            let order = if is_exact(len) {
                let seed = run.seed.with_epoch(run.first + number as u64);
                SegmentOrder::Exact(seed, &known[..keys.blocks])
            } else {
                SegmentOrder::Cipher(StandardCipher::of_words(len as u64, known))
            };
            visit(order, segment)?;
        }
    }
    Ok(())
}

/// The first blocks of the words of some segments, of which those of [`TOGETHER`] are drawn.
struct SegmentKeys {
    words: [[[u64; TOGETHER]; 2]; 10],
    blocks: usize,
}

struct DrawSegmentKeys<'a> {
    seed: &'a Seed,
    first: u64,
    domains: [u32; TOGETHER],
    blocks: usize,
}

impl<'a> DrawSegmentKeys<'a> {
    fn new<N: Copy + TryInto<usize>>(run: &'a SegmentRun<'_, N>, numbers: Range<usize>) -> Self {
        let (mut domains, mut has_ciphers) = ([0; TOGETHER], false);
        let first = run.first + numbers.start as u64;
        for (domain, number) in domains.iter_mut().zip(numbers) {
            let len = run.segment_len(number);
            *domain = Standard::key_domain(len as u64).word();
            has_ciphers |= !is_exact(len);
        }
        // The rounds of a cipher take a block each. One block is enough for 18 items.
        Self { seed: &run.seed, first, domains, blocks: if has_ciphers { 10 } else { 1 } }
    }
}

impl SimdKernel for DrawSegmentKeys<'_> {
    type Output = SegmentKeys;

    #[inline(always)]
    fn run(self) -> SegmentKeys {
        let Self { seed, first, ref domains, blocks } = self;
        let mut words = [[[0; TOGETHER]; 2]; 10];
        for (block, words) in (0..).zip(&mut words[..blocks]) {
            *words = words_of(seed.keys(), domains, block, first);
        }
        SegmentKeys { words, blocks }
    }
}
