//! [`Budget`]: what the memory is spent on.

use super::items::Items;

/// The most bytes that are read at a time. System calls of this size cost nothing beside what they
/// copy, and larger ones only fill the caches.
const CHUNK: usize = 4 << 20;

/// The most bytes that are appended to the store at a time, and the fewest, unless memory is so
/// small that there would be less than some 100 buckets: reading them at one place takes a disk
/// about as long as getting there.
const BLOCK: usize = 1 << 20;
const LEAST_BLOCK: usize = 16 << 10;

/// About how many blocks a bucket has, if there is memory for larger ones.
const BLOCKS: u64 = 8;

/// What a bucket takes in memory when it is put in order, unless memory is smaller. All of it is
/// gone through in random order, so it should fit a core's caches. For 10^8 records of 8 bytes,
/// buckets of 4, 8, 16, 32 and 64 MiB took 1.9, 2.1, 2.4, 3.9 and 5.1 seconds of processor time in
/// user mode (AMD EPYC, 2 cores); the smallest cost the system more, as they take smaller blocks.
const BUCKET_COST: u64 = 8 << 20;

/// The most buckets.
const MOST_BUCKETS: u64 = 1 << 16;

/// Divides an amount of memory among the buffers of the passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    memory: usize,
    /// Whether keys are divided as on any machine with as much memory, and not for the threads of
    /// the pool.
    of_any_machine: bool,
}

/// What the items are, and what may be used for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct BudgetJob {
    pub(super) items: Items,
    pub(super) budget: Budget,
}

/// Into how many buckets keys are divided, and how large their blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySplit {
    /// A bucket has the keys that agree in all but this number of low bits.
    pub(crate) shift: u32,
    /// The number of buckets.
    pub(super) buckets: u64,
    /// The size of a block.
    pub(super) block: usize,
}

impl Budget {
    pub(super) fn new(memory: usize) -> Self {
        Self { memory, of_any_machine: false }
    }

    /// A budget that divides keys as on any machine.
    pub(super) fn of_any_machine(memory: usize) -> Self {
        Self { memory, of_any_machine: true }
    }

    /// How many bytes are read at a time. Three such chunks are held.
    pub(super) fn chunk(self) -> usize {
        (self.memory / 16).clamp(1, CHUNK)
    }

    /// The most bytes of an item. Such an item is held as part of three chunks, or of a bucket.
    pub(super) fn longest_item(self) -> usize {
        // Offsets in a bucket are of 32 bits.
        (self.memory / 8).clamp(1, 1 << 30)
    }

    /// What the buckets that are put in order at one time may take together.
    pub(super) fn round(self) -> u64 {
        (self.memory as u64 / 4 * 3).max(1)
    }

    /// Divides keys of a range of this width, which items with this number of bytes in all have.
    /// There are at least `least` buckets, unless there are fewer keys.
    pub(super) fn split(self, width: u64, items: u64, bytes: u64, least: u64) -> KeySplit {
        let cost = bucket_cost(bytes.saturating_add(items.saturating_mul(4)), width, bytes);
        let threads = if self.of_any_machine { 1 } else { rayon::current_num_threads() as u64 };
        let each = (self.round() / (2 * threads)).clamp(1, BUCKET_COST);
        let least_block = (self.memory / 256).clamp(1, LEAST_BLOCK);
        let most = (self.memory / 2 / least_block) as u64;
        // The division by a power of two below may double the number.
        let most = (most.min(MOST_BUCKETS) / 2).max(least);
        let wanted = cost.div_ceil(each).clamp(least, most);
        let mut shift = 0;
        while last_bucket(width, shift) >= 2 * wanted {
            shift += 1;
        }
        let buckets = last_bucket(width, shift) + 1;
        // The system has to provide whatever is used here, and that takes as long as to copy it. So
        // blocks take an eighth of what is stored, and no more.
        let most = (self.memory as u64 / 2 / buckets).min(BLOCK as u64);
        let wanted = (bytes / buckets / BLOCKS).max(LEAST_BLOCK as u64);
        let block = wanted.min(most).max(1) as usize;
        KeySplit { shift, buckets, block }
    }

    /// The same buckets, with blocks for which there is memory here.
    pub(super) fn with_room(self, split: KeySplit) -> KeySplit {
        let most = (self.memory as u64 / 2 / split.buckets).max(1) as usize;
        KeySplit { block: split.block.min(most), ..split }
    }
}

fn last_bucket(width: u64, shift: u32) -> u64 {
    width.saturating_sub(1) >> shift
}

/// What it takes to put a bucket in order: what is read, an offset for each key, and what is
/// written, twice, as the bucket before it is written at the same time.
pub(super) fn bucket_cost(stored: u64, width: u64, written: u64) -> u64 {
    stored.saturating_add(width.saturating_mul(4)).saturating_add(written.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_have_buckets_for_all_keys() {
        for memory in [1, 1 << 12, 1 << 20, 1 << 28, 1 << 34] {
            let budget = Budget::new(memory);
            for width in [1, 2, 3, 255, 256, 1000, 1 << 20, (1 << 33) + 1, u64::MAX] {
                for bytes in [0, 1, 1 << 20, 1 << 40] {
                    for least in [1, 2] {
                        let split = budget.split(width, width / 2, bytes, least);
                        assert_eq!((width - 1) >> split.shift, split.buckets - 1);
                        assert!(split.buckets >= least.min(width), "{memory} {width} {split:?}");
                        assert!(split.block > 0);
                        let each = bytes / split.buckets / BLOCKS;
                        assert!(split.block as u64 <= each.max(LEAST_BLOCK as u64));
                        let blocks = split.block as u64 * split.buckets;
                        assert!(blocks <= memory as u64 / 2 || split.block == 1);
                    }
                }
            }
        }
    }
}
