//! Figures, on request: `cargo test --release -- --ignored --nocapture speed` prints rows for
//! results/. What is timed is checked first.
//!
//! Times are the GPU's own, between two time stamps around several runs, since those of the host
//! include what wgpu does there. Each figure follows half a second of the same work, and each batch
//! of runs some copies: a GPU that was idle runs at a fifth of its clocks, and it is idle while the
//! host records many short runs.

use std::time::{Duration, Instant};

use bijective_shuffle::{Compactor, Cpu, FromSeed, bijection::Standard};
use wgpu::{BufferUsages, CommandEncoder, Features};

use crate::Wgpu;
use crate::shader::Tuning;
use crate::workspace::whole_of;

const RUNS: usize = 7;

struct Clock<'a> {
    gpu: &'a Wgpu,
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// What the copies that keep the GPU busy copy.
    busy: [wgpu::Buffer; 2],
}

/// The size of these copies.
const BUSY: u64 = 1 << 26;

impl Clock<'_> {
    /// The median time of one run, in seconds.
    fn time(&self, estimate: f64, mut record: impl FnMut(&mut CommandEncoder)) -> f64 {
        let repeats = ((0.02 / estimate) as u32).clamp(3, 200);
        let mut batch = || {
            let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
            let [from, into] = &self.busy;
            for _ in 0..300 {
                encoder.copy_buffer_to_buffer(from, 0, into, 0, BUSY);
            }
            encoder.write_timestamp(&self.queries, 0);
            (0..repeats).for_each(|_| record(&mut encoder));
            encoder.write_timestamp(&self.queries, 1);
            encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
            self.gpu.queue().submit([encoder.finish()]);
            let mut ticks = [0_u64; 2];
            self.gpu
                .read(&self.resolved, 16, |bytes| {
                    bytemuck::cast_slice_mut(&mut ticks).copy_from_slice(bytes);
                })
                .expect("the device is there");
            let period = f64::from(self.gpu.queue().get_timestamp_period());
            (ticks[1] - ticks[0]) as f64 * period * 1e-9 / f64::from(repeats)
        };
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(500) {
            batch();
        }
        let mut times: Vec<f64> = (0..RUNS).map(|_| batch()).collect();
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    }
}

/// Tiles of which every other one posts nothing.
fn left_out_of_two() -> Tuning {
    Tuning { leaves_out: Some(2), ..Tuning::STANDARD }
}

#[test]
#[ignore = "it takes minutes, and means something on a GPU only"]
fn speed() {
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let adapter = pollster::block_on(instance.request_adapter(&options)).expect("a GPU");
    let info = adapter.get_info();
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: adapter.limits(),
        required_features: Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS,
        ..Default::default()
    };
    let start = Instant::now();
    let (device, queue) =
        pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
    let gpu = Wgpu::with_device(device, queue);
    let mut few = [0_u32; 1000];
    let opened = start.elapsed();
    gpu.indexes(&Standard::from_seed(1000, 1), &mut few).expect("the default family");
    println!("# {}, {} {}", info.name, info.driver, info.driver_info);
    println!("# opened in {opened:?}, first call in {:?}", start.elapsed() - opened);
    println!("# largest binding {}", gpu.device().limits().max_storage_buffer_binding_size);
    let create = |bytes, usage| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage,
            mapped_at_creation: false,
        })
    };
    let clock = Clock {
        gpu: &gpu,
        queries: gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        }),
        resolved: create(16, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
        busy: [BufferUsages::COPY_SRC, BufferUsages::COPY_DST].map(|usage| create(BUSY, usage)),
    };
    let widths = std::env::var("WIDTHS").unwrap_or("18 20 22 24 26 28".into());
    let standard = Tuning::STANDARD;
    println!("what,len,slots,items,window,patience,left_out,gitems_per_s");
    for width in widths.split(' ').map(|width| width.parse::<u32>().expect("a width")) {
        for plus in [0, 1] {
            let len = (1_u64 << width) + plus;
            let f = Standard::from_seed(len, 42);
            let all = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
            let [from, into, indexes] = [(); 3].map(|()| create(4 * len, all));
            let items: Vec<u32> = (0..len as u32).collect();
            gpu.queue().write_buffer(&from, 0, bytemuck::cast_slice(&items));
            let mut expected = items.clone();
            Cpu.write_indexes(&f, &mut expected).expect("the default family");
            let estimate = len as f64 / 30e9 + 5e-6;
            let row = |what, tuning: &Tuning, time: f64| {
                let Tuning { slots, items, window, patience, leaves_out, .. } = tuning;
                let left_out = leaves_out.unwrap_or(0);
                let speed = len as f64 / time / 1e9;
                println!("{what},{len},{slots},{items},{window},{patience},{left_out},{speed:.2}");
            };

            let mut workspace = gpu.workspace();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            workspace.indexes(&mut encoder, &f, len, indexes.slice(..)).expect("valid");
            gpu.queue().submit([encoder.finish()]);
            let time = clock.time(estimate, |encoder| {
                encoder.copy_buffer_to_buffer(&from, 0, &into, 0, 4 * len);
            });
            row("copy", &standard, time);
            let time = clock.time(estimate, |encoder| {
                let [indexes, from, into] =
                    [&indexes, &from, &into].map(|buffer| whole_of(buffer, 4 * len));
                workspace.record_take(encoder, len as u32, 4, indexes, from, into).expect("valid");
            });
            row("gather", &standard, time);

            let mut tunings = vec![standard];
            if plus == 0 {
                tunings.extend([4, 16].map(|items| Tuning { items, ..standard }));
            } else {
                tunings.extend([left_out_of_two(), Tuning { leaves_out: Some(16), ..standard }]);
            }
            if plus == 1 && width < 24 {
                tunings.extend([4, 16].map(|slots| Tuning { slots, ..standard }));
                tunings.extend([32, 256].map(|window| Tuning { window, ..standard }));
                tunings.push(Tuning { window: 256, slots: 4, ..standard });
                tunings.extend([8, 32].map(|patience| Tuning { patience, ..standard }));
                tunings.push(Tuning { patience: 8, ..left_out_of_two() });
            }
            for tuning in tunings {
                let mut workspace = gpu.tuned(tuning).workspace();
                let mut shuffle = |encoder: &mut CommandEncoder| {
                    workspace
                        .shuffle_into(encoder, &f, len, 4, from.slice(..), into.slice(..))
                        .expect("valid");
                };
                let time = clock.time(estimate, &mut shuffle);
                let mut words = items.clone();
                gpu.read(&into, 4 * len, |bytes| {
                    bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
                })
                .expect("the device is there");
                assert!(words == expected, "{tuning:?}");
                row("shuffle", &tuning, time);
                let mut state = [0_u32; 8];
                let buffer = workspace.state(0).expect("it is there");
                gpu.read(&buffer, 32, |bytes| {
                    bytemuck::cast_slice_mut(&mut state).copy_from_slice(bytes);
                })
                .expect("the device is there");
                println!("# {} tiles were counted for others", state[1]);
            }
            let time = clock.time(estimate, |encoder| {
                workspace
                    .unshuffle_into(encoder, &f, len, 4, from.slice(..), into.slice(..))
                    .expect("valid");
            });
            row("unshuffle", &standard, time);
        }
    }
}
