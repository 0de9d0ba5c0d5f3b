//! [`Error`]: everything that can go wrong, in one type.

mod sampler;

pub use sampler::SamplerError;

use core::fmt;

/// What went wrong. Items that were passed in are where they were, unless the function says otherwise; a slice that
/// indexes should be written to may hold unspecified values.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let three_bits = VariablePhilox::<24>::from_keys(3, [1; 24]);
/// let error = Permutation::with_bijection(9, three_bits).unwrap_err();
/// assert!(matches!(error, Error::LengthExceedsDomain { len: 9, last: 7 }));
/// assert_eq!(error.to_string(), "9 items do not fit the bijection's domain of 8 points: \
///     use a wider bijection or fewer items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A bijection was asked for with a width that its family or its word does not have.
    BitsOutOfRange {
        /// The width asked for, in bits.
        bits: u32,
        /// The smallest width there is.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// The multiplier of an [`Lcg`](crate::bijection::Lcg) is even, so the map is not a bijection.
    EvenMultiplier {
        /// The multiplier asked for.
        multiplier: u64,
    },
    /// A domain of no points was asked for.
    EmptyDomain,
    /// An ensemble of no streams was asked for.
    NoStreams,
    /// The number of a leapfrog stream is not below the number of streams.
    NoSuchStream {
        /// The number of the stream, which must be below the number of streams.
        stream: u64,
        /// The number of streams.
        streams: u64,
    },
    /// A multiplier `a` does not give a [`Mwc`](crate::rng::Mwc) its full period: `2^32 a - 1` is no safe prime.
    NotASafePrime {
        /// The multiplier asked for.
        multiplier: u32,
    },
    /// A generator cannot start from this state: it is none of its cycle, such as a xorshift of zeros.
    InvalidState,
    /// An ensemble of more streams with multipliers of their own was asked for than there are multipliers.
    TooFewMultipliers {
        /// The streams asked for.
        streams: usize,
        /// The multipliers that there are.
        multipliers: usize,
    },
    /// A [`BlockShuffle`](crate::bijection::BlockShuffle) was asked for with no items a block, or no blocks a window.
    EmptyBlock {
        /// The items a block.
        block: u64,
        /// The blocks a window.
        window: u64,
    },
    /// A matrix has no inverse, so the map is not a bijection.
    SingularMatrix {
        /// The matrix's width in bits.
        bits: u32,
        /// Its rank, which is less.
        rank: u32,
    },
    /// Two matrices that should be multiplied have different widths.
    WidthMismatch {
        /// The width of the one that is applied first, in bits.
        first: u32,
        /// The width of the other.
        second: u32,
    },
    /// A matrix's column has a bit in a row that there is not.
    ColumnTooWide {
        /// The column.
        column: u32,
        /// How many rows there are.
        bits: u32,
    },
    /// What should be a permutation of bits has a place twice, or one that there is not.
    NotABitPermutation {
        /// The place.
        place: u32,
        /// How many places there are.
        bits: u32,
    },
    /// A row of a matrix's text is not as many digits 0 or 1 as there are rows.
    MatrixText {
        /// The row, counted from 0.
        row: u32,
        /// How many rows there are.
        bits: u32,
    },
    /// A mask has none of the index's bits, so it divides nothing.
    EmptyMask,
    /// A slice's length is not a power of two.
    NotAPowerOfTwo {
        /// The length.
        len: u64,
    },
    /// The permutation is longer than the bijection's domain.
    LengthExceedsDomain {
        /// The length asked for.
        len: u64,
        /// The last point of the domain.
        last: u64,
    },
    /// Two bijections that should be composed have different domains.
    DomainMismatch {
        /// The last point of the first domain.
        first: u64,
        /// The last point of the second.
        second: u64,
    },
    /// A slice is not as long as the permutation.
    LengthMismatch {
        /// The permutation's length.
        expected: u64,
        /// The slice's length.
        actual: u64,
    },
    /// An array of two sides would have more items than any array has.
    SidesTooLong {
        /// Its rows.
        rows: u64,
        /// Its columns.
        columns: u64,
    },
    /// A slice does not consist of whole rows, or rows of no items were asked for.
    NotWholeRows {
        /// A row's length.
        len: u64,
        /// The slice's.
        actual: u64,
    },
    /// Rows that a batch does not have.
    RowsOutOfRange {
        /// The first row asked for.
        first: u64,
        /// How many were asked for.
        rows: u64,
        /// How many there are in all.
        count: u64,
    },
    /// A range of places does not lie within the permutation.
    OutOfRange {
        /// Where it starts.
        start: u64,
        /// The first place after it.
        end: u64,
        /// The permutation's length.
        len: u64,
    },
    /// There is no such worker.
    NoSuchShard {
        /// The number of the worker, which must be below the number of workers.
        rank: u64,
        /// The number of workers.
        world: u64,
    },
    /// A survivor index was asked for with a number of slots to a block that it does not have.
    BlockSize {
        /// The number of slots.
        slots: u64,
    },
    /// There is no memory for a permutation's [`SurvivorIndex`](crate::SurvivorIndex).
    IndexTooLarge {
        /// How much one of its parts would take, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
    /// A view of a permutation needs its [`SurvivorIndex`](crate::SurvivorIndex), which is over too large
    /// a domain to be built unasked.
    IndexNotBuilt {
        /// The last point of the domain.
        last: u64,
    },
    /// A text is not that of a [`Seed`](crate::Seed).
    BadSeed,
    /// A text is not that of a [`Cursor`](crate::Cursor).
    BadCursor,
    /// A [`Cursor`](crate::Cursor) is of another permutation, or was changed.
    ForeignCursor,
    /// A [`Sampler`](crate::Sampler) cannot be made, or cannot go on from a state.
    Sampler(SamplerError),
    /// A permutation's indexes do not fit the word they should be written in.
    IndexTooWide {
        /// The permutation's length.
        len: u64,
        /// The word's width in bits.
        bits: u32,
    },
    /// What claims to be a bijection is none; nothing was moved.
    NotABijection(Defect),
    /// The GPU cannot be used here.
    BackendUnavailable {
        /// What is missing.
        reason: Unavailable,
    },
    /// The bijection has no [`device_source`](crate::Bijection::device_source), so it cannot run on a GPU.
    NoDeviceSource,
    /// A bijection's device text, or its use in a kernel, does not compile; or a kernel of a user's does not.
    DeviceCompile {
        /// The type, or the kernel, that the text should define.
        type_name: String,
        /// What the compiler says.
        log: String,
    },
    /// A bijection's device parameters are too many for a kernel's.
    DeviceParams {
        /// The type that they are of.
        type_name: String,
        /// Their size in bytes.
        bytes: usize,
        /// The most there may be.
        most: usize,
    },
    /// Two arrays overlap that must not.
    Overlap,
    /// A slice is on another GPU, or in another context, than the engine.
    WrongDevice {
        /// The engine's device.
        expected: usize,
        /// The slice's.
        actual: usize,
    },
    /// More arrays at once than the engine moves.
    TooManyArrays {
        /// How many were given.
        arrays: usize,
        /// The most there may be.
        most: usize,
    },
    /// An item is too large for the GPU engine.
    ItemTooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The largest size there may be.
        most: usize,
    },
    /// The bijection's domain has more slots than the GPU engine can go through.
    DomainTooWide,
    /// The engine's stream is being captured in a CUDA graph, and the engine is not one that
    /// `Cuda::with_capture` made.
    Captured,
    /// The GPU has not enough memory; what was to be shuffled is as it was.
    DeviceMemory,
    /// The GPU's driver failed. What was to be shuffled in host memory is as it was; device memory holds
    /// unspecified values.
    Driver {
        /// The driver's number of the error, a `CUresult`.
        code: u32,
        /// What was being done.
        during: &'static str,
    },
    /// Memory could not be had; nothing was moved.
    OutOfMemory {
        /// How much was asked for, in bytes; `u64::MAX` if the number does not fit.
        bytes: u64,
    },
}

