//! [`Indexes`] and [`Chunks`]: the iterators over places of a permutation.

use bijective_shuffle_bindings::PlaceRun;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counter::Counter;
use crate::dtype::IndexType;
use crate::evaluate;
use crate::passes::refuse_loaders;
use crate::permutation::Permutation;
use crate::run::length;
use crate::threads::Stop;
use crate::turns::Turns;

/// The number of indexes that are evaluated at a time. `__next__` takes them from a buffer.
const BUFFER: usize = 1 << 10;

/// The indexes at a run of places, a few at a time.
struct Feeder {
    of: Py<Permutation>,
    /// What is left.
    run: PlaceRun,
    /// What counts to the places, if they are counted to.
    counter: Option<Counter>,
}

impl Feeder {
    fn new(py: Python<'_>, of: &Py<Permutation>, run: PlaceRun) -> Self {
        let counter = Counter::new(&of.get().order, run);
        Self { of: of.clone_ref(py), run, counter }
    }

    /// Takes the next places.
    fn take(&mut self, count: u64) -> PlaceRun {
        let count = count.min(self.run.count);
        let taken = PlaceRun { count, ..self.run };
        self.run = self.run.after(count);
        taken
    }

    /// Writes the next indexes to a vector in place of its contents. After an error none is taken.
    fn fill(&mut self, py: Python<'_>, count: u64, out: &mut Vec<u64>) -> PyResult<()> {
        let before = self.run;
        let taken = self.take(count);
        out.clear();
        out.resize(taken.count as usize, 0);
        if let Some(counter) = &mut self.counter {
            counter.fill(taken, out, &Stop::never());
        } else if let Err(error) = evaluate::fill(py, &self.of.get().order, taken, out) {
            // The zeros are no values, and the next call tries again.
            out.clear();
            self.run = before;
            return Err(error);
        }
        Ok(())
    }

    /// The next indexes as an array. After an error none is taken.
    fn array<'py>(
        &mut self,
        py: Python<'py>,
        count: u64,
        dtype: IndexType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let before = self.run;
        let taken = self.take(count);
        let (order, counter) = (&self.of.get().order, self.counter.as_mut());
        let array = evaluate::array(py, order, counter, taken, dtype);
        if array.is_err() {
            self.run = before;
        }
        array
    }
}

/// Iterates over indexes of a `Permutation` as integers. Its length is the number of those that are
/// left. Threads may share it: each index comes once.
#[pyclass(module = "bijective_shuffle._native", frozen)]
pub(crate) struct Indexes {
    of: Py<Permutation>,
    turns: Turns<Buffered>,
}

/// Values that were evaluated ahead.
struct Buffered {
    feeder: Feeder,
    buffer: Vec<u64>,
    used: usize,
}

impl Buffered {
    fn next(&mut self) -> Option<u64> {
        let next = self.buffer.get(self.used).copied();
        self.used += usize::from(next.is_some());
        next
    }

    /// The number of indexes that are left.
    fn remaining(&self) -> u64 {
        self.feeder.run.count + (self.buffer.len() - self.used) as u64
    }
}

impl Indexes {
    pub(crate) fn new(py: Python<'_>, of: &Py<Permutation>, run: PlaceRun) -> Self {
        let feeder = Feeder::new(py, of, run);
        let turns = Turns::new(Buffered { feeder, buffer: Vec::new(), used: 0 });
        Self { of: of.clone_ref(py), turns }
    }
}

#[pymethods]
impl Indexes {
    fn __iter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        refuse_loaders(slf.py(), "Indexes")?;
        Ok(slf)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        if let Some(next) = self.turns.at_once(py, Buffered::next)? {
            return Ok(Some(next));
        }
        let mut turn = self.turns.take(py)?;
        let Buffered { feeder, buffer, used } = &mut *turn;
        // Another thread may have filled it meanwhile.
        if *used == buffer.len() {
            *used = 0;
            feeder.fill(py, BUFFER as u64, buffer)?;
        }
        Ok(turn.next())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        length(self.turns.at_once(py, |values| values.remaining())?, "indexes", "itertools.islice")
    }

    /// Always, as of other iterators.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let left = self.turns.at_once(py, |values| values.remaining())?;
        Ok(format!("<Indexes of {}: {left} left>", self.of.get().text(py)?))
    }
}

/// Iterates over indexes of a `Permutation` as arrays of one length; the last may be shorter. Its
/// length is the number of arrays that are left. Threads may share it: each index comes once.
#[pyclass(module = "bijective_shuffle._native", frozen)]
pub(crate) struct Chunks {
    of: Py<Permutation>,
    turns: Turns<Feeder>,
    size: u64,
    dtype: IndexType,
}

impl Chunks {
    pub(crate) fn new(
        py: Python<'_>,
        of: &Py<Permutation>,
        run: PlaceRun,
        size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if size == 0 {
            return Err(PyValueError::new_err("a chunk has at least one index"));
        }
        let dtype = IndexType::new(dtype, of.get().order.len())?;
        let turns = Turns::new(Feeder::new(py, of, run));
        Ok(Self { of: of.clone_ref(py), turns, size, dtype })
    }

    /// The number of arrays that are left.
    fn remaining(&self, py: Python<'_>) -> PyResult<u64> {
        self.turns.at_once(py, |feeder| feeder.run.count.div_ceil(self.size))
    }
}

#[pymethods]
impl Chunks {
    fn __iter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        refuse_loaders(slf.py(), "Chunks")?;
        Ok(slf)
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut feeder = self.turns.take(py)?;
        if feeder.run.count == 0 {
            return Ok(None);
        }
        feeder.array(py, self.size, self.dtype).map(Some)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        length(self.remaining(py)?, "chunks", "itertools.islice")
    }

    /// Always, as of other iterators.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (left, size) = (self.remaining(py)?, self.size);
        Ok(format!("<Chunks of {}: {left} left, of {size} indexes>", self.of.get().text(py)?))
    }
}
