//! What takes the place of the types that need memory, where there is none to allocate: a bijection
//! has no text for a device and no passes.

use core::convert::Infallible;
use core::marker::PhantomData;

/// A bijection's code for a GPU, which none has without the feature `alloc`.
#[derive(Clone, Debug)]
pub struct DeviceSource(Infallible);

/// Compactions that are done one after the other, which no bijection has without the feature
/// `alloc`.
#[derive(Clone, Debug)]
pub struct Passes<B>(Infallible, PhantomData<B>);