/// What a back end lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// The crate was built without the feature `cuda`.
    NotBuilt,
    /// CUDA has no driver for this operating system: it has for Linux and for Windows.
    NoSuchSystem,
    /// There is no library of the GPU's driver, or it is none.
    NoDriver,
    /// The driver's library is a stub, made for linking only.
    StubDriver,
    /// The driver's library and the driver in the kernel are of different versions, or the hardware is too old for
    /// them.
    DriverMismatch,
    /// The driver is older than what the engine needs.
    DriverTooOld {
        /// Its version: a thousand times the major one, and ten times the minor one.
        version: u32,
        /// The oldest that will do.
        oldest: u32,
    },
    /// There is no GPU.
    NoDevice,
    /// There is no GPU of that number.
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver could not be started.
    DriverFailed {
        /// The driver's number of the error, a `CUresult`.
        code: u32,
    },
    /// The library NVRTC, which compiles the kernels, was not found where the system looks for
    /// libraries, nor in an installation of CUDA.
    NoCompiler,
    /// The environment variable `BIJECTIVE_SHUFFLE_NVRTC` has a path at which there is no library
    /// that can be loaded. No other place is looked at then.
    CompilerNotLoaded {
        /// The path.
        path: String,
        /// What the system's loader says.
        reason: String,
    },
    /// NVRTC is older than version 11.7.
    CompilerTooOld,
    /// The kernels cannot be compiled for so old a GPU: its compute capability is below 7.0, or what NVRTC knows.
    DeviceTooOld {
        /// The GPU's compute capability, before the point.
        major: u32,
        /// After it.
        minor: u32,
    },
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("the crate was built without the feature `cuda`"),
            Self::NoSuchSystem => f.write_str("CUDA has no driver for this operating system"),
            Self::NoDriver => f.write_str("no NVIDIA driver is installed"),
            Self::StubDriver => f.write_str("the driver's library is a stub: install the driver"),
            Self::DriverMismatch => {
                f.write_str("the driver's library does not fit the kernel's driver or the hardware")
            }
            Self::DriverTooOld { version, oldest } => {
                let (version, oldest) = (Version(*version), Version(*oldest));
                write!(f, "the driver is for CUDA {version}, and {oldest} is needed")
            }
            Self::NoDevice => f.write_str("there is no GPU"),
            Self::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no GPU number {ordinal}, only {count} in all")
            }
            Self::DriverFailed { code } => {
                write!(f, "the driver could not be started: it says {code}")
            }
            Self::NoCompiler => f.write_str(
                "the library NVRTC was not found: install it, by `pip install nvidia-cuda-nvrtc`, \
                 `conda install -c conda-forge cuda-nvrtc` or, from NVIDIA's repository, \
                 `apt install cuda-nvrtc-13-0`, and set BIJECTIVE_SHUFFLE_NVRTC to the path of \
                 libnvrtc.so (Windows: nvrtc64_*.dll) if it still is not found",
            ),
            Self::CompilerNotLoaded { path, reason } => write!(
                f,
                "BIJECTIVE_SHUFFLE_NVRTC is {path}, which cannot be loaded as the library NVRTC: {reason}"
            ),
            Self::CompilerTooOld => f.write_str("the library NVRTC is older than version 11.7"),
            Self::DeviceTooOld { major, minor } => {
                write!(
                    f,
                    "the kernels cannot be compiled for a GPU of compute capability {major}.{minor}"
                )
            }
        }
    }
}

