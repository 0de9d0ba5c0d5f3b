//! The kernels of the runtime itself, which prepare working memory.

use super::kernel::{Kernel, arguments};

/// Threads of a block, for kernels that are not tuned.
pub(crate) const THREADS: u32 = 256;

arguments! {
    /// Sets 32-bit words to zero.
    pub(super) struct ClearWords => Permutations, None, "clear_words" {
        words: u64 => "uint32_t*",
        len: u64 => "uint64_t",
    }
}

pub(super) fn clear_words() -> Kernel<ClearWords> {
    Kernel::new([], THREADS, 1)
}

arguments! {
    /// Initialises the memory of a look-back.
    pub(super) struct NewTileStates => Permutations, None, "new_tile_states" {
        states: u64 => "TileStates*",
        capacity: u32 => "uint32_t",
    }
}

pub(super) fn new_tile_states() -> Kernel<NewTileStates> {
    Kernel::new([], THREADS, 1)
}

/// All kernels of the runtime.
#[cfg(test)]
pub(super) fn all() -> [super::kernel::Instance; 2] {
    [clear_words().erase(), new_tile_states().erase()]
}
