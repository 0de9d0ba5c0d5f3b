//! [`DevicePlan`]: what a job needs and does on the device, known before anything is allocated or
//! launched.
//!
//! A plan depends only on a job and the limits of the device. It says which kernels run, in what
//! order, and with how much working memory. An [`Executor`](super::executor::Executor) compiles its
//! kernels, reserves its memory, or executes it. The address of working memory is not known when
//! the plan is made, so a plan contains an [`Address`] instead, and a kernel's arguments are
//! written when it is launched.

use std::borrow::Cow;
use std::mem::MaybeUninit;

#[cfg(test)]
use super::kernel::BijectionUse;
use super::kernel::{Instance, Kernel, KernelArguments};
use super::kernels;
use super::reader::StreamReader;
use super::word_type::WordType;
use crate::error::GpuError;
use crate::{DeviceSource, Error};

/// More bytes than any device has. Up to this many, sizes are computed without overflow.
pub(crate) const MOST_BYTES: u64 = 1 << 46;

/// More points than fit the memory of any device. Up to this many, their bytes are computed without
/// overflow.
pub(crate) const MOST_POINTS: u64 = 1 << 44;

/// An address on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// In the caller's memory.
    Given(u64),
    /// In the working memory: the offset from its beginning.
    Scratch(u64),
    /// In the working memory that is kept from one of several jobs to the next: the offset from its
    /// beginning.
    Kept(u64),
}

impl Address {
    /// The address `bytes` bytes further on.
    pub(crate) const fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Given(address) => Self::Given(address + bytes),
            Self::Scratch(offset) => Self::Scratch(offset + bytes),
            Self::Kept(offset) => Self::Kept(offset + bytes),
        }
    }

    /// A number with the same alignment as the address. Working memory begins at a multiple of 256
    /// bytes, so an offset has it.
    pub(crate) const fn alignment_bits(self) -> u64 {
        match self {
            Self::Given(bits) | Self::Scratch(bits) | Self::Kept(bits) => bits,
        }
    }
}

/// The addresses and sizes that are known only when a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    pub(super) scratch: u64,
    /// Where what is kept begins, which is after the working memory of any job.
    pub(super) kept: u64,
    /// The memory of the look-back: `TileStates` in gpu/runtime/lookback.cuh.
    pub(crate) tile_states: u64,
    /// Each block takes `2^block_bits` tiles; see [`Grid::Shared`].
    pub(crate) block_bits: u32,
}

impl Ground {
    /// A ground whose working memory begins at an address.
    #[cfg(test)]
    pub(crate) const fn for_tests(scratch: u64) -> Self {
        Self { scratch, kept: 0, tile_states: 0, block_bits: 0 }
    }

    /// The same ground with the memory of a look-back at an address.
    #[cfg(test)]
    pub(crate) const fn with_tile_states(self, tile_states: u64) -> Self {
        Self { tile_states, ..self }
    }

    /// The address of the number of survivors that a look-back has found, in 64 bits: `total` of
    /// `TileStates`.
    pub(crate) const fn survivors(&self) -> u64 {
        self.tile_states + 16
    }

    /// The address as a number.
    pub(crate) const fn at(&self, address: Address) -> u64 {
        match address {
            Address::Given(address) => address,
            Address::Scratch(offset) => self.scratch + offset,
            Address::Kept(offset) => self.kept + offset,
        }
    }
}

/// The number of blocks that are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grid {
    /// A fixed number, in one dimension or two.
    Blocks(u32, u32),
    /// As many blocks as there is work for, but no more than the device holds at a time.
    Resident(u64),
    /// For this many tiles, one block for every `2^block_bits` of them: the largest power that
    /// leaves enough blocks for the whole device, with `block_bits` at most the second number.
    Shared(u64, u32),
}

impl Grid {
    /// A grid of `number` blocks.
    ///
    /// # Errors
    ///
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide) if the driver does not
    /// accept the number.
    pub(crate) fn blocks(number: u64) -> Result<Self, Error> {
        Ok(Self::Blocks(block_number(number)?, 1))
    }

    /// A grid of `rows` rows with `number` blocks each.
    ///
    /// # Errors
    ///
    /// As [`blocks`](Self::blocks).
    pub(crate) fn rows(number: u64, rows: u64) -> Result<Self, Error> {
        let blocks = block_number(number)?;
        let rows = u16::try_from(rows).map_err(|_| Error::Gpu(GpuError::DomainTooWide))?;
        Ok(Self::Blocks(blocks, rows.into()))
    }
}

/// A number of blocks, if the driver accepts it: up to 2^31 - 1 of them, in up to 65535 rows.
pub(crate) fn block_number(number: u64) -> Result<u32, Error> {
    i32::try_from(number)
        .map(|number| number as u32)
        .map_err(|_| Error::Gpu(GpuError::DomainTooWide))
}

