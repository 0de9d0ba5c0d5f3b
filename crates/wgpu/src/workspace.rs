//! [`WgpuWorkspace`]: shuffles in the program's own buffers, recorded in its own encoder.

use std::sync::Arc;

use wgpu::{BufferBinding, BufferSlice, BufferUsages, CommandEncoder};

use bijective_shuffle::Error;

use crate::context::{Bindings, Context, Params};
use crate::error::WgpuError;
use crate::partition::{Buckets, Partitioning};
use crate::shader::{self, LAUNCHES, Move, STATE_WORDS, Status, THREADS, Tile, Tuning, Units};
use crate::source::{AsWgsl, WgslSource};

/// Shuffles arrays in a program's own buffers.
///
/// Its methods record commands in an encoder and return; the program submits them, with what it
/// records before and after. One workspace serves any number of calls, one after the other in one
/// queue. It keeps working memory from call to call: about 1 byte for 500 items; 4 bytes an item
/// for items that are no whole words; an array's size for a shuffle in place; and for an array of
/// 64 MiB and more, of items of 4, 8 or 16 bytes, up to twice its size and 8 bytes an item. Where
/// the GPU does not have the last, the array moves without it, which takes longer.
///
/// An array is a slice of a buffer, which begins at a multiple of
/// `min_storage_buffer_offset_alignment`, 256 bytes by default, and which may be longer than its
/// items. Its buffer has the usage `STORAGE`, and for a shuffle in place `COPY_DST` and `COPY_SRC`
/// too. An item is any number of bytes; multiples of 4 are moved fastest. Arrays of these may be
/// larger than the device's `max_storage_buffer_binding_size`: they then move part by part, which
/// takes longer. A length of 0 records nothing.
///
/// The values of a [`WgslSource`] of your own are not checked here, since the GPU alone could act
/// on the answer: a text whose values are no permutation leaves unspecified items in the output.
/// Call [`Wgpu::verify`](crate::Wgpu::verify) once to make sure. No text can reach other memory.
///
/// # Errors
///
/// All methods return [`WgpuError::Items`] with
/// [`LengthExceedsDomain`](Error::LengthExceedsDomain), [`WgpuError::NoText`],
/// [`WgpuError::DomainTooWide`], [`WgpuError::Compile`], [`WgpuError::Buffer`] for a slice that is
/// too short, not aligned or without a usage, [`WgpuError::Limit`], and [`WgpuError::OutOfMemory`]
/// and [`WgpuError::Driver`] for what the workspace itself makes. After an error of a call nothing
/// of it is to be submitted: drop the encoder.
///
/// # Examples
///
/// ```no_run
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle_wgpu::{Wgpu, wgpu};
///
/// let gpu = Wgpu::new()?;
/// let mut workspace = gpu.workspace();
/// let points = gpu.device().create_buffer(&wgpu::BufferDescriptor {
///     label: None,
///     size: 1_000_000 * 16,
///     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
///     mapped_at_creation: false,
/// });
/// let mut encoder = gpu.device().create_command_encoder(&Default::default());
/// let f = Standard::from_seed(1_000_000, 42);
/// workspace.shuffle(&mut encoder, &f, 1_000_000, &[(points.slice(..), 16)])?;
/// gpu.queue().submit([encoder.finish()]);
/// # Ok::<(), bijective_shuffle_wgpu::WgpuError>(())
/// ```
#[derive(Debug)]
pub struct WgpuWorkspace {
    pub(crate) context: Arc<Context>,
    state: Option<wgpu::Buffer>,
    /// The state of short arrays, and how many launches have used it.
    launches: Option<(wgpu::Buffer, u32)>,
    indexes: Option<wgpu::Buffer>,
    copy: Option<wgpu::Buffer>,
    buckets: Buckets,
}

/// What a call is about: the bijection, the length, and whether all slots survive.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    source: &'a WgslSource,
    len: u32,
}

