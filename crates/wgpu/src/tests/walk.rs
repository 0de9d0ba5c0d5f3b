//! The text of [`WgslWalk`](crate::WgslWalk): its translations, and its values on a GPU.

use bijective_shuffle::{Permutation, Seed};
use naga::back::{glsl, hlsl, msl};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use wgpu::{BindGroupEntry, BufferUsages};

use super::gpu;
use crate::WgslWalk;

/// The text in the language of a file's name, without what belongs to a whole shader.
fn translated(extension: &str) -> String {
    let is_glsl = extension == "glsl";
    // The writer of GLSL asks for an entry point.
    let main = if is_glsl { "@compute @workgroup_size(1) fn main() {}" } else { "" };
    let module = naga::front::wgsl::parse_str(&(WgslWalk::TEXT.to_owned() + main)).expect("valid");
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .expect("a valid module");
    let mut out = String::new();
    // Loops end by themselves.
    match extension {
        "metal" => {
            let options = msl::Options { force_loop_bounding: false, ..Default::default() };
            let pipeline = msl::PipelineOptions::default();
            out = msl::write_string(&module, &info, &options, &pipeline).expect("Metal").0;
        }
        "hlsl" => {
            let options = hlsl::Options { force_loop_bounding: false, ..Default::default() };
            let pipeline = hlsl::PipelineOptions::default();
            let mut writer = hlsl::Writer::new(&mut out, &options, &pipeline);
            writer.write(&module, &info, None).expect("HLSL");
        }
        _ => {
            let version = glsl::Version::Desktop(430);
            let options = glsl::Options { version, ..Default::default() };
            let pipeline = glsl::PipelineOptions {
                shader_stage: naga::ShaderStage::Compute,
                entry_point: "main".into(),
                multiview: None,
            };
            glsl::Writer::new(&mut out, &module, &info, &options, &pipeline, Default::default())
                .and_then(|mut writer| writer.write())
                .expect("GLSL");
            let from = out.find("struct BsWalk").expect("the struct");
            let to = out.find("void main()").expect("the entry point");
            out = out[from..to].to_owned();
        }
    }
    let comment: Vec<&str> =
        WgslWalk::TEXT.lines().take_while(|line| line.starts_with("//")).collect();
    format!("{}\n\n{}\n", comment.join("\n"), out.trim())
}

#[test]
fn files_are_translations_of_the_text() {
    for extension in ["glsl", "hlsl", "metal"] {
        let path = format!("{}/../wgsl/shaders/walk.{extension}", env!("CARGO_MANIFEST_DIR"));
        let text = translated(extension);
        if std::env::var_os("UPDATE_SHADERS").is_some() {
            std::fs::write(&path, &text).expect("the folder is there");
        }
        let file = std::fs::read_to_string(&path).expect("a text");
        assert_eq!(file, text, "UPDATE_SHADERS=1 writes {path}");
    }
}

const KERNEL: &str = r"
    @group(0) @binding(0) var<uniform> order: BsWalk;
    @group(0) @binding(1) var<storage, read> places: array<u32>;
    @group(0) @binding(2) var<storage, read_write> out: array<vec2<u32>>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < arrayLength(&places)) {
            let item = bs_walk(places[id.x], order);
            out[id.x] = vec2<u32>(item, bs_walk_inverse(item, order));
        }
    }";

/// Every place of short orders, and some of long ones.
#[test]
fn values_on_a_gpu_are_those_of_the_walk() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.device();
    let text = WgslWalk::TEXT.to_owned() + KERNEL;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let long = (10..=32).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    for len in (257..=1000).chain(long).filter(|&len| len <= 1 << 32) {
        let seed = Seed::new(len * 77).with_epoch(len % 3);
        let words = WgslWalk::new(len, seed).expect("not a table").words();
        let places: Vec<u32> = match len {
            ..=1000 => (0..len as u32).collect(),
            _ => (0..500).map(|k| ((len - 1) * k / 499) as u32).collect(),
        };
        let buffer = |contents: &[u32], usage| {
            let contents = bytemuck::cast_slice(contents);
            device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
        };
        let out = vec![0; 2 * places.len()];
        let buffers = [
            buffer(&words, BufferUsages::UNIFORM),
            buffer(&places, BufferUsages::STORAGE),
            buffer(&out, BufferUsages::STORAGE | BufferUsages::COPY_SRC),
        ];
        let entries: Vec<BindGroupEntry<'_>> = (0..)
            .zip(&buffers)
            .map(|(binding, buffer)| BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(places.len().div_ceil(64) as u32, 1, 1);
        drop(pass);
        gpu.queue().submit([encoder.finish()]);
        let mut pairs = out;
        gpu.read(&buffers[2], buffers[2].size(), |bytes| {
            bytemuck::cast_slice_mut(&mut pairs).copy_from_slice(bytes);
        })
        .expect("the device is there");
        let order = Permutation::walk(len, seed);
        for (&place, pair) in places.iter().zip(pairs.chunks(2)) {
            let item = order.get(place.into()).expect("a place");
            assert_eq!(pair, [item as u32, place], "place {place} of {len}");
        }
    }
}
