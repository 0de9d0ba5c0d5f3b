//! [`Indexes`] and [`Chunks`]: the iterators over places of a permutation.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counter::Counter;
use crate::dtype::IndexType;
use crate::evaluate;
use crate::permutation::Permutation;
use crate::places::Run;

/// The number of values that are evaluated at a time. `__next__` takes them from a buffer.
const BUFFER: usize = 1 << 10;

/// The values at a run of places, a few at a time.
struct Feeder {
    of: Py<Permutation>,
    /// What is left.
    run: Run,
    /// What counts to the places, if they are counted to.
    counter: Option<Counter>,
}

impl Feeder {
    fn new(py: Python<'_>, of: &Py<Permutation>, run: Run) -> Self {
        let counter = Counter::new(&of.get().order, run);
        Self { of: of.clone_ref(py), run, counter }
    }

    /// Takes the next places.
    fn take(&mut self, count: u64) -> Run {
        let count = count.min(self.run.count);
        let taken = Run { count, ..self.run };
        self.run = self.run.after(count);
        taken
    }

    /// Writes the next values to a vector in place of its contents.
    fn fill(&mut self, py: Python<'_>, count: u64, out: &mut Vec<u64>) -> PyResult<()> {
        let before = self.run;
        let taken = self.take(count);
        out.clear();
        out.resize(taken.count as usize, 0);
        if let Some(counter) = &mut self.counter {
            counter.fill(taken, out);
        } else if let Err(error) = evaluate::fill(py, &self.of.get().order, taken, out) {
            // The zeros are no values, and the next call fails again.
            out.clear();
            self.run = before;
            return Err(error);
        }
        Ok(())
    }
}

/// Iterates over values of a `Permutation` as integers.
#[pyclass(module = "bijective_shuffle._native")]
pub(crate) struct Indexes {
    feeder: Feeder,
    buffer: Vec<u64>,
    used: usize,
}

impl Indexes {
    pub(crate) fn new(py: Python<'_>, of: &Py<Permutation>, run: Run) -> Self {
        Self { feeder: Feeder::new(py, of, run), buffer: Vec::new(), used: 0 }
    }
}

#[pymethods]
impl Indexes {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<u64>> {
        if self.used == self.buffer.len() {
            self.used = 0;
            self.feeder.fill(py, BUFFER as u64, &mut self.buffer)?;
        }
        let next = self.buffer.get(self.used).copied();
        self.used += usize::from(next.is_some());
        Ok(next)
    }

    fn __length_hint__(&self) -> usize {
        let buffered = self.buffer.len() - self.used;
        usize::try_from(self.feeder.run.count)
            .ok()
            .and_then(|left| left.checked_add(buffered))
            .map_or(isize::MAX as usize, |left| left.min(isize::MAX as usize))
    }
}

/// Iterates over values of a `Permutation` as arrays of one length, of which the last may be
/// shorter.
#[pyclass(module = "bijective_shuffle._native")]
pub(crate) struct Chunks {
    feeder: Feeder,
    size: u64,
    dtype: IndexType,
}

impl Chunks {
    pub(crate) fn new(
        py: Python<'_>,
        of: &Py<Permutation>,
        run: Run,
        size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if size == 0 {
            return Err(PyValueError::new_err("a chunk has at least one index"));
        }
        let dtype = IndexType::new(dtype, of.get().order.len())?;
        Ok(Self { feeder: Feeder::new(py, of, run), size, dtype })
    }
}

#[pymethods]
impl Chunks {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.feeder.run.count == 0 {
            return Ok(None);
        }
        let run = self.feeder.take(self.size);
        match &mut self.feeder.counter {
            Some(counter) => evaluate::counted(py, counter, run, self.dtype),
            None => evaluate::array(py, &self.feeder.of.get().order, run, self.dtype),
        }
        .map(Some)
    }

    fn __length_hint__(&self) -> usize {
        let left = self.feeder.run.count.div_ceil(self.size);
        usize::try_from(left).map_or(isize::MAX as usize, |left| left.min(isize::MAX as usize))
    }
}