impl<'a> Job<'a> {
    /// `len` items, at least one.
    ///
    /// # Errors
    ///
    /// Those of [`checked_length`]. What a source is had from may have said that it has more points
    /// than the source has.
    pub(crate) fn new(source: &'a WgslSource, len: u32) -> Result<Self, WgpuError> {
        Ok(Self { source, len: checked_length(source, len.into())? })
    }

    pub(crate) fn source(self) -> &'a WgslSource {
        self.source
    }

    pub(crate) fn len(self) -> u32 {
        self.len
    }

    pub(crate) fn is_whole(self) -> bool {
        self.len - 1 == self.source.last
    }

    /// The largest count that a status may have to hold.
    fn most_survivors(self) -> u64 {
        match self.source.is_trusted {
            true => self.len.into(),
            false => u64::from(self.source.last) + 1,
        }
    }
}

/// The length, if it fits the domain and the words of the kernels.
pub(crate) fn checked_length(bijection: &impl AsWgsl, len: u64) -> Result<u32, WgpuError> {
    let last = bijection.last_point();
    if len > 0 && len - 1 > last {
        return Err(Error::LengthExceedsDomain { len, last }.into());
    }
    Context::check_limit("a length", len, u32::MAX.into())?;
    Ok(len as u32)
}

/// The bytes of an array.
pub(crate) fn bytes_of(len: u32, item_bytes: u32) -> u64 {
    u64::from(len) * u64::from(item_bytes)
}

