//! Items that are drawn with repetition, and numbers of a range.

use std::io::{self, Write};

use bijective_shuffle::Seed;
use bijective_shuffle::rng::{Fill, Philox4x32Rng};

use crate::done::Done;
use crate::failure::Failure;
use crate::gather::write_items;
use crate::lines::Divided;
use crate::output::Output;
use crate::progress::Progress;

/// How many are drawn at a time.
const BATCH: u64 = 1 << 16;

/// Uniform numbers below a bound, which a seed determines. Draw `k` takes word `k` of the
/// generator's stream, so that the draws of fewer are the first of more. A number's probability is
/// off by less than `bound / 2^64` of itself.
pub(crate) struct Draws {
    generator: Philox4x32Rng,
    bound: u64,
    left: Option<u64>,
}

impl Draws {
    /// As many draws, or draws without an end.
    pub(crate) fn new(seed: Seed, bound: u64, count: Option<u64>) -> Self {
        Self { generator: Philox4x32Rng::new(seed, 0), bound, left: count }
    }

    /// The next draws; none at the end.
    pub(crate) fn batch(&mut self) -> Vec<u64> {
        let count = self.left.map_or(BATCH, |left| left.min(BATCH));
        self.left = self.left.map(|left| left - count);
        let mut draws = vec![0; count as usize];
        self.generator.fill_u64(&mut draws);
        for draw in &mut draws {
            // Below the bound.
            *draw = ((u128::from(*draw) * u128::from(self.bound)) >> 64) as u64;
        }
        draws
    }
}

/// Writes items, each drawn from all of them.
pub(crate) fn items(
    items: &impl Divided,
    seed: Seed,
    head: Option<u64>,
    output: &mut Output,
    progress: &Progress,
) -> Result<Done, Failure> {
    let found = items.count() as u64;
    if found == 0 && head != Some(0) {
        return Err(Failure::new("input", "there are no lines to repeat"));
    }
    let mut draws = Draws::new(seed, found, head);
    let mut done = Done { found, ..Done::default() };
    progress.start_bytes("writing", None);
    let written = loop {
        let batch = draws.batch();
        if batch.is_empty() {
            break output.flush();
        }
        done.items += batch.len() as u64;
        match write_items(items, &batch, output, progress) {
            Ok(bytes) => done.bytes += bytes,
            Err(error) => break Err(error),
        }
    };
    written.map_err(|error| output.failure(&error))?;
    Ok(done)
}

/// Writes numbers as lines, and returns how many and how many bytes.
pub(crate) fn numbers(
    mut batch: impl FnMut() -> Vec<u64>,
    first: u64,
    delimiter: u8,
    output: &mut impl Write,
    progress: &Progress,
) -> io::Result<Done> {
    let mut done = Done::default();
    let (mut digits, mut block) = (itoa::Buffer::new(), Vec::new());
    loop {
        let batch = batch();
        if batch.is_empty() {
            output.flush()?;
            return Ok(done);
        }
        block.clear();
        for number in &batch {
            block.extend_from_slice(digits.format(first + number).as_bytes());
            block.push(delimiter);
        }
        output.write_all(&block)?;
        progress.advance(block.len() as u64)?;
        done.items += batch.len() as u64;
        done.bytes += block.len() as u64;
    }
}
