//! [`Near`]: ranks on one host, each a process, that copy into each other's memory.
//!
//! A rank's working memory is mapped in the other processes, so that pieces go from GPU to GPU by
//! their copy engines, as between the members of a group. What may fail elsewhere only has another
//! way: where not all ranks see the same memory, or one cannot map another's, all send by NCCL.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, sys};

use super::super::members::copy;
use super::super::phase::MemberCopy;
use super::board::{Board, Counter, MOST_NEAR, random};
use super::handle::{HANDLE, export, open};
use super::turns::Turns;
use super::words::RankWords;
use crate::Error;
use crate::cuda::nccl::{Communicator, Patience};
use crate::cuda::runtime::memory::seems_free;
use crate::cuda::runtime::stream::{failed, is_finished};
use crate::error::GpuError;

/// The driver gives a multiple of this a mapping of its own.
const GRAIN: u64 = 2 << 20;

/// One rank of several on a host.
#[derive(Debug)]
pub(super) struct Near {
    board: Board,
    /// Where the device sees the board.
    page: u64,
    rank: usize,
    limit: Duration,
    /// The stream of the kernels, and that of the copies.
    streams: [Arc<CudaStream>; 2],
    /// How much memory each rank has, which all know.
    bytes: Vec<u64>,
    /// This rank's memory, or 0.
    own: u64,
    /// Where each rank's memory is mapped here; 0 where it is not.
    mapped: Vec<u64>,
    turns: Turns,
    /// Whether in the last call ranks have fetched what others had placed, on all ranks alike.
    has_fetched: bool,
}

impl Near {
    /// Ranks that are near each other: `None` on all ranks if they are not, or are more than there
    /// are GPUs on a host, or if one of them has no way to use the others' memory. A program that
    /// has several ranks is one that has no need: it has `CudaGroup`, and the driver maps memory in
    /// other processes only.
    ///
    /// # Errors
    ///
    /// Those of [`RankWords::gather`].
    pub(super) fn join(
        ranks: &Communicator,
        words: &RankWords,
        streams: [&Arc<CudaStream>; 2],
        limit: Duration,
    ) -> Result<Option<Self>, Error> {
        let (rank, count) = (ranks.rank(), ranks.ranks());
        if count == 1 || count > MOST_NEAR {
            return Ok(None);
        }
        let name = random();
        let created = (rank == 0).then(|| Board::create(name, count).ok()).flatten();
        let own = [u64::from(std::process::id()), if created.is_some() { name } else { 0 }];
        let told = words.gather(ranks, streams[1], &own)?;
        let name = told[0][1];
        let are_processes =
            (1..count).all(|other| told[..other].iter().all(|of| of[0] != told[other][0]));
        if name == 0 || !are_processes {
            return Ok(None);
        }
        let board = created.or_else(|| Board::open(name, rank, count).ok());
        let mut near = board.and_then(|board| Self::new(board, rank, count, streams, limit));
        let have_joined = words.gather(ranks, streams[1], &[near.is_some().into()])?;
        if let Some(near) = &mut near {
            near.board.hide();
        }
        Ok(near.filter(|_| have_joined.iter().all(|words| words[0] == 1)))
    }

    /// `None` if the device cannot use the board.
    fn new(
        board: Board,
        rank: usize,
        ranks: usize,
        streams: [&Arc<CudaStream>; 2],
        limit: Duration,
    ) -> Option<Self> {
        let context = streams[0].context();
        context.bind_to_thread().ok()?;
        let counts = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
        if context.attribute(counts).ok()? == 0 {
            return None;
        }
        let (memory, bytes) = board.memory();
        let flags = sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: the board is whole pages of memory, and is there until `drop`, which ends this.
        unsafe { sys::cuMemHostRegister_v2(memory, bytes, flags) }.result().ok()?;
        let mut near = Self {
            board,
            page: 0,
            rank,
            limit,
            streams: streams.map(Arc::clone),
            bytes: vec![0; ranks],
            own: 0,
            mapped: vec![0; ranks],
            turns: Turns::new(ranks),
            has_fetched: false,
        };
        // SAFETY: the memory has just been registered, and the call writes one address.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut near.page, memory, 0) }
            .result()
            .ok()?;
        Some(near)
    }

