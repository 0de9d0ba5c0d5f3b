//! [`Readers`]: threads that read the parts of a source.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::budget::Job;
use super::chunks::{End, Stopped, read_chunks};
use super::parts::Parts;

/// What threads share that read parts, each of them one after the other.
pub(super) struct Readers<'p> {
    job: Job,
    parts: &'p dyn Parts,
    count: usize,
    threads: usize,
    /// How many bytes a thread reads at a time.
    step: usize,
    /// The first part that no thread reads yet.
    next: AtomicUsize,
    is_stopped: AtomicBool,
    long: Mutex<()>,
}

/// How the parts ended that were read.
pub(super) type Ends = Vec<(usize, Result<End, Stopped>)>;

impl<'p> Readers<'p> {
    /// Readers of so many parts.
    pub(super) fn new(job: Job, parts: &'p dyn Parts, count: usize) -> Self {
        let threads = rayon::current_num_threads().clamp(1, count.max(1));
        // A thread has a chunk and what it read of the next, and two chunks are on their way.
        let step = match threads {
            1 => job.budget.chunk(),
            _ => (3 * job.budget.chunk() / (2 * threads + 2)).max(1),
        };
        let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { job, parts, count, threads, step, next, is_stopped, long: Mutex::new(()) }
    }

    /// How many threads should read.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Reads parts as long as there are any, on the calling thread. `take` takes a chunk of whole
    /// items of a part, and returns memory for the next; if it returns none, all threads stop.
    pub(super) fn read(&self, mut take: impl FnMut(usize, Vec<u8>) -> Option<Vec<u8>>) -> Ends {
        let mut ends = Vec::new();
        while !self.is_stopped.load(Ordering::Relaxed) {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.count {
                break;
            }
            let end = self.read_part(part, &mut take);
            if end.is_err() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            ends.push((part, end));
        }
        ends
    }

    fn read_part(
        &self,
        part: usize,
        take: &mut impl FnMut(usize, Vec<u8>) -> Option<Vec<u8>>,
    ) -> Result<End, Stopped> {
        let source = self.parts.open(part).map_err(Stopped::Read)?;
        let Job { items, budget } = self.job;
        read_chunks(source, items, (budget, self.step), &self.long, |chunk| {
            if self.is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            let next = take(part, chunk);
            if next.is_none() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            next
        })
    }
}
