//! What a shuffle cannot well be faster than: a gather whose indexes are given, and a copy.

use bijective_shuffle_baselines::rao_sandelius;
use rayon::prelude::*;

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Side};
use crate::item::Item;

pub(crate) const GATHER: &str = "gather";
pub(crate) const MEMCPY: &str = "memcpy";

/// Fewer bytes are no thread's work of their own: to wake one takes as long as to copy them, or
/// longer.
const CHUNK_BYTES: usize = 1 << 19;

/// The gather and the copy, both in parallel.
pub(crate) fn all<T: Item>() -> [Contender<T>; 2] {
    [
        Contender::new(Side::Bound, GATHER, Gather { indices: Indices::Narrow(Vec::new()) }),
        Contender::new(Side::Bound, MEMCPY, Memcpy),
    ]
}

/// Copies the items in a random order that is given.
struct Gather {
    indices: Indices,
}

/// The words are as narrow as the length allows.
enum Indices {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Indices {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(indices) => indices.len(),
            Self::Wide(indices) => indices.len(),
        }
    }

    /// The indexes below a length in random order.
    fn random(len: usize, seed: u64) -> Self {
        fn shuffled<N: Item>(len: usize, seed: u64) -> Vec<N> {
            let mut indices: Vec<N> = (0..len as u64).into_par_iter().map(N::new).collect();
            rao_sandelius(&mut indices, seed);
            indices
        }
        if u32::try_from(len.saturating_sub(1)).is_ok() {
            Self::Narrow(shuffled(len, seed))
        } else {
            Self::Wide(shuffled(len, seed))
        }
    }
}

impl<T: Item> Runner<T> for Gather {
    fn prepare(&mut self, len: usize, seed: u64, _: usize) {
        if self.indices.len() != len {
            self.indices = Indices::random(len, seed);
        }
    }

    fn run(&mut self, arena: &mut Arena<T>, _: usize) {
        arena.out_of_place(|items, out| match &self.indices {
            Indices::Narrow(indices) => gather(items, indices, out, |index| index as usize),
            Indices::Wide(indices) => gather(items, indices, out, |index| index as usize),
        });
    }
}

fn gather<T: Item, N: Copy + Sync>(
    items: &[T],
    indices: &[N],
    out: &mut [T],
    widen: impl Fn(N) -> usize + Sync,
) {
    let chunk = chunk(out);
    out.par_chunks_mut(chunk).zip(indices.par_chunks(chunk)).for_each(|(out, indices)| {
        for (place, &index) in out.iter_mut().zip(indices) {
            *place = items[widen(index)];
        }
    });
}

/// Copies the items in their order.
struct Memcpy;

impl<T: Item> Runner<T> for Memcpy {
    fn prepare(&mut self, _: usize, _: u64, _: usize) {}

    fn run(&mut self, arena: &mut Arena<T>, _: usize) {
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
