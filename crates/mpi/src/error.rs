//! [`MpiShuffleError`]: why an array was not shuffled.

use core::fmt;

/// Why an array was not shuffled. All ranks get the same error, and all items are unchanged, except
/// after [`MpiFailed`](Self::MpiFailed).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MpiShuffleError {
    /// The ranks called with arguments that do not belong to one shuffle.
    Disagreement(Difference),
    /// The permutation is longer or shorter than the whole array.
    LengthMismatch {
        /// The permutation's length.
        permutation: u64,
        /// The number of items of all ranks.
        items: u64,
    },
    /// A rank could not do its part: there was no memory, its array has the wrong length, or the
    /// bijection breaks its requirements or has panicked.
    RankFailed {
        /// The lowest rank that failed.
        rank: usize,
        /// What went wrong there.
        message: String,
    },
    /// The communicator connects two groups of processes instead of the processes of one.
    InterCommunicator,
    /// A call of the MPI library failed. The other ranks may get no error, and wait, and items may
    /// have moved: the program should end with `MPI_Abort`, which is also what MPI does by default.
    MpiFailed {
        /// The function.
        call: &'static str,
        /// The code that it returned.
        code: i32,
        /// The MPI library's text for the code.
        message: String,
    },
}

/// What the ranks of a communicator disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// They called different functions, such as one to shuffle and one to undo it.
    Calls,
    /// They were built with different versions of this crate.
    Versions,
    /// They limit messages to different numbers of items.
    MessageLimits,
    /// They limit their working memory to different numbers of bytes.
    MemoryLimits,
    /// Some send items with tags, and some without.
    Tags,
    /// They ask for different numbers of chunks.
    Chunks,
    /// Their permutations have different lengths.
    Lengths,
    /// Their permutations have different bijections, such as those of two seeds or two epochs.
    Permutations,
    /// They gave different numbers of arrays, or items of different sizes.
    Arrays,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "the functions that they called",
            Self::Versions => "the version of bijective-shuffle-mpi",
            Self::MessageLimits => "the most items of a message",
            Self::MemoryLimits => "the most working memory",
            Self::Tags => "whether items travel with tags",
            Self::Chunks => "the number of chunks",
            Self::Lengths => "the permutation's length",
            Self::Permutations => "the permutation's bijection",
            Self::Arrays => "the number of arrays or the sizes of items",
        })
    }
}

impl fmt::Display for MpiShuffleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disagreement(difference) => {
                write!(f, "the ranks differ in {difference}, which must be the same on all")
            }
            Self::LengthMismatch { permutation, items } => write!(
                f,
                "a permutation of {permutation} items was given for {items} items on all ranks: \
                 the numbers must be equal"
            ),
            Self::RankFailed { rank, message } => write!(f, "rank {rank} failed: {message}"),
            Self::InterCommunicator => {
                f.write_str("an inter-communicator was given: only one group can hold an array")
            }
            Self::MpiFailed { call, code, message } => {
                write!(f, "{call} returned {code}: {message}")
            }
        }
    }
}

impl core::error::Error for MpiShuffleError {}
