//! The GPU side where it is not built: on systems without CUDA.

use bijective_shuffle::cuda::Cuda;
use bijective_shuffle::{Permutations, Seed};
use bijective_shuffle_bindings::AnyOrder;
use pyo3::prelude::*;

use super::memory::DeviceMemory;
use crate::errors::exception;

pub(super) fn name(device: usize) -> PyResult<String> {
    // It is the error that says what is missing.
    Cuda::on_device(device).map(|_| String::new()).map_err(exception)
}

pub(super) fn reorder(
    _: &AnyOrder,
    _: DeviceMemory,
    _: Option<DeviceMemory>,
    _: bool,
    (device, _): (usize, u64),
    _: bool,
) -> PyResult<()> {
    name(device).map(drop)
}

pub(super) fn permuted(
    _: &Permutations,
    _: (DeviceMemory, DeviceMemory),
    (device, _): (usize, u64),
    _: bool,
) -> PyResult<()> {
    name(device).map(drop)
}

pub(super) fn segments(
    _: Seed,
    _: (DeviceMemory, DeviceMemory, DeviceMemory),
    (device, _): (usize, u64),
    _: bool,
) -> PyResult<()> {
    name(device).map(drop)
}

pub(super) fn indexes(
    _: &AnyOrder,
    _: DeviceMemory,
    _: usize,
    device: usize,
    _: u64,
) -> PyResult<()> {
    name(device).map(drop)
}
