//! A cloud of points that moves and is shuffled in every frame, without leaving the GPU: a renderer
//! that draws the first points of the buffer, always the same number, draws another random sample
//! of the cloud in each frame. Here nothing is drawn, and in the end every point is where it should
//! be.
//!
//! `cargo run --release --example points -- 1000000 100` takes a number of points, of which
//! there are at most 2^24, and of frames.

use bijective_shuffle::Cpu;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use bijective_shuffle_wgpu::{Wgpu, wgpu};
use wgpu::BufferUsages;

/// A point goes around the origin; its last component is its number.
const MOVE: &str = "
    @group(0) @binding(0) var<storage, read_write> points: array<vec4<f32>>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
        let at = id.y * groups.x * 64u + id.x;
        if (at >= arrayLength(&points)) { return; }
        let point = points[at];
        points[at] = vec4<f32>(-point.y, point.x, point.z + 1.0, point.w);
    }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let count: u32 = args.next().map_or(Ok(100_000), |arg| arg.parse())?;
    let frames: u32 = args.next().map_or(Ok(20), |arg| arg.parse())?;
    assert!(count <= 1 << 24, "larger numbers are no values of f32");
    let gpu = Wgpu::new()?;
    let (device, queue) = (gpu.device(), gpu.queue());

    let start = |k: u32| [1.0, k as f32 / count as f32, 0.0, k as f32];
    let cloud: Vec<[f32; 4]> = (0..count).map(start).collect();
    let bytes = u64::from(count) * 16;
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage,
            mapped_at_creation: false,
        })
    };
    let points = buffer(BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST);
    queue.write_buffer(&points, 0, bytemuck::cast_slice(&cloud));

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(MOVE.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: points.as_entire_binding() }],
    });

    let mut workspace = gpu.workspace();
    for frame in 0..frames {
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            let groups = count.div_ceil(64);
            pass.dispatch_workgroups(groups.min(32_768), groups.div_ceil(32_768), 1);
        }
        let order = Standard::from_seed(count.into(), u64::from(frame));
        workspace.shuffle(&mut encoder, &order, count.into(), &[(points.slice(..), 16)])?;
        // A renderer would draw from `points` here, in the same encoder.
        queue.submit([encoder.finish()]);
    }

    let staging = buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&points, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, Result::unwrap);
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let mapped = staging.slice(..).get_mapped_range()?;
    let mut moved: Vec<[f32; 4]> = bytemuck::cast_slice(&mapped).to_vec();

    // The same shuffles on the CPU, of the points' numbers.
    let mut numbers: Vec<u32> = (0..count).collect();
    for frame in 0..frames {
        Cpu.shuffle(&Standard::from_seed(count.into(), u64::from(frame)), &mut numbers)?;
    }
    assert!(moved.iter().map(|point| point[3] as u32).eq(numbers), "the order is another");
    moved.sort_unstable_by_key(|point| point[3] as u32);
    for (k, point) in (0..count).zip(moved) {
        let mut expected = start(k);
        for _ in 0..frames {
            expected = [-expected[1], expected[0], expected[2] + 1.0, expected[3]];
        }
        assert_eq!(point, expected, "point {k}");
    }
    println!("{count} points were moved and shuffled in {frames} frames");
    Ok(())
}
