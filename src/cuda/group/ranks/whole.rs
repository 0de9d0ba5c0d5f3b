//! Arrays that every rank gathers, and shuffles as a whole.

use core::ops::Range;

use super::call::{Call, copy_bytes};
use super::engine::CudaExchange;
use crate::bijection::Bijection;
use crate::compact::Direction;
use crate::cuda::nccl::Message;
use crate::error::{Error, GpuError};

impl CudaExchange {
    /// Gathers the whole array, shuffles it, and keeps this rank's run.
    ///
    /// # Errors
    ///
    /// Those of [`shuffle_into`](Self::shuffle_into).
    ///
    /// # Safety
    ///
    /// There are as many items as the call says at its addresses. This stream may read those of
    /// the source and write those of the target; they do not overlap, and nobody else uses them
    /// until the stream has finished.
    pub(super) unsafe fn move_whole(
        &mut self,
        call: &Call<'_>,
        bijection: &dyn Bijection,
    ) -> Result<(), Error> {
        let (rank, item) = (self.rank(), call.given.item as u64);
        let bytes = |places: Range<u64>| (places.end - places.start) * item;
        let ready = call.job.len.checked_mul(2 * item).ok_or(GpuError::OutOfMemory.into());
        let ready = ready.and_then(|both| Ok((self.whole.room(&self.stream, both)?.0, both / 2)));
        let (source, whole) = self.all_ready(ready)?;
        let out = source + whole;
        let at = |whole: u64, places: Range<u64>| whole + places.start * item;
        let others = (0..self.ranks()).filter(|&peer| peer != rank);
        let own = call.source.places(rank);
        let sends = others.clone().map(|peer| Message {
            peer,
            address: call.given.source,
            bytes: bytes(own.clone()),
        });
        let receives = others.map(|peer| {
            let places = call.source.places(peer);
            Message { peer, address: at(source, places.clone()), bytes: bytes(places) }
        });
        let (sends, receives): (Vec<_>, Vec<_>) = (sends.collect(), receives.collect());
        // SAFETY: the caller vouches for this rank's items, and there is room for those of all.
        unsafe { self.ranks.exchange(&self.stream, &sends, &receives) }?;
        // SAFETY: as above, this rank's items go to their places among those of all.
        unsafe {
            copy_bytes(&self.stream, call.given.source, at(source, own.clone()), bytes(own))
        }?;
        let (len, item) = (call.job.len as usize, call.given.item);
        let workspace = &mut self.workspace;
        match call.given.direction {
            // SAFETY: both halves of the memory have room for all items, and are this stream's.
            Direction::Shuffle => unsafe {
                workspace.shuffle_raw(bijection, source, out, len, item)
            },
            // SAFETY: the same two halves, each with room for all items.
            Direction::Unshuffle => unsafe {
                workspace.unshuffle_raw(bijection, source, out, len, item)
            },
        }?;
        let own = call.out.places(rank);
        // SAFETY: all items are in their new order, and the caller vouches for this rank's run.
        unsafe { copy_bytes(&self.stream, at(out, own.clone()), call.given.out, bytes(own)) }
    }
}
