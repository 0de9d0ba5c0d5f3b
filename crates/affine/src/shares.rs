//! [`TileShares`]: divides tiles among threads, with working memory that is allocated before
//! anything moves.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::tuning;
use bijective_shuffle_engine::{parallel, stream};

/// How tiles are divided among the threads of the current rayon pool.
pub(super) struct TileShares {
    tiles: u64,
    /// The number of tiles in a share.
    share: u64,
    workers: usize,
    /// The working memory of a worker, in items.
    room: usize,
}

impl TileShares {
    /// Divides `tiles` tiles of `items` items each, with working memory of `room` items for each
    /// thread.
    pub(super) fn new<T>(tiles: u64, items: usize, room: usize) -> Self {
        let all = usize::try_from(tiles).unwrap_or(usize::MAX).saturating_mul(items);
        let threads =
            if tuning::is_sequential::<T>(all) { 1 } else { rayon_core::current_num_threads() };
        let share = tuning::share::<T>(tiles, items, threads);
        let workers = tiles.div_ceil(share).min(threads as u64) as usize;
        // Whole lines, and at least one, so that the memory splits into as many pieces as there are
        // workers.
        let line = stream::LINE >> size_of::<T>().trailing_zeros().min(stream::LINE.ilog2());
        Self { tiles, share, workers, room: room.max(1).next_multiple_of(line) }
    }

    /// The working memory of all workers, in items.
    pub(super) fn room(&self) -> usize {
        self.workers * self.room
    }

    /// Calls a function with ranges of tiles that together cover all tiles.
    ///
    /// # Panics
    ///
    /// If the memory does not have [`room`](Self::room) items.
    pub(super) fn run<T: Send>(
        &self,
        memory: &mut [MaybeUninit<T>],
        run: impl Fn(Range<u64>, &mut [MaybeUninit<T>]) + Sync,
    ) {
        assert_eq!(memory.len(), self.room());
        if self.workers == 1 {
            return run(0..self.tiles, memory);
        }
        // There are few shares, so a `usize` counts them; some processors have no 64-bit atomic
        // integers.
        let next = AtomicUsize::new(0);
        parallel::each_chunk(memory, self.room, |_, memory| {
            loop {
                let share = next.fetch_add(1, Ordering::Relaxed) as u64;
                let start = share.saturating_mul(self.share);
                if start >= self.tiles {
                    return;
                }
                run(start..self.tiles.min(start + self.share), memory);
            }
        });
    }

    /// The number of shares, if there are several threads.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        if self.workers == 1 { 1 } else { self.tiles.div_ceil(self.share) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn check(threads: usize, tiles: u64, items: usize) -> u64 {
        check_with(0, threads, tiles, items);
        check_with(5, threads, tiles, items)
    }

    fn check_with(room: usize, threads: usize, tiles: u64, items: usize) -> u64 {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let shares = TileShares::new::<u64>(tiles, items, room);
            assert!(shares.workers <= threads);
            let mut memory = vec![MaybeUninit::<u64>::uninit(); shares.room()];
            let seen = Mutex::new(vec![0; tiles as usize]);
            shares.run(&mut memory, |tiles, memory| {
                assert!(memory.len() >= room);
                seen.lock().unwrap()[tiles.start as usize..tiles.end as usize]
                    .iter_mut()
                    .for_each(|times| *times += 1);
            });
            assert!(seen.into_inner().unwrap().iter().all(|&times| times == 1));
            assert!(shares.count() <= tiles.max(1));
            shares.count()
        })
    }

    #[test]
    fn every_tile_is_in_one_share() {
        for threads in [1, 2, 3, 16] {
            for tiles in [0, 1, 2, 7, 64, 1000, 4099] {
                check(threads, tiles, 1 << 12);
                check(threads, tiles, 3);
            }
        }
    }

    #[test]
    fn room_is_whole_lines() {
        assert_eq!(TileShares::new::<[u8; 1 << 20]>(1, 1, 1).room(), 1);
        assert_eq!(TileShares::new::<u64>(1, 8, 9).room(), 16);
        assert_eq!(TileShares::new::<[u8; 3]>(1, 8, 0).room(), 64);
    }

    #[test]
    fn shares_are_no_more_than_threads_and_work_ask_for() {
        // An array of 32 MiB.
        assert_eq!(check(1, 1 << 10, 1 << 12), 1);
        assert_eq!(check(2, 1 << 10, 1 << 12), 32);
        assert_eq!(check(16, 1 << 10, 1 << 12), 32);
        // An array of 1 GiB. The number of shares of a thread does not grow with the length.
        assert_eq!(check(2, 1 << 15, 1 << 12), 2 * tuning::SHARES_A_THREAD);
        assert_eq!(check(16, 1 << 15, 1 << 12), 16 * tuning::SHARES_A_THREAD);
    }
}
