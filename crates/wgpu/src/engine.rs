//! [`Wgpu`]: the engine for items in host memory.

use std::sync::Arc;

use bytemuck::Pod;
use wgpu::BufferUsages;

use bijective_shuffle::error::Defect;
use bijective_shuffle::{Error, Word};
use bijective_shuffle_core::internal::check::try_with_capacity;

use crate::context::{Context, whole_of};
use crate::error::WgpuError;
use crate::workspace::{WgpuWorkspace, checked_length, job};
use bijective_shuffle_wgsl::launch::{ShuffleCall, bytes_of};
use bijective_shuffle_wgsl::shader::{Move, STATE_WORDS};
use bijective_shuffle_wgsl::{AsWgsl, WgslSource};

/// Shuffles items in host memory on a GPU, with the same results as every other engine.
///
/// The methods are those of a [`Compactor`](bijective_shuffle::Compactor), for items that can be
/// copied as bytes. They copy the items to the GPU and back and wait for it, which takes longer
/// than a shuffle on the CPU: use a [`workspace`](Self::workspace) for arrays that are on the GPU
/// anyway. The GPU's memory has to hold the items twice, and a third time while they come back.
///
/// Items are written when all of them have come back, so after any error they are as they were.
///
/// # Examples
///
/// ```no_run
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle_wgpu::Wgpu;
///
/// let gpu = Wgpu::new()?;
/// let mut items: Vec<u32> = (0..1_000_000).collect();
/// let f = Standard::from_seed(1_000_000, 42);
/// gpu.shuffle(&f, &mut items)?;
/// gpu.unshuffle(&f, &mut items)?;
/// assert!(items.is_sorted());
/// # Ok::<(), bijective_shuffle_wgpu::WgpuError>(())
/// ```
#[derive(Debug)]
pub struct Wgpu {
    context: Arc<Context>,
}