/// A version of CUDA as its driver says it.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl Error {
    /// The GPU cannot be had.
    pub(crate) fn no_cuda(reason: Unavailable) -> Self {
        Self::BackendUnavailable { reason }
    }
}

/// How a map was seen not to be a bijection.
///
/// [`verify`](crate::bijection::verify()) looks for all of them, and so tells more than the engines,
/// which only look for what would lose an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Two slots have the same value.
    Repeats {
        /// The value that came again.
        index: u64,
        /// The first two slots that have it, in order. `None` if they were not found again, because
        /// the map answered otherwise when it was asked once more, or because a GPU evaluated it.
        slots: Option<[u64; 2]>,
    },
    /// A value is not below the length, or not in the domain.
    OutOfRange {
        /// The slot that has it.
        slot: u64,
        /// The value.
        index: u64,
        /// The last value that there may be.
        last: u64,
    },
    /// The number of slots with a value below the length is not the length: some values repeat, or lie
    /// outside of the domain. [`verify`](crate::bijection::verify()) finds the slots.
    Survivors {
        /// The permutation's length.
        expected: u64,
        /// How many slots survived; the length and one more if there are too many.
        actual: u64,
    },
    /// The inverse of an index is no slot of the domain.
    SlotOutOfRange {
        /// The index.
        index: u64,
        /// What `inverse` gave for it.
        slot: u64,
        /// The last slot of the domain.
        last: u64,
    },
    /// `inverse(forward(slot))` is another slot, which has another value.
    WrongInverse {
        /// The slot.
        slot: u64,
        /// Its value, `forward(slot)`.
        index: u64,
        /// What `inverse(index)` gave instead of the slot.
        inverse: u64,
    },
    /// `forward(inverse(index))` is another index.
    WrongSlot {
        /// The index.
        index: u64,
        /// Its slot, `inverse(index)`.
        slot: u64,
        /// What `forward(slot)` gave instead of the index.
        value: u64,
    },
    /// A method gives another value than `forward` or `inverse` does at the same point.
    Disagrees {
        /// The method, such as `forward_run`.
        method: &'static str,
        /// The slot or the index.
        point: u64,
        /// What `forward` or `inverse` gave.
        expected: u64,
        /// What the method gave.
        actual: u64,
    },
    /// `last` gave two answers.
    DomainChanges {
        /// The first.
        before: u64,
        /// The other.
        after: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitsOutOfRange { bits, min, max } => {
                write!(f, "a width of {bits} bits was asked for: it must be from {min} to {max}")
            }
            Self::EvenMultiplier { multiplier } => {
                write!(f, "the multiplier {multiplier} is even: only an odd one can be undone")
            }
            Self::EmptyDomain => f.write_str("a bijection needs a domain of at least one point"),
            Self::NoStreams => f.write_str("an ensemble needs at least one stream"),
            Self::NoSuchStream { stream, streams } => {
                write!(f, "there is no stream {stream} of {streams}: streams are counted from 0")
            }
            Self::NotASafePrime { multiplier } => {
                write!(f, "the multiplier {multiplier} is not good: 2^32 times it, less 1, must be a safe prime")
            }
            Self::InvalidState => f.write_str("the state is none of the generator's cycle, such as a xorshift of zeros"),
            Self::TooFewMultipliers { streams, multipliers } => {
                write!(f, "{streams} streams with multipliers of their own were asked for: there are {multipliers} multipliers")
            }
            Self::EmptyBlock { block, window } => write!(
                f,
                "blocks of {block} items in windows of {window} blocks were asked for: both must be at least 1"
            ),
            Self::SingularMatrix { bits, rank } => {
                write!(f, "a matrix of {bits} bits is of rank {rank}: only one of full rank can be undone")
            }
            Self::WidthMismatch { first, second } => write!(
                f,
                "matrices of {first} and of {second} bits cannot be multiplied: their widths must be equal"
            ),
            Self::ColumnTooWide { column, bits } => {
                write!(f, "column {column} of a matrix has bits beyond its {bits} rows")
            }
            Self::NotABitPermutation { place, bits } => {
                write!(f, "{bits} bits cannot be permuted with place {place} twice or not among them")
            }
            Self::MatrixText { row, bits } => {
                write!(f, "row {row} of a matrix of {bits} rows is not {bits} digits 0 or 1")
            }
            Self::EmptyMask => f.write_str("a mask needs at least one of the index's bits"),
            Self::NotAPowerOfTwo { len } => {
                write!(f, "a slice of {len} items is no array of bits' indexes: its length must be a power of two")
            }
            Self::LengthExceedsDomain { len, last } => write!(
                f,
                "{len} items do not fit the bijection's domain of {} points: \
                 use a wider bijection or fewer items",
                u128::from(*last) + 1
            ),
            Self::DomainMismatch { first, second } => write!(
                f,
                "bijections on {} and on {} points do not compose: their domains must be equal",
                u128::from(*first) + 1,
                u128::from(*second) + 1
            ),
            Self::LengthMismatch { expected, actual } => write!(
                f,
                "the permutation is of {expected} items and the slice of {actual}: \
                 the lengths must be equal"
            ),
            Self::SidesTooLong { rows, columns } => {
                write!(f, "no array has as many items as {rows} rows of {columns} are")
            }
            Self::NotWholeRows { len, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of {len}: \
                 its length must be a multiple of that"
            ),
            Self::RowsOutOfRange { first, rows, count } => {
                write!(f, "{rows} rows from row {first} on were asked for, and there are {count}")
            }
            Self::OutOfRange { start, end, len } => {
                write!(f, "places {start}..{end} do not lie within a permutation of {len} items")
            }
            Self::NoSuchShard { rank, world } => {
                write!(f, "there is no worker {rank} of {world}: workers are counted from 0")
            }
            Self::BlockSize { slots } => write!(
                f,
                "a survivor index cannot have {slots} slots to a block: use a power of two from 64 to 32768"
            ),
            Self::IndexTooLarge { bytes } => write!(
                f,
                "a survivor index with {bytes} bytes could not be allocated: \
                 use `Permutation::walk` or a length that fills the domain, which need none"
            ),
            Self::IndexNotBuilt { last } => write!(
                f,
                "the view needs an index over {} points, more than are counted unasked: use \
                 `Permutation::walk`, which needs none, or call `Permutation::build_index` first",
                u128::from(*last) + 1
            ),
            Self::BadSeed => f.write_str(
                "the text is not that of a seed: a number below 2^64 or 64 hexadecimal digits, and \
                 then `@` and the epoch, if it is not 0",
            ),
            Self::BadCursor => f.write_str("the text is not that of a cursor"),
            Self::ForeignCursor => {
                f.write_str("the cursor is of another permutation, or was changed")
            }
            Self::Sampler(error) => error.fmt(f),
            Self::IndexTooWide { len, bits } => {
                write!(f, "indexes below {len} do not fit words of {bits} bits: use u64")
            }
            Self::NotABijection(defect) => write!(f, "the map is not a bijection: {defect}"),
            Self::BackendUnavailable { reason } => {
                write!(f, "back end cuda is not available: {reason}")
            }
            Self::NoDeviceSource => {
                f.write_str("the bijection has no device source: give it one, or use the CPU")
            }
            Self::DeviceCompile { type_name, log } => {
                write!(f, "the device text of {type_name} does not compile:\n{log}")
            }
            Self::DeviceParams { type_name, bytes, most } => {
                write!(f, "the parameters of {type_name} are {bytes} bytes, and {most} may be")
            }
            Self::Overlap => f.write_str("an array to be written overlaps the one to be read"),
            Self::WrongDevice { expected, actual } => write!(
                f,
                "a slice is on device {actual} or in another context than the engine, which is on {expected}"
            ),
            Self::TooManyArrays { arrays, most } => {
                write!(f, "{arrays} arrays at once are too many: at most {most} may be")
            }
            Self::ItemTooLarge { bytes, most } => {
                write!(f, "items of {bytes} bytes are too large for the GPU: {most} may be")
            }
            Self::DomainTooWide => f.write_str(
                "the bijection's domain has more slots than the GPU can go through: use a narrower one",
            ),
            Self::Captured => f.write_str(
                "the stream is being captured in a graph: only an engine made by `Cuda::with_capture` may be",
            ),
            Self::DeviceMemory => f.write_str("the GPU has not enough memory"),
            Self::Driver { code, during } => {
                write!(f, "the GPU's driver failed with error {code} while it was to {during}")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "{bytes} bytes of working memory could not be allocated")
            }
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeats { index, slots: Some([first, second]) } => {
                write!(f, "the slots {first} and {second} both have the value {index}")
            }
            Self::Repeats { index, slots: None } => write!(f, "two slots have the value {index}"),
            Self::OutOfRange { slot, index, last } => {
                write!(f, "the slot {slot} has the value {index}, and the last one is {last}")
            }
            Self::Survivors { expected, actual } => write!(
                f,
                "{actual} {more}slots have values below the length {expected}, which must be as many: \
                 `bijection::verify` finds out which are wrong",
                more = if actual > expected { "or more " } else { "" }
            ),
            Self::SlotOutOfRange { index, slot, last } => write!(
                f,
                "the inverse of the index {index} is given as {slot}, and the last slot is {last}"
            ),
            Self::WrongInverse { slot, index, inverse } => write!(
                f,
                "the slot {slot} has the value {index}, whose inverse is given as {inverse}"
            ),
            Self::WrongSlot { index, slot, value } => write!(
                f,
                "the inverse of the index {index} is given as the slot {slot}, which has the value {value}"
            ),
            Self::Disagrees { method, point, expected, actual } => write!(
                f,
                "`{method}` gives {actual} at point {point}, which alone has given {expected}"
            ),
            Self::DomainChanges { before, after } => {
                write!(f, "the last point of the domain was {before} and then {after}")
            }
        }
    }
}

impl core::error::Error for Error {}
