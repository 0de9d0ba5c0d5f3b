//! [`Shared`]: numbers in an array of NumPy that are used where they are.

use bijective_shuffle_engine::{memory, parallel};
use bijective_shuffle_loaders::{Error, ItemLengths, ItemWeights};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::pin::Pin;

/// How many numbers a thread copies at a time.
const CHUNK: usize = 1 << 15;

/// Numbers in an array of NumPy, perhaps a file that is mapped into memory, which are not copied.
pub(crate) struct Shared<N> {
    first: *const N,
    count: usize,
    _pin: Pin,
}

// SAFETY: the memory is only read, and the pin, which is references to Python objects, may be sent
// and shared.
unsafe impl<N: Number> Send for Shared<N> {}
// SAFETY: `get` alone looks at the memory, with an argument for reads from any thread; nothing
// looks at the pin before it is dropped.
unsafe impl<N: Number> Sync for Shared<N> {}

/// A plain number type: any bits are a number.
///
/// # Safety
///
/// Any bits are a number of this type.
pub(crate) unsafe trait Number: Element + Copy + Send + Sync {}

// SAFETY: an integer has no bits that are none.
unsafe impl Number for u32 {}
// SAFETY: an integer has no bits that are none.
unsafe impl Number for i32 {}
// SAFETY: an integer has no bits that are none.
unsafe impl Number for u64 {}
// SAFETY: an integer has no bits that are none.
unsafe impl Number for i64 {}
// SAFETY: any bits are a floating-point number, if only one that is not a number.
unsafe impl Number for f64 {}

impl<N: Number> Shared<N> {
    /// The numbers of an array; `what` they are stands in an error.
    pub(crate) fn new(array: &Bound<'_, PyArray1<N>>, what: &str) -> PyResult<Self> {
        // Before the address is read: a buffer may be exported by code of Python.
        let pin = Pin::new(array.as_untyped())?;
        if !array.is_contiguous() || !array.data().is_aligned() {
            let text = format!("{what} are a contiguous and aligned array: give a copy of it");
            return Err(PyTypeError::new_err(text));
        }
        Ok(Self { first: array.data(), count: array.len(), _pin: pin })
    }

    /// A number.
    ///
    /// # Panics
    ///
    /// If there is no number with this index.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> N {
        assert!(index < self.count, "there is no number {index}");
        // SAFETY: it is within the array, by the check above.
        let number = unsafe { self.first.add(index) };
        // SAFETY: the pin keeps the memory where it is. Python code may write to it meanwhile. A
        // volatile read then gives some bits, and any are a number; what reads them allows for
        // numbers that change.
        unsafe { number.read_volatile() }
    }

    /// Copies the numbers on all threads.
    pub(crate) fn copied(&self) -> Result<Vec<N>, Error> {
        let len = self.count;
        let mut copy = memory::try_in_huge_pages(len)?;
        parallel::each_chunk(&mut copy.spare_capacity_mut()[..len], CHUNK, |chunk, items| {
            for (item, out) in (chunk * CHUNK..).zip(items) {
                out.write(self.get(item));
            }
        });
        // SAFETY: there was room for that many, and each chunk has written its own.
        unsafe { copy.set_len(len) };
        Ok(copy)
    }
}

impl ItemLengths for Shared<u32> {
    fn count(&self) -> u64 {
        self.count as u64
    }

    #[inline]
    fn length(&self, item: u64) -> u64 {
        // The classes in Rust allow for lengths that change.
        u64::from(self.get(item as usize))
    }
}

impl<N: Number + TryInto<u64>> ItemWeights for Shared<N> {
    fn count(&self) -> u64 {
        self.count as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        for (item, out) in (first..).zip(out) {
            let weight = self.get(item as usize).try_into();
            *out = weight.map_err(|_| Error::NotAWeight { index: item })?;
        }
        Ok(())
    }
}
