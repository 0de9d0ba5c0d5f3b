//! What a shuffle cannot well be faster than: a gather whose indexes are given, and a copy.

use bijective_shuffle_baselines::rao_sandelius;
use rayon::prelude::*;

use crate::arena::Arena;
use crate::contender::{Contender, Runner};

/// Fewer bytes are no thread's work of their own: to wake one takes as long as to copy them, or
/// longer.
const CHUNK_BYTES: usize = 1 << 19;

/// The gather and the copy, both in parallel.
pub(crate) fn all() -> [Contender; 2] {
    [Contender::new("gather", Gather { indices: Vec::new() }), Contender::new("memcpy", Memcpy)]
}

/// Copies the items in a random order that is given.
struct Gather {
    indices: Vec<u32>,
}

impl Runner for Gather {
    fn prepare(&mut self, len: usize, seed: u64, _: usize) {
        if self.indices.len() != len {
            let len = u32::try_from(len).expect("fewer than 2^32 items");
            self.indices = (0..len).into_par_iter().collect();
            rao_sandelius(&mut self.indices, seed);
        }
    }

    fn run(&mut self, arena: &mut Arena, _: usize) {
        arena.out_of_place(|items, out| {
            let chunk = chunk(out);
            let chunks = out.par_chunks_mut(chunk).zip(self.indices.par_chunks(chunk));
            chunks.for_each(|(out, indices)| {
                for (place, &index) in out.iter_mut().zip(indices) {
                    *place = items[index as usize];
                }
            });
        });
    }
}

/// Copies the items in their order.
struct Memcpy;

impl Runner for Memcpy {
    fn prepare(&mut self, _: usize, _: u64, _: usize) {}

    fn run(&mut self, arena: &mut Arena, _: usize) {
        arena.out_of_place(|items, out| {
            let chunk = chunk(out);
            let chunks = out.par_chunks_mut(chunk).zip(items.par_chunks(chunk));
            chunks.for_each(|(out, items)| out.copy_from_slice(items));
        });
    }

    fn moves(&self) -> bool {
        false
    }
}

/// How many items are one task, so that all threads get several of much the same size, or the
/// calling thread all.
fn chunk<T>(items: &[T]) -> usize {
    let most = 4 * rayon::current_num_threads();
    let tasks = (size_of_val(items) / CHUNK_BYTES).clamp(1, most);
    items.len().div_ceil(tasks).max(1)
}
