//! A device, and what was compiled for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::WgpuError;
use crate::shader::Tuning;

/// A device with its kernels, which engines and workspaces share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) tuning: Tuning,
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
pub(crate) type Bindings<'a> = [(u32, wgpu::BufferBinding<'a>)];

impl Context {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue, mut tuning: Tuning) -> Self {
        let limits = device.limits();
        tuning.subgroups &= has_subgroups(device.features(), device.adapter_info().backend);
        Self { device, queue, limits, tuning, kernels: Mutex::default(), lost: Arc::default() }
    }

    /// Remembers why the device is lost. Only for a device that nobody else has: a device has room
    /// for one such function.
    pub(crate) fn listen(&self) {
        let lost = Arc::clone(&self.lost);
        self.device.set_device_lost_callback(move |_, message| {
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
            Some(message) => WgpuError::Lost { message },
            None if message.to_lowercase().contains("lost") => WgpuError::Lost { message },
            None => WgpuError::Driver { during, message },
        }
    }

    /// Whether a size is within a limit.
    pub(crate) fn check_limit(what: &'static str, asked: u64, most: u64) -> Result<(), WgpuError> {
        if asked <= most { Ok(()) } else { Err(WgpuError::Limit { what, asked, most }) }
    }

    /// A buffer that kernels use. Sizes are rounded up to whole words.
    pub(crate) fn buffer(
        &self,
        what: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let size = bytes.next_multiple_of(4).max(4);
        Self::check_limit(what, size, self.limits.max_buffer_size)?;
        let descriptor =
            wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
        self.guarded(what, || Ok(self.device.create_buffer(&descriptor)))
    }

    /// The compiled form of a text. Those of users stay fully checked.
    fn kernel(&self, text: &str, is_own: bool) -> Result<wgpu::ComputePipeline, WgpuError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernels = &mut kernels[usize::from(is_own)];
        if let Some(kernel) = kernels.get(text) {
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
                // counted a missing tile itself, and each turn of the last resort's takes a
                // ticket, of which there are as many as tiles. All other checks stay.
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
            Err(WgpuError::Driver { message, .. }) if !is_own => {
                return Err(WgpuError::Compile { log: message });
            }
            compiled => compiled?,
        };
        kernels.insert(text.into(), kernel.clone());
        Ok(kernel)
    }

    /// Records a kernel over so many tiles.
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
            Self::check_limit("bytes of one binding", size, most)?;
        }
        let kernel = self.kernel(text, is_own)?;
        let (tiles, groups) = (params.tiles, params.groups.unwrap_or(params.tiles));
        let words: Vec<u32> = [params.len, params.last, tiles, params.launch]
            .into_iter()
            .chain(params.windows)
            .chain(params.sizes)
            .chain(params.keys.iter().flatten().copied())
            .chain(params.keys.is_empty().then_some([0; 4]).into_iter().flatten())
            .collect();
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let most = self.limits.max_uniform_buffer_binding_size;
        Self::check_limit("bytes of parameters", bytes.len() as u64, most)?;
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

/// The uniform buffer of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) len: u32,
    pub(crate) last: u32,
    pub(crate) tiles: u32,
    /// The workgroups, if they are not as many as tiles.
    pub(crate) groups: Option<u32>,
    /// A number that no other launch has that uses the same statuses.
    pub(crate) launch: u32,
    /// The first item and the number of items of the source, and of the target, that are bound,
    /// for kernels that move parts of arrays.
    pub(crate) windows: [u32; 4],
    /// What kernels of the partitioned strategy need beside.
    pub(crate) sizes: [u32; 4],
    pub(crate) keys: &'a [[u32; 4]],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader;
    use crate::tests::gpu;

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
        let text = shader::check(&context.tuning);
        let kernel = |is_own| context.kernel(&text, is_own).expect("it compiles");
        assert!(kernel(true) != kernel(false));
        assert!(kernel(true) == kernel(true));
        assert!(kernel(false) == kernel(false));
    }
}
