//! A device, and what was compiled for it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wgpu::BufferBinding;

use crate::error::WgpuError;
use bijective_shuffle_wgsl::launch::Params;
use bijective_shuffle_wgsl::limits::{Excess, Limits};
use bijective_shuffle_wgsl::plan::Planner;
use bijective_shuffle_wgsl::shader::Tuning;

/// A device with its kernels, which engines and workspaces share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) planner: Planner,
    /// By their texts: those that stay fully checked, and those of the crate.
    kernels: Mutex<[HashMap<String, wgpu::ComputePipeline>; 2]>,
    /// Why the device was lost, once it is.
    lost: Arc<Mutex<Option<String>>>,
}

/// Whether kernels can use subgroups. A browser demands a line `enable subgroups;` for that, which
/// naga 30 refuses, and need not number the subgroups of a workgroup.
fn has_subgroups(features: wgpu::Features, backend: wgpu::Backend) -> bool {
    features.contains(wgpu::Features::SUBGROUP) && backend != wgpu::Backend::BrowserWebGpu
}

/// What a kernel works on, by the number of the binding.
pub(crate) type Bindings<'a> = [(u32, BufferBinding<'a>)];

impl Context {
    /// With the tuning for its kind of device.
    pub(crate) fn standard(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let tuning = match device.adapter_info().device_type {
            wgpu::DeviceType::Cpu => Tuning::CPU,
            _ => Tuning::STANDARD,
        };
        Self::new(device, queue, tuning)
    }

    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue, mut tuning: Tuning) -> Self {
        let limits = device.limits();
        tuning.subgroups &= has_subgroups(device.features(), device.adapter_info().backend);
        let threads = limits.max_compute_invocations_per_workgroup;
        let planned = Limits {
            binding: limits.max_storage_buffer_binding_size,
            arrays: limits.max_storage_buffers_per_shader_stage,
            buffer: limits.max_buffer_size,
            alignment: limits.min_storage_buffer_offset_alignment.into(),
            threads: threads.min(limits.max_compute_workgroup_size_x),
            storage: limits.max_compute_workgroup_storage_size,
        };
        let planner = Planner { limits: planned, tuning };
        Self { device, queue, limits, planner, kernels: Mutex::default(), lost: Arc::default() }
    }

    /// Remembers why the device is lost. Only for a device that nobody else has: a device has room
    /// for one such function.
    pub(crate) fn listen(&self) {
        let lost = Arc::clone(&self.lost);
        self.device.set_device_lost_callback(move |reason, message| {
            // A program that destroys its device leaves no message.
            let message = if message.is_empty() { format!("{reason:?}") } else { message };
            *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
        });
    }

    /// Runs what may fail; its errors do not reach the handler of the program.
    pub(crate) fn guarded<R>(
        &self,
        during: &'static str,
        run: impl FnOnce() -> Result<R, WgpuError>,
    ) -> Result<R, WgpuError> {
        let filters = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let result = run();
        let mut errors = Vec::new();
        for scope in scopes.into_iter().rev() {
            errors.extend(pollster::block_on(scope.pop()));
        }
        // What failed first explains what failed after it: a buffer for which there was no memory
        // is not valid.
        let memory = |error: &wgpu::Error| matches!(error, wgpu::Error::OutOfMemory { .. });
        let first = errors.iter().find(|error| memory(error)).or(errors.first());
        match first {
            None => result,
            Some(error) if memory(error) => Err(WgpuError::OutOfMemory { what: during }),
            Some(error) => Err(self.failed(during, error)),
        }
    }

    /// The error for a failure of wgpu.
    pub(crate) fn failed(&self, during: &'static str, error: &dyn std::error::Error) -> WgpuError {
        // The device reports its loss when it is asked for news. What it answers does not matter.
        let _ = self.device.poll(wgpu::PollType::Poll);
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = error.to_string();
        match lost {
            Some(message) => WgpuError::DeviceLost { message },
            None if message.to_lowercase().contains("lost") => WgpuError::DeviceLost { message },
            None => WgpuError::DriverFailed { during, message },
        }
    }

    /// A buffer that kernels use. Sizes are rounded up to whole words.
    pub(crate) fn buffer(
        &self,
        what: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let size = bytes.next_multiple_of(4).max(4);
        Excess::check("bytes of one buffer", size, self.limits.max_buffer_size)?;
        let descriptor =
            wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
        self.guarded(what, || Ok(self.device.create_buffer(&descriptor)))
    }

    /// Compiles the kernels that are missing, side by side: each takes a driver tens of
    /// milliseconds. What fails here fails again when it is recorded, with its error.
    pub(crate) fn prepare<'t>(&self, texts: impl Iterator<Item = (&'t str, bool)>) {
        // A page has one thread.
        if cfg!(target_arch = "wasm32") {
            return;
        }
        let kernels = self.kernels();
        let missing: HashSet<_> = texts
            .filter(|(text, is_own)| !kernels[usize::from(*is_own)].contains_key(*text))
            .collect();
        drop(kernels);
        std::thread::scope(|scope| {
            for (text, is_own) in missing {
                scope.spawn(move || self.kernel(text, is_own));
            }
        });
    }

    fn kernels(&self) -> MutexGuard<'_, [HashMap<String, wgpu::ComputePipeline>; 2]> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The compiled form of a text. Those of users stay fully checked.
    pub(crate) fn kernel(
        &self,
        text: &str,
        is_own: bool,
    ) -> Result<wgpu::ComputePipeline, WgpuError> {
        if let Some(kernel) = self.kernels()[usize::from(is_own)].get(text) {
            return Ok(kernel.clone());
        }
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some("bijective shuffle"),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        };
        let compiled = self.guarded("compile a kernel", || {
            let module = if is_own {
                let mut checks = wgpu::ShaderRuntimeChecks::checked();
                checks.force_loop_bounding = false;
                // SAFETY: every loop of the crate's texts ends: those over items and rounds count
                // up to constants or to the length, a walk's steps are counted down, a look-back
                // comes nearer to the first tile at the latest after the turn in which it has
                // counted a missing tile itself, and each turn of the last resort's has a
                // later tile. All other checks stay.
                unsafe { self.device.create_shader_module_trusted(descriptor, checks) }
            } else {
                self.device.create_shader_module(descriptor)
            };
            Ok(self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("bijective shuffle"),
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: !is_own,
                    ..Default::default()
                },
                cache: None,
            }))
        });
        let kernel = match compiled {
            Err(WgpuError::DriverFailed { message, .. }) if !is_own => {
                return Err(WgpuError::CompileFailed { log: message });
            }
            compiled => compiled?,
        };
        self.kernels()[usize::from(is_own)].insert(text.into(), kernel.clone());
        Ok(kernel)
    }

    /// Records a kernel over this many tiles.
    pub(crate) fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        text: &str,
        is_own: bool,
        params: Params<'_>,
        bindings: &Bindings<'_>,
    ) -> Result<(), WgpuError> {
        for (_, buffer) in bindings {
            let size = buffer.size.map_or(buffer.buffer.size() - buffer.offset, u64::from);
            let most = self.limits.max_storage_buffer_binding_size;
            Excess::check("bytes of one binding", size, most)?;
        }
        let kernel = self.kernel(text, is_own)?;
        let (words, groups) = (params.words(), params.groups());
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let most = self.limits.max_uniform_buffer_binding_size;
        Excess::check("bytes of parameters", bytes.len() as u64, most)?;
        self.guarded("record a kernel", || {
            // Not mapped at its creation, which panics where there is no memory or no device.
            let params = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("parameters"),
                size: bytes.len() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.queue.write_buffer(&params, 0, bytes);
            let entries: Vec<_> = [(0, params.as_entire_buffer_binding())]
                .iter()
                .chain(bindings)
                .map(|&(binding, ref buffer)| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(buffer.clone()),
                })
                .collect();
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("bijective shuffle"),
                layout: &kernel.get_bind_group_layout(0),
                entries: &entries,
            });
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&kernel);
            pass.set_bind_group(0, &group, &[]);
            let most = self.limits.max_compute_workgroups_per_dimension;
            let columns = groups.min(most);
            pass.dispatch_workgroups(columns, groups.div_ceil(columns), 1);
            Ok(())
        })
    }
}

