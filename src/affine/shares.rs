//! [`Shares`]: tiles divided among threads, with working memory that is had before anything is
//! moved.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::tuning;
use crate::base::stream;

/// How tiles are divided among the threads of the current rayon pool.
pub(super) struct Shares {
    tiles: u64,
    /// Tiles of a share.
    share: u64,
    workers: usize,
    /// Items of working memory of a worker.
    room: usize,
}

impl Shares {
    /// So many tiles of so many items, with room for some more items for each thread.
    pub(super) fn new<T>(tiles: u64, items: usize, room: usize) -> Self {
        let all = usize::try_from(tiles).unwrap_or(usize::MAX).saturating_mul(items);
        let threads =
            if tuning::is_sequential::<T>(all) { 1 } else { rayon::current_num_threads() };
        let share = tuning::share::<T>(tiles, items, threads);
        let workers = tiles.div_ceil(share).min(threads as u64) as usize;
        // Whole lines, and not none, so that there are as many pieces of it as workers.
        let line = stream::LINE >> size_of::<T>().trailing_zeros().min(stream::LINE.ilog2());
        Self { tiles, share, workers, room: room.max(1).next_multiple_of(line) }
    }

    /// How many items of working memory there have to be.
    pub(super) fn room(&self) -> usize {
        self.workers * self.room
    }

    /// Runs something for ranges of tiles that together are all tiles.
    ///
    /// # Panics
    ///
    /// If the memory is not of [`room`](Self::room) items.
    pub(super) fn run<T: Send>(
        &self,
        memory: &mut [MaybeUninit<T>],
        run: impl Fn(Range<u64>, &mut [MaybeUninit<T>]) + Sync,
    ) {
        assert_eq!(memory.len(), self.room());
        if self.workers == 1 {
            return run(0..self.tiles, memory);
        }
        // Shares are few, so a `usize` counts them; not every processor has atomic integers of 64
        // bits.
        let next = AtomicUsize::new(0);
        memory.par_chunks_exact_mut(self.room).with_max_len(1).for_each(|memory| {
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

    /// How many shares there are, if there are several threads.
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
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let shares = Shares::new::<u64>(tiles, items, room);
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
        assert_eq!(Shares::new::<[u8; 1 << 20]>(1, 1, 1).room(), 1);
        assert_eq!(Shares::new::<u64>(1, 8, 9).room(), 16);
        assert_eq!(Shares::new::<[u8; 3]>(1, 8, 0).room(), 64);
    }

    #[test]
    fn there_are_no_more_shares_than_threads_and_work_ask_for() {
        // 32 MiB.
        assert_eq!(check(1, 1 << 10, 1 << 12), 1);
        assert_eq!(check(2, 1 << 10, 1 << 12), 32);
        assert_eq!(check(16, 1 << 10, 1 << 12), 32);
        // 1 GiB: a number of shares for each thread, however long the array is.
        assert_eq!(check(2, 1 << 15, 1 << 12), 2 * tuning::SHARES_A_THREAD);
        assert_eq!(check(16, 1 << 15, 1 << 12), 16 * tuning::SHARES_A_THREAD);
    }
}
