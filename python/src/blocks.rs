//! [`BlockShuffle`]: the class of that name.

use bijective_shuffle::Seed;
use bijective_shuffle_bindings::{OrderKind, PlaceRun};
use bijective_shuffle_engine::check::try_with_capacity;
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::argument;
use crate::dtype::IndexType;
use crate::errors::exception;
use crate::numbers::{CHUNK, FEW};
use crate::permutation::Permutation;
use crate::places::Places;
use crate::seed;
use crate::threads::{Stop, interruptible};

/// An order for data in blocks: blocks in random order, each read once and whole, and the items of
/// a window of `window` blocks at a time shuffled among each other.
///
/// It is for data on disks and in object stores. `order` is the whole of it as a `Permutation`;
/// a loader reads window by window: `blocks_of(window)`, and `window_items(window)`.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct BlockShuffle {
    order: Py<Permutation>,
    blocks: bijective_shuffle::bijection::BlockShuffle,
    /// The number of items in a block; the last one may have fewer.
    #[pyo3(get)]
    block: u64,
    /// The number of blocks in a window.
    #[pyo3(get)]
    window: u64,
    seed: Seed,
}

#[pymethods]
impl BlockShuffle {
    #[new]
    #[pyo3(signature = (n, block, window, seed, epoch=0))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = argument::n)] n: u64,
        #[pyo3(from_py_with = argument::block)] block: u64,
        #[pyo3(from_py_with = argument::window)] window: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, epoch)?;
        if n == 0 {
            return Err(PyValueError::new_err("an order in blocks has at least one item"));
        }
        let order = Permutation::make(OrderKind::Blocks { block, window }, n, seed)?;
        let blocks = bijective_shuffle::bijection::BlockShuffle::new(n, block, window, seed);
        let (order, blocks) = (Py::new(py, order)?, blocks.map_err(exception)?);
        Ok(Self { order, blocks, block, window, seed })
    }

    /// The order of all items.
    #[getter]
    fn order(&self, py: Python<'_>) -> Py<Permutation> {
        self.order.clone_ref(py)
    }

    /// The number of items.
    #[getter]
    fn n(&self) -> u64 {
        self.blocks.len()
    }

    /// The seed, as it was given.
    #[getter]
    fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        seed::to_python(self.seed, py)
    }

    /// The epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.seed.epoch()
    }

    /// The number of blocks.
    #[getter]
    fn block_count(&self) -> u64 {
        self.blocks.block_count()
    }

    /// The number of windows.
    #[getter]
    fn window_count(&self) -> u64 {
        self.blocks.window_count()
    }

    /// The first item of a block, and the one behind its last.
    fn items_of(&self, #[pyo3(from_py_with = argument::block)] block: u64) -> PyResult<(u64, u64)> {
        let items = self.blocks.items_of(block);
        if items.is_empty() {
            let text = format!("there is no block {block}");
            return Err(PyIndexError::new_err(text));
        }
        Ok((items.start, items.end))
    }

    /// The blocks of a window, in the order in which they are to be read.
    fn blocks_of<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::window)] window: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.blocks.window(window).ok_or_else(|| no_window(window))?;
        let blocks = found.blocks();
        let count = blocks.size_hint().0;
        let mut listed = try_with_capacity(count).map_err(|_| {
            PyMemoryError::new_err(format!("the {count} blocks of a window are too many to list"))
        })?;
        let list = |stop: &Stop| {
            for block in blocks {
                if listed.len() % CHUNK == 0 && stop.is_set() {
                    return;
                }
                listed.push(block);
            }
        };
        if count <= FEW {
            list(&Stop::never());
        } else {
            interruptible(py, list)?;
        }
        let dtype = IndexType::usual(self.blocks.block_count()).name();
        PyArray1::from_vec(py, listed).call_method1("view", (dtype,))
    }

    /// The items of a window, in their order.
    fn window_items(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::window)] window: u64,
    ) -> PyResult<Places> {
        let slots = self.blocks.window(window).ok_or_else(|| no_window(window))?.slots();
        let run = PlaceRun { start: slots.start, step: 1, count: slots.end - slots.start };
        Ok(Places { of: self.order.clone_ref(py), run })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (n, block, window) = (self.n(), self.block, self.window);
        Ok(format!("BlockShuffle({n}, {block}, {window}, {})", seed::text(self.seed, py)?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.order.get().is_same(other.get().order.get()))
    }

    fn __hash__(&self) -> u64 {
        self.order.get().hash_with(())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let seed = seed::to_python(this.seed, py)?;
        let arguments = (this.n(), this.block, this.window, seed, this.seed.epoch());
        Ok((slf.get_type(), arguments).into_pyobject(py)?.into_any())
    }
}

fn no_window(window: u64) -> PyErr {
    PyIndexError::new_err(format!("there is no window {window}"))
}
