//! Functions for streams through a buffer, splits, and blocks of nodes, which are Python otherwise.

use bijective_shuffle_engine::check::try_with_capacity;
use bijective_shuffle_loaders::{NodeBlocks, NodeRun, Splits, StreamOrder, StreamState};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::argument::{self, List};
use crate::errors::exception;
use crate::loaders::numbers_of;
use crate::seed;
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
    #[pyo3(from_py_with = argument::count)] count: u64,
    left: Option<u64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let order = StreamOrder::new(size, seed::read(seed, epoch)?).map_err(exception)?;
    let mut slots = zeros(count)?;
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
    let order = StreamOrder::new(size, seed::read(seed, epoch)?).map_err(exception)?;
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
    let seed = seed::read(seed, state.epoch())?;
    let order = StreamOrder::new(size, seed).map_err(exception)?;
    let held = detached(py, || order.buffered(&state))?.map_err(exception)?;
    Ok((state.epoch(), state.emitted(), state.taken(), PyArray1::from_vec(py, held)))
}

/// The parts of the items of strata with these counts, one stratum after another. They are dealt by
/// the counts if that is asked for, or if a part would be empty otherwise and need not be.
#[pyfunction]
pub(crate) fn split_parts<'py>(
    py: Python<'py>,
    shares: List<u64>,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    counts: PyReadonlyArray1<'py, u64>,
    evenly: bool,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let splits = Splits::new(&shares.0, seed::read(seed, epoch)?).map_err(exception)?;
    let counts = numbers_of(&counts)?;
    let parts = move || {
        if evenly {
            return splits.deal(&counts);
        }
        let all = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let len = usize::try_from(all).unwrap_or(usize::MAX);
        let mut parts = try_with_capacity(len)?;
        parts.resize(len, 0);
        let mut rest = &mut parts[..];
        for (stratum, &count) in (0..).zip(&counts) {
            let own;
            (own, rest) = rest.split_at_mut(count as usize);
            splits.fill(stratum, 0, own)?;
        }
        let mut is_empty: Vec<bool> = shares.0.iter().map(|&share| share > 0).collect();
        let needed = is_empty.iter().filter(|&&is_empty| is_empty).count();
        parts.iter().for_each(|&part| is_empty[part as usize] = false);
        if len >= needed && is_empty.contains(&true) { splits.deal(&counts) } else { Ok(parts) }
    };
    Ok(PyArray1::from_vec(py, detached(py, parts)?.map_err(exception)?))
}

/// The parts of items by their ids.
#[pyfunction]
pub(crate) fn split_ids<'py>(
    py: Python<'py>,
    shares: List<u64>,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ids: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let splits = Splits::new(&shares.0, seed::read(seed, epoch)?).map_err(exception)?;
    let mut parts = try_with_capacity(ids.len()).map_err(exception)?;
    for id in ids {
        parts.push(splits.part_of_id(id.cast::<PyBytes>()?.as_bytes()));
    }
    Ok(PyArray1::from_vec(py, parts))
}

/// Refuses blocks that no node can have.
#[pyfunction]
pub(crate) fn check_blocks(
    #[pyo3(from_py_with = argument::blocks)] blocks: u64,
    kept: f64,
    seed: &Bound<'_, PyAny>,
) -> PyResult<()> {
    NodeBlocks::new(blocks, kept, seed::read(seed, 0)?).map(|_| ()).map_err(exception)
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
    runs: List<(u64, u64)>,
    #[pyo3(from_py_with = argument::node)] node: u64,
    #[pyo3(from_py_with = argument::nodes)] nodes: u64,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let own = NodeBlocks::new(blocks, kept, seed::read(seed, epoch)?).map_err(exception)?;
    let mut earlier = try_with_capacity(runs.0.len()).map_err(exception)?;
    earlier.extend(runs.0.into_iter().map(|(nodes, read)| NodeRun { nodes, read }));
    let list = detached(py, || own.after(epoch, &earlier, node, nodes))?.map_err(exception)?;
    Ok(PyArray1::from_vec(py, list))
}

/// A vector of zeros.
fn zeros<N: Copy + Default>(count: u64) -> PyResult<Vec<N>> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut numbers = try_with_capacity(count).map_err(exception)?;
    numbers.resize(count, N::default());
    Ok(numbers)
}
