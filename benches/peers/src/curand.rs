//! cuRAND's host interface, if the library is there.

use std::sync::Arc;

use bijective_shuffle::cuda::cudarc::driver::{CudaStream, CudaViewMut, DevicePtrMut};
use cudarc::curand::result::{self, CurandError, NormalFill, UniformFill};
use cudarc::curand::sys::{self, curandOrdering_t as Ordering, curandRngType_t as Kind};

/// The generators, by their names there.
pub(crate) const KINDS: [(&str, Kind); 5] = [
    ("PHILOX4_32_10", Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10),
    ("XORWOW", Kind::CURAND_RNG_PSEUDO_XORWOW),
    ("MRG32K3A", Kind::CURAND_RNG_PSEUDO_MRG32K3A),
    ("MTGP32", Kind::CURAND_RNG_PSEUDO_MTGP32),
    ("MT19937", Kind::CURAND_RNG_PSEUDO_MT19937),
];

/// The orderings that are measured: what a program gets that asks for none, and the one that is to
/// be the fastest.
pub(crate) const ORDERINGS: [(&str, Ordering); 2] = [
    ("", Ordering::CURAND_ORDERING_PSEUDO_DEFAULT),
    (", dynamic", Ordering::CURAND_ORDERING_PSEUDO_DYNAMIC),
];

/// Whether there is the library. Without it the bindings would panic.
pub(crate) fn is_there() -> bool {
    // SAFETY: it loads the library, if there is one, whose initializers are NVIDIA's.
    unsafe { sys::is_culib_present() }
}

/// The library's version, such as 10400.
pub(crate) fn version() -> Option<i32> {
    let mut version = 0;
    // SAFETY: it writes a number to where the pointer points.
    let status = unsafe { sys::curandGetVersion(&mut version) };
    status.result().ok().map(|()| version)
}

/// A generator of cuRAND's, on a stream.
pub(crate) struct Generator {
    handle: sys::curandGenerator_t,
    stream: Arc<CudaStream>,
}

impl Generator {
    /// A generator, or what cuRAND says of it.
    pub(crate) fn new(
        kind: Kind,
        ordering: Ordering,
        seed: u64,
        stream: &Arc<CudaStream>,
    ) -> Result<Self, CurandError> {
        let handle = result::create_generator_kind(kind)?;
        let generator = Self { handle, stream: stream.clone() };
        // SAFETY: the generator has just been made, and the stream lives as long as it.
        unsafe { result::set_stream(handle, stream.cu_stream().cast()) }?;
        // SAFETY: the generator has just been made.
        unsafe { sys::curandSetGeneratorOrdering(handle, ordering) }.result()?;
        // SAFETY: the generator has just been made.
        unsafe { result::set_seed(handle, seed) }?;
        // SAFETY: the generator has just been made.
        unsafe { sys::curandGenerateSeeds(handle) }.result()?;
        Ok(generator)
    }

    /// Fills with the whole range of integers, or with numbers in (0, 1].
    pub(crate) fn uniform<T>(&mut self, out: &mut CudaViewMut<'_, T>) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: UniformFill<T>,
    {
        let len = out.len();
        let (address, _guard) = out.device_ptr_mut(&self.stream);
        // SAFETY: the slice is of that many numbers, borrowed for writing, and the guard cares that
        // nobody else uses it before the stream has done with it.
        unsafe { UniformFill::fill(self.handle, address as *mut T, len) }
    }

    /// Fills with normal numbers, an even number of them.
    pub(crate) fn normal<T: From<u8>>(
        &mut self,
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: NormalFill<T>,
    {
        let len = out.len();
        let (address, _guard) = out.device_ptr_mut(&self.stream);
        // SAFETY: the slice is of `len` numbers of this type on the device, borrowed for writing,
        // and the guard cares that nobody else uses it before the stream has done with it.
        unsafe { NormalFill::fill(self.handle, address as *mut T, len, 0.into(), 1.into()) }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // What the stream still does with it is waited for first.
        let _ = self.stream.synchronize();
        // SAFETY: it is not used again.
        let _ = unsafe { result::destroy_generator(self.handle) };
    }
}
