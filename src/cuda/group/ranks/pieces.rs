//! [`RankStreams`]: sends a rank's items in pieces, and sorts what comes.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream};

use super::super::exchange::MemberExchange;
use super::super::phase::MemberCopy;
use super::near::Near;
use crate::Error;
use crate::cuda::nccl::{Communicator, LinkMessage};
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::plan::DevicePlan;
use crate::cuda::runtime::stream::{failed, finish};

/// The two streams of a rank: kernels run in one, and all messages in the other, which nobody else
/// uses, and so nobody captures.
///
/// While a piece is on its way, the next is prepared and the one before is sorted. Each piece has
/// the memory of the one before the last. A rank fills it when its own messages have left it, and
/// receives in it when it has sorted what was there.
#[derive(Debug)]
pub(super) struct RankStreams {
    stream: Arc<CudaStream>,
    messages: Arc<CudaStream>,
    /// What was in the other stream.
    behind: CudaEvent,
    filled: CudaEvent,
    delivered: [CudaEvent; 2],
    sorted: CudaEvent,
}

/// What a rank does with a piece.
pub(super) struct PieceSteps<'a> {
    /// Sorts a piece of its items by the bucket.
    fill: DevicePlan<'a>,
    sends: Vec<MemberCopy>,
    receives: Vec<LinkMessage>,
    /// Sorts what it has kept, and then what it has received.
    kept: DevicePlan<'a>,
    received: DevicePlan<'a>,
}

impl<'a> PieceSteps<'a> {
    /// The steps of a rank with a piece of an exchange.
    pub(super) fn new(of: &MemberExchange<'a>, rank: usize, piece: u64) -> Result<Self, Error> {
        let senders = (0..of.members()).filter(|&peer| peer != rank);
        let receives = senders.flat_map(|sender| {
            let mine = of.deliveries_to(rank, sender, piece).into_iter().flatten();
            mine.map(move |MemberCopy { to: address, bytes, .. }| LinkMessage {
                peer: sender,
                address,
                bytes,
            })
        });
        Ok(Self {
            fill: of.fill(rank, piece)?,
            sends: of.deliveries(rank, piece),
            receives: receives.collect(),
            kept: of.sort_kept(rank, piece)?,
            received: of.sort_received(rank, piece)?,
        })
    }

    /// Sends by NCCL what has been filled, and receives.
    ///
    /// # Safety
    ///
    /// As [`Communicator::exchange`].
    unsafe fn exchange(&self, ranks: &Communicator, stream: &CudaStream) -> Result<(), Error> {
        let sends = self.sends.iter().map(|&MemberCopy { receiver: peer, from, bytes, .. }| {
            LinkMessage { peer, address: from, bytes }
        });
        // SAFETY: the caller vouches for the memory and the stream.
        unsafe { ranks.exchange(stream, &sends.collect::<Vec<_>>(), &self.receives) }
    }

    /// The plans, in the order in which they are executed.
    pub(super) fn plans(&self) -> [&DevicePlan<'a>; 3] {
        [&self.fill, &self.kept, &self.received]
    }
}

impl RankStreams {
    /// The lanes of a rank whose kernels run in this stream.
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        let context = stream.context();
        let event = || context.new_event(None).map_err(|error| failed(error, "make an event"));
        // Messages take a few multiprocessors. Kernels with many blocks would not leave them any
        // before they end, if theirs did not come first.
        let messages = context
            .new_stream_with_priority(HIGHEST)
            .map_err(|error| failed(error, "make a stream"))?;
        Ok(Self {
            stream: stream.clone(),
            messages,
            behind: event()?,
            filled: event()?,
            delivered: [event()?, event()?],
            sorted: event()?,
        })
    }

    /// The stream of the messages.
    pub(super) fn messages(&self) -> &Arc<CudaStream> {
        &self.messages
    }

    /// Makes messages wait for the kernels that are in their stream now.
    pub(super) fn messages_after_kernels(&self) -> Result<(), Error> {
        record(&self.behind, &self.stream)?;
        wait(&self.messages, &self.behind)
    }

    /// Makes kernels wait for the messages that are in their stream now.
    pub(super) fn kernels_after_messages(&self) -> Result<(), Error> {
        record(&self.behind, &self.messages)?;
        wait(&self.stream, &self.behind)
    }

    /// Waits for both streams, whatever they report, after messages have failed.
    pub(super) fn finish(&self) {
        for stream in [&self.messages, &self.stream] {
            // There is an error to report already.
            let _ = finish(stream);
        }
    }

    /// Launches what sends all pieces and sorts what comes.
    ///
    /// # Safety
    ///
    /// As [`Executor::execute`], for the arrays and the working memory that the steps were made
    /// for. Where this fails, the caller waits for both streams before any of it is used again.
    pub(super) unsafe fn send(
        &self,
        executor: &mut Executor,
        (ranks, near): (&Communicator, Option<&Near>),
        pieces: &[PieceSteps<'_>],
    ) -> Result<(), Error> {
        for number in 0..=pieces.len() {
            if let Some(piece) = pieces.get(number) {
                // SAFETY: the caller vouches for the memory. What the piece before the last left
                // in it has been sent, since the stream has waited for that before it was sorted.
                unsafe { executor.execute(&piece.fill) }?;
                record(&self.filled, &self.stream)?;
                wait(&self.messages, &self.filled)?;
                if number >= 2 {
                    wait(&self.messages, &self.sorted)?;
                }
                match near {
                    // SAFETY: the caller vouches for the memory, and this piece has been filled.
                    Some(near) => unsafe { near.deliver(number as u64, &piece.sends) }?,
                    // SAFETY: the caller vouches for the memory. This piece has been filled, and
                    // what was received in its memory before has been sorted, as this stream waits
                    // for.
                    None => unsafe { piece.exchange(ranks, &self.messages) }?,
                }
                record(&self.delivered[number % 2], &self.messages)?;
            }
            if let Some(before) = number.checked_sub(1) {
                let piece = &pieces[before];
                // SAFETY: the caller vouches for the memory, and the piece has been filled in the
                // same stream.
                unsafe { executor.execute(&piece.kept) }?;
                wait(&self.stream, &self.delivered[before % 2])?;
                near.map_or(Ok(()), |near| near.receive(before as u64))?;
                // SAFETY: the caller vouches for the memory, and the stream has waited for all
                // that comes.
                unsafe { executor.execute(&piece.received) }?;
                record(&self.sorted, &self.stream)?;
                near.map_or(Ok(()), |near| near.has_sorted(before as u64))?;
            }
        }
        Ok(())
    }
}

/// The driver takes a number beyond the highest priority for that one; lower numbers are higher.
const HIGHEST: i32 = -100;

fn record(event: &CudaEvent, stream: &CudaStream) -> Result<(), Error> {
    event.record(stream).map_err(|error| failed(error, "record an event"))
}

fn wait(stream: &CudaStream, event: &CudaEvent) -> Result<(), Error> {
    stream.wait(event).map_err(|error| failed(error, "wait for an event"))
}
