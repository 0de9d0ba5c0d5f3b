//! What is launched on a GPU, and with which memory, before anything touches a device.

use std::fmt;
use std::rc::Rc;

use crate::limits::Excess;
use crate::shader::{STATE_WORDS, Status, Tuning, Units, WorkgroupTile};
use crate::source::WgslSource;

/// What a call is about: the bijection, the length, and whether all slots survive.
#[derive(Clone, Copy, Debug)]
pub struct ShuffleCall<'a> {
    source: &'a WgslSource,
    len: u32,
}

impl<'a> ShuffleCall<'a> {
    /// `len` items: at least one, and no more than the source has points.
    pub fn new(source: &'a WgslSource, len: u32) -> Self {
        Self { source, len }
    }

    pub fn source(self) -> &'a WgslSource {
        self.source
    }

    #[expect(clippy::len_without_is_empty, reason = "there is one item at least")]
    pub fn len(self) -> u32 {
        self.len
    }

    pub fn is_whole(self) -> bool {
        self.len - 1 == self.source.last
    }

    /// The largest count that a status may have to hold.
    fn most_survivors(self) -> u64 {
        match self.source.is_trusted {
            true => self.len.into(),
            false => u64::from(self.source.last) + 1,
        }
    }

    /// The tiles of the domain.
    pub fn tiles(self, tile: WorkgroupTile, units: Units) -> Result<u32, Excess> {
        let tile = u64::from(tile.len());
        // Kernels number the units of a tile, too.
        Excess::check("units of an item", units.count.into(), u64::from(u32::MAX) / tile)?;
        Ok((u64::from(self.source.last) + 1).div_ceil(tile) as u32)
    }
}

/// The bytes of an array.
pub fn bytes_of(len: u32, item_bytes: u32) -> u64 {
    u64::from(len) * u64::from(item_bytes)
}

/// The uniform buffer of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'a> {
    pub len: u32,
    pub last: u32,
    pub tiles: u32,
    /// The workgroups, if they are not as many as tiles.
    pub groups: Option<u32>,
    /// A number that no other launch has that uses the same statuses.
    pub launch: u32,
    /// The first item and the number of items of the source, and of the target, that are bound,
    /// for kernels that move parts of arrays.
    pub windows: [u32; 4],
    /// What kernels of the partitioned strategy need beside. The first is 1 where a look-back's
    /// kernel counts its tiles and no more.
    pub sizes: [u32; 4],
    pub keys: &'a [[u32; 4]],
}

impl Params<'_> {
    pub fn words(&self) -> Vec<u32> {
        [self.len, self.last, self.tiles, self.launch]
            .into_iter()
            .chain(self.windows)
            .chain(self.sizes)
            .chain(self.keys.iter().flatten().copied())
            // An array cannot be empty.
            .chain(self.keys.is_empty().then_some([0; 4]).into_iter().flatten())
            .collect()
    }

    /// The number of workgroups.
    pub fn groups(&self) -> u32 {
        self.groups.unwrap_or(self.tiles)
    }
}

/// Memory that kernels work on: the caller's arrays, and what is kept from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelMemory {
    Source,
    Target,
    /// What an array was before its shuffle in place.
    Copy,
    /// Where each place's item comes from.
    Indexes,
    /// The state of a look-back, for one launch alone.
    State,
    /// The state of the look-backs that have a number each. It is never cleared.
    Launches,
    /// The counts of buckets.
    Counts,
    /// The records of the buckets of a pass, which lie in one or two buffers.
    Records {
        pass: u8,
        part: u8,
    },
}

/// The name of the memory in the plans that JavaScript reads.
impl fmt::Display for KernelMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "Source",
            Self::Target => "Target",
            Self::Copy => "Copy",
            Self::Indexes => "Indexes",
            Self::State => "State",
            Self::Launches => "Launches",
            Self::Counts => "Counts",
            Self::Records { pass, part } => return write!(f, "Records {pass} {part}"),
        })
    }
}

impl KernelMemory {
    /// Whether it is for the partitioned strategy alone.
    pub fn is_for_buckets(self) -> bool {
        matches!(self, Self::Counts | Self::Records { .. })
    }
}

/// Bytes that a kernel works on.
#[derive(Clone, Copy, Debug)]
pub struct BoundBytes {
    /// The number of the binding.
    pub number: u32,
    pub place: KernelMemory,
    pub offset: u64,
    pub bytes: u64,
    /// Whether they have to be zero.
    pub is_cleared: bool,
}

impl BoundBytes {
    /// The first bytes of a place.
    pub fn new(number: u32, place: KernelMemory, bytes: u64) -> Self {
        Self { number, place, offset: 0, bytes, is_cleared: false }
    }
}

/// A kernel with what it is launched on.
#[derive(Clone, Debug)]
pub struct KernelLaunch<'a> {
    pub text: Rc<str>,
    /// Whether the whole text is of the crate.
    pub is_own: bool,
    pub params: Params<'a>,
    pub bindings: Vec<BoundBytes>,
}

impl<'a> KernelLaunch<'a> {
    /// A kernel that looks for survivors, whose text depends on what statuses are. It is bound to
    /// its state alone.
    pub fn survivors(
        job: ShuffleCall<'a>,
        tile: WorkgroupTile,
        units: Units,
        tuning: &Tuning,
        text: impl FnOnce(Status) -> String,
    ) -> Result<Self, Excess> {
        let ShuffleCall { source, len } = job;
        let tiles = job.tiles(tile, units)?;
        let status = tuning.status.unwrap_or(match job.most_survivors() {
            // A state that other calls share cannot be checked.
            0..0x80_0000 if source.is_trusted => Status::Short,
            0..0x4000_0000 => Status::Narrow,
            _ => Status::Wide,
        });
        let words = u64::from(tiles) * if status == Status::Wide { 3 } else { 1 };
        let words = STATE_WORDS + words;
        let is_cleared = status != Status::Short;
        let place = if is_cleared { KernelMemory::State } else { KernelMemory::Launches };
        Ok(Self {
            text: text(status).into(),
            is_own: source.is_trusted,
            params: Params {
                len,
                last: source.last,
                tiles,
                keys: &source.keys,
                ..Params::default()
            },
            bindings: vec![BoundBytes { is_cleared, ..BoundBytes::new(3, place, 4 * words) }],
        })
    }
}
