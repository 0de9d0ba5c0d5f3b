//! Arrays that every rank gathers, and shuffles as a whole.

use core::ops::Range;

use super::call::{RankCall, copy_bytes};
use super::engine::CudaExchange;
use crate::Bijection;
use crate::Error;
use crate::cuda::nccl::LinkMessage;
use crate::cuda::shuffle::movement::{MovedArray, Movement};
use crate::cuda::shuffle::passes::Jobs;
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::error::GpuError;

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
        call: &RankCall<'_>,
        bijection: &dyn Bijection,
    ) -> Result<(), Error> {
        let (rank, item) = (self.rank(), call.given.item as u64);
        let bytes = |places: Range<u64>| (places.end - places.start) * item;
        let at = |whole: u64, places: &Range<u64>| whole + places.start * item;
        let (source, out, jobs);
        let ready = self.room_for_all(call.job.len, item).and_then(|both| {
            let array = MovedArray::given(both[0], both[1], call.given.item);
            let movement = Movement::items(vec![array], call.given.direction)?;
            let jobs = Jobs::new(bijection, call.job.len, movement)?;
            let limits = self.executor.device.limits;
            self.executor.reserve(&jobs.plan(CudaStrategy::Auto, &limits)?)?;
            Ok((both, jobs))
        });
        ([source, out], jobs) = self.all_ready(ready)?;
        let others = (0..self.ranks()).filter(|&peer| peer != rank);
        let own = call.source.places(rank);
        let (from, own_bytes) = (call.given.source, bytes(own.clone()));
        let sends =
            others.clone().map(|peer| LinkMessage { peer, address: from, bytes: own_bytes });
        let receives = others.map(|peer| {
            let places = call.source.places(peer);
            LinkMessage { peer, address: at(source, &places), bytes: bytes(places) }
        });
        let (sends, receives): (Vec<_>, Vec<_>) = (sends.collect(), receives.collect());
        // SAFETY: the caller vouches for this rank's items, and there is room for those of all.
        let gathered = unsafe { self.exchange(&sends, &receives) };
        // A plan may make the host wait for its stream, and nobody is to wait for a lost rank.
        let gathered = gathered.and_then(|()| self.ranks.wait(&self.stream));
        let moved = gathered.and_then(|()| {
            // SAFETY: the caller vouches for this rank's items, and they go to their places in
            // memory with room for those of all.
            unsafe { copy_bytes(&self.stream, from, at(source, &own), own_bytes) }?;
            let plan = jobs.plan(CudaStrategy::Auto, &self.executor.device.limits)?;
            // SAFETY: both halves of the memory have room for all items, and belong to this stream.
            unsafe { self.executor.execute(&plan) }?;
            let own = call.out.places(rank);
            // SAFETY: all items are in their new order, and the caller vouches for this rank's run.
            unsafe { copy_bytes(&self.stream, at(out, &own), call.given.out, bytes(own)) }
        });
        moved.map_err(|error| match error {
            // All ranks find that, in the same values.
            Error::NotABijection(_) => error,
            error => self.give_up(error),
        })
    }

    /// The addresses of room for two whole arrays.
    fn room_for_all(&mut self, len: u64, item: u64) -> Result<[u64; 2], Error> {
        let one = len.checked_mul(item).and_then(|bytes| bytes.checked_next_multiple_of(256));
        let both = one.and_then(|one| Some((one, one.checked_mul(2)?)));
        let (one, both) = both.ok_or(GpuError::OutOfMemory)?;
        let first = self.whole.room(&self.stream, both)?.0;
        Ok([first, first + one])
    }
}
