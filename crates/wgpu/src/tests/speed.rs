//! Figures, on request: `cargo test --release -- --ignored --nocapture speed` prints rows for
//! results/. What is timed is checked first.
//!
//! Times are the GPU's own, between two time stamps around several runs, since those of the host
//! include what wgpu does there. Each figure follows half a second of the same work, and each batch
//! of runs some copies: a GPU that was idle runs at a fifth of its clocks, and it is idle while the
//! host records many short runs.

use std::time::{Duration, Instant};

use bijective_shuffle::bijection::{MulXorshift, Standard, VariablePhilox};
use bijective_shuffle::{Bijection, Compactor, Cpu, FromSeed};
use wgpu::{BufferUsages, CommandEncoder, Features};

use crate::context::whole_of;
use crate::{Wgpu, WgslSource};
use bijective_shuffle_wgsl::shader::{PartitionShape, Status, Tuning, WorkgroupTile};

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

/// The tunings that are timed at a length, with their names: `VARIANTS` has the names of those that
/// are wanted, or nothing for all.
fn variants(width: f64, plus: u64) -> Vec<(String, Tuning)> {
    let auto = Tuning::STANDARD;
    let direct = Tuning { partitioned: u64::MAX, phase: u64::MAX, ..auto };
    let left_out = |one_of| Tuning { leaves_out: Some(one_of), ..direct };
    let mut variants = vec![("auto".into(), auto), ("direct".into(), direct)];
    let mut add = |name: String, tuning| variants.push((name, tuning));
    add("one phase".into(), Tuning { phase: u64::MAX, ..auto });
    for mib in [4, 8, 16] {
        add(format!("phases of {mib} MiB"), Tuning { phase: mib << 20, ..direct });
    }
    if plus == 0 && width < 24.0 {
        for items in [2, 8, 16] {
            add(format!("{items} items"), Tuning { items, ..direct });
        }
    }
    if plus == 1 {
        add("cleared".into(), Tuning { status: Some(Status::Narrow), ..direct });
        add("no subgroups".into(), Tuning { subgroups: false, ..direct });
        add("1 of 2 left out".into(), left_out(2));
        add("1 of 16 left out".into(), left_out(16));
        for patience in [2, 32] {
            add(format!("patience {patience}"), Tuning { patience, ..direct });
            add(
                format!("patience {patience}, 1 of 2 left out"),
                Tuning { patience, ..left_out(2) },
            );
        }
        const SLOTS: [(u32, &[(u32, u32)]); 4] =
            [(1, &[(0, 1)]), (2, &[(0, 2)]), (4, &[(0, 4)]), (8, &[(0, 8)])];
        for (number, slots) in SLOTS {
            {
                add(format!("{number} slots"), Tuning { slots, ..direct });
            }
        }
    }
    // "256,8,256,19,10;..": the threads and the records of a thread in a pass, those for a bucket
    // that is put in order, and the most bits of a pass.
    let shapes = std::env::var("SHAPES").unwrap_or("256,8,256,19,10;512,8,512,18,10".into());
    for numbers in shapes.split(';').filter(|_| width >= 22.0) {
        let words: Vec<u32> = numbers.split(',').map(|n| n.parse().expect("a number")).collect();
        let [threads, each, room_threads, room, bits] = words[..] else { panic!("{numbers}") };
        let room = WorkgroupTile { threads: room_threads, each: room };
        let records = Box::leak(Box::new([(0, each)]));
        let partition =
            PartitionShape { threads, records, rooms: [room; 2], bits, ..PartitionShape::STANDARD };
        let name = format!("partitioned {numbers}").replace(',', " ");
        add(name, Tuning { partition, partitioned: 0, ..auto });
    }
    let wanted = std::env::var("VARIANTS").unwrap_or_default();
    variants.retain(|(name, _)| {
        wanted.is_empty() || wanted.split(';').any(|wanted| name.starts_with(wanted))
    });
    variants
}

