//! Whether all of an array lies in the memory of a GPU, by what the driver says of addresses.

use pyo3::prelude::*;

use crate::argument::List;

/// What the driver knows of an address.
#[derive(Clone, Copy)]
pub(super) struct Allocation {
    /// The number of the GPU.
    pub(super) device: usize,
    /// The first address behind the allocation, or behind that part of it which was mapped at once.
    pub(super) end: u64,
}

/// Whether `bytes` bytes from an address on are all in the memory of a GPU, as far as `ask` knows
/// the allocations in which they lie.
///
/// The array may begin anywhere in an allocation, and go through several that follow one another:
/// an allocator that lets its memory grow (`expandable_segments` of PyTorch) maps it in parts, and
/// each of these is one to the driver.
pub(super) fn covers(
    device: usize,
    address: u64,
    bytes: usize,
    mut ask: impl FnMut(u64) -> Option<Allocation>,
) -> bool {
    let Some(end) = address.checked_add(bytes as u64) else { return false };
    let mut next = address;
    while next < end {
        match ask(next) {
            // An end that is not behind the address would be asked for again.
            Some(found) if found.device == device && found.end > next => next = found.end,
            _ => return false,
        }
    }
    true
}

/// [`covers`] for allocations that are listed as their start, their size and their GPU. It is for
/// tests, since there is a driver only where there is a GPU.
#[pyfunction]
pub(crate) fn gpu_covers(
    device: usize,
    address: u64,
    bytes: usize,
    allocations: List<(u64, u64, usize)>,
) -> bool {
    covers(device, address, bytes, |address| {
        allocations.0.iter().find_map(|&(start, size, device)| {
            let end = start.checked_add(size)?;
            (start..end).contains(&address).then_some(Allocation { device, end })
        })
    })
}
