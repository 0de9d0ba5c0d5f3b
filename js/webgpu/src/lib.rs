//! The WebAssembly module that plans shuffles on a GPU, which `js/src/gpu.ts` calls and nobody
//! else. The kernels, and what is launched, are those of `crates/wgsl`.
//!
//! The caller checks what it passes.

mod json;

use std::cell::UnsafeCell;

use bijective_shuffle_core::Seed;
use bijective_shuffle_wgsl::limits::Limits;
use bijective_shuffle_wgsl::plan::Planner;
use bijective_shuffle_wgsl::shader::Tuning;

/// What goes in and out.
struct Memory {
    /// The seed: 4 words of a key, or a number; the epoch; the bytes of a binding and of a buffer;
    /// the alignment of offsets; the threads and the bytes of a workgroup; the least bytes of an
    /// array that is partitioned; whether there are subgroups.
    words: [u64; 12],
    answer: String,
}

struct Shared(UnsafeCell<Memory>);

// SAFETY: WebAssembly without shared memory has one thread.
unsafe impl Sync for Shared {}

static MEMORY: Shared = Shared(UnsafeCell::new(Memory { words: [0; 12], answer: String::new() }));

/// The address of the words that go in.
#[unsafe(no_mangle)]
pub extern "C" fn buffer() -> *mut u64 {
    // SAFETY: no reference to the memory outlives a call, and the module has one thread.
    unsafe { &raw mut (*MEMORY.0.get()).words }.cast()
}

/// The address of the last plan.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    // SAFETY: no reference to the memory outlives a call, and the module has one thread.
    let memory = unsafe { &*MEMORY.0.get() };
    memory.answer.as_ptr()
}

/// Plans the shuffle of `len` items on a GPU, or what undoes it, as JSON (`json.rs`), whose bytes
/// are returned. There is none of a length of 0.
#[unsafe(no_mangle)]
pub extern "C" fn plan(len: u32, item_bytes: u32, is_undo: u32, is_key: u32) -> usize {
    // SAFETY: no other function runs meanwhile, and the module has one thread.
    let memory = unsafe { &mut *MEMORY.0.get() };
    let [.., epoch, binding, buffer, alignment, threads, storage, partitioned, subgroups] =
        memory.words;
    let seed = if is_key == 0 {
        Seed::new(memory.words[0])
    } else {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_mut(8).zip(memory.words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Seed::from_bytes(bytes)
    };
    let (threads, storage) = (threads as u32, storage as u32);
    let tuning = Tuning { subgroups: subgroups != 0, partitioned, ..Tuning::STANDARD };
    // As many arrays as WebGPU guarantees.
    let limits = Limits { binding, arrays: 8, buffer, alignment, threads, storage };
    let planner = Planner { limits, tuning };
    let seed = seed.with_epoch(epoch);
    memory.answer =
        json::launches(&planner, len, item_bytes, is_undo != 0, seed).unwrap_or_default();
    memory.answer.len()
}