    /// The bytes of device memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes[self.rank] as usize
    }

    /// Whether a rank has less memory than it needs.
    pub(super) fn lacks(&self, bytes: &[u64]) -> bool {
        self.bytes.iter().zip(bytes).any(|(has, needs)| has < needs)
    }

    /// Ends the use of each other's memory, so that it may be freed on every rank where this
    /// returns.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::wait`].
    pub(super) fn let_go(&mut self, ranks: &Communicator) -> Result<(), Error> {
        let finished = self.streams.iter().try_for_each(|stream| ranks.wait(stream));
        finished.inspect_err(|_| self.board.fail())?;
        self.unmap();
        self.gather(ranks, &[]).map(drop)
    }

    /// Gets memory of at least this size on this rank, which no other has mapped. It is cleared as
    /// [`Executor::working_memory`](crate::cuda::runtime::executor::Executor::working_memory) is.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory), also if it seems that there
    /// will not be enough and there `has_choice`; [`GpuError::DriverFailed`].
    pub(super) fn grow(&mut self, bytes: u64, has_choice: bool) -> Result<u64, Error> {
        if self.bytes[self.rank] >= bytes {
            return Ok(self.own);
        }
        let context = self.streams[0].context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        free(&mut self.own);
        let bytes = bytes.checked_next_multiple_of(GRAIN).ok_or(GpuError::OutOfMemory)?;
        let size = usize::try_from(bytes).map_err(|_| GpuError::OutOfMemory)?;
        if has_choice && !seems_free(context, bytes) {
            return Err(GpuError::OutOfMemory.into());
        }
        // SAFETY: the call writes one address.
        unsafe { sys::cuMemAlloc_v2(&raw mut self.own, size) }
            .result()
            .map_err(|error| failed(error, "allocate working memory"))?;
        // SAFETY: the memory has just been allocated with this size.
        unsafe { sys::cuMemsetD8Async(self.own, 0, size, self.streams[0].cu_stream()) }
            .result()
            .map_err(|error| failed(error, "clear working memory"))?;
        Ok(self.own)
    }

    /// Remembers that all ranks have grown to these sizes, or that not all could. Then all free
    /// what they have.
    pub(super) fn has_grown(&mut self, bytes: &[u64], have_all: bool) {
        if have_all {
            for (has, &needs) in self.bytes.iter_mut().zip(bytes) {
                *has = needs.max(*has);
            }
        } else {
            free(&mut self.own);
            self.bytes.fill(0);
        }
    }

    /// Maps the memory of the others. Returns false on all ranks if one of them cannot.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    pub(super) fn map(&mut self, ranks: &Communicator) -> Result<bool, Error> {
        // A rank without items needs no memory.
        let own = (self.own != 0).then(|| export(self.own));
        let own = own.unwrap_or(Some([0; HANDLE]));
        let has_handle = u64::from(own.is_some());
        let words = [&own.unwrap_or_default()[..], &[has_handle]].concat();
        let told = self.gather(ranks, &words)?;
        let mut is_mapped = true;
        for (rank, words) in told.iter().enumerate() {
            let (handle, has_handle) = (&words[..HANDLE], words[HANDLE] == 1);
            let address = match handle.iter().any(|&word| word != 0) {
                true if rank == self.rank => Some(self.own),
                true if is_mapped => open(handle),
                _ => Some(0),
            };
            is_mapped &= has_handle && address.is_some();
            self.mapped[rank] = address.unwrap_or(0);
        }
        let told = self.gather(ranks, &[is_mapped.into()])?;
        Ok(told.iter().all(|words| words[0] == 1))
    }

    /// Where the memory of each rank is.
    pub(super) fn memory(&self) -> &[u64] {
        &self.mapped
    }

    fn unmap(&mut self) {
        for (rank, address) in self.mapped.iter_mut().enumerate() {
            let address = std::mem::take(address);
            if rank != self.rank && address != 0 {
                // SAFETY: it was mapped, and both streams have finished, so nothing uses it.
                let closed = unsafe { sys::cuIpcCloseMemHandle(address) }.result();
                self.streams[0].context().record_err(closed);
            }
        }
    }

    /// Gathers numbers of the host, as [`RankWords::gather`].
    ///
    /// # Errors
    ///
    /// [`GpuError::PeerLost`] if another rank has failed; else as [`Communicator::wait`].
    pub(super) fn gather(&self, ranks: &Communicator, own: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        self.board.tell(own);
        self.all_told(ranks, own.len())
    }

    /// Gathers numbers that the copies' stream reads, as [`RankWords::gather_at`].
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
    ///
    /// # Safety
    ///
    /// As for [`RankWords::gather_at`].
    pub(super) unsafe fn gather_at(
        &self,
        ranks: &Communicator,
        own: &[(u64, usize)],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let (numbers, turn) = self.board.begin_to_tell();
        self.bind()?;
        for (to, &(from, bytes)) in (self.page + numbers..).step_by(8).zip(own) {
            // SAFETY: the caller vouches for the bytes to be read, and the board has room for as
            // many numbers, which no rank reads before they are told.
            unsafe { sys::cuMemcpyAsync(to, from, bytes, self.streams[1].cu_stream()) }
                .result()
                .map_err(|error| failed(error, "copy to the host"))?;
        }
        self.write(1, Counter::Told, turn)?;
        self.all_told(ranks, own.len())
    }

    fn all_told(&self, ranks: &Communicator, number: usize) -> Result<Vec<Vec<u64>>, Error> {
        let during = "gather from all ranks";
        let told = ranks.wait_for(|| {
            is_finished(&self.streams[1]).map_err(|error| failed(error, during))?;
            let lost = GpuError::PeerLost { own_rank: self.rank, during };
            self.board.have_told().ok_or(Error::Gpu(lost))
        });
        // The others need not wait until their time limit.
        told.inspect_err(|_| self.board.fail())?;
        Ok(self.board.read(number))
    }

    /// Begins a call, in the stream of the kernels. If ranks have fetched in the call before, that
    /// is when all are done with it: the memory from which others fetch may have another use now.
    /// Otherwise others may still be in the call before until they have told something in this one.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        self.turns = self.turns.begun();
        self.bind()?;
        self.write(0, Counter::Sorted, self.turns.ready())?;
        if std::mem::take(&mut self.has_fetched) {
            self.wait_for_others(0, Counter::Sorted, self.turns.ready())?;
        }
        Ok(())
    }

    /// Puts a piece's copies in their stream.
    ///
    /// # Safety
    ///
    /// The stream may read the memory of all copies and, when the receivers have sorted what was
    /// there, write it.
    pub(super) unsafe fn deliver(&self, piece: u64, copies: &[MemberCopy]) -> Result<(), Error> {
        let turns = &self.turns;
        self.wait_for_others(1, Counter::Sorted, turns.may_receive(piece))?;
        for turn in 0..turns.of_piece() {
            let before = turns.before(piece, turn);
            if turns.of_piece() > 1 {
                // So that no two copy to the same: see `Members::meet_sending`.
                self.wait_for_others(1, Counter::Sent, before)?;
            }
            let receiver = turns.receiver(self.rank, turn);
            for delivery in copies.iter().filter(|copy| copy.receiver == receiver) {
                // SAFETY: the caller vouches for the addresses, and the stream has waited for the
                // receiver.
                unsafe { copy(delivery, &self.streams[1]) }?;
            }
            self.write(1, Counter::Sent, before + 1)?;
        }
        Ok(())
    }

    /// Makes the stream of the kernels wait for what others send of a piece.
    pub(super) fn receive(&self, piece: u64) -> Result<(), Error> {
        self.wait_for_others(0, Counter::Sent, self.turns.sent(piece))
    }

    /// Says, in the stream of the kernels, that a piece has been sorted.
    pub(super) fn has_sorted(&self, piece: u64) -> Result<(), Error> {
        self.write(0, Counter::Sorted, self.turns.sorted(piece))
    }

    /// Copies to others, in the stream of the kernels, what they use and this rank holds, and makes
    /// the stream wait until they have done the same.
    ///
    /// # Safety
    ///
    /// The stream may read the memory of all copies, and write it now: no rank uses it.
    pub(super) unsafe fn hand_out(&self, copies: Vec<MemberCopy>) -> Result<(), Error> {
        self.bind()?;
        for delivery in &copies {
            // SAFETY: the caller vouches for the addresses.
            unsafe { copy(delivery, &self.streams[0]) }?;
        }
        self.write(0, Counter::Sorted, self.turns.handed_out())?;
        self.wait_for_others(0, Counter::Sorted, self.turns.handed_out())
    }

    /// Copies from others what they have placed and this rank holds: copies are given as to
    /// [`hand_out`](Self::hand_out), and made the other way, when all have placed what they have
    /// in the stream of the kernels. Either all ranks call this or, where none has a copy, none.
    ///
    /// # Safety
    ///
    /// The stream may write where the copies begin, and read where they end, in memory that no rank
    /// uses again before all [`begin`](Self::begin) another call.
    pub(super) unsafe fn fetch(&mut self, copies: Vec<MemberCopy>) -> Result<(), Error> {
        self.has_fetched = true;
        self.bind()?;
        self.write(0, Counter::Sorted, self.turns.placed())?;
        if !copies.is_empty() {
            self.wait_for_others(0, Counter::Sorted, self.turns.placed())?;
        }
        for MemberCopy { receiver, from, to, bytes } in copies {
            // SAFETY: the caller vouches for the addresses.
            unsafe { copy(&MemberCopy { receiver, from: to, to: from, bytes }, &self.streams[0]) }?;
        }
        Ok(())
    }

    /// Goes on to the turns after a call's pieces. What the call places follows, in these turns.
    pub(super) fn end(&mut self, pieces: u64) {
        self.turns = self.turns.after(pieces);
    }

    fn bind(&self) -> Result<(), Error> {
        let bound = self.streams[0].context().bind_to_thread();
        bound.map_err(|error| failed(error, "use the device"))
    }

    /// Has a stream write one of this rank's counters.
    fn write(&self, stream: usize, counter: Counter, value: u64) -> Result<(), Error> {
        let (stream, at) =
            (self.streams[stream].cu_stream(), self.page + Board::offset(self.rank, counter));
        // SAFETY: the counter is in the board, which the device may write.
        unsafe { sys::cuStreamWriteValue64_v2(stream, at, value, 0) }
            .result()
            .map_err(|error| failed(error, "tell other ranks"))
    }

    /// Makes a stream wait until a counter of all other ranks is at least this.
    fn wait_for_others(&self, stream: usize, counter: Counter, least: u64) -> Result<(), Error> {
        let stream = self.streams[stream].cu_stream();
        let flags = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        for other in (0..self.bytes.len()).filter(|&other| other != self.rank) {
            let at = self.page + Board::offset(other, counter);
            // SAFETY: the counter is in the board, which the device may read.
            unsafe { sys::cuStreamWaitValue64_v2(stream, at, least, flags) }
                .result()
                .map_err(|error| failed(error, "wait for other ranks"))?;
        }
        Ok(())
    }

    /// Whether what this rank has waited for has come: after a failure, nothing is waited for.
    ///
    /// # Errors
    ///
    /// [`GpuError::PeerLost`] if a rank has failed.
    pub(super) fn check(&self) -> Result<(), Error> {
        let during = "wait for other ranks";
        let lost = GpuError::PeerLost { own_rank: self.rank, during };
        if self.board.has_failed() { Err(lost.into()) } else { Ok(()) }
    }

    /// Ends the communication after an error, so that the others learn of it before their time
    /// limits.
    pub(super) fn fail(&self) {
        self.board.fail();
    }

    /// Ends the communication after an error, and waits until neither stream uses any memory.
    pub(super) fn give_up(&self) {
        self.board.fail();
        self.finish();
    }

    /// Waits for both streams, whatever they report. What they still wait for after the time limit
    /// never comes.
    fn finish(&self) {
        let mut patience = Patience::new(self.limit);
        for stream in &self.streams {
            while matches!(is_finished(stream), Ok(false)) {
                if patience.is_over() {
                    self.board.fail();
                } else if self.board.has_failed() {
                    self.board.release();
                }
                patience.pause();
            }
        }
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        let context = self.streams[0].context().clone();
        context.record_err(context.bind_to_thread());
        self.finish();
        self.unmap();
        self.board.leave();
        if self.own != 0 {
            let mut patience = Patience::new(self.limit);
            while !self.board.have_left() && !patience.is_over() {
                patience.pause();
            }
            // Where a rank has been lost, it may still copy to this memory, which is left behind.
            if self.board.have_left() {
                free(&mut self.own);
            }
        }
        // SAFETY: the memory was registered, and nothing on the device uses it any more.
        let ended = unsafe { sys::cuMemHostUnregister(self.board.memory().0) }.result();
        context.record_err(ended);
    }
}

/// Frees memory, if there is any, which no other rank has mapped.
fn free(address: &mut u64) {
    let address = std::mem::take(address);
    if address != 0 {
        // SAFETY: `grow` has allocated it. No other rank uses it, and the driver waits for what
        // this one does. Its errors are those of the context, which the next call reports.
        let _ = unsafe { sys::cuMemFree_v2(address) };
    }
}
