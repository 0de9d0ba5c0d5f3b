//! [`Plan`]: what a job takes of the device, known before anything of it is asked for.
//!
//! A plan is made from a job and the limits of the device alone. It says which kernels run, in what
//! order and on how much working memory. [`Executor`](super::executor::Executor) compiles for it,
//! reserves memory for it, or executes it. Addresses of working memory are not known when the plan
//! is made, so a plan has an [`Address`], and the arguments of a kernel are written when it is
//! launched.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use super::kernel::{Arguments, Instance, Kernel};
use super::own;
use super::reader::Reader;
use super::word_type::WordType;
use crate::bijection::DeviceSource;
use crate::error::{Error, GpuError};

/// Bytes beyond which no device has memory; up to it, sizes are computed without overflow.
pub(crate) const MOST_BYTES: u64 = 1 << 46;

/// More points than this are not kept in any device's memory, and their bytes are counted without
/// overflow up to it.
pub(crate) const MOST_POINTS: u64 = 1 << 44;

/// An address on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// Of memory that the caller has.
    Given(u64),
    /// Of the working memory, from its beginning.
    Scratch(u64),
}

impl Address {
    /// The address of what lies so many bytes further on.
    pub(crate) const fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Given(address) => Self::Given(address + bytes),
            Self::Scratch(offset) => Self::Scratch(offset + bytes),
        }
    }

    /// The bits that say how the address is aligned: working memory is, to 256 bytes.
    pub(crate) const fn alignment_bits(self) -> u64 {
        match self {
            Self::Given(bits) | Self::Scratch(bits) => bits,
        }
    }
}

/// What is known when a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    pub(super) scratch: u64,
    /// The memory of the look-back: `TileStates` in gpu/runtime/lookback.cuh.
    pub(crate) tile_states: u64,
    /// By how many bits the tiles outnumber the blocks: see [`Grid::Shared`].
    pub(crate) block_bits: u32,
}

impl Ground {
    /// One whose working memory begins at an address.
    #[cfg(test)]
    pub(crate) const fn for_tests(scratch: u64) -> Self {
        Self { scratch, tile_states: 0, block_bits: 0 }
    }

    /// An address as the device has it.
    pub(crate) const fn at(&self, address: Address) -> u64 {
        match address {
            Address::Given(address) => address,
            Address::Scratch(offset) => self.scratch + offset,
        }
    }
}

/// How many blocks are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grid {
    /// This many, in one dimension or two.
    Blocks(u32, u32),
    /// As many as there is work for, but no more than the device holds.
    Resident(u64),
    /// A block for every `2^block_bits` of so many tiles: as large a power as leaves enough blocks
    /// for the whole device, and at most the second number.
    Shared(u64, u32),
}

impl Grid {
    /// A grid of so many blocks.
    ///
    /// # Errors
    ///
    /// [`GpuError::DomainTooWide`](crate::GpuError::DomainTooWide) if the driver does not take the number.
    pub(crate) fn blocks(number: u64) -> Result<Self, Error> {
        Ok(Self::Blocks(block_number(number)?, 1))
    }

    /// A grid of so many blocks in each of so many rows.
    ///
    /// # Errors
    ///
    /// As [`blocks`](Self::blocks).
    pub(crate) fn rows(number: u64, rows: u64) -> Result<Self, Error> {
        Ok(Self::Blocks(block_number(number)?, block_number(rows)?))
    }
}

/// A number of blocks as the driver takes it.
pub(crate) fn block_number(number: u64) -> Result<u32, Error> {
    i32::try_from(number)
        .map(|number| number as u32)
        .map_err(|_| Error::Gpu(GpuError::DomainTooWide))
}

/// What is evaluated: `F` in a kernel's text.
#[derive(Clone, Debug)]
pub(crate) enum Evaluated<'a> {
    /// Nothing.
    Nothing,
    /// A bijection.
    Bijection(Cow<'a, DeviceSource>),
    /// Values that have been written down, instead of a bijection. The kernel is launched for as
    /// many slots as there are values.
    Lookup(WordType, Address),
}

impl<'a> From<&'a DeviceSource> for Evaluated<'a> {
    fn from(source: &'a DeviceSource) -> Self {
        Self::Bijection(Cow::Borrowed(source))
    }
}

impl From<DeviceSource> for Evaluated<'_> {
    fn from(source: DeviceSource) -> Self {
        Self::Bijection(Cow::Owned(source))
    }
}

/// Words for a kernel's arguments: a kernel has 4096 bytes, and the bijection has some of them.
const ARGUMENT_WORDS: usize = 480;

/// A kernel's arguments, as the driver takes them.
pub(super) struct ArgumentBytes([MaybeUninit<u64>; ARGUMENT_WORDS]);