impl WgpuWorkspace {
    /// A workspace for a program's own device and queue.
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self::of(Arc::new(Context::new(device, queue, Tuning::STANDARD)))
    }

    pub(crate) fn of(context: Arc<Context>) -> Self {
        Self {
            context,
            state: None,
            launches: None,
            indexes: None,
            copy: None,
            buckets: Buckets::default(),
        }
    }

    /// Records `into[k] = from[p[k]]`, for the permutation `p` of `len` items that the bijection
    /// compacts to. The two are slices of different buffers.
    ///
    /// # Errors
    ///
    /// As [`WgpuWorkspace`] says.
    pub fn shuffle_into(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        item_bytes: u32,
        from: BufferSlice<'_>,
        into: BufferSlice<'_>,
    ) -> Result<(), WgpuError> {
        self.move_into(encoder, bijection, len, item_bytes, Move::Gather, from, into)
    }

    /// Records `into[p[k]] = from[k]`, which undoes [`shuffle_into`](Self::shuffle_into).
    ///
    /// # Errors
    ///
    /// As [`WgpuWorkspace`] says.
    pub fn unshuffle_into(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        item_bytes: u32,
        from: BufferSlice<'_>,
        into: BufferSlice<'_>,
    ) -> Result<(), WgpuError> {
        self.move_into(encoder, bijection, len, item_bytes, Move::Scatter, from, into)
    }

    /// Records the shuffle of arrays of `len` items each, in place by a copy. With each array comes
    /// the size of its items in bytes.
    ///
    /// # Errors
    ///
    /// As [`WgpuWorkspace`] says.
    pub fn shuffle(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        arrays: &[(BufferSlice<'_>, u32)],
    ) -> Result<(), WgpuError> {
        self.move_in_place(encoder, bijection, len, Move::Gather, arrays)
    }

    /// Records what undoes [`shuffle`](Self::shuffle).
    ///
    /// # Errors
    ///
    /// As [`WgpuWorkspace`] says.
    pub fn unshuffle(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        arrays: &[(BufferSlice<'_>, u32)],
    ) -> Result<(), WgpuError> {
        self.move_in_place(encoder, bijection, len, Move::Scatter, arrays)
    }

    /// Records `into[k] = p[k]`, in words of 32 bits.
    ///
    /// # Errors
    ///
    /// As [`WgpuWorkspace`] says.
    pub fn write_indexes(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        into: BufferSlice<'_>,
    ) -> Result<(), WgpuError> {
        let len = checked_length(bijection, len)?;
        if len == 0 {
            return Ok(());
        }
        let source = bijection.as_wgsl()?;
        let job = Job::new(&source, len)?;
        let into = self.array(into, bytes_of(len, 4))?;
        self.record_move(encoder, job, Move::Indexes, Units::WORD, None, into)
    }

    #[expect(clippy::too_many_arguments, reason = "the public methods with a direction")]
    fn move_into(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        item_bytes: u32,
        what: Move,
        from: BufferSlice<'_>,
        into: BufferSlice<'_>,
    ) -> Result<(), WgpuError> {
        let len = checked_length(bijection, len)?;
        if len == 0 || item_bytes == 0 {
            return Ok(());
        }
        if from.buffer() == into.buffer() {
            let fault = "both arrays are in one buffer, which WebGPU does not allow: use two";
            return Err(WgpuError::Buffer { fault });
        }
        let source = bijection.as_wgsl()?;
        let (job, bytes) = (Job::new(&source, len)?, bytes_of(len, item_bytes));
        let (from, into) = (self.array(from, bytes)?, self.array(into, bytes)?);
        self.record_items(encoder, job, what, item_bytes, from, into)
    }

    fn move_in_place(
        &mut self,
        encoder: &mut CommandEncoder,
        bijection: &impl AsWgsl,
        len: u64,
        what: Move,
        arrays: &[(BufferSlice<'_>, u32)],
    ) -> Result<(), WgpuError> {
        let len = checked_length(bijection, len)?;
        if len == 0 || arrays.is_empty() {
            return Ok(());
        }
        let source = bijection.as_wgsl()?;
        // Everything is checked before anything is recorded.
        let job = Job::new(&source, len)?;
        for &(slice, item_bytes) in arrays {
            self.array(slice, bytes_of(len, item_bytes))?;
            if !slice.buffer().usage().contains(BufferUsages::COPY_SRC | BufferUsages::COPY_DST) {
                let fault = "a shuffle in place copies the array: create its buffer with the usages \
                             COPY_SRC and COPY_DST";
                return Err(WgpuError::Buffer { fault });
            }
        }
        for &(slice, item_bytes) in arrays.iter().filter(|(_, bytes)| *bytes > 0) {
            let bytes = bytes_of(len, item_bytes).next_multiple_of(4);
            let array = self.array(slice, bytes)?;
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
            let copy = &mut self.copy;
            let copy = grown(&self.context, copy, "the copy of an array", bytes, usage)?;
            self.context.guarded("record a copy", || {
                encoder.copy_buffer_to_buffer(slice.buffer(), slice.offset(), &copy, 0, bytes);
                Ok(())
            })?;
            let from = whole_of(&copy, bytes);
            self.record_items(encoder, job, what, item_bytes, from, array)?;
        }
        Ok(())
    }

    /// Checks an array of so many bytes.
    pub(crate) fn array<'b>(
        &self,
        slice: BufferSlice<'b>,
        bytes: u64,
    ) -> Result<BufferBinding<'b>, WgpuError> {
        let size = bytes.next_multiple_of(4);
        let limits = &self.context.limits;
        let fault = if slice.size() < size {
            "an array is shorter than its items, rounded up to whole words: give a longer slice"
        } else if !slice.buffer().usage().contains(BufferUsages::STORAGE) {
            "an array's buffer cannot be used by shaders: create it with the usage STORAGE"
        } else if !slice.offset().is_multiple_of(limits.min_storage_buffer_offset_alignment.into())
        {
            "an array does not begin at a multiple of the device's \
             min_storage_buffer_offset_alignment: move it"
        } else {
            let size = wgpu::BufferSize::new(size);
            return Ok(BufferBinding { buffer: slice.buffer(), offset: slice.offset(), size });
        };
        Err(WgpuError::Buffer { fault })
    }

    /// Records the move of items of any size.
    pub(crate) fn record_items(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        what: Move,
        item_bytes: u32,
        from: BufferBinding<'_>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        if let Some(units) = Units::of(item_bytes) {
            return self.record_move(encoder, job, what, units, Some(from), into);
        }
        let indexes = self.record_indexes(encoder, job, what)?;
        // The buffer may have grown for a longer array.
        let indexes = whole_of(&indexes, bytes_of(job.len, 4));
        self.record_take(encoder, job.len, item_bytes, indexes, from, into)
    }

    /// Records into working memory where each place's item comes from.
    pub(crate) fn record_indexes(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        what: Move,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let bytes = bytes_of(job.len, 4);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let indexes = grown(&self.context, &mut self.indexes, "indexes", bytes, usage)?;
        let what = if what == Move::Gather { Move::Indexes } else { Move::Places };
        let into = whole_of(&indexes, bytes);
        self.record_move(encoder, job, what, Units::WORD, None, into)?;
        Ok(indexes)
    }

    /// Records the move of items by indexes in memory.
    pub(crate) fn record_take(
        &self,
        encoder: &mut CommandEncoder,
        len: u32,
        item_bytes: u32,
        indexes: BufferBinding<'_>,
        from: BufferBinding<'_>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let tuning = &self.context.tuning;
        let bytes = bytes_of(len, item_bytes);
        // Kernels count the bytes of an array in a word.
        Context::check_limit("bytes of an array", bytes.next_multiple_of(4), u32::MAX.into())?;
        let bytes = bytes as u32;
        let (text, count) = match Units::of(item_bytes) {
            Some(units) => (shader::take(units, tuning), bytes / (4 * units.words)),
            None => (shader::take_bytes(item_bytes, tuning), bytes.div_ceil(4)),
        };
        let tiles = count.div_ceil(THREADS * tuning.items);
        let params = Params { len: count, last: bytes, tiles, ..Params::default() };
        let bindings = [(1, from), (2, into), (4, indexes)];
        self.context.record(encoder, &text, true, params, &bindings)
    }

    /// Records the check of indexes in memory; its result is in the state.
    pub(crate) fn record_check(
        &mut self,
        encoder: &mut CommandEncoder,
        len: u32,
        indexes: &wgpu::Buffer,
    ) -> Result<(), WgpuError> {
        let state = self.state(0)?;
        let bytes = u64::from(len).div_ceil(32) * 4;
        let seen = self.context.buffer("a bit for each item", bytes, BufferUsages::STORAGE)?;
        let tiles = len.div_ceil(THREADS * self.context.tuning.items);
        let params = Params { len, tiles, ..Params::default() };
        let bindings = [
            (2, seen.as_entire_buffer_binding()),
            (3, state.as_entire_buffer_binding()),
            (4, whole_of(indexes, u64::from(len) * 4)),
        ];
        let text = shader::check(&self.context.tuning);
        self.context.record(encoder, &text, true, params, &bindings)
    }

    /// Records the inverse of a permutation in memory, into new memory.
    pub(crate) fn record_inverse(
        &self,
        encoder: &mut CommandEncoder,
        len: u32,
        indexes: &wgpu::Buffer,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let bytes = bytes_of(len, 4);
        let inverse = self.context.buffer("inverse indexes", bytes, BufferUsages::STORAGE)?;
        let tiles = len.div_ceil(THREADS * self.context.tuning.items);
        let params = Params { len, tiles, ..Params::default() };
        let bindings = [(2, whole_of(&inverse, bytes)), (4, whole_of(indexes, bytes))];
        let text = shader::invert(&self.context.tuning);
        self.context.record(encoder, &text, true, params, &bindings)?;
        Ok(inverse)
    }

    /// A state of at least so many words, and a number that no other launch has that uses it. It is
    /// never cleared, which would take a quarter of the time of 2^18 items: a new one has zeros,
    /// and no number comes twice, in whatever order encoders are submitted, and if some never are.
    fn launch(&mut self, words: u64) -> Result<(wgpu::Buffer, u32), WgpuError> {
        let used = self.launches.take();
        let left = used.filter(|(state, used)| state.size() >= 4 * words && *used < LAUNCHES - 1);
        let (state, used) = match left {
            Some(left) => left,
            None => {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
                // A power of two, so that lengths that grow share one.
                let bytes = 4 * words.next_power_of_two();
                (self.context.buffer("statuses", bytes, usage)?, 0)
            }
        };
        self.launches = Some((state.clone(), used + 1));
        Ok((state, used + 1))
    }

    /// The state of the last look-back of a short array, or else of a long one.
    #[cfg(test)]
    pub(crate) fn last_state(&self) -> Option<&wgpu::Buffer> {
        self.launches.as_ref().map(|(state, _)| state).or(self.state.as_ref())
    }

    /// The state of the last kernel that has one to itself, with room for so many words.
    pub(crate) fn state(&mut self, words: u64) -> Result<wgpu::Buffer, WgpuError> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        grown(&self.context, &mut self.state, "statuses", words.max(STATE_WORDS) * 4, usage)
    }

    /// Records the kernel that evaluates the bijection: once, or where arrays are larger than a
    /// binding for each pair of their parts.
    fn record_move(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        what: Move,
        units: Units,
        from: Option<BufferBinding<'_>>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let limits = &self.context.limits;
        // Kernels number units in words of 32 bits.
        let most = limits.max_storage_buffer_binding_size.min(1 << 32);
        let item_bytes = 4 * u64::from(units.words) * u64::from(units.count);
        if u64::from(job.len) * item_bytes <= most {
            if let Some(from) = &from
                && let Some(plan) = Partitioning::new(&self.context, job, what, units)
                && let Some(memory) = self.buckets.memory(&self.context, &plan)?
            {
                return self.record_partitioned(encoder, job, &plan, &memory, from, &into);
            }
            return self.record_part(encoder, job, what, units, None, from, into);
        }
        // Any number of items that is a multiple of the alignment is aligned.
        let alignment = u64::from(limits.min_storage_buffer_offset_alignment);
        let items = most / item_bytes / alignment * alignment;
        if items == 0 {
            let asked = item_bytes * alignment;
            return Err(WgpuError::Limit { what: "bytes of some items", asked, most });
        }
        let len = u64::from(job.len);
        let parts: Vec<(u64, u64)> = (0..len.div_ceil(items))
            .map(|part| (part * items, items.min(len - part * items)))
            .collect();
        for &target in &parts {
            // Indexes come from no array.
            let sources = if from.is_some() { &parts[..] } else { &parts[..1] };
            for &source in sources {
                let windows = [source.0, source.1, target.0, target.1].map(|word| word as u32);
                let from = from.as_ref().map(|from| part_of(from, source, item_bytes));
                let into = part_of(&into, target, item_bytes);
                self.record_part(encoder, job, what, units, Some(windows), from, into)?;
            }
        }
        Ok(())
    }

    /// Records one kernel that evaluates the bijection, of the parts of arrays in the windows.
    #[expect(clippy::too_many_arguments, reason = "what `record_move` has, and the windows")]
    fn record_part(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        what: Move,
        units: Units,
        windows: Option<[u32; 4]>,
        from: Option<BufferBinding<'_>>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let context = Arc::clone(&self.context);
        let Job { source, len } = job;
        let tuning = &context.tuning;
        let bindings: Vec<_> = [(2, into)].into_iter().chain(from.map(|from| (1, from))).collect();
        let (is_windowed, windows) = (windows.is_some(), windows.unwrap_or_default());
        if !job.is_whole() {
            let tile = tuning.slots(source.last);
            let text = |status| {
                shader::survivors(source, what, status, is_windowed, false, units, tile, tuning)
            };
            return self.record_survivors(
                encoder,
                job,
                tile,
                u32::MAX,
                windows,
                units,
                &bindings,
                text,
            );
        }
        let tiles = tiles_of(job, tuning.tile(), units)?;
        let params = Params {
            len,
            last: source.last,
            tiles,
            windows,
            keys: &source.keys,
            ..Params::default()
        };
        // A check reads the state behind the kernel, also if the kernel does not write it.
        if !source.is_trusted {
            let state = self.state(0)?;
            encoder.clear_buffer(&state, 0, Some(STATE_WORDS * 4));
        }
        // A gather by the inverse reads far apart and writes in order, which is faster than the
        // reverse. Only a bijection of the library has an inverse that is sure to be one.
        let (what, is_inverted) = match what {
            Move::Scatter if source.has_inverse() => (Move::Gather, true),
            Move::Places if source.has_inverse() => (Move::Indexes, true),
            what => (what, false),
        };
        let text = shader::whole(source, what, is_inverted, is_windowed, units, tuning);
        context.record(encoder, &text, source.is_trusted, params, &bindings)
    }

    /// Records a kernel that looks for survivors, whose text depends on what statuses are, with
    /// at most so many workgroups.
    #[expect(clippy::too_many_arguments, reason = "what `record_part` has, and the tile")]
    pub(crate) fn record_survivors(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        tile: Tile,
        most: u32,
        windows: [u32; 4],
        units: Units,
        bindings: &Bindings<'_>,
        text: impl FnOnce(Status) -> String,
    ) -> Result<(), WgpuError> {
        let context = Arc::clone(&self.context);
        let Job { source, len } = job;
        let tuning = &context.tuning;
        let tiles = tiles_of(job, tile, units)?;
        let status = tuning.status.unwrap_or(match job.most_survivors() {
            // A state that other calls share cannot be checked.
            0..0x80_0000 if source.is_trusted => Status::Short,
            0..0x4000_0000 => Status::Narrow,
            _ => Status::Wide,
        });
        let words = u64::from(tiles) * if status == Status::Wide { 3 } else { 1 };
        let words = STATE_WORDS + u64::from(LAUNCHES) + words;
        let (state, launch) = if status == Status::Short {
            self.launch(words)?
        } else {
            let state = self.state(words)?;
            encoder.clear_buffer(&state, 0, Some(words * 4));
            (state, 0)
        };
        let params = Params {
            len,
            last: source.last,
            tiles,
            groups: Some(tiles.min(most)),
            launch,
            windows,
            keys: &source.keys,
            ..Params::default()
        };
        let bindings: Vec<_> =
            bindings.iter().cloned().chain([(3, state.as_entire_buffer_binding())]).collect();
        context.record(encoder, &text(status), source.is_trusted, params, &bindings)
    }
}

/// The tiles of a domain.
fn tiles_of(job: Job<'_>, tile: Tile, units: Units) -> Result<u32, WgpuError> {
    let tile = u64::from(tile.len());
    // Kernels number the units of a tile, too.
    Context::check_limit("units of an item", units.count.into(), u64::from(u32::MAX) / tile)?;
    Ok((u64::from(job.source.last) + 1).div_ceil(tile) as u32)
}

/// The items of an array from the first on, as many as the second says.
pub(crate) fn part_of<'b>(
    array: &BufferBinding<'b>,
    (first, count): (u64, u64),
    item_bytes: u64,
) -> BufferBinding<'b> {
    let offset = array.offset + first * item_bytes;
    let size = wgpu::BufferSize::new(count * item_bytes);
    BufferBinding { buffer: array.buffer, offset, size }
}

/// The first bytes of a buffer, at least one.
pub(crate) fn whole_of(buffer: &wgpu::Buffer, bytes: u64) -> BufferBinding<'_> {
    BufferBinding { buffer, offset: 0, size: wgpu::BufferSize::new(bytes.next_multiple_of(4)) }
}

/// A buffer of at least so many bytes: the one that there is, or a new one in its place. What was
/// recorded with the old one keeps it alive.
pub(crate) fn grown(
    context: &Context,
    place: &mut Option<wgpu::Buffer>,
    what: &'static str,
    bytes: u64,
    usage: BufferUsages,
) -> Result<wgpu::Buffer, WgpuError> {
    if let Some(buffer) = place.as_ref().filter(|buffer| buffer.size() >= bytes) {
        return Ok(buffer.clone());
    }
    let buffer = context.buffer(what, bytes, usage)?;
    *place = Some(buffer.clone());
    Ok(buffer)
}
