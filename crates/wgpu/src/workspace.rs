//! [`WgpuWorkspace`]: shuffles in the program's own buffers, recorded in its own encoder.

use std::collections::HashMap;
use std::sync::Arc;

use wgpu::{BufferBinding, BufferSlice, BufferUsages, CommandEncoder};

use bijective_shuffle::Error;

use crate::context::{Context, part_of, whole_of};
use crate::error::WgpuError;
use bijective_shuffle_wgsl::launch::{KernelLaunch, KernelMemory, Params, ShuffleCall, bytes_of};
use bijective_shuffle_wgsl::limits::Excess;
use bijective_shuffle_wgsl::plan::Planner;
use bijective_shuffle_wgsl::shader::{self, LAUNCHES, Move, STATE_WORDS};
use bijective_shuffle_wgsl::{AsWgsl, WgslSource};

/// Shuffles arrays in a program's own buffers.
///
/// Its methods record commands in an encoder and return; the program submits them, with what it
/// records before and after. One workspace serves any number of calls, one after the other in one
/// queue. It keeps working memory from call to call: about 1 byte for 500 items; 4 bytes an item
/// for items that are no whole words; an array's size for a shuffle in place; and for an array of
/// 64 MiB and more of items of 4 bytes, or an un-shuffle of items of 8 or 16, up to twice its size
/// and 8 bytes an item. Where the GPU does not have the last, the array moves without it, which
/// takes longer.
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
/// All methods return [`WgpuError::Shuffle`] with
/// [`LengthExceedsDomain`](Error::LengthExceedsDomain), [`WgpuError::Wgsl`],
/// [`WgpuError::CompileFailed`], [`WgpuError::UnsuitableBuffer`] for a slice that is too short, not
/// aligned or without a usage, [`WgpuError::ArraysOverlap`] for arrays that share memory,
/// [`WgpuError::LimitExceeded`], and [`WgpuError::OutOfMemory`] and [`WgpuError::DriverFailed`] for
/// what the workspace itself makes. After an error of a call nothing of it is to be submitted: drop
/// the encoder.
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
    memory: HashMap<KernelMemory, wgpu::Buffer>,
    /// The launches that have used the state that they share.
    launches: u32,
}

/// What a call is about, if there are this many items.
///
/// # Errors
///
/// Those of [`checked_length`]: a source may have fewer points than the bijection that it was made
/// from claims.
pub(crate) fn job(source: &WgslSource, len: u32) -> Result<ShuffleCall<'_>, WgpuError> {
    Ok(ShuffleCall::new(source, checked_length(source, len.into())?))
}

/// The length, if it fits the domain and the words of the kernels.
pub(crate) fn checked_length(bijection: &impl AsWgsl, len: u64) -> Result<u32, WgpuError> {
    let last = bijection.last_point();
    if len > 0 && len - 1 > last {
        return Err(Error::LengthExceedsDomain { len, last }.into());
    }
    Excess::check("items", len, u32::MAX.into())?;
    Ok(len as u32)
}