impl ArgumentBytes {
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); ARGUMENT_WORDS])
    }

    fn put<A: Arguments>(&mut self, arguments: A) {
        const { assert!(size_of::<A>() <= 8 * ARGUMENT_WORDS && align_of::<A>() <= 8) };
        // SAFETY: there is room for an `A`, by the assertion above, and `self` is borrowed alone.
        // The words are as aligned as an `A` has to be.
        unsafe { self.0.as_mut_ptr().cast::<A>().write(arguments) };
    }

    pub(super) const fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr().cast()
    }
}

/// A kernel with all that decides what it does.
pub(crate) struct Launch<'a> {
    pub(super) kernel: Instance,
    pub(super) evaluated: Evaluated<'a>,
    pub(super) grid: Grid,
    /// Bytes of shared memory that a block has besides the kernel's own.
    pub(super) shared: usize,
    /// Writes the arguments.
    pub(super) write: Box<dyn Fn(&Ground, &mut ArgumentBytes) + 'a>,
}

impl<'a> Launch<'a> {
    /// Launches a kernel that evaluates nothing.
    pub(crate) fn new<A: Arguments + 'a>(
        kernel: Kernel<A>,
        grid: Grid,
        arguments: impl Fn(&Ground) -> A + 'a,
    ) -> Self {
        let write = Box::new(move |ground: &Ground, bytes: &mut ArgumentBytes| {
            bytes.put(arguments(ground));
        });
        let (kernel, evaluated) = (kernel.erase(), Evaluated::Nothing);
        Self { kernel, evaluated, grid, shared: 0, write }
    }

    /// The same, for a kernel that evaluates something.
    pub(crate) fn evaluating(mut self, evaluated: impl Into<Evaluated<'a>>) -> Self {
        self.evaluated = evaluated.into();
        self
    }

    /// The same, with so many bytes of shared memory that the kernel has not itself.
    pub(crate) fn with_shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }
}

/// What is done in a stream, one after the other.
pub(super) enum Step<'a> {
    /// A kernel runs.
    Launch(Launch<'a>),
    /// Bytes are copied.
    Copy { from: Address, to: Address, bytes: u64 },
    /// The host waits, looks at what has been written, and may end it here.
    Check(Box<dyn Fn(&Reader<'_>, &Ground) -> Result<(), Error> + 'a>),
}

/// What a job takes of the device, and does there.
#[derive(Default)]
pub(crate) struct Plan<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// Bytes of working memory.
    pub(super) scratch: u64,
    /// Tiles of the longest look-back; none without one.
    pub(super) tiles: u32,
    pub(super) otherwise: Option<Box<Plan<'a>>>,
}

impl<'a> Plan<'a> {
    /// A plan that does nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes so many bytes of working memory, or more if another step does.
    pub(crate) fn take_scratch(&mut self, bytes: u64) {
        self.scratch = self.scratch.max(bytes);
    }

    /// Takes the memory for a look-back over so many tiles.
    ///
    /// # Errors
    ///
    /// [`GpuError::DomainTooWide`](crate::GpuError::DomainTooWide) if blocks cannot count them.
    pub(crate) fn take_tile_states(&mut self, tiles: u64) -> Result<(), Error> {
        // Blocks take one ticket more than there are tiles.
        let tiles = u32::try_from(tiles).ok().filter(|&tiles| tiles < u32::MAX / 2);
        self.tiles = self.tiles.max(tiles.ok_or(Error::Gpu(GpuError::DomainTooWide))?);
        Ok(())
    }

    /// Adds a kernel.
    pub(crate) fn launch(&mut self, launch: Launch<'a>) {
        self.steps.push(Step::Launch(launch));
    }

    /// Adds a copy of bytes.
    pub(crate) fn copy(&mut self, from: Address, to: Address, bytes: u64) {
        self.steps.push(Step::Copy { from, to, bytes });
    }

    /// Sets working memory to zero: so many bytes, a multiple of 4.
    pub(crate) fn clear(&mut self, at: Address, bytes: u64) {
        let words = bytes / 4;
        let grid = Grid::Resident(words.div_ceil(u64::from(own::THREADS)));
        let arguments = move |ground: &Ground| own::ClearWords { words: ground.at(at), len: words };
        self.launch(Launch::new(own::clear_words(), grid, arguments));
    }

    /// Adds a look at what the stream has written. It waits for the stream, so such a plan cannot be
    /// captured in a graph.
    pub(crate) fn check(&mut self, check: impl Fn(&Reader<'_>, &Ground) -> Result<(), Error> + 'a) {
        self.steps.push(Step::Check(Box::new(check)));
    }

    /// Another plan that does the same, for when there is not enough memory for this one.
    pub(crate) fn or(mut self, otherwise: Self) -> Self {
        self.otherwise = Some(Box::new(otherwise));
        self
    }

    /// Everything that it launches, also where there is not enough memory for it.
    #[cfg(test)]
    pub(crate) fn launches(&self) -> Vec<&Launch<'a>> {
        let own = self.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) => Some(launch),
            Step::Copy { .. } | Step::Check(_) => None,
        });
        let otherwise = self.otherwise.as_ref().map_or(Vec::new(), |plan| plan.launches());
        own.chain(otherwise).collect()
    }
}
