//! [`Permutation`]: the class of that name.

use std::hash::{DefaultHasher, Hash, Hasher};

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PySlice};

use crate::argument;
use crate::dtype::IndexType;
use crate::errors::exception;
use crate::evaluate;
use crate::iter::{Chunks, Indexes};
use crate::key::Key;
use crate::order::{Kind, Lookup, Order};
use crate::places::{Places, Run, as_array, length};
use crate::threads::interruptible;

/// A pseudo-random permutation `p` of `range(n)`: `p[k]` is the index of the item that moves to
/// place `k`.
///
/// It is a function of `n`, a seed (an integer from 0 to 2^64 - 1, or 32 bytes) and an epoch, and
/// stores nothing else. Its values are those of `Permutation::new` in Rust, and of `shuffle`.
///
/// `p[k]` is an integer, a slice is evaluated when it is used, and an array of places gives an
/// array of values. Single places of more than 2^33 items, other than those near the beginning or
/// the end, raise `IndexNotBuiltError`; for fewer, the first of them builds an index of about 0.1
/// bits an item. `Permutation.walk` needs none.
#[pyclass(module = "bijective_shuffle", frozen, sequence)]
pub(crate) struct Permutation {
    pub(crate) order: Order,
    kind: Kind,
    key: Key,
}

impl Permutation {
    pub(crate) fn make(kind: Kind, len: u64, key: Key) -> PyResult<Self> {
        let order = Order::new(kind, len, key).map_err(exception)?;
        Ok(Self { order, kind, key })
    }

    /// Whether both are made in the same way, and so are the same permutation.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    fn identity(&self) -> (Kind, Key, u64, bool) {
        (self.kind, self.key, self.order.len(), self.order.is_inverted())
    }

    /// A hash of this permutation and of what it is used with.
    pub(crate) fn hash_with(&self, other: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.identity(), other).hash(&mut hasher);
        hasher.finish()
    }

    fn all(&self) -> Run {
        Run::first(self.order.len())
    }

    /// What `[key]` gives, of all places or some of them.
    pub(crate) fn look_up<'py>(
        slf: &Py<Self>,
        py: Python<'py>,
        run: Run,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        if key.is_exact_instance_of::<PyInt>() {
            return this.single(py, run, key);
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            let places = Places { of: slf.clone_ref(py), run: run.slice(slice)? };
            return Ok(Bound::new(py, places)?.into_any());
        }
        // Integers of NumPy, and whatever else is one.
        if !key.is_instance_of::<PyUntypedArray>() && key.hasattr("__index__")? {
            return this.single(py, run, key);
        }
        this.several(py, key, Lookup::Value, Some(run))
    }

    /// The value at one place of a run.
    fn single<'py>(
        &self,
        py: Python<'py>,
        run: Run,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number = match key.extract::<i64>() {
            Ok(number) => i128::from(number),
            Err(_) => key
                .extract::<i128>()
                .map_err(|_| PyIndexError::new_err(format!("index {key} is out of range")))?,
        };
        let value = self.look_up_one(py, run.place(number)?, Lookup::Value)?;
        Ok(value.into_pyobject(py)?.into_any())
    }

    /// The place of a value below the length.
    pub(crate) fn place_of(&self, py: Python<'_>, value: u64) -> PyResult<u64> {
        self.look_up_one(py, value, Lookup::Place)
    }

    /// What is looked up for a number below the length. If an index is built for that, Ctrl-C ends
    /// it.
    fn look_up_one(&self, py: Python<'_>, number: u64, lookup: Lookup) -> PyResult<u64> {
        let order = &self.order;
        if order.is_at_hand(number, lookup) {
            return order.look_up(number, lookup).map_err(exception);
        }
        let found = interruptible(py, |stop| {
            order.prepare(stop)?;
            // Without its index it would be built here, as a whole.
            if stop.is_set() { Ok(0) } else { order.look_up(number, lookup) }
        })?;
        found.map_err(exception)
    }

    /// What is looked up for each number of an array, as an array of its shape. The numbers are
    /// those of places in a run, or values.
    fn several<'py>(
        &self,
        py: Python<'py>,
        numbers: &Bound<'py, PyAny>,
        lookup: Lookup,
        run: Option<Run>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let given = numpy.call_method1("asarray", (numbers,))?;
        let kind: String = given.getattr("dtype")?.getattr("kind")?.extract()?;
        // An empty list becomes an array of floats.
        let is_empty = given.getattr("size")?.extract::<usize>()? == 0 && kind == "f";
        if kind != "i" && kind != "u" && !is_empty {
            return Err(PyTypeError::new_err(format!(
                "indexes are integers, slices or arrays of integers, not {}",
                given.getattr("dtype")?
            )));
        }
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", if kind == "u" { "uint64" } else { "int64" })?;
        keywords.set_item("order", "C")?;
        let copy = numpy.call_method("array", (&given,), Some(&keywords))?;
        let words = copy.call_method1("view", ("uint64",))?.cast_into::<PyArrayDyn<u64>>()?;
        // SAFETY: it is a view of the array that has just been made, which nobody else has.
        let words = unsafe { words.as_slice_mut() }?;
        let is_signed = kind != "u";
        let check = |word: &mut u64| -> PyResult<()> {
            let number = if is_signed { i128::from(*word as i64) } else { i128::from(*word) };
            *word = match run {
                Some(run) => run.place(number)?,
                None => self.value(number)?,
            };
            Ok(())
        };
        evaluate::replace_each(py, &self.order, words, check, lookup)?;
        copy.call_method1("view", (IndexType::usual(self.order.len()).name(),))
    }

    /// A number as a value, if it is one.
    fn value(&self, number: i128) -> PyResult<u64> {
        let len = self.order.len();
        u64::try_from(number).ok().filter(|&value| value < len).ok_or_else(|| {
            PyValueError::new_err(format!("{number} is not in a permutation of {len} items"))
        })
    }

    fn check_share(rank: u64, world: u64) -> PyResult<()> {
        if rank < world {
            return Ok(());
        }
        let text = format!("there is no rank {rank} among {world}: ranks are counted from 0");
        Err(PyValueError::new_err(text))
    }
}

