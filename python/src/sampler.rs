//! [`Sampler`]: the class of that name.

use bijective_shuffle::Tail;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;
use crate::key::{Key, unsigned, unsigned_pair};

/// The batches of a training loop on several ranks: the items that this rank takes in each step of
/// each epoch.
///
/// A step takes the next `world * batch` places of the epoch's order and deals them out in turn, so
/// the items that have been taken are always the beginning of the order. A saved `state` fits any
/// world and batch size.
///
/// `tail` says what happens at the end of an epoch: 'pad' repeats items until every rank has as
/// many as the others, as PyTorch's DistributedSampler does; 'short' repeats none; 'fill' repeats
/// items up to whole batches; 'drop' skips the last step if it is not whole. `blocks` is a block
/// and a window, as of `BlockShuffle`, and `sequential` keeps the original order.
#[pyclass(module = "bijective_shuffle")]
pub(crate) struct Sampler {
    inner: bijective_shuffle::Sampler,
    key: Key,
    blocks: Option<(u64, u64)>,
    sequential: bool,
    batch: Vec<u64>,
}

/// The names of what happens at the end of an epoch.
const TAILS: [(&str, Tail); 4] =
    [("pad", Tail::Pad), ("short", Tail::Short), ("fill", Tail::Fill), ("drop", Tail::Drop)];

fn tail_of(name: &str) -> PyResult<Tail> {
    let found = TAILS.iter().find(|(known, _)| *known == name);
    found.map(|&(_, tail)| tail).ok_or_else(|| {
        PyValueError::new_err(format!("tail is 'pad', 'short', 'fill' or 'drop', not '{name}'"))
    })
}

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (
        n, seed, *, rank=0, world=1, batch=1, tail="pad", blocks=None, sequential=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a constructor in Python")]
    fn new(
        #[pyo3(from_py_with = unsigned)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = unsigned)] rank: u64,
        #[pyo3(from_py_with = unsigned)] world: u64,
        #[pyo3(from_py_with = unsigned)] batch: u64,
        tail: &str,
        #[pyo3(from_py_with = unsigned_pair)] blocks: Option<(u64, u64)>,
        sequential: bool,
    ) -> PyResult<Self> {
        let key = Key::new(seed, 0)?;
        if n > 1 << 63 {
            // Batches are of int64, which is what indexes are to data sets.
            let text = format!("a sampler is for at most 2^63 items, not {n}");
            return Err(PyValueError::new_err(text));
        }
        if sequential && blocks.is_some() {
            return Err(PyValueError::new_err("an order in blocks is not sequential"));
        }
        let builder = bijective_shuffle::Sampler::builder(n, key.seed())
            .rank(rank, world)
            .batch(batch)
            .tail(tail_of(tail)?);
        let builder = match blocks {
            Some((block, window)) => builder.blocks(block, window),
            None if sequential => builder.sequential(),
            None => builder,
        };
        let inner = builder.build().map_err(exception)?;
        Ok(Self { inner, key, blocks, sequential, batch: Vec::new() })
    }

    /// This rank's items of the next step, or None at the end of the epoch.
    fn next_batch<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        let Self { inner, batch, .. } = self;
        if !py.detach(|| inner.next_batch(batch)).map_err(exception)? {
            return Ok(None);
        }
        // `new` has checked that all items fit.
        Ok(Some(PyArray1::from_iter(py, batch.iter().map(|&item| item as i64))))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        self.next_batch(py)
    }

    /// The current position, as text.
    fn state(&self) -> String {
        self.inner.state().to_string()
    }

    /// Goes to the position of a state, which comes from a sampler with the same length, seed and
    /// order. Raises `ForeignStateError` for any other.
    fn resume(&mut self, state: &str) -> PyResult<()> {
        let state = state.parse().map_err(exception)?;
        self.inner.resume(&state).map_err(exception)
    }

    /// Goes to the beginning of an epoch.
    fn set_epoch(&mut self, #[pyo3(from_py_with = unsigned)] epoch: u64) -> PyResult<()> {
        self.inner.set_epoch(epoch).map_err(exception)
    }

    /// Goes to the beginning of the next epoch.
    fn next_epoch(&mut self) -> PyResult<()> {
        self.inner.next_epoch().map_err(exception)
    }

    /// The number of steps in a whole epoch.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    /// The number of steps that are left in this epoch.
    #[getter]
    fn steps_left(&self) -> u64 {
        self.inner.steps_left()
    }

    /// The number of items.
    #[getter]
    fn n(&self) -> u64 {
        self.inner.len()
    }

    /// This rank, counted from 0.
    #[getter]
    fn rank(&self) -> u64 {
        self.inner.rank()
    }

    /// The number of ranks.
    #[getter]
    fn world(&self) -> u64 {
        self.inner.world()
    }

    /// The number of items that a rank takes in a step.
    #[getter]
    fn batch(&self) -> u64 {
        self.inner.batch()
    }

    /// What happens at the end of an epoch.
    #[getter]
    fn tail(&self) -> &'static str {
        let tail = self.inner.tail();
        TAILS.iter().find(|(_, known)| *known == tail).map_or("pad", |(name, _)| name)
    }

    /// The epoch, counted from 0.
    #[getter]
    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    /// The number of items of the epoch's order that all ranks together have taken.
    #[getter]
    fn consumed(&self) -> u64 {
        self.inner.consumed()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (n, rank, world) = (self.n(), self.rank(), self.world());
        let (batch, tail, seed) = (self.batch(), self.tail(), self.key.text(py)?);
        let (epoch, consumed) = (self.epoch(), self.consumed());
        let order = match self.blocks {
            Some((block, window)) => format!(", blocks=({block}, {window})"),
            None if self.sequential => ", sequential=True".into(),
            None => String::new(),
        };
        Ok(format!(
            "<Sampler({n}, {seed}, rank={rank}, world={world}, batch={batch}, tail='{tail}'{order}) \
             at item {consumed} of epoch {epoch}>"
        ))
    }

    /// A new sampler by the same arguments, and its state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let keywords = PyDict::new(py);
        keywords.set_item("rank", this.rank())?;
        keywords.set_item("world", this.world())?;
        keywords.set_item("batch", this.batch())?;
        keywords.set_item("tail", this.tail())?;
        keywords.set_item("blocks", this.blocks)?;
        keywords.set_item("sequential", this.sequential)?;
        let partial = py.import("functools")?.getattr("partial")?;
        let make = partial.call((slf.get_type(),), Some(&keywords))?;
        let arguments = (this.n(), this.key.to_python(py)?);
        Ok((make, arguments, this.state()).into_pyobject(py)?.into_any())
    }

    fn __setstate__(&mut self, state: &str) -> PyResult<()> {
        self.resume(state)
    }
}
