//! [`Sampler`]: the class of that name.

use bijective_shuffle::{Error, SamplerStep, Seed, Tail};
use bijective_shuffle_bindings::TAILS;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument;
use crate::errors::exception;
use crate::numbers::FEW;
use crate::passes::refuse_loaders;
use crate::run::length;
use crate::seed;
use crate::threads::interruptible;
use crate::turns::Turns;

/// The batches of a training loop on several ranks: the items that this rank takes in each step of
/// each epoch.
///
/// A step takes the next `ranks * batch` places of the epoch's order and deals them out in turn, so
/// the items that have been taken are always the beginning of the order. A saved `state` fits any
/// ranks and batch size.
///
/// `tail` says what happens at the end of an epoch: 'pad' repeats items until every rank has as
/// many as the others, as PyTorch's DistributedSampler does; 'short' repeats none, so where fewer
/// items are left than there are ranks, some batches are empty; 'fill' repeats items up to whole
/// batches; 'drop' skips the last step if it is not whole. All ranks have as many steps. `blocks`
/// is a block and a window, as of `BlockShuffle`, and `sequential` keeps the original order.
///
/// It is an iterator over the batches that are left in the epoch, and its length is their number.
/// Threads may share it: each batch comes once.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct Sampler {
    turns: Turns<Position>,
    /// Whether batches are drawn by the calling thread, which keeps the GIL.
    is_short: bool,
    seed: Seed,
    blocks: Option<(u64, u64)>,
    sequential: bool,
}

/// Where a sampler stands.
struct Position {
    inner: bijective_shuffle::Sampler,
    /// Memory for a short batch.
    batch: Vec<u64>,
}

impl Sampler {
    /// What the library's sampler says.
    fn ask<R>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&bijective_shuffle::Sampler) -> R,
    ) -> PyResult<R> {
        self.turns.at_once(py, |position| question(&position.inner))
    }

    /// Goes somewhere else.
    fn go(
        &self,
        py: Python<'_>,
        go: impl FnOnce(&mut bijective_shuffle::Sampler) -> Result<(), Error>,
    ) -> PyResult<()> {
        self.turns.at_once(py, |position| go(&mut position.inner))?.map_err(exception)
    }
}

fn tail_of(name: &str) -> PyResult<Tail> {
    let found = TAILS.iter().find(|(known, _)| *known == name);
    found.map(|&(_, tail)| tail).ok_or_else(|| {
        PyValueError::new_err(format!("tail is 'pad', 'short', 'fill' or 'drop', not '{name}'"))
    })
}

