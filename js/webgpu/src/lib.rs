//! The WebAssembly module that writes the kernels of a shuffle on a GPU, which `js/src/gpu.ts`
//! calls and nobody else. The kernels are those of `crates/wgpu`, from its own files.
//!
//! Everything goes through one buffer, of which the caller asks for the address. The caller checks
//! what it passes.

#[path = "../../../crates/wgpu/src/families.rs"]
mod families;
mod kernel;
#[path = "../../../crates/wgpu/src/shader.rs"]
#[allow(dead_code, reason = "there is no partitioned strategy here, nor fills")]
mod shader;
mod source;

use std::cell::UnsafeCell;

use bijective_shuffle::Seed;

use kernel::Kernel;

/// The words that the buffer holds, for the longest text and its parameters.
const ROOM: usize = 1 << 12;

/// The buffer. The module has one thread, and no call is within another.
#[repr(C, align(16))]
struct Buffer(UnsafeCell<[u64; ROOM]>);

// SAFETY: WebAssembly without shared memory has one thread.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; ROOM]));

/// The address of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn buffer() -> *mut u64 {
    BUFFER.0.get().cast()
}

/// Makes the kernel that shuffles `len` items on a GPU, or undoes that. The seed is in the buffer:
/// 4 words of a key if it is one, or a number, and behind them the epoch.
///
/// The kernel comes in its place, in words of 32 bits: the number of workgroups, the words of the
/// state, the number of parameters, and these. Behind them is the text, whose bytes are returned.
/// There is none of a length of 0, nor for items that are no whole words.
#[unsafe(no_mangle)]
pub extern "C" fn kernel(len: u32, item_bytes: u32, is_undo: u32, is_key: u32) -> usize {
    // SAFETY: no other function uses the buffer, and the module has one thread.
    let buffer = unsafe { &mut *BUFFER.0.get() };
    let seed = if is_key == 0 {
        Seed::new(buffer[0])
    } else {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_mut(8).zip(&*buffer) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Seed::from_bytes(bytes)
    };
    let kernel = Kernel::new(len, item_bytes, is_undo != 0, seed.with_epoch(buffer[4]));
    let Some(Kernel { text, groups, state, params }) = kernel else { return 0 };
    let numbers = [groups, state, params.len() as u32].into_iter().chain(params);
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).chain(text.bytes()).collect();
    for (word, bytes) in buffer.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    text.len()
}
