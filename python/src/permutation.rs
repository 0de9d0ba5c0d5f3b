//! [`Permutation`]: the class of that name, and how its indexes are looked up.

use std::hash::{DefaultHasher, Hash, Hasher};

use bijective_shuffle::Seed;
use bijective_shuffle_bindings::{AnyOrder, Lookup, OrderKind, PlaceRun};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dtype::IndexType;
use crate::errors::exception;
use crate::evaluate;
use crate::run::place;
use crate::seed;
use crate::threads::interruptible;

/// A pseudo-random permutation `p` of `range(n)`: `p[k]` is the index of the item that moves to
/// place `k`.
///
/// It is a function of `n`, a seed (an integer from 0 to 2^64 - 1, or 32 bytes) and an epoch, and
/// stores nothing else. Its indexes are those of `Permutation::new` in Rust, and of `shuffle`.
///
/// `p[k]` is an integer, a slice is evaluated when it is used, and an array of places gives an
/// array of indexes. Single places of more than 2^33 items, other than those near the beginning or
/// the end, raise `IndexNotBuiltError`; for fewer, the first of them builds an index of about 0.1
/// bits an item. `Permutation.walk` needs none.
#[pyclass(module = "bijective_shuffle", frozen, sequence)]
pub(crate) struct Permutation {
    pub(crate) order: AnyOrder,
    pub(crate) kind: OrderKind,
    pub(crate) seed: Seed,
}

impl Permutation {
    pub(crate) fn make(kind: OrderKind, len: u64, seed: Seed) -> PyResult<Self> {
        let order = AnyOrder::new(kind, len, seed).map_err(exception)?;
        Ok(Self { order, kind, seed })
    }

    /// Whether both are made in the same way, and so are the same permutation.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    fn identity(&self) -> (OrderKind, Seed, u64, bool) {
        (self.kind, self.seed, self.order.len(), self.order.is_inverted())
    }

    /// A hash of this permutation and of what it is used with.
    pub(crate) fn hash_with(&self, other: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.identity(), other).hash(&mut hasher);
        hasher.finish()
    }

    /// The index at one place of a run.
    pub(crate) fn single<'py>(
        &self,
        py: Python<'py>,
        run: PlaceRun,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number = match key.extract::<i64>() {
            Ok(number) => i128::from(number),
            Err(_) => key
                .extract::<i128>()
                .map_err(|_| PyIndexError::new_err(format!("index {key} is out of range")))?,
        };
        let index = self.look_up_one(py, place(run, number)?, Lookup::Index)?;
        Ok(index.into_pyobject(py)?.into_any())
    }

    /// The place of an index below the length.
    pub(crate) fn place_of(&self, py: Python<'_>, index: u64) -> PyResult<u64> {
        self.look_up_one(py, index, Lookup::Place)
    }

    /// What is looked up for a number below the length. If an index is built for that, Ctrl-C ends
    /// it.
    fn look_up_one(&self, py: Python<'_>, number: u64, lookup: Lookup) -> PyResult<u64> {
        let order = &self.order;
        if order.is_at_hand(number, lookup) {
            return order.look_up(number, lookup).map_err(exception);
        }
        let found = interruptible(py, |stop| {
            order.prepare(|| !stop.is_set())?;
            // Without its index it would be built here, as a whole.
            if stop.is_set() { Ok(0) } else { order.look_up(number, lookup) }
        })?;
        found.map_err(exception)
    }

    /// What is looked up for each number of an array, as an array of its shape. The numbers are
    /// those of places in a run, or indexes.
    pub(crate) fn several<'py>(
        &self,
        py: Python<'py>,
        numbers: &Bound<'py, PyAny>,
        lookup: Lookup,
        run: Option<PlaceRun>,
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
                Some(run) => place(run, number)?,
                None => self.index(number)?,
            };
            Ok(())
        };
        evaluate::replace_each(py, &self.order, words, check, lookup)?;
        copy.call_method1("view", (IndexType::usual(self.order.len()).name(),))
    }

    /// A number as an index, if it is one.
    pub(crate) fn index(&self, number: i128) -> PyResult<u64> {
        let len = self.order.len();
        u64::try_from(number).ok().filter(|&index| index < len).ok_or_else(|| {
            PyValueError::new_err(format!("{number} is not in a permutation of {len} items"))
        })
    }

    /// What `repr` gives.
    pub(crate) fn text(&self, py: Python<'_>) -> PyResult<String> {
        let (len, seed) = (self.order.len(), seed::text(self.seed, py)?);
        let made = match self.kind {
            OrderKind::Compacted => format!("Permutation({len}, {seed})"),
            OrderKind::Walk => format!("Permutation.walk({len}, {seed})"),
            OrderKind::Blocks { block, window } => {
                format!("BlockShuffle({len}, {block}, {window}, {seed}).order")
            }
        };
        Ok(if self.order.is_inverted() { made + ".inverted()" } else { made })
    }
}
