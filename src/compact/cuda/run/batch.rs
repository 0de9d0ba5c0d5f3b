//! Rows of a batch: many permutations of one length.

use super::{Job, Mode, Runner};
use crate::bijection::{Bijection, Chain, FromSeed, Standard, batch};
use crate::compact::batch::Batch;
use crate::compact::cuda::device::failed;
use crate::compact::cuda::kernels::{self, index_type};
use crate::compact::cuda::movement::{Movement, word_type};
use crate::compact::cuda::tuning;
use crate::error::Error;
use crate::seed::Seed;

/// `MOST_SHARES` in gpu/draw.cuh.
const MOST_SHARES: usize = 32;

/// Rows from `first` on, in words of so many bytes from an address on.
pub(in crate::compact::cuda) struct RowsJob {
    pub(in crate::compact::cuda) batch: Batch,
    pub(in crate::compact::cuda) first: u64,
    pub(in crate::compact::cuda) rows: u64,
    pub(in crate::compact::cuda) out: u64,
    pub(in crate::compact::cuda) word: usize,
}

impl Runner {
    /// Puts the kernels that write rows in the stream.
    ///
    /// # Safety
    ///
    /// The address is of that many words on the device, which the stream may write.
    pub(in crate::compact::cuda) unsafe fn rows(&mut self, job: &RowsJob) -> Result<(), Error> {
        if job.rows == 0 {
            return Ok(());
        }
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        let (len, rows) = (job.batch.len as u64, job.rows);
        if len <= Standard::EXACT_MAX {
            return self.exact_rows(job);
        }
        let any = Chain::from_seed(len, 0);
        if tuning::one_by_one(any.last(), rows, self.device.limits.multiprocessors) {
            return self.rows_one_by_one(job);
        }
        self.chain_rows(job, &any)
    }

    /// Gets what [`rows`](Self::rows) will need.
    pub(in crate::compact::cuda) fn rehearse_rows(
        &mut self,
        job: &RowsJob,
        mode: Mode,
    ) -> Result<(), Error> {
        self.mode = mode;
        // SAFETY: nothing is launched, so no address is used.
        let done = unsafe { self.rows(job) };
        self.mode = Mode::Run;
        done
    }

    fn exact_rows(&mut self, job: &RowsJob) -> Result<(), Error> {
        let len = job.batch.len;
        // Four items a word, a word of each thread after the other.
        let shared = tuning::EXACT_ROWS as usize * 4 * len.div_ceil(4);
        let text = kernels::exact_rows(word_type(job.word));
        let ready = self.kernel(None, text, tuning::EXACT_ROWS, shared)?;
        let grid = self.resident(&ready, job.rows.div_ceil(u64::from(tuning::EXACT_ROWS)));
        let keys = keys(&job.batch.seed, Standard::key_domain(len as u64).word());
        let shares = shares(len);
        let [first, rows, out] = [job.first, job.rows, job.out].map(u64::to_le_bytes);
        let arguments = [&keys[..], &shares[..], &first, &rows, &out];
        self.launch(&ready, (grid, 1), tuning::EXACT_ROWS, shared, &arguments)
    }

    /// All rows at a time; `any` is a member of the family, for its width.
    fn chain_rows(&mut self, job: &RowsJob, any: &Chain) -> Result<(), Error> {
        let (last, len) = (any.last(), job.batch.len as u64);
        let shape = tuning::rows(last, job.rows, self.device.limits.multiprocessors);
        let text = kernels::chain_rows(index_type(last), shape, word_type(job.word));
        let ready = self.kernel(any.device_source().as_ref(), text, shape.threads(), 0)?;
        let grid = self.resident(&ready, job.rows.div_ceil(u64::from(shape.at_once())));
        let keys = keys(&job.batch.seed, Chain::key_domain(len).word());
        let words = [last, len, job.first, job.rows, job.out].map(u64::to_le_bytes);
        let [last, len, first, rows, out] = &words;
        let arguments = [&keys[..], last, len, first, rows, out];
        self.launch(&ready, (grid, 1), shape.threads(), 0, &arguments)
    }

