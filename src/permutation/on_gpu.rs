//! Views of a permutation in device memory.

use core::ops::{Range, RangeBounds};
use std::sync::Arc;

use cudarc::driver::DeviceRepr;

use super::{Permutation, SurvivorIndex, tuning};

use crate::bijection::Inverse;
use crate::bijection::hooks::EngineForm;
use crate::cuda::{CudaWorkspace, DeviceArray, DeviceArrayMut, SlotPart};
use crate::engine::check::try_with_capacity;
use crate::error::{Defect, GpuError, ViewError};
use crate::{Bijection, DeviceSource, Error, Word};

/// Views of a permutation, in device memory.
impl CudaWorkspace {
    /// Writes the indexes at a range of places: `out[k] = p[places.start + k]`, as
    /// [`Permutation::range`] gives them.
    ///
    /// If the length fills the bijection's domain, as it always does for [`Permutation::walk`],
    /// this evaluates the places and nothing else, and returns without waiting for the GPU.
    /// Otherwise the permutation's [index](Permutation::build_index) tells where the range begins
    /// and ends, so that only its blocks are evaluated. If there is none,
    /// [`build_index`](Self::build_index) builds it, [unless it is large](Permutation#the-index);
    /// for a range that begins at place 0, the slots are evaluated from the first on instead, and
    /// the call waits for the GPU. Where the index lists the slots of survivors, with 64 points or
    /// more for each item, the host evaluates them, and the call copies the values to the GPU and
    /// waits for it.
    ///
    /// The values of a bijection that is not [trusted](crate::TrustedBijection) are not checked one
    /// by one, as they are when items are moved. Where some slots do not survive, the number of
    /// survivors is checked, for which the call waits for the GPU.
    ///
    /// # Errors
    ///
    /// * [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange), and
    ///   [`Error::LengthMismatch`] if `out` does not have as many places.
    /// * [`Error::IndexTooWide`] if `N` cannot hold the permutation's indexes.
    /// * [`ViewError::IndexNotBuilt`](crate::error::ViewError::IndexNotBuilt), and the errors of
    ///   [`build_index`](Self::build_index).
    /// * [`Error::NotABijection`] if the number of survivors is wrong, after which `out` holds
    ///   unspecified values.
    /// * [`GpuError::NoSource`](crate::error::GpuError::NoSource) if the bijection has no device
    ///   text, or if the permutation is the inverse of one whose length does not fill its domain.
    /// * [`Error::BackendUnavailable`] if NVRTC is not found, since the crate has no compiled
    ///   kernels for views, and [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed).
    /// * [`Error::OutOfMemory`] if the host evaluates the range and has too little memory.
    /// * [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured) if the stream is
    ///   being captured in a graph and the engine was not made by
    ///   [`with_capture`](crate::cuda::Cuda::with_capture), or if the host evaluates the range.
    /// * [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge),
    ///   [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    ///   [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    ///   [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    ///   [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = match Cuda::new() {
    ///     Ok(cuda) => cuda,
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     Err(error) => return Err(error.into()),
    /// };
    /// // A hundred thousand places of two trillion.
    /// let p = Permutation::walk(1 << 41, 42);
    /// let places = (1 << 40)..(1 << 40) + 100_000;
    /// let mut part = cuda.stream().alloc_zeros::<u64>(100_000)?;
    /// match CudaWorkspace::new(&cuda).write_range(&p, places.clone(), &mut part) {
    ///     // NVRTC, which compiles the kernels of views, is not installed.
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     written => written?,
    /// }
    /// let part = cuda.stream().clone_dtoh(&part)?;
    /// cuda.stream().synchronize()?;
    /// assert!(part.into_iter().eq(p.range(places)?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_range<B: Bijection, N: Word + DeviceRepr>(
        &mut self,
        p: &Permutation<B>,
        places: impl RangeBounds<u64>,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        let Range { start, end } = p.places(places)?;
        let (expected, actual) = (end - start, out.len() as u64);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        if actual == 0 {
            return Ok(());
        }
        if p.len - 1 > N::MAX.widen() {
            return Err(Error::IndexTooWide { len: p.len, bits: N::BITS });
        }
        if p.fills_domain() {
            return self.write_values(source(p)?, p.len - 1, start, out);
        }
        if p.inverted {
            return Err(GpuError::NoSource.into());
        }
        let form = form(p);
        let source = form.device_source().ok_or(GpuError::NoSource)?;
        let last = form.last();
        if p.slots().is_some() || (p.is_built_unasked() && p.is_listed_sooner(end)) {
            return self.write_listed(p, start..end, out);
        }
        if p.index().is_none() && start == 0 && end < p.len {
            return self.head_without_index(p, source, last, out);
        }
        // The first slot that is evaluated, and the last; the survivors before, and up to the last.
        let (mut slots, mut bounds) = ([0, last], [0, p.len]);
        if end - start < p.len {
            if p.index().is_none() && !p.is_built_unasked() {
                return Err(Error::View(ViewError::IndexNotBuilt { last }));
            }
            self.build_index(p)?;
            let landmark = |of: fn(&SurvivorIndex, u64) -> _, place| of(p.index()?, place);
            let Some(first) = landmark(SurvivorIndex::before, start) else {
                return self.write_listed(p, start..end, out);
            };
            // A map that is no bijection may have another domain by now.
            (slots[0], bounds[0]) = (first.slot.min(last), first.place);
            if let Some(after) = landmark(SurvivorIndex::after, end - 1) {
                (slots[1], bounds[1]) = (after.slot - 1, after.place);
            }
        }
        let part = SlotPart { source, last, len: p.len, slots };
        let found = self.write_survivors(&part, start - bounds[0], !form.is_trusted(), out)?;
        let expected = bounds[1] - bounds[0];
        match found {
            Some(found) if found != expected => {
                Err(wrong_count(p.len, (p.len - expected).saturating_add(found)))
            }
            _ => Ok(()),
        }
    }

    /// Writes a range of a permutation whose survivors an index lists: so few slots survive that
    /// the host evaluates them.
    fn write_listed<B: Bijection, N: Word + DeviceRepr>(
        &mut self,
        p: &Permutation<B>,
        places: Range<u64>,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        p.build_index()?;
        let mut indexes = try_with_capacity(out.len())?;
        let part = p.range(places)?;
        part.try_for_each_run(|run| indexes.extend(run.iter().copied().map(N::wrap)))?;
        self.write_words(&indexes, out)
    }

    /// Writes the first places of a permutation that has no index yet.
    fn head_without_index<B: Bijection, N: Word + DeviceRepr>(
        &mut self,
        p: &Permutation<B>,
        source: DeviceSource,
        last: u64,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        let count = out.len() as f64;
        // Eight standard deviations above the mean, as a random permutation never has them.
        let survivors = count + 8.0 * count.sqrt() + 64.0;
        let mut slots = survivors / p.len as f64 * last as f64;
        loop {
            // A number that is too large for the word becomes the largest.
            let end = (slots as u64).min(last);
            let part = SlotPart { source: source.clone(), last, len: p.len, slots: [0, end] };
            let found = self.write_survivors(&part, 0, true, out)?.unwrap_or(u64::MAX);
            if end == last && found != p.len {
                return Err(wrong_count(p.len, found));
            }
            if found >= out.len() as u64 {
                return Ok(());
            }
            // It is not random. All survivors may be at the other end.
            slots *= 4.0;
        }
    }

    /// Builds the permutation's [index](Permutation::build_index) on the GPU, if it needs one and
    /// has none: the same that [`Permutation::build_index`] builds. It waits for the GPU.
    ///
    /// Where the slots of survivors are listed, with 64 points or more for each item, and for a
    /// bijection that is not [trusted](crate::TrustedBijection), the host builds it.
    ///
    /// # Errors
    ///
    /// As [`Permutation::build_index`] and [`write_range`](Self::write_range).
    pub fn build_index<B: Bijection>(&mut self, p: &Permutation<B>) -> Result<(), Error> {
        if p.fills_domain() || p.index.get().is_some() {
            return Ok(());
        }
        let form = form(p);
        let source = match form.device_source() {
            Some(source) if form.is_trusted() && !p.is_sparse() => source,
            _ => return p.build_index(),
        };
        let (last, len) = (form.last(), p.len);
        let per_block = tuning::SLOTS_PER_BLOCK;
        let index = SurvivorIndex::from_counts(last, len, per_block, |block, counts| {
            let first = block * per_block;
            let end = first.saturating_add(counts.len() as u64 * per_block - 1).min(last);
            let part = SlotPart { source: source.clone(), last, len, slots: [first, end] };
            self.count_survivors(&part, per_block.trailing_zeros(), counts)
        })?;
        // Another thread may have been faster, and its index is the same.
        p.index.get_or_init(|| Arc::new(index));
        Ok(())
    }

    /// Looks up many places at once: `out[k] = p[places[k]]`, and `u64::MAX` where `places[k]` is
    /// no place. It does not wait for the GPU, and does not check the values of a bijection that is
    /// not [trusted](crate::TrustedBijection).
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`]; [`GpuError::NoSource`](crate::error::GpuError::NoSource) if the
    /// length does not fill the bijection's domain ([`Permutation::walk`] always does) or if the
    /// bijection has no device text; [`Error::BackendUnavailable`] if NVRTC is not found, since the
    /// crate has no compiled kernels for views;
    /// [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge),
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    /// [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let p = Permutation::walk(1_000_000_000_000, 42);
    /// let places = cuda.stream().clone_htod(&[7, 1 << 39])?;
    /// let mut out = cuda.stream().alloc_zeros::<u64>(2)?;
    /// CudaWorkspace::new(&cuda).get_many(&p, &places, &mut out)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_many<B: Bijection>(
        &mut self,
        p: &Permutation<B>,
        places: &impl DeviceArray<u64>,
        out: &mut impl DeviceArrayMut<u64>,
    ) -> Result<(), Error> {
        self.write_points(source(p)?, p.len, places, out)
    }

    /// Looks up the places of many indexes at once: `p[out[k]] = indexes[k]`, and `u64::MAX` where
    /// `indexes[k]` is no index. It does not wait for the GPU.
    ///
    /// # Errors
    ///
    /// As [`get_many`](Self::get_many).
    pub fn position_many<B: Bijection>(
        &mut self,
        p: &Permutation<B>,
        indexes: &impl DeviceArray<u64>,
        out: &mut impl DeviceArrayMut<u64>,
    ) -> Result<(), Error> {
        let inverse = Inverse::new(p).device_source().ok_or(GpuError::NoSource)?;
        self.write_points(inverse, p.len, indexes, out)
    }
}

/// The error for a permutation of `len` items in which another number of slots survives.
fn wrong_count(len: u64, survivors: u64) -> Error {
    // How many there are beyond that depends on how many are counted together, so at most one more
    // is reported.
    let actual = survivors.min(len.saturating_add(1));
    Error::NotABijection(Defect::Survivors { expected: len, actual })
}

/// What is evaluated of a permutation's bijection. A trusted form that has another domain is not:
/// the permutation's index is of the slots of this one.
fn form<B: Bijection>(p: &Permutation<B>) -> EngineForm<'_> {
    match EngineForm::of(&p.bijection) {
        form if form.last() == p.bijection.last() => form,
        _ => EngineForm::Unchecked(&p.bijection),
    }
}

/// The device text of a permutation whose length fills its bijection's domain.
fn source<B: Bijection>(p: &Permutation<B>) -> Result<DeviceSource, Error> {
    p.device_source().ok_or_else(|| GpuError::NoSource.into())
}
