//! [`Group::agree`]: no rank goes on before all have said the same and none has failed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bijective_shuffle::Error;

use crate::error::{Difference, MpiShuffleError};
use crate::group::Group;

/// A point of the program at which the ranks agree.
#[derive(Clone, Copy)]
pub(crate) enum AgreementPoint {
    Spread = 1,
    Divisions,
    Plan,
    Permutation,
    Rounds,
    Census,
    Parts,
    GatheredCensus,
    ShuffleCounts,
    UnshuffleCounts,
    Shuffle,
    Unshuffle,
    Pack,
    Tags,
    Sort,
    Deliver,
    Place,
    Restore,
    Indexes,
}

/// What a rank says at a step: numbers that have to be the same on all ranks, and what is wrong
/// where they are not.
pub(crate) struct RankBallot {
    pub(crate) step: AgreementPoint,
    pub(crate) numbers: [(Difference, u64); 5],
}

impl From<AgreementPoint> for RankBallot {
    fn from(step: AgreementPoint) -> Self {
        Self { step, numbers: [(Difference::Calls, 0); 5] }
    }
}

/// The bytes of a failing rank's message that the other ranks get.
const MESSAGE: usize = 512;

impl Group {
    /// Does a rank's part of a job, and tells the other ranks how it went. One reduction is all
    /// that is sent if it went well.
    ///
    /// # Errors
    ///
    /// The same on all ranks, if they differ or if one has failed.
    ///
    /// # Panics
    ///
    /// If the work does, after the other ranks have been told.
    pub(crate) fn agree<R>(
        &self,
        ballot: impl Into<RankBallot>,
        work: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, MpiShuffleError> {
        // What the work has left half done is not looked at again: it is an error on all ranks.
        let done = catch_unwind(AssertUnwindSafe(work));
        let message = match &done {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(format!("panicked: {}", panic_message(&**panic))),
        };
        let verdict = self.verdict(&ballot.into(), message.as_deref());
        match done {
            Err(panic) => resume_unwind(panic),
            Ok(done) => {
                verdict?;
                // The verdict is an error if this rank has one.
                done.map_err(|error| MpiShuffleError::RankFailed {
                    rank: self.rank(),
                    message: error.to_string(),
                })
            }
        }
    }

    /// Compares the ballots of all ranks, and finds the lowest rank that has failed.
    fn verdict(&self, ballot: &RankBallot, failure: Option<&str>) -> Result<(), MpiShuffleError> {
        let step = (Difference::Calls, ballot.step as u64);
        let fields = [step].into_iter().chain(ballot.numbers);
        // Numbers are equal if the least of them is the greatest, and the greatest number has the
        // least complement.
        let mut least = [u64::MAX; 13];
        for (k, (_, number)) in fields.clone().enumerate() {
            least[2 * k] = number;
            least[2 * k + 1] = !number;
        }
        least[12] = failure.map_or(u64::MAX, |_| self.rank() as u64);
        self.reduce_min(&mut least)?;
        for (k, (difference, _)) in fields.enumerate() {
            // At different steps the numbers mean different things.
            if least[2 * k] != !least[2 * k + 1] {
                return Err(MpiShuffleError::Disagreement(difference));
            }
        }
        if least[12] == u64::MAX {
            return Ok(());
        }
        let rank = least[12] as usize;
        let mut text = [0; MESSAGE];
        if rank == self.rank() {
            let message = failure.unwrap_or_default();
            let mut ends = (0..=message.len().min(MESSAGE)).rev();
            let end = ends.find(|&end| message.is_char_boundary(end)).unwrap_or(0);
            text[..end].copy_from_slice(&message.as_bytes()[..end]);
        }
        self.broadcast(rank, &mut text)?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(MESSAGE);
        let message = String::from_utf8_lossy(&text[..end]).into_owned();
        Err(MpiShuffleError::RankFailed { rank, message })
    }
}

/// What a panic says.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
