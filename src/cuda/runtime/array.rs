//! [`DeviceArray`] and [`DeviceArrayMut`]: the device memory that the engine accepts.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DevicePtr, DevicePtrMut};

pub(super) mod sealed {
    pub trait Sealed {
        /// Whether it may be a part of a slice, whose other parts others may use.
        const IS_PART: bool = true;
    }
    impl<T> Sealed for super::CudaSlice<T> {
        const IS_PART: bool = false;
    }
    impl<T> Sealed for super::CudaView<'_, T> {}
    impl<T> Sealed for super::CudaViewMut<'_, T> {}
}

/// Device memory that the engine may read: a [`CudaSlice`], a [`CudaView`] or a [`CudaViewMut`].
///
/// The trait is sealed, because the engine relies on the address and the length that it gets, and
/// [`DevicePtr`], cudarc's trait for them, is a safe trait that any type can implement with wrong
/// ones. Memory of other libraries is passed by address to the `unsafe` functions of
/// [`CudaWorkspace`](crate::cuda::CudaWorkspace) whose names end with `_raw`, or becomes a
/// [`CudaSlice`] by
/// [`CudaStream::upgrade_device_ptr`](cudarc::driver::CudaStream::upgrade_device_ptr).
///
/// A user's type does not compile, even if it implements [`DevicePtr`]:
///
/// ```compile_fail,E0277
/// use std::sync::Arc;
///
/// use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceSlice, SyncOnDrop};
/// use bijective_shuffle::cuda::CudaWorkspace;
/// use bijective_shuffle::bijection::Standard;
///
/// struct Anywhere(Arc<CudaStream>);
///
/// impl DeviceSlice<u32> for Anywhere {
///     fn len(&self) -> usize {
///         1000
///     }
///     fn stream(&self) -> &Arc<CudaStream> {
///         &self.0
///     }
/// }
///
/// impl DevicePtr<u32> for Anywhere {
///     fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
///         (0xDEAD_BEE0, SyncOnDrop::Record(None))
///     }
/// }
///
/// fn shuffle(workspace: &mut CudaWorkspace, f: &Standard, from: &Anywhere, out: &mut CudaSlice<u32>) {
///     let _ = workspace.shuffle_into(f, from, out);
/// }
/// ```
///
/// # Examples
///
/// A function for all device memory that the engine accepts:
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::cuda::cudarc::driver::CudaSlice;
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::cuda::{CudaWorkspace, DeviceArray, DeviceArrayMut};
///
/// fn shuffle(
///     workspace: &mut CudaWorkspace,
///     seed: u64,
///     from: &impl DeviceArray<u32>,
///     out: &mut impl DeviceArrayMut<u32>,
/// ) -> Result<(), Error> {
///     workspace.shuffle_into(&Standard::from_seed(from.len() as u64, seed), from, out)
/// }
///
/// // A part of an array is accepted too.
/// fn shuffle_half(workspace: &mut CudaWorkspace, from: &CudaSlice<u32>, out: &mut CudaSlice<u32>) {
///     let half = from.len() / 2;
///     let _ = shuffle(workspace, 42, &from.slice(..half), &mut out.slice_mut(..half));
/// }
/// ```
pub trait DeviceArray<T>: DevicePtr<T> + sealed::Sealed {}

impl<T> DeviceArray<T> for CudaSlice<T> {}
impl<T> DeviceArray<T> for CudaView<'_, T> {}
impl<T> DeviceArray<T> for CudaViewMut<'_, T> {}

/// Device memory that the engine may write: a [`CudaSlice`] or a [`CudaViewMut`].
///
/// The trait is sealed for the same reason as [`DeviceArray`]. A user's type does not compile:
///
/// ```compile_fail,E0277
/// use std::sync::Arc;
///
/// use bijective_shuffle::cuda::Cuda;
/// use bijective_shuffle::cuda::cudarc::driver::{CudaStream, DevicePtrMut, DeviceSlice, SyncOnDrop};
/// use bijective_shuffle::rng::Philox4x32Rng;
///
/// struct Anywhere(Arc<CudaStream>);
///
/// impl DeviceSlice<u32> for Anywhere {
///     fn len(&self) -> usize {
///         1000
///     }
///     fn stream(&self) -> &Arc<CudaStream> {
///         &self.0
///     }
/// }
///
/// impl DevicePtrMut<u32> for Anywhere {
///     fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
///         (0xDEAD_BEE0, SyncOnDrop::Record(None))
///     }
/// }
///
/// fn fill(cuda: &Cuda, rng: &mut Philox4x32Rng, out: &mut Anywhere) {
///     let _ = cuda.fill_u32(rng, out);
/// }
/// ```
pub trait DeviceArrayMut<T>: DevicePtrMut<T> + sealed::Sealed {}

impl<T> DeviceArrayMut<T> for CudaSlice<T> {}
impl<T> DeviceArrayMut<T> for CudaViewMut<'_, T> {}
