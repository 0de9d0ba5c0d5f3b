//! Rows too long to be drawn exactly. Each is compacted from a keyed bijection of its own; the keys
//! of several rows are drawn side by side.

use crate::compact::batch::Batch;
use crate::compact::cpu::direct;
use crate::engine::bijection::StandardCipher;
use crate::engine::memory::Buffer;
use crate::engine::seed::words;
use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::{Error, FromSeed, Word};

/// The number of rows whose keys are drawn together.
const ROWS: usize = 8;

/// The keys of [`ROWS`] rows: for each round, two words for each row.
type RowKeys = [[[u64; ROWS]; 2]; 10];

/// Draws rows of one length by compacting keyed bijections.
#[derive(Debug)]
pub(super) struct CipherRows {
    batch: Batch,
    memory: Buffer,
    level: SimdLevel,
}

impl CipherRows {
    pub(super) fn new(batch: &Batch) -> Self {
        Self { batch: *batch, memory: Buffer::default(), level: SimdLevel::current() }
    }

    /// Writes the rows from `first` on. `out` consists of whole rows.
    pub(super) fn draw<N: Word>(&mut self, mut first: u64, out: &mut [N]) -> Result<(), Error> {
        let len = self.batch.len;
        let mut rows = out.chunks_exact_mut(len).peekable();
        while rows.peek().is_some() {
            let keys = self.level.run(DrawKeys { batch: &self.batch, first });
            for (lane, row) in rows.by_ref().take(ROWS).enumerate() {
                let words = keys.map(|round| round.map(|word| word[lane]));
                let chain = StandardCipher::of_words(len as u64, words);
                direct::fill_alone(&chain.trust(), row, &mut self.memory)?;
            }
            first = first.wrapping_add(ROWS as u64);
        }
        Ok(())
    }
}

struct DrawKeys<'a> {
    batch: &'a Batch,
    first: u64,
}

impl SimdKernel for DrawKeys<'_> {
    type Output = RowKeys;

    #[inline(always)]
    fn run(self) -> RowKeys {
        let domain = StandardCipher::key_domain(self.batch.len as u64).word();
        let mut keys = [[[0; ROWS]; 2]; 10];
        for (block, round) in (0..).zip(&mut keys) {
            *round = words(self.batch.seed.keys(), domain, block, self.first);
        }
        keys
    }
}
