//! [`Documents`] and [`ByLength`]: what the classes `Packed` and `Lengths` of the package stand on.

use std::sync::Arc;

use bijective_shuffle_loaders::{Lengths, Packed, Source};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::argument;
use crate::errors::exception;
use crate::evaluate::{copied, zeros};
use crate::loaders::numbers_of;
use crate::seed;
use crate::shared::Shared;
use crate::threads::detached;

/// Documents that are packed into sequences, of all epochs.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct Documents {
    inner: Packed<Arc<Shared<u32>>>,
}

#[pymethods]
impl Documents {
    #[new]
    fn new(
        py: Python<'_>,
        lengths: &Bound<'_, PyArray1<u32>>,
        #[pyo3(from_py_with = argument::length)] length: u64,
        #[pyo3(from_py_with = argument::overlap)] overlap: u64,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (seed, lengths) = (seed::read(seed, 0)?, Shared::new(lengths, "lengths")?);
        let made = detached(py, move || Packed::new(Arc::new(lengths), length, overlap, seed))?;
        Ok(Self { inner: made.map_err(exception)? })
    }

    /// The number of sequences in an epoch.
    #[getter]
    fn n(&self) -> u64 {
        self.inner.len()
    }

    /// The number of tokens of all documents.
    #[getter]
    fn tokens(&self) -> u64 {
        self.inner.tokens()
    }

    /// What distinguishes these documents from others, apart from the epoch.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// Builds the index of an epoch.
    fn build(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<()> {
        detached(py, || self.inner.clone().with_epoch(epoch).build())?.map_err(exception)
    }

    /// The pieces of the sequences at some places of an epoch: document, first token and end.
    fn items<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        places: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut places = numbers_of(&places)?;
        if let Some(place) = places.iter().find(|&&place| place >= self.inner.len()) {
            return Err(PyValueError::new_err(format!("there is no sequence {place}")));
        }
        let look_up = || {
            let mut found = Vec::new();
            self.inner.items(epoch, 0, &mut places, &mut found).map(|()| found)
        };
        let sequences = detached(py, look_up)?.map_err(exception)?;
        let arrays = PyList::empty(py);
        for pieces in sequences {
            let array = zeros(py, 3 * pieces.len() as u64)?;
            // SAFETY: the array is new, so nobody else reads or writes it.
            let out = unsafe { array.as_slice_mut() }?;
            for (out, piece) in out.chunks_mut(3).zip(&pieces) {
                out.copy_from_slice(&[piece.document, piece.from, piece.to]);
            }
            arrays.append(array.reshape([pieces.len(), 3])?)?;
        }
        Ok(arrays)
    }
}

/// Batches of items of similar lengths, of all epochs.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct ByLength {
    inner: Lengths<Arc<Shared<u32>>>,
}

#[pymethods]
impl ByLength {
    #[new]
    fn new(
        py: Python<'_>,
        lengths: &Bound<'_, PyArray1<u32>>,
        #[pyo3(from_py_with = argument::max_tokens)] max_tokens: u64,
        #[pyo3(from_py_with = argument::window)] window: u64,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (seed, lengths) = (seed::read(seed, 0)?, Shared::new(lengths, "lengths")?);
        // A window that no `usize` counts is too large as well.
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let made = detached(py, move || Lengths::new(Arc::new(lengths), max_tokens, window, seed))?;
        Ok(Self { inner: made.map_err(exception)? })
    }

    /// What distinguishes these items from others, apart from the epoch.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// Builds the index of an epoch, and returns the number of its batches.
    fn begin(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<u64> {
        detached(py, || self.inner.begin(epoch, None))?.map_err(exception)
    }

    /// The number of tokens of all items, and that with what is padded in an epoch.
    fn tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<(u64, u64)> {
        let counts = detached(py, || self.inner.clone().with_epoch(epoch).token_counts())?;
        counts.map(|counts| (counts.items, counts.padded)).map_err(exception)
    }

    /// The items of the batches at some places of an epoch.
    fn items<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        places: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut places = numbers_of(&places)?;
        let look_up = || {
            let len = self.inner.begin(epoch, None)?;
            if let Some(&place) = places.iter().find(|&&place| place >= len) {
                return Ok(Err(place));
            }
            let mut found = Vec::new();
            self.inner.items(epoch, 0, &mut places, &mut found).map(|()| Ok(found))
        };
        let batches = detached(py, look_up)?.map_err(exception)?.map_err(|place| {
            PyValueError::new_err(format!("there is no batch {place} in this epoch"))
        })?;
        // As many arrays as there are places: NumPy may have no room for one of them.
        let arrays = PyList::empty(py);
        batches.into_iter().try_for_each(|items| arrays.append(copied(py, &items)?))?;
        Ok(arrays)
    }
}