#[test]
#[ignore = "it takes minutes, and means something on a GPU only"]
fn speed() {
    let (gpu, info, opened) =
        opened(Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
    let start = Instant::now();
    let mut few = [0_u32; 1000];
    gpu.write_indexes(&Standard::from_seed(1000, 1), &mut few).expect("the default family");
    println!("# {}, {} {}", info.name, info.driver, info.driver_info);
    println!("# opened in {opened:?}, first call in {:?}", start.elapsed());
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
    let family = std::env::var("FAMILY").unwrap_or_default();
    let item_bytes = std::env::var("ITEM_BYTES").map_or(4, |bytes| bytes.parse().expect("bytes"));
    println!("what,len,variant,gitems_per_s,microseconds,tiles_counted_for_others");
    for width in widths.split(' ').map(|width| width.parse::<f64>().expect("a width")) {
        for plus in [0, 1] {
            let len = width.exp2() as u64 + plus;
            let f: &dyn Bijection = match &*family {
                "" => &Standard::from_seed(len, 42),
                "MulXorshift<20>" => &MulXorshift::<20>::from_seed(len, 42),
                "VariablePhilox<7>" => &VariablePhilox::<7>::from_seed(len, 42),
                "VariablePhilox<24>" => &VariablePhilox::<24>::from_seed(len, 42),
                family => panic!("{family}"),
            };
            let source = WgslSource::from_bijection(f).expect("it has a text");
            println!(
                "# texts of {} and {} bytes",
                source.text(false).len(),
                source.text(true).len()
            );
            let bytes = len * u64::from(item_bytes);
            let all = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
            let [from, into, indexes] = [bytes, bytes, 4 * len].map(|bytes| create(bytes, all));
            let words = item_bytes / 4;
            let items: Vec<u32> = (0..len as u32 * words).collect();
            gpu.queue().write_buffer(&from, 0, bytemuck::cast_slice(&items));
            let mut order = vec![0_u32; len as usize];
            Cpu.write_indexes(f, &mut order).expect("a bijection");
            let expected: Vec<u32> =
                order.iter().flat_map(|index| index * words..(index + 1) * words).collect();
            let estimate = len as f64 / 30e9 + 5e-6;
            let row = |what: &str, variant: &str, time: f64, counted: u32| {
                let speed = len as f64 / time / 1e9;
                println!("{what},{len},{variant},{speed:.2},{:.1},{counted}", 1e6 * time);
            };

            let mut workspace = gpu.workspace();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            workspace.write_indexes(&mut encoder, &f, len, indexes.slice(..)).expect("valid");
            gpu.queue().submit([encoder.finish()]);
            let time = clock.time(estimate, |encoder| {
                encoder.copy_buffer_to_buffer(&from, 0, &into, 0, bytes);
            });
            row("copy", "driver", time, 0);
            let mut workspace_of_takes = gpu.workspace();
            let mut take = |encoder: &mut CommandEncoder| {
                let [from, into] = [&from, &into].map(|buffer| whole_of(buffer, bytes));
                let indexes = whole_of(&indexes, 4 * len);
                workspace_of_takes
                    .record_take(encoder, len as u32, item_bytes, indexes, from, into)
                    .expect("valid");
            };
            let time = clock.time(estimate, &mut take);
            row("gather", "by given indexes", time, 0);
            let time = clock.time(estimate, |encoder| {
                workspace.write_indexes(encoder, &f, len, indexes.slice(..)).expect("valid");
            });
            row("indexes", "auto", time, 0);
            if width < 22.0 {
                let time = clock.time(estimate, |encoder| {
                    encoder.clear_buffer(&indexes, 0, Some(4096));
                    take(encoder);
                });
                row("gather", "and a buffer cleared", time, 0);
            }

            let read = |buffer: &wgpu::Buffer, words: &mut [u32]| {
                let bytes = 4 * words.len() as u64;
                gpu.read(buffer, bytes, |bytes| {
                    bytemuck::cast_slice_mut(words).copy_from_slice(bytes);
                })
                .expect("the device is there");
            };
            for (name, tuning) in variants(width, plus) {
                let mut workspace = gpu.tuned(tuning).workspace();
                let [from, into] = [&from, &into].map(|buffer| buffer.slice(..));
                let mut words = vec![0; items.len()];
                // What others have left there would be right.
                gpu.queue().write_buffer(into.buffer(), 0, bytemuck::cast_slice(&words));
                let time = clock.time(estimate, |encoder| {
                    workspace
                        .shuffle_into(encoder, &f, len, item_bytes, from, into)
                        .expect("valid");
                });
                read(into.buffer(), &mut words);
                assert!(words == expected, "{tuning:?}");
                let mut state = [0; 2];
                if let Some(last) = workspace.last_state() {
                    read(last, &mut state);
                }
                row("shuffle", &name, time, state[1]);
                // Back from what is shuffled, and checked as well.
                let back = create(bytes, all);
                let time = clock.time(estimate, |encoder| {
                    workspace
                        .unshuffle_into(encoder, &f, len, item_bytes, into, back.slice(..))
                        .expect("valid");
                });
                read(&back, &mut words);
                assert!(words == items, "{tuning:?}, and back");
                row("unshuffle", &name, time, state[1]);
                if plus == 1 && !name.starts_with("partitioned") {
                    let time = clock.time(estimate, |encoder| {
                        workspace.write_indexes(encoder, &f, len, back.slice(..)).expect("valid");
                    });
                    words.truncate(order.len());
                    read(&back, &mut words);
                    assert!(words == order, "{tuning:?}, indexes");
                    row("indexes", &name, time, 0);
                }
            }
        }
    }
}

/// The GPU with subgroups and more features, and how long it took to open.
fn opened(more: Features) -> (Wgpu, wgpu::AdapterInfo, Duration) {
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let adapter = pollster::block_on(instance.request_adapter(&options)).expect("a GPU");
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: adapter.limits(),
        required_features: more | Features::SUBGROUP,
        ..Default::default()
    };
    let start = Instant::now();
    let (device, queue) =
        pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
    (Wgpu::on_device(device, queue), adapter.get_info(), start.elapsed())
}

/// What the first shuffle and the first un-shuffle of a process take, and the second ones, with
/// arrays that are on the GPU: `LEN` has the length. With `__GL_SHADER_DISK_CACHE=0` NVIDIA's
/// driver compiles the kernels in every process.
#[test]
#[ignore = "it means something on a GPU, in a process of its own"]
fn first_call() {
    let len: u64 = std::env::var("LEN").expect("a length").parse().expect("a number");
    let (gpu, _, opened) = opened(Features::empty());
    let arrays = [(); 2].map(|()| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * len,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    });
    let done = |encoder: CommandEncoder| {
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).expect("the device is there");
    };
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    arrays.iter().for_each(|array| encoder.clear_buffer(array, 0, None));
    done(encoder);
    let [from, into] = arrays.each_ref().map(|array| array.slice(..));
    let f = Standard::from_seed(len, 42);
    let mut workspace = gpu.workspace();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!("len,opened,shuffle,again,unshuffle,again");
    print!("{len},{:.1}", milliseconds(opened));
    for is_undo in [false, false, true, true] {
        let start = Instant::now();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        match is_undo {
            false => workspace.shuffle_into(&mut encoder, &f, len, 4, from, into),
            true => workspace.unshuffle_into(&mut encoder, &f, len, 4, from, into),
        }
        .expect("valid");
        done(encoder);
        print!(",{:.1}", milliseconds(start.elapsed()));
    }
    println!();
}