    /// One row after another, each by the whole device.
    fn rows_one_by_one(&mut self, job: &RowsJob) -> Result<(), Error> {
        let len = job.batch.len as u64;
        // All rows need the same.
        let rows = if self.mode == Mode::Run { job.rows } else { 1 };
        for row in 0..rows {
            let f = Chain::from_seed(len, job.batch.seed.epoch(job.first.wrapping_add(row)));
            let out = job.out + row * len * job.word as u64;
            let movement = Movement::Indices { out, word: job.word };
            self.single_pass(&Job::new(&f, len, movement)?)?;
        }
        Ok(())
    }
}

/// `Keys` in gpu/draw.cuh.
fn keys(seed: &Seed, domain: u32) -> [u8; 40] {
    let mut bytes = [0; 40];
    let keys = seed.keys();
    for (bytes, key) in bytes.chunks_exact_mut(8).zip(keys) {
        bytes.copy_from_slice(&key.to_le_bytes());
    }
    bytes[32..36].copy_from_slice(&(keys.len() as u32).to_le_bytes());
    bytes[36..].copy_from_slice(&domain.to_le_bytes());
    bytes
}

/// `Shares` in gpu/draw.cuh.
fn shares(len: usize) -> [u8; 8 + 12 * MOST_SHARES] {
    let mut bytes = [0; 8 + 12 * MOST_SHARES];
    let (head, rest) = bytes.split_at_mut(8);
    let (products, places) = rest.split_at_mut(8 * MOST_SHARES);
    let slots = products.chunks_exact_mut(8).zip(places.chunks_exact_mut(4));
    let (mut range, mut shares) = (len as u64, 0_u32);
    for (product_at, places_at) in slots {
        if range <= 1 {
            break;
        }
        let (count, product) = batch(range);
        product_at.copy_from_slice(&product.to_le_bytes());
        places_at.copy_from_slice(&(count as u32).to_le_bytes());
        range -= count;
        shares += 1;
    }
    debug_assert!(range <= 1, "more words than there is room for");
    head[..4].copy_from_slice(&(len as u32).to_le_bytes());
    head[4..].copy_from_slice(&shares.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use rand_core::Rng;

    use super::*;
    use crate::bijection::{DeviceSource, Table, rejected};
    use crate::compact::cuda::cplusplus;

    const SEEDS: [fn() -> Seed; 2] =
        [|| Seed::new(0x0123_4567_89AB_CDEF), || Seed::from_bytes([0xA5; 32])];

    /// A row across the end of the low word of the epochs, and its neighbours.
    const EPOCHS: [u64; 4] = [0, (1 << 32) - 1, 1 << 32, u64::MAX];

    /// A program that begins with the device text of draws, and has `main` as its main function.
    fn program(main: &str) -> String {
        [
            DeviceSource::PRELUDE,
            include_str!("../../../../gpu/rng/philox4x32.cuh"),
            include_str!("../../../../gpu/draw.cuh"),
            include_str!("../../../../gpu/bijection/mul_xorshift.cuh"),
            "#include <cstdio>\n#include <cstring>\n#include <utility>\nusing namespace bijective_shuffle;\n\
             template <class T, unsigned long SIZE> static T of(const unsigned char (&bytes)[SIZE]) {
                 static_assert(sizeof(T) == SIZE, \"the layout that the host assumes\");
                 T value;
                 std::memcpy(&value, bytes, SIZE);
                 return value;
             }
             inline void exact(const Keys& keys, const Shares& shares, uint64_t epoch) {
                 uint32_t row[256];
                 for (uint32_t k = 0; k < shares.len; ++k) row[k] = k;
                 KeyStream stream(keys, epoch);
                 draw_exchanges(shares, stream, [&](uint32_t a, uint32_t b) { std::swap(row[a], row[b]); });
                 for (uint32_t k = 0; k < shares.len; ++k) std::printf(\"%u \", unsigned(row[k]));
                 std::printf(\"\\n\");
             }
             template <class F> static void chain(const Keys& keys, uint64_t epoch) {
                 F f = F();
                 for (int round = 0; round < F::KEYS; ++round) draw_round(keys, uint32_t(round), epoch, f);
                 for (uint64_t x = 0; x < 300; ++x) std::printf(\"%llu \", (unsigned long long)f.forward(x));
                 std::printf(\"\\n\");
             }\n",
            "int main() {\n",
            main,
            "}\n",
        ]
        .concat()
    }

    fn bytes(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |all, byte| all + &format!("{byte},"))
    }

    /// Compares what a program prints with lines of numbers.
    fn check(main: &str, expected: &[Vec<u64>]) {
        let Some(output) = cplusplus::run(&program(main)) else {
            println!("skipped: no C++ compiler");
            return;
        };
        assert_eq!(output.lines().count(), expected.len());
        for (line, expected) in output.lines().zip(expected) {
            let line: Vec<u64> =
                line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert_eq!(&line, expected);
        }
    }

    /// Whether a word of a row is drawn again.
    fn is_redrawn(len: usize, seed: Seed) -> bool {
        let mut stream = seed.key_stream(Standard::key_domain(len as u64));
        let mut range = len as u64;
        while range > 1 {
            let (count, product) = batch(range);
            if stream.next_u64().wrapping_mul(product) < rejected(product) {
                return true;
            }
            range -= count;
        }
        false
    }

    #[test]
    fn exact_draws_of_the_device_text_are_those_of_the_host() {
        let (mut main, mut expected) = (String::new(), Vec::new());
        for seed in SEEDS.map(|seed| seed()) {
            for len in (0..=256_usize).filter(|len| len % 7 < 2 || *len > 250) {
                let keys = keys(&seed, Standard::key_domain(len as u64).word());
                let (keys, shares) = (bytes(&keys), bytes(&shares(len)));
                writeln!(
                    main,
                    "{{ static const unsigned char k[] = {{{keys}}}, s[] = {{{shares}}};"
                )
                .unwrap();
                // One row in fifty of 252 items is such a one.
                let redrawn = (0..1000).filter(|&epoch| is_redrawn(len, seed.epoch(epoch)));
                let redrawn: Vec<u64> = redrawn.take(3).collect();
                assert!(len != 252 || redrawn.len() == 3);
                for epoch in EPOCHS.into_iter().chain(redrawn) {
                    writeln!(main, "exact(of<Keys>(k), of<Shares>(s), {epoch}ull);").unwrap();
                    let mut row = Table::from_seed(len as u64, seed.epoch(epoch)).values().to_vec();
                    row.truncate(len);
                    expected.push(row);
                }
                main += "}\n";
            }
        }
        check(&main, &expected);
    }

    #[test]
    fn chains_of_the_device_text_are_those_of_the_host() {
        let (mut main, mut expected) = (String::new(), Vec::new());
        for seed in SEEDS.map(|seed| seed()) {
            for len in [257, 1000, 1 << 17, (1 << 32) + 1, 1 << 50] {
                let any = Chain::from_seed(len, 0).device_source().unwrap();
                let keys = bytes(&keys(&seed, Chain::key_domain(len).word()));
                writeln!(main, "{{ static const unsigned char k[] = {{{keys}}};").unwrap();
                for epoch in EPOCHS {
                    writeln!(main, "chain<{}>(of<Keys>(k), {epoch}ull);", any.type_name()).unwrap();
                    let f = Chain::from_seed(len, seed.epoch(epoch));
                    expected.push((0..300).map(|x| f.forward(x)).collect());
                }
                main += "}\n";
            }
        }
        check(&main, &expected);
    }
}
