//! Handles of the driver's, by which a process maps memory of another, as numbers that ranks can
//! tell each other.

use std::ffi::c_char;

use cudarc::driver::sys;

/// The numbers of a handle.
pub(super) const HANDLE: usize = size_of::<sys::CUipcMemHandle>() / 8;

/// The handle of memory that was allocated at an address.
pub(super) fn export(address: u64) -> Option<[u64; HANDLE]> {
    let mut handle = sys::CUipcMemHandle { reserved: [0; 8 * HANDLE] };
    // SAFETY: the memory exists, and the call writes one handle.
    unsafe { sys::cuIpcGetMemHandle(&raw mut handle, address) }.result().ok()?;
    Some(numbers(&handle))
}

/// Maps the memory of another process.
pub(super) fn open(numbers: &[u64]) -> Option<u64> {
    let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
    let (handle, mut address) = (handle(numbers), 0);
    // SAFETY: the call writes one address, and reads a handle that the driver made on another rank.
    unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut address, handle, flags) }.result().ok()?;
    Some(address)
}

/// The numbers of a handle, whose bytes are of either sign, as `char` is in C.
fn numbers(handle: &sys::CUipcMemHandle) -> [u64; HANDLE] {
    let byte = |at: usize| u8::from_ne_bytes(handle.reserved[at].to_ne_bytes());
    let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|k| byte(8 * at + k)));
    std::array::from_fn(number)
}

/// The handle that has these numbers.
fn handle(numbers: &[u64]) -> sys::CUipcMemHandle {
    let mut handle = sys::CUipcMemHandle { reserved: [0; 8 * HANDLE] };
    let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes());
    for (place, byte) in handle.reserved.iter_mut().zip(bytes) {
        *place = c_char::from_ne_bytes([byte]);
    }
    handle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_come_back_from_their_numbers() {
        let mut of = sys::CUipcMemHandle { reserved: [0; 8 * HANDLE] };
        for (place, byte) in of.reserved.iter_mut().zip(180_u8..) {
            *place = c_char::from_ne_bytes([byte]);
        }
        assert_eq!(handle(&numbers(&of)), of);
        assert_eq!(numbers(&of)[0].to_ne_bytes(), std::array::from_fn(|k| 180 + k as u8));
    }
}