fn name_of(tail: Tail) -> &'static str {
    TAILS.iter().find(|&&(_, known)| known == tail).map_or("pad", |&(name, _)| name)
}

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (
        n, seed, *, rank=0, ranks=1, batch=1, tail="pad", blocks=None, sequential=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a constructor in Python")]
    fn new(
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::ranks)] ranks: u64,
        #[pyo3(from_py_with = argument::batch)] batch: u64,
        tail: &str,
        #[pyo3(from_py_with = argument::pair)] blocks: Option<(u64, u64)>,
        sequential: bool,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        if n > 1 << 63 {
            // Batches are of int64, which is what indexes are to data sets.
            let text = format!("a sampler is for at most 2^63 items, not {n}");
            return Err(PyValueError::new_err(text));
        }
        if sequential && blocks.is_some() {
            return Err(PyValueError::new_err("an order in blocks is not sequential"));
        }
        let builder = bijective_shuffle::Sampler::builder(n, seed)
            .rank(rank, ranks)
            .batch(batch)
            .tail(tail_of(tail)?);
        let builder = match blocks {
            Some((block, window)) => builder.blocks(block, window),
            None if sequential => builder.sequential(),
            None => builder,
        };
        let inner = builder.build().map_err(exception)?;
        let is_short = inner.batch() <= FEW as u64;
        let turns = Turns::new(Position { inner, batch: Vec::new() });
        Ok(Self { turns, is_short, seed, blocks, sequential })
    }

    /// This rank's items of the next step, or None at the end of the epoch. Ctrl-C ends the drawing
    /// of a large batch; the step is then not taken.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // `new` has checked that all items fit 63 bits.
        if self.is_short {
            return self.turns.at_once(py, |Position { inner, batch }| {
                if !inner.next_batch(batch).map_err(exception)? {
                    return Ok(None);
                }
                let items = batch.iter().map(|&item| item as i64);
                Ok(Some(PyArray1::from_iter(py, items).into_any()))
            })?;
        }
        let mut turn = self.turns.take(py)?;
        let inner = &mut turn.inner;
        let (mut ahead, mut batch) = (inner.clone(), Vec::new());
        let step = interruptible(py, |stop| ahead.next_batch_while(&mut batch, || !stop.is_set()))?;
        if step.map_err(exception)? != SamplerStep::Taken {
            return Ok(None);
        }
        let array = PyArray1::from_vec(py, batch).call_method1("view", ("int64",))?;
        // Nothing can fail any more.
        *inner = ahead;
        Ok(Some(array))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        refuse_loaders(slf.py(), "Sampler")?;
        Ok(slf)
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.next_batch(py)
    }

    /// The number of steps that are left in this epoch.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        length(self.steps_remaining(py)?, "steps", ".steps_remaining")
    }

    /// Always, or `sampler or ..` would take another one at the end of an epoch.
    fn __bool__(&self) -> bool {
        true
    }

    /// The current position, as text.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |inner| inner.state().to_string())
    }

    /// The state after all ranks together have taken `consumed` items of an epoch, as text. Nothing
    /// is drawn for it.
    fn state_at(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        #[pyo3(from_py_with = argument::consumed)] consumed: u64,
    ) -> PyResult<String> {
        let state = self.ask(py, |inner| inner.state_at(epoch, consumed))?;
        Ok(state.map_err(exception)?.to_string())
    }

    /// Goes to the position of a state, which comes from a sampler with the same length, seed and
    /// order. Raises `ForeignStateError` for any other.
    fn resume(&self, py: Python<'_>, state: &str) -> PyResult<()> {
        let state = state.parse().map_err(exception)?;
        self.go(py, |inner| inner.resume(&state))
    }

    /// Goes to the beginning of an epoch.
    fn set_epoch(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<()> {
        self.go(py, |inner| inner.set_epoch(epoch))
    }

    /// Goes to the beginning of the next epoch.
    fn next_epoch(&self, py: Python<'_>) -> PyResult<()> {
        self.go(py, |inner| inner.next_epoch())
    }

    /// The number of steps in a whole epoch.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.steps())
    }

    /// The number of steps that are left in this epoch.
    #[getter]
    fn steps_remaining(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.steps_remaining())
    }

    /// The number of items.
    #[getter]
    fn n(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.len())
    }

    /// This rank, counted from 0.
    #[getter]
    fn rank(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.rank())
    }

    /// The number of ranks.
    #[getter]
    fn ranks(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.ranks())
    }

    /// The number of items that a rank takes in a step.
    #[getter]
    fn batch(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.batch())
    }

    /// What happens at the end of an epoch.
    #[getter]
    fn tail(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.ask(py, |inner| name_of(inner.tail()))
    }

    /// The epoch, counted from 0.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.epoch())
    }

    /// The number of items of the epoch's order that all ranks together have taken.
    #[getter]
    fn consumed(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |inner| inner.consumed())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let seed = seed::text(self.seed, py)?;
        // All of one moment.
        let inner = self.ask(py, bijective_shuffle::Sampler::clone)?;
        let (n, rank, ranks, batch) = (inner.len(), inner.rank(), inner.ranks(), inner.batch());
        let (tail, epoch, consumed) = (name_of(inner.tail()), inner.epoch(), inner.consumed());
        let order = match self.blocks {
            Some((block, window)) => format!(", blocks=({block}, {window})"),
            None if self.sequential => ", sequential=True".into(),
            None => String::new(),
        };
        Ok(format!(
            "<Sampler({n}, {seed}, rank={rank}, ranks={ranks}, batch={batch}, tail='{tail}'{order}) \
             at item {consumed} of epoch {epoch}>"
        ))
    }

    /// A new sampler by the same arguments, and its state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        // All of one moment.
        let inner = this.ask(py, bijective_shuffle::Sampler::clone)?;
        let keywords = PyDict::new(py);
        keywords.set_item("rank", inner.rank())?;
        keywords.set_item("ranks", inner.ranks())?;
        keywords.set_item("batch", inner.batch())?;
        keywords.set_item("tail", name_of(inner.tail()))?;
        keywords.set_item("blocks", this.blocks)?;
        keywords.set_item("sequential", this.sequential)?;
        let partial = py.import("functools")?.getattr("partial")?;
        let make = partial.call((slf.get_type(),), Some(&keywords))?;
        let arguments = (inner.len(), seed::to_python(this.seed, py)?);
        Ok((make, arguments, inner.state().to_string()).into_pyobject(py)?.into_any())
    }

    fn __setstate__(&self, py: Python<'_>, state: &str) -> PyResult<()> {
        self.resume(py, state)
    }
}