impl Wgpu {
    /// Opens the fastest GPU of this machine, with the largest limits that it has.
    ///
    /// # Errors
    ///
    /// [`WgpuError::NoAdapter`] and [`WgpuError::NoDevice`].
    pub fn new() -> Result<Self, WgpuError> {
        let instance = wgpu::Instance::default();
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&options))
            .map_err(|error| WgpuError::NoAdapter { message: error.to_string() })?;
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: adapter.limits(),
            required_features: adapter.features() & wgpu::Features::SUBGROUP,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| WgpuError::NoDevice { message: error.to_string() })?;
        let gpu = Self::on_device(device, queue);
        gpu.context.listen();
        Ok(gpu)
    }

    /// The engine on a program's own device and queue.
    ///
    /// With the feature `SUBGROUP` and the adapter's limits it is faster.
    ///
    /// A device tells one listener only that it is lost, which is left to the program. Here the
    /// loss then shows as [`WgpuError::DriverFailed`].
    pub fn on_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self { context: Arc::new(Context::standard(device, queue)) }
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.context.device
    }

    /// The device's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.context.queue
    }

    /// A workspace on the same device, which shares the compiled kernels.
    pub fn workspace(&self) -> WgpuWorkspace {
        WgpuWorkspace::of(Arc::clone(&self.context))
    }

    /// The same device with other tuning.
    #[cfg(test)]
    pub(crate) fn tuned(&self, tuning: bijective_shuffle_wgsl::shader::Tuning) -> Self {
        let (device, queue) = (self.device().clone(), self.queue().clone());
        Self { context: Arc::new(Context::new(device, queue, tuning)) }
    }

    #[cfg(test)]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Shuffles the items: item `p[k]` moves to place `k`, where `p` is the permutation of
    /// `items.len()` items that the bijection compacts to.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Shuffle`] with
    /// [`LengthExceedsDomain`](bijective_shuffle::Error::LengthExceedsDomain) or, for a
    /// [`WgslSource`], [`NotABijection`](bijective_shuffle::Error::NotABijection); otherwise any
    /// but [`NoAdapter`](WgpuError::NoAdapter) and [`NoDevice`](WgpuError::NoDevice). After an
    /// error the items are unchanged.
    pub fn shuffle<T: Pod>(
        &self,
        bijection: &impl AsWgsl,
        items: &mut [T],
    ) -> Result<(), WgpuError> {
        self.move_items(bijection, Move::Gather, items)
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<T: Pod>(
        &self,
        bijection: &impl AsWgsl,
        items: &mut [T],
    ) -> Result<(), WgpuError> {
        self.move_items(bijection, Move::Scatter, items)
    }

    /// Returns a shuffled copy: item `k` of the result is item `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn shuffled<T: Pod>(
        &self,
        bijection: &impl AsWgsl,
        items: &[T],
    ) -> Result<Vec<T>, WgpuError> {
        let mut copy = try_with_capacity(items.len()).map_err(Error::from)?;
        copy.extend_from_slice(items);
        self.shuffle(bijection, &mut copy)?;
        Ok(copy)
    }

    /// Writes the permutation of `out.len()` items: `out[k] = p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle). After an error `out` is unchanged.
    pub fn write_indexes<N: Word>(
        &self,
        bijection: &impl AsWgsl,
        out: &mut [N],
    ) -> Result<(), WgpuError> {
        let len = checked_length(bijection, out.len() as u64)?;
        if len == 0 {
            return Ok(());
        }
        let source = bijection.as_wgsl()?;
        let job = job(&source, len)?;
        let indexes = self.checked_indexes(&mut self.workspace(), job, Move::Gather)?;
        self.read(&indexes, bytes_of(len, 4), |bytes| {
            let (words, _) = bytes.as_chunks();
            for (out, &word) in out.iter_mut().zip(words) {
                *out = N::wrap(u32::from_ne_bytes(word).into());
            }
        })
    }

    /// Checks that the values of a source are a permutation of `len` items once compacted, as
    /// [`shuffle`](Self::shuffle) does before it moves any.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn verify(&self, source: &WgslSource, len: u64) -> Result<(), WgpuError> {
        let len = checked_length(source, len)?;
        if len > 0 {
            let job = job(source, len)?;
            self.checked_indexes(&mut self.workspace(), job, Move::Gather)?;
        }
        Ok(())
    }

    fn move_items<T: Pod>(
        &self,
        bijection: &impl AsWgsl,
        what: Move,
        items: &mut [T],
    ) -> Result<(), WgpuError> {
        let len = checked_length(bijection, items.len() as u64)?;
        if len == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let source = bijection.as_wgsl()?;
        let job = job(&source, len)?;
        let item_bytes = u32::try_from(size_of::<T>()).unwrap_or(u32::MAX);
        let bytes = bytes_of(len, item_bytes);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let from = self.context.buffer("the items", bytes, usage)?;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let into = self.context.buffer("the shuffled items", bytes, usage)?;
        self.write(&from, bytemuck::cast_slice(items))?;
        let mut workspace = self.workspace();
        let indexes = match source.is_trusted() {
            true => None,
            false => Some(self.checked_indexes(&mut workspace, job, what)?),
        };
        let mut encoder = self.device().create_command_encoder(&Default::default());
        let [source, target] = [&from, &into].map(|buffer| whole_of(buffer, bytes));
        match indexes {
            None => workspace.record_items(&mut encoder, job, what, item_bytes, source, target)?,
            Some(indexes) => {
                let indexes = whole_of(&indexes, bytes_of(len, 4));
                workspace.record_take(&mut encoder, len, item_bytes, indexes, source, target)?;
            }
        }
        self.submit(encoder)?;
        self.read(&into, bytes, |bytes| {
            bytemuck::cast_slice_mut::<T, u8>(items).copy_from_slice(bytes);
        })
    }

    /// Where each place's item comes from, in working memory. Indexes of a bijection that is not
    /// trusted have been checked.
    fn checked_indexes(
        &self,
        workspace: &mut WgpuWorkspace,
        job: ShuffleCall<'_>,
        what: Move,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let mut encoder = self.device().create_command_encoder(&Default::default());
        // Indexes are checked as they are written, and inverted afterwards: where items go, a place
        // that no item goes to could not be told from one that does.
        let is_checked = !job.source().is_trusted();
        let first = if is_checked { Move::Gather } else { what };
        let indexes = workspace.record_indexes(&mut encoder, job, first)?;
        if !is_checked {
            self.submit(encoder)?;
            return Ok(indexes);
        }
        let state = workspace.record_check(&mut encoder, job, &indexes)?;
        self.submit(encoder)?;
        let mut words = [0_u32; STATE_WORDS as usize];
        self.read(&state, STATE_WORDS * 4, |bytes| {
            bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
        })?;
        let len = u64::from(job.len());
        let survivors = if job.is_whole() { len - u64::from(words[4]) } else { words[2].into() };
        if survivors != len {
            let actual = survivors.min(len + 1);
            return Err(Error::NotABijection(Defect::Survivors { expected: len, actual }).into());
        }
        if words[3] != 0 {
            return Err(self.repeated(&indexes, job.len())?);
        }
        if what == Move::Gather {
            return Ok(indexes);
        }
        let mut encoder = self.device().create_command_encoder(&Default::default());
        let inverse = workspace.record_inverse(&mut encoder, job.len(), &indexes)?;
        self.submit(encoder)?;
        Ok(inverse)
    }

    /// The error for indexes with a repeated one: it names the first that repeats, as on the CPU.
    /// The GPU finds them in any order.
    fn repeated(&self, indexes: &wgpu::Buffer, len: u32) -> Result<WgpuError, WgpuError> {
        let words = len.div_ceil(32) as usize;
        let mut seen = try_with_capacity(words).map_err(Error::from)?;
        seen.resize(words, 0_u32);
        let mut first = 0;
        self.read(indexes, bytes_of(len, 4), |bytes| {
            let (words, _) = bytes.as_chunks();
            let again = words.iter().map(|&word| u32::from_ne_bytes(word)).find(|index| {
                let (word, bit) = (&mut seen[*index as usize / 32], 1 << (index % 32));
                let is_again = *word & bit != 0;
                *word |= bit;
                is_again
            });
            first = again.unwrap_or(0);
        })?;
        let defect = Defect::Repeats { index: first.into(), slots: None };
        Ok(Error::NotABijection(defect).into())
    }

    /// Copies bytes to a buffer, whose size is rounded up to whole words.
    fn write(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), WgpuError> {
        self.context.guarded("copy the items to the GPU", || {
            let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
            if !words.is_empty() {
                self.queue().write_buffer(buffer, 0, words);
            }
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                self.queue().write_buffer(buffer, words.len() as u64, &last);
            }
            Ok(())
        })
    }

    fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<(), WgpuError> {
        self.context.guarded("run the kernels", || {
            self.queue().submit([encoder.finish()]);
            Ok(())
        })
    }

    /// Waits for the first bytes of a buffer.
    pub(crate) fn read(
        &self,
        buffer: &wgpu::Buffer,
        bytes: u64,
        receive: impl FnOnce(&[u8]),
    ) -> Result<(), WgpuError> {
        let during = "copy the items back";
        let size = bytes.next_multiple_of(4);
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let staging = self.context.buffer("the items on their way back", size, usage)?;
        let mapped = self.context.guarded(during, || {
            let mut encoder = self.device().create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
            self.queue().submit([encoder.finish()]);
            let (sender, receiver) = std::sync::mpsc::channel();
            staging.slice(..).map_async(wgpu::MapMode::Read, move |result| {
                // Nobody listens any more after an error.
                let _ = sender.send(result);
            });
            self.device()
                .poll(wgpu::PollType::wait_indefinitely())
                .map_err(|error| self.context.failed(during, &error))?;
            match receiver.recv() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(self.context.failed(during, &error)),
                Err(error) => return Err(self.context.failed(during, &error)),
            }
            staging
                .slice(..)
                .get_mapped_range()
                .map_err(|error| self.context.failed(during, &error))
        })?;
        receive(&mapped[..bytes as usize]);
        Ok(())
    }
}