/// What a kernel evaluates: `F` in its text.
#[derive(Clone, Debug)]
pub(crate) enum Evaluated<'a> {
    /// Nothing.
    Nothing,
    /// A bijection.
    Bijection(Cow<'a, DeviceSource>),
    /// A table of values in device memory, instead of a bijection. The kernel is launched for as
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

/// The words for a kernel's arguments: a kernel may have 4096 bytes of parameters, and the
/// bijection takes some of them.
const ARGUMENT_WORDS: usize = 480;

/// A kernel's arguments as the bytes that the driver copies.
pub(super) struct ArgumentBytes([MaybeUninit<u64>; ARGUMENT_WORDS]);

impl ArgumentBytes {
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); ARGUMENT_WORDS])
    }

    fn put<A: KernelArguments>(&mut self, arguments: A) {
        const { assert!(size_of::<A>() <= 8 * ARGUMENT_WORDS && align_of::<A>() <= 8) };
        // SAFETY: the assertion ensures that an `A` fits the words and needs no more than their
        // alignment of 8 bytes, and `self` is borrowed mutably.
        unsafe { self.0.as_mut_ptr().cast::<A>().write(arguments) };
    }

    pub(super) const fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr().cast()
    }
}

/// Writes a kernel's arguments, once the addresses are known.
type WriteArguments<'a> = dyn Fn(&Ground, &mut ArgumentBytes) + 'a;

/// Checks what a stream has written.
pub(super) type CheckWritten<'a> = dyn Fn(&StreamReader<'_>, &Ground) -> Result<(), Error> + 'a;

/// A kernel, with everything that determines what it does.
pub(crate) struct Launch<'a> {
    pub(super) kernel: Instance,
    pub(super) evaluated: Evaluated<'a>,
    pub(super) grid: Grid,
    /// Bytes of dynamic shared memory of a block.
    pub(super) shared: usize,
    pub(super) write: Box<WriteArguments<'a>>,
}

impl<'a> Launch<'a> {
    /// A launch of a kernel that evaluates nothing. `arguments` gives its arguments once the
    /// addresses are known.
    pub(crate) fn new<A: KernelArguments + 'a>(
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

    /// The same launch, for a kernel that evaluates something.
    pub(crate) fn evaluating(mut self, evaluated: impl Into<Evaluated<'a>>) -> Self {
        self.evaluated = evaluated.into();
        self
    }

    /// What is evaluated, if it is a bijection.
    #[cfg(test)]
    pub(crate) fn bijection(&self) -> Option<&DeviceSource> {
        match &self.evaluated {
            Evaluated::Bijection(source) => Some(source),
            Evaluated::Nothing | Evaluated::Lookup(..) => None,
        }
    }

    /// The kernel, and what it evaluates.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> (&Instance, &Evaluated<'a>) {
        (&self.kernel, &self.evaluated)
    }

    /// What is launched, with its blocks and rows, and the bytes of its arguments.
    #[cfg(test)]
    pub(crate) fn spelled_out(&self, ground: &Ground) -> (&Instance, (u32, u32), Vec<u8>) {
        let grid = match self.grid {
            Grid::Blocks(blocks, rows) => (blocks, rows),
            Grid::Resident(_) | Grid::Shared(..) => (1, 1),
        };
        let mut bytes = ArgumentBytes([MaybeUninit::new(0); ARGUMENT_WORDS]);
        (self.write)(ground, &mut bytes);
        let words = bytes.0[..self.kernel.size().div_ceil(8)].iter();
        // SAFETY: all words had a value before the arguments were written over the first of them.
        // The arguments that tests spell out have no padding, so these bytes have values too.
        let words = words.map(|word| unsafe { word.assume_init() });
        let mut all: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        all.truncate(self.kernel.size());
        (&self.kernel, grid, all)
    }

    /// The bytes of the kernel's parameters: those of a bijection, and the arguments.
    #[cfg(test)]
    pub(crate) fn parameter_bytes(&self) -> [usize; 2] {
        let source = self.bijection().map_or(8, |source| source.params().len());
        let is_passed = self.kernel.bijection() == BijectionUse::Value;
        [if is_passed { source } else { 0 }, self.kernel.size()]
    }

    /// The bytes of dynamic shared memory of a block.
    #[cfg(test)]
    pub(in crate::cuda) fn shared_bytes(&self) -> usize {
        self.shared
    }

    /// The same launch with `bytes` bytes of dynamic shared memory.
    pub(crate) fn with_shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }
}

