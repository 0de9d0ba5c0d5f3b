//! [`Readers`]: threads that read sources.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::budget::BudgetJob;
use super::chunks::{SourceEnd, Stopped, read_chunks};
use super::sources::Sources;

/// What threads share that read sources, each of them one after the other.
pub(super) struct Readers<'p> {
    job: BudgetJob,
    sources: &'p dyn Sources,
    count: usize,
    threads: usize,
    /// How many bytes a thread reads at a time.
    step: usize,
    /// The first source that no thread reads yet.
    next: AtomicUsize,
    is_stopped: AtomicBool,
    long: Mutex<()>,
}

/// How the sources ended that were read.
pub(super) type SourceEnds = Vec<(usize, Result<SourceEnd, Stopped>)>;

impl<'p> Readers<'p> {
    /// Readers of `count` sources.
    pub(super) fn new(job: BudgetJob, sources: &'p dyn Sources, count: usize) -> Self {
        let threads = rayon::current_num_threads().clamp(1, count.max(1));
        // A thread has a chunk and what it read of the next, and two chunks are on their way.
        let step = match threads {
            1 => job.budget.chunk(),
            _ => (3 * job.budget.chunk() / (2 * threads + 2)).max(1),
        };
        let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { job, sources, count, threads, step, next, is_stopped, long: Mutex::new(()) }
    }

    /// How many threads should read.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Reads sources as long as there are any, on the calling thread. `take` takes a chunk of whole
    /// items of a source, and returns memory for the next; if it returns none, all threads stop.
    pub(super) fn read(
        &self,
        mut take: impl FnMut(usize, Vec<u8>) -> Option<Vec<u8>>,
    ) -> SourceEnds {
        let mut ends = Vec::new();
        while !self.is_stopped.load(Ordering::Relaxed) {
            let source = self.next.fetch_add(1, Ordering::Relaxed);
            if source >= self.count {
                break;
            }
            let end = self.read_source(source, &mut take);
            if end.is_err() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            ends.push((source, end));
        }
        ends
    }

    fn read_source(
        &self,
        source: usize,
        take: &mut impl FnMut(usize, Vec<u8>) -> Option<Vec<u8>>,
    ) -> Result<SourceEnd, Stopped> {
        let text = self.sources.open(source).map_err(Stopped::Read)?;
        read_chunks(text, self.job, self.step, &self.long, |chunk| {
            if self.is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            let next = take(source, chunk);
            if next.is_none() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            next
        })
    }
}