/// Checks that no two arrays of that many items share memory: the second would be moved after the
/// first, and undoing that would begin with the first.
fn check_apart(len: u32, arrays: &[(BufferSlice<'_>, u32)]) -> Result<(), WgpuError> {
    let ends = |&(slice, item_bytes): &(BufferSlice<'_>, u32)| {
        (slice.offset(), slice.offset() + bytes_of(len, item_bytes))
    };
    for (second, other) in arrays.iter().enumerate() {
        for (first, array) in arrays[..second].iter().enumerate() {
            let ((start, end), (from, to)) = (ends(array), ends(other));
            if array.0.buffer() == other.0.buffer() && start.max(from) < end.min(to) {
                return Err(WgpuError::ArraysOverlap { arrays: [first, second] });
            }
        }
    }
    Ok(())
}

impl WgpuWorkspace {
    /// A workspace for a program's own device and queue.
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self::of(Arc::new(Context::standard(device, queue)))
    }

    pub(crate) fn of(context: Arc<Context>) -> Self {
        Self { context, memory: HashMap::new(), launches: 0 }
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
    /// the size of its items in bytes. The arrays may be slices of one buffer that do not overlap.
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

    /// Records the reverse of [`shuffle`](Self::shuffle).
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
        let job = job(&source, len)?;
        let into = self.array(into, bytes_of(len, 4))?;
        self.record(encoder, &[(KernelMemory::Target, into)], |planner| {
            planner.indexes(job, Move::Gather, KernelMemory::Target)
        })
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
            return Err(WgpuError::UnsuitableBuffer { fault });
        }
        let source = bijection.as_wgsl()?;
        let (job, bytes) = (job(&source, len)?, bytes_of(len, item_bytes));
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
        let job = job(&source, len)?;
        for &(slice, item_bytes) in arrays {
            self.array(slice, bytes_of(len, item_bytes))?;
            if !slice.buffer().usage().contains(BufferUsages::COPY_SRC | BufferUsages::COPY_DST) {
                let fault = "a shuffle in place copies the array: create its buffer with the usages \
                             COPY_SRC and COPY_DST";
                return Err(WgpuError::UnsuitableBuffer { fault });
            }
        }
        check_apart(len, arrays)?;
        for &(slice, item_bytes) in arrays.iter().filter(|(_, bytes)| *bytes > 0) {
            let bytes = bytes_of(len, item_bytes).next_multiple_of(4);
            let array = self.array(slice, bytes)?;
            let copy = self.grown(KernelMemory::Copy, bytes)?;
            self.context.guarded("record a copy", || {
                encoder.copy_buffer_to_buffer(slice.buffer(), slice.offset(), &copy, 0, bytes);
                Ok(())
            })?;
            let from = whole_of(&copy, bytes);
            self.record_items(encoder, job, what, item_bytes, from, array)?;
        }
        Ok(())
    }

    /// Checks an array of this many bytes.
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
        Err(WgpuError::UnsuitableBuffer { fault })
    }

    /// Records the move of items of any size.
    pub(crate) fn record_items(
        &mut self,
        encoder: &mut CommandEncoder,
        job: ShuffleCall<'_>,
        what: Move,
        item_bytes: u32,
        from: BufferBinding<'_>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let arrays = [(KernelMemory::Source, from), (KernelMemory::Target, into)];
        self.record(encoder, &arrays, |planner| planner.items(job, what, item_bytes))
    }

    /// Records into working memory where each place's item comes from.
    pub(crate) fn record_indexes(
        &mut self,
        encoder: &mut CommandEncoder,
        job: ShuffleCall<'_>,
        what: Move,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let bytes = bytes_of(job.len(), 4);
        let indexes = self.grown(KernelMemory::Indexes, bytes)?;
        let arrays = [(KernelMemory::Target, whole_of(&indexes, bytes))];
        self.record(encoder, &arrays, |planner| planner.indexes(job, what, KernelMemory::Target))?;
        Ok(indexes)
    }

    /// Records the move of items by indexes in memory.
    pub(crate) fn record_take(
        &mut self,
        encoder: &mut CommandEncoder,
        len: u32,
        item_bytes: u32,
        indexes: BufferBinding<'_>,
        from: BufferBinding<'_>,
        into: BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let arrays = [
            (KernelMemory::Indexes, indexes),
            (KernelMemory::Source, from),
            (KernelMemory::Target, into),
        ];
        self.record(encoder, &arrays, |planner| Ok(vec![planner.taken(len, item_bytes)?]))
    }

    /// Records the check of indexes in memory; its result is in the state, which is returned.
    pub(crate) fn record_check(
        &mut self,
        encoder: &mut CommandEncoder,
        job: ShuffleCall<'_>,
        indexes: &wgpu::Buffer,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let (len, tuning) = (job.len(), self.context.planner.tuning);
        let state = self.grown(KernelMemory::State, STATE_WORDS * 4)?;
        // What looked for survivors has counted them there; where all survive nothing did.
        if job.is_whole() {
            encoder.clear_buffer(&state, 0, Some(STATE_WORDS * 4));
        }
        let bytes = u64::from(len).div_ceil(32) * 4;
        let seen = self.context.buffer("a bit for each item", bytes, BufferUsages::STORAGE)?;
        let tiles = len.div_ceil(tuning.tile().len());
        let params = Params { len, tiles, ..Params::default() };
        let bindings = [
            (2, seen.as_entire_buffer_binding()),
            (3, state.as_entire_buffer_binding()),
            (4, whole_of(indexes, u64::from(len) * 4)),
        ];
        self.context.record(encoder, &shader::check(&tuning), true, params, &bindings)?;
        Ok(state)
    }

    /// Records the inverse of a permutation in memory, into new memory.
    pub(crate) fn record_inverse(
        &self,
        encoder: &mut CommandEncoder,
        len: u32,
        indexes: &wgpu::Buffer,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let (bytes, tuning) = (bytes_of(len, 4), &self.context.planner.tuning);
        let inverse = self.context.buffer("inverse indexes", bytes, BufferUsages::STORAGE)?;
        let tiles = len.div_ceil(tuning.tile().len());
        let params = Params { len, tiles, ..Params::default() };
        let bindings = [(2, whole_of(&inverse, bytes)), (4, whole_of(indexes, bytes))];
        self.context.record(encoder, &shader::invert(tuning), true, params, &bindings)?;
        Ok(inverse)
    }

    /// A number of its own for a launch that uses `bytes` of the state that launches share. The
    /// state is never cleared, which would take a quarter of the time of 2^18 items: a new one has
    /// zeros, and no number comes twice, in whatever order encoders are submitted, and if some
    /// never are.
    fn launch(&mut self, bytes: u64) -> Result<u32, WgpuError> {
        let is_enough = |state: &wgpu::Buffer| state.size() >= bytes;
        if self.launches == LAUNCHES - 1
            || !self.memory.get(&KernelMemory::Launches).is_some_and(is_enough)
        {
            self.memory.remove(&KernelMemory::Launches);
            self.launches = 0;
            // A power of two, so that lengths that grow share one.
            self.grown(KernelMemory::Launches, bytes.next_power_of_two())?;
        }
        self.launches += 1;
        Ok(self.launches)
    }

    /// The state of the last look-back of a short array, or else of a long one.
    #[cfg(test)]
    pub(crate) fn last_state(&self) -> Option<&wgpu::Buffer> {
        self.memory.get(&KernelMemory::Launches).or(self.memory.get(&KernelMemory::State))
    }

    /// Records launches between arrays. Where the GPU does not have the memory for buckets, they
    /// are others.
    fn record<'a>(
        &mut self,
        encoder: &mut CommandEncoder,
        arrays: &[(KernelMemory, BufferBinding<'_>)],
        plan: impl Fn(&Planner) -> Result<Vec<KernelLaunch<'a>>, Excess>,
    ) -> Result<(), WgpuError> {
        let context = Arc::clone(&self.context);
        let array_of = |of: KernelMemory| {
            arrays.iter().find(|(place, _)| *place == of).map(|(_, array)| array)
        };
        let mut launches = plan(&context.planner)?;
        // All memory is there before anything is recorded.
        let is_ours = |place| array_of(place).is_none() && place != KernelMemory::Launches;
        match self.reserve(&launches, is_ours) {
            Err(WgpuError::OutOfMemory { .. } | WgpuError::LimitExceeded { .. }) => {
                self.memory.retain(|place, _| !place.is_for_buckets());
                launches = plan(&context.planner.without_buckets())?;
                self.reserve(&launches, is_ours)?;
            }
            reserved => reserved?,
        }
        context.prepare(launches.iter().map(|launch| (&*launch.text, launch.is_own)));
        for KernelLaunch { text, is_own, mut params, bindings } in launches {
            if let Some(state) = bindings.iter().find(|bound| bound.place == KernelMemory::Launches)
            {
                params.launch = self.launch(state.bytes)?;
            }
            let looks_back = bindings
                .iter()
                .any(|bound| matches!(bound.place, KernelMemory::State | KernelMemory::Launches));
            let bindings: Vec<_> = bindings
                .iter()
                .map(|bound| {
                    let kept = || self.memory[&bound.place].as_entire_buffer_binding();
                    let whole = array_of(bound.place).cloned().unwrap_or_else(kept);
                    let array = part_of(&whole, bound.offset, bound.bytes);
                    if bound.is_cleared {
                        encoder.clear_buffer(array.buffer, array.offset, Some(bound.bytes));
                    }
                    (bound.number, array)
                })
                .collect();
            if looks_back && context.planner.tuning.counts_first {
                let counts = Params { groups: None, sizes: [1, 0, 0, 0], ..params };
                context.record(encoder, &text, is_own, counts, &bindings)?;
            }
            context.record(encoder, &text, is_own, params, &bindings)?;
        }
        Ok(())
    }

    /// Gets the memory that launches take.
    fn reserve(
        &mut self,
        launches: &[KernelLaunch<'_>],
        is_ours: impl Fn(KernelMemory) -> bool,
    ) -> Result<(), WgpuError> {
        let mut needed = HashMap::new();
        for bound in launches.iter().flat_map(|launch| &launch.bindings) {
            if is_ours(bound.place) {
                let bytes = needed.entry(bound.place).or_insert(0);
                *bytes = (bound.offset + bound.bytes).max(*bytes);
            }
        }
        needed.into_iter().try_for_each(|(place, bytes)| self.grown(place, bytes).map(drop))
    }

    /// A buffer of at least this many bytes: the one that there is, or a new one in its place. What
    /// was recorded with the old one keeps it alive.
    fn grown(&mut self, place: KernelMemory, bytes: u64) -> Result<wgpu::Buffer, WgpuError> {
        if let Some(buffer) = self.memory.get(&place).filter(|buffer| buffer.size() >= bytes) {
            return Ok(buffer.clone());
        }
        let what = match place {
            KernelMemory::Source | KernelMemory::Target => "an array",
            KernelMemory::Copy => "the copy of an array",
            KernelMemory::Indexes => "indexes",
            KernelMemory::State | KernelMemory::Launches => "statuses",
            KernelMemory::Counts => "counts",
            KernelMemory::Records { .. } => "the records of buckets",
        };
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let buffer = self.context.buffer(what, bytes, usage)?;
        self.memory.insert(place, buffer.clone());
        Ok(buffer)
    }
}