/// A step of a plan. Steps follow each other in the stream.
#[allow(clippy::large_enum_variant, reason = "nearly every step is a launch")]
pub(super) enum Step<'a> {
    /// Runs a kernel.
    Launch(Launch<'a>),
    /// Copies bytes.
    Copy { from: Address, to: Address, bytes: u64 },
    /// The host waits for the stream and checks what it has written. An error ends the plan here.
    Check(Box<CheckWritten<'a>>),
}

/// What a job needs and does on the device.
#[derive(Default)]
pub(crate) struct DevicePlan<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// Bytes of working memory.
    pub(super) scratch: u64,
    /// Bytes that are kept from job to job.
    pub(super) kept: u64,
    /// Tiles of the longest look-back; 0 if there is none.
    pub(super) tiles: u32,
    pub(super) otherwise: Option<Box<DevicePlan<'a>>>,
}

impl<'a> DevicePlan<'a> {
    /// A plan that does nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Requires at least `bytes` bytes of working memory.
    pub(crate) fn take_scratch(&mut self, bytes: u64) {
        self.scratch = self.scratch.max(bytes);
    }

    /// The bytes of all working memory.
    pub(super) fn memory(&self) -> u64 {
        match self.kept {
            0 => self.scratch,
            kept => self.scratch.next_multiple_of(256).saturating_add(kept),
        }
    }

    /// The ground whose working memory begins at an address.
    pub(crate) fn ground(&self, scratch: u64, tile_states: u64) -> Ground {
        let kept = scratch + self.scratch.next_multiple_of(256);
        Ground { scratch, kept, tile_states, block_bits: 0 }
    }

    /// Requires at least `bytes` bytes that are kept from job to job.
    pub(crate) fn take_kept(&mut self, bytes: u64) {
        self.kept = self.kept.max(bytes);
    }

    /// This plan and then another, with one working memory. Neither's alternative is kept.
    pub(crate) fn then(mut self, next: Self) -> Self {
        let Self { steps, scratch, kept, tiles, otherwise: _ } = next;
        self.steps.extend(steps);
        self.take_scratch(scratch);
        self.take_kept(kept);
        self.tiles = self.tiles.max(tiles);
        Self { otherwise: None, ..self }
    }

    /// Requires the memory for a look-back over `tiles` tiles.
    ///
    /// # Errors
    ///
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide) if there are too many
    /// tiles for 32-bit tickets.
    pub(crate) fn take_tile_states(&mut self, tiles: u64) -> Result<(), Error> {
        // Every block takes one ticket too many at the end, so there are more tickets than tiles.
        let tiles = u32::try_from(tiles).ok().filter(|&tiles| tiles < u32::MAX / 2);
        self.tiles = self.tiles.max(tiles.ok_or(Error::Gpu(GpuError::DomainTooWide))?);
        Ok(())
    }

    /// Adds the launch of a kernel.
    pub(crate) fn launch(&mut self, launch: Launch<'a>) {
        self.steps.push(Step::Launch(launch));
    }

    /// Adds a copy of bytes.
    pub(crate) fn copy(&mut self, from: Address, to: Address, bytes: u64) {
        self.steps.push(Step::Copy { from, to, bytes });
    }

    /// Adds a kernel that sets `bytes` bytes at an address to zero. `bytes` is a multiple of 4.
    pub(crate) fn clear(&mut self, at: Address, bytes: u64) {
        let words = bytes / 4;
        let grid = Grid::Resident(words.div_ceil(u64::from(kernels::THREADS)));
        let arguments =
            move |ground: &Ground| kernels::ClearWords { words: ground.at(at), len: words };
        self.launch(Launch::new(kernels::clear_words(), grid, arguments));
    }

    /// Adds a check by the host of what the stream has written. It waits for the stream, so a plan
    /// with a check cannot be captured in a graph.
    pub(crate) fn check(
        &mut self,
        check: impl Fn(&StreamReader<'_>, &Ground) -> Result<(), Error> + 'a,
    ) {
        self.steps.push(Step::Check(Box::new(check)));
    }

    /// Adds an alternative plan that does the same, for when there is not enough memory for this
    /// one, or no compiler for its kernels.
    pub(crate) fn or(mut self, otherwise: Self) -> Self {
        self.otherwise = Some(Box::new(otherwise));
        self
    }

    /// All launches of the plan and of its alternative.
    pub(crate) fn launches(&self) -> Vec<&Launch<'a>> {
        let own = self.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) => Some(launch),
            Step::Copy { .. } | Step::Check(_) => None,
        });
        let otherwise = self.otherwise.as_ref().map_or(Vec::new(), |plan| plan.launches());
        own.chain(otherwise).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_those_that_the_driver_accepts() {
        let wide = Err(Error::Gpu(GpuError::DomainTooWide));
        assert_eq!(Grid::blocks((1 << 31) - 1), Ok(Grid::Blocks((1 << 31) - 1, 1)));
        assert_eq!(Grid::blocks(1 << 31), wide);
        assert_eq!(Grid::rows(7, 65_535), Ok(Grid::Blocks(7, 65_535)));
        assert_eq!(Grid::rows(7, 65_536), wide);
        assert_eq!(Grid::rows(1 << 31, 1), wide);
    }
}
