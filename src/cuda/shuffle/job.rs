//! [`Job`]: a permutation to be applied.

use super::movement::Movement;
use crate::bijection::hooks::EngineForm;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::word_type::WordType;
use crate::engine::check::check_length;
use crate::error::GpuError;
use crate::{Bijection, DeviceSource, Error};

/// The most bytes of parameters that a bijection may have: a kernel may have 4096 in all, the
/// arguments of no kernel are more than half of the rest (of a group's, 344 bytes), and a part of a
/// permutation adds up to 24 bytes to the bijection's own.
pub(in crate::cuda) const MOST_PARAMS: usize = 4096 - 768;

/// Checks that a kernel has room for a bijection's parameters beside its other arguments.
///
/// # Errors
///
/// [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge).
pub(in crate::cuda) fn check_params(source: &DeviceSource) -> Result<(), Error> {
    let bytes = source.params().len();
    if bytes > MOST_PARAMS {
        let type_name = source.form().type_name();
        return Err(Error::Gpu(GpuError::ParamsTooLarge { type_name, bytes, most: MOST_PARAMS }));
    }
    Ok(())
}

/// A permutation to be applied.
pub(crate) struct Job {
    pub(in crate::cuda) source: DeviceSource,
    pub(in crate::cuda) last: u64,
    pub(in crate::cuda) len: u64,
    pub(in crate::cuda) trusted: bool,
    pub(super) movement: Movement,
}

impl Job {
    /// Reads a bijection's domain and device text, and checks the length.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    /// [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge).
    pub(crate) fn new(f: &dyn Bijection, len: u64, movement: Movement) -> Result<Self, Error> {
        let form = EngineForm::of(f);
        let last = form.last();
        check_length(len, last)?;
        let source = form.device_source().ok_or(Error::Gpu(GpuError::NoSource))?;
        check_params(&source)?;
        Ok(Self { source, last, len, trusted: form.is_trusted(), movement })
    }

    /// The same permutation, whose indexes are written.
    pub(crate) fn writing(&self, out: Address, word: WordType) -> Self {
        let Self { last, len, trusted, .. } = *self;
        let (source, movement) = (self.source.clone(), Movement::Indices { out, word });
        Self { source, last, len, trusted, movement }
    }

    /// Whether every slot survives.
    pub(in crate::cuda) fn is_dense(&self) -> bool {
        self.len - 1 == self.last
    }
}

/// A number with the alignment that any slice of type T has: slices begin at multiples of their
/// items' size from the beginning of an allocation.
pub(in crate::cuda) fn any_address<T>() -> u64 {
    align_of::<T>().next_multiple_of(size_of::<T>().max(1)) as u64
}

/// The slots up to `last`; `len` of them survive. The kernels compute with them in words of type
/// `index`, which may be wider than needed.
#[derive(Clone, Copy)]
pub(in crate::cuda) struct Slots {
    pub(in crate::cuda) last: u64,
    pub(in crate::cuda) len: u64,
    pub(in crate::cuda) index: WordType,
}