/// Some bytes of an array.
pub(crate) fn part_of<'b>(array: &BufferBinding<'b>, offset: u64, bytes: u64) -> BufferBinding<'b> {
    let (buffer, offset) = (array.buffer, array.offset + offset);
    BufferBinding { buffer, offset, size: wgpu::BufferSize::new(bytes) }
}

/// The first bytes of a buffer, at least one.
pub(crate) fn whole_of(buffer: &wgpu::Buffer, bytes: u64) -> BufferBinding<'_> {
    BufferBinding { buffer, offset: 0, size: wgpu::BufferSize::new(bytes.next_multiple_of(4)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::gpu;
    use bijective_shuffle_wgsl::shader;

    #[test]
    fn a_browser_gets_kernels_without_subgroups() {
        use wgpu::{Backend, Features};
        let (with, without) = (Features::SUBGROUP, Features::empty());
        assert!(has_subgroups(with, Backend::Vulkan));
        assert!(!has_subgroups(without, Backend::Vulkan));
        assert!(!has_subgroups(with, Backend::BrowserWebGpu));
    }

    /// A bijection that is not trusted may have the text of one that is.
    #[test]
    fn a_text_of_the_crate_is_another_kernel_as_a_users() {
        let Some(gpu) = gpu() else { return };
        let context = gpu.context();
        let text = shader::check(&context.planner.tuning);
        let kernel = |is_own| context.kernel(&text, is_own).expect("it compiles");
        assert!(kernel(true) != kernel(false));
        assert!(kernel(true) == kernel(true));
        assert!(kernel(false) == kernel(false));
    }
}
