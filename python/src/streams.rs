//! Functions for streams through a buffer, splits, and blocks of nodes, which are Python otherwise.

use bijective_shuffle_loaders::{NodeBlocks, Splits, StreamOrder, StreamState};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::argument;
use crate::errors::exception;
use crate::key::Key;
use crate::threads::detached;

/// Which places of a stream's buffer the steps from `first` on take: at most `count`, and at most
/// `left`, the number of items that are left, if it is known.
#[pyfunction]
#[pyo3(signature = (size, seed, epoch, first, count, left=None))]
pub(crate) fn stream_slots<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = argument::size)] size: u64,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    #[pyo3(from_py_with = argument::first)] first: u64,
    count: usize,
    left: Option<u64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let order = StreamOrder::new(size, Key::new(seed, epoch)?.seed()).map_err(exception)?;
    let mut slots = vec![0; count];
    let steps = order.fill(first, left, &mut slots);
    slots.truncate(steps);
    Ok(PyArray1::from_vec(py, slots))
}

/// The state of a stream after `emitted` steps, for which `taken` items were taken of the input.
#[pyfunction]
pub(crate) fn stream_state(
    #[pyo3(from_py_with = argument::size)] size: u64,
    seed: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    #[pyo3(from_py_with = argument::emitted)] emitted: u64,
    #[pyo3(from_py_with = argument::taken)] taken: u64,
) -> PyResult<String> {
    let order = StreamOrder::new(size, Key::new(seed, epoch)?.seed()).map_err(exception)?;
    Ok(StreamState::new(&order, emitted, taken).to_string())
}

/// The epoch of a stream's state, how many steps were taken, how many items of the input, and which
/// of them are in the buffer.
#[pyfunction]
pub(crate) fn stream_buffered<'py>(
    py: Python<'py>,
    size: u64,
    seed: &Bound<'py, PyAny>,
    state: &str,
) -> PyResult<(u64, u64, u64, Bound<'py, PyArray1<u64>>)> {
    let state: StreamState = state.parse().map_err(exception)?;
    let seed = Key::new(seed, state.epoch())?.seed();
    let order = StreamOrder::new(size, seed).map_err(exception)?;
    let held = detached(py, || order.buffered(&state))?.map_err(exception)?;
    Ok((state.epoch(), state.emitted(), state.taken(), PyArray1::from_vec(py, held)))
}

/// The parts of the items of a stratum from 0 up to `count`.
#[pyfunction]
pub(crate) fn split_parts<'py>(
    py: Python<'py>,
    shares: Vec<u64>,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    #[pyo3(from_py_with = argument::stratum)] stratum: u64,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let splits = Splits::new(&shares, Key::new(seed, epoch)?.seed()).map_err(exception)?;
    let mut parts = vec![0; count];
    detached(py, || splits.fill(stratum, 0, &mut parts))?.map_err(exception)?;
    Ok(PyArray1::from_vec(py, parts))
}

/// The parts of items by their ids.
#[pyfunction]
pub(crate) fn split_ids<'py>(
    py: Python<'py>,
    shares: Vec<u64>,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ids: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let splits = Splits::new(&shares, Key::new(seed, epoch)?.seed()).map_err(exception)?;
    Ok(PyArray1::from_iter(py, ids.iter().map(|id| splits.part_of_id(id))))
}

/// The blocks that are left to a node of an epoch, after the nodes of some runs have read theirs.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one function stands for a class")]
pub(crate) fn node_blocks<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = argument::blocks)] blocks: u64,
    kept: f64,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    runs: Vec<(u64, u64)>,
    #[pyo3(from_py_with = argument::node)] node: u64,
    #[pyo3(from_py_with = argument::nodes)] nodes: u64,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let own = NodeBlocks::new(blocks, kept, Key::new(seed, epoch)?.seed()).map_err(exception)?;
    let list = detached(py, || own.after(epoch, &runs, node, nodes))?.map_err(exception)?;
    Ok(PyArray1::from_vec(py, list))
}