#[pymethods]
impl Permutation {
    #[new]
    #[pyo3(signature = (n, seed, epoch=0))]
    fn new(
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<Self> {
        Self::make(Kind::Compacted, n, Key::new(seed, epoch)?)
    }

    /// A different permutation of `range(n)`, which needs no index for any view at any length. It
    /// is `Permutation::walk` in Rust.
    #[staticmethod]
    #[pyo3(signature = (n, seed, epoch=0))]
    fn walk(
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<Self> {
        Self::make(Kind::Walk, n, Key::new(seed, epoch)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        length(self.order.len(), "places", ".n")
    }

    fn __bool__(&self) -> bool {
        self.order.len() > 0
    }

    /// The number of items, also where `len` has no room for it.
    #[getter]
    fn n(&self) -> u64 {
        self.order.len()
    }

    /// The seed, as it was given.
    #[getter]
    fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.key.to_python(py)
    }

    /// The epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.key.epoch
    }

    /// Whether this is the inverse of the permutation that the seed determines.
    #[getter]
    fn is_inverse(&self) -> bool {
        self.order.is_inverted()
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::look_up(slf.as_unbound(), slf.py(), slf.get().all(), key)
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        value.extract::<u64>().is_ok_and(|value| value < self.order.len())
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Indexes {
        Indexes::new(slf.py(), slf.as_unbound(), slf.get().all())
    }

    /// The place of an index, the `k` with `p[k] == index`; for an array of indexes, an array of
    /// places. Raises `ValueError` for what is no index below `n`.
    fn position<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if index.is_instance_of::<PyUntypedArray>() || !index.hasattr("__index__")? {
            return self.several(py, index, Lookup::Place, None);
        }
        let number = py.import("operator")?.call_method1("index", (index,))?;
        let not_there = |_| PyValueError::new_err(format!("{number} is not in the permutation"));
        let value = self.value(number.extract::<i128>().map_err(not_there)?)?;
        Ok(self.place_of(py, value)?.into_pyobject(py)?.into_any())
    }

    /// The contiguous share of one of `world` workers: the places from `n * rank // world` up to
    /// `n * (rank + 1) // world`.
    fn shard(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::world)] world: u64,
    ) -> PyResult<Places> {
        Self::check_share(rank, world)?;
        let of = slf.clone().unbind();
        let len = u128::from(of.get().order.len());
        // At most the length.
        let bound = |rank: u64| (len * u128::from(rank) / u128::from(world)) as u64;
        let (start, end) = (bound(rank), bound(rank + 1));
        Ok(Places { of, run: Run { start, step: 1, count: end - start } })
    }

    /// The places `rank`, `rank + world`, `rank + 2 * world` and so on.
    fn shard_strided(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::world)] world: u64,
    ) -> PyResult<Places> {
        Self::check_share(rank, world)?;
        let of = slf.clone().unbind();
        let count = of.get().order.len().saturating_sub(rank).div_ceil(world);
        // With a single place its distance to the next does not matter.
        let step = if count > 1 { i64::try_from(world) } else { Ok(1) };
        let step = step.map_err(|_| PyValueError::new_err("more than 2^63 ranks"))?;
        let start = if count > 0 { rank } else { 0 };
        Ok(Places { of, run: Run { start, step, count } })
    }

    /// The first `count` places, or all if there are fewer.
    fn head(slf: &Bound<'_, Self>, #[pyo3(from_py_with = argument::count)] count: u64) -> Places {
        let count = count.min(slf.get().order.len());
        Places { of: slf.clone().unbind(), run: Run::first(count) }
    }

    /// Iterates over arrays of `size` values, of which the last may be shorter.
    #[pyo3(signature = (size, dtype=None))]
    fn chunks(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::size)] size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Chunks> {
        Chunks::new(slf.py(), slf.as_unbound(), slf.get().all(), size, dtype)
    }

    /// All values as an array of int32, uint32, int64 (the default) or uint64.
    #[pyo3(signature = (dtype=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = IndexType::new(dtype, self.order.len())?;
        evaluate::array(py, &self.order, self.all(), dtype)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        as_array(py, self.to_numpy(py, None)?, dtype, copy)
    }

    /// The inverse permutation.
    fn inverse(&self) -> Self {
        Self { order: self.order.inverse(), kind: self.kind, key: self.key }
    }

    /// Builds the index that single places need, if they need one. It evaluates every item, on all
    /// threads. Ctrl-C ends it, and nothing of it is kept.
    fn build_index(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |stop| self.order.build_index(stop))?.map_err(exception)
    }

    pub(crate) fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (len, key) = (self.order.len(), self.key.text(py)?);
        let made = match self.kind {
            Kind::Compacted => format!("Permutation({len}, {key})"),
            Kind::Walk => format!("Permutation.walk({len}, {key})"),
            Kind::Blocks { block, window } => {
                format!("BlockShuffle({len}, {block}, {window}, {key}).order")
            }
        };
        Ok(if self.order.is_inverted() { made + ".inverse()" } else { made })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.is_same(other.get()))
    }

    fn __hash__(&self) -> u64 {
        self.hash_with(())
    }

    /// Some places, for pickling them.
    fn _places(slf: &Bound<'_, Self>, start: u64, step: i64, count: u64) -> PyResult<Places> {
        let len = i128::from(slf.get().order.len());
        let last = i128::from(start) + i128::from(step) * (i128::from(count) - 1);
        if step == 0 || (count > 0 && !((0..len).contains(&last) && i128::from(start) < len)) {
            return Err(PyValueError::new_err("places that are not in the permutation"));
        }
        Ok(Places { of: slf.clone().unbind(), run: Run { start, step, count } })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let kind = match this.kind {
            Kind::Compacted => (0, 0, 0),
            Kind::Walk => (1, 0, 0),
            Kind::Blocks { block, window } => (2, block, window),
        };
        let restore = py.import("bijective_shuffle._native")?.getattr("restore")?;
        let seed = this.key.to_python(py)?;
        let state = (this.order.len(), seed, this.key.epoch, this.order.is_inverted(), kind);
        Ok((restore, state).into_pyobject(py)?.into_any())
    }
}

/// The permutation that was pickled.
#[pyfunction]
pub(crate) fn restore(
    n: u64,
    seed: &Bound<'_, PyAny>,
    epoch: u64,
    is_inverse: bool,
    kind: (u8, u64, u64),
) -> PyResult<Permutation> {
    let kind = match kind {
        (0, ..) => Kind::Compacted,
        (1, ..) => Kind::Walk,
        (2, block, window) => Kind::Blocks { block, window },
        (other, ..) => {
            let text = format!("permutations of kind {other} come from a later version");
            return Err(PyValueError::new_err(text));
        }
    };
    let permutation = Permutation::make(kind, n, Key::new(seed, epoch)?)?;
    Ok(if is_inverse { permutation.inverse() } else { permutation })
}
