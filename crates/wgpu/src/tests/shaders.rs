//! Every text, translated for every back end, without a device.

use naga::back::{glsl, hlsl, msl, spv};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::families;
use crate::WgslSource;
use bijective_shuffle_wgsl::shader::{
    self, FillNumbers, Move, RecordLayout, RecordSource, Status, Tuning, Units, WorkgroupTile,
};

/// Parses and validates a text, and writes it in each language. All kernels have one entry point.
fn translate(name: &str, text: &str) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{name}: {}\n{text}", error.emit_to_string(text)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}\n{text}", error.emit_to_string(text)));

    let words = spv::write_vec(&module, &info, &spv::Options::default(), None);
    assert!(!words.unwrap_or_else(|error| panic!("{name}, SPIR-V: {error}")).is_empty());

    let options = msl::Options { fake_missing_bindings: true, ..Default::default() };
    let pipeline = msl::PipelineOptions::default();
    let (text, _) = msl::write_string(&module, &info, &options, &pipeline)
        .unwrap_or_else(|error| panic!("{name}, Metal: {error}"));
    assert!(text.contains("kernel void"), "{name}");

    let mut text = String::new();
    let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
    let pipeline = hlsl::PipelineOptions::default();
    hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(&module, &info, None)
        .unwrap_or_else(|error| panic!("{name}, HLSL: {error}"));
    assert!(text.contains("numthreads(256"), "{name}");

    let mut text = String::new();
    let options = glsl::Options { version: glsl::Version::Desktop(430), ..Default::default() };
    let pipeline = glsl::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: "main".into(),
        multiview: None,
    };
    glsl::Writer::new(&mut text, &module, &info, &options, &pipeline, Default::default())
        .and_then(|mut writer| writer.write())
        .unwrap_or_else(|error| panic!("{name}, GLSL: {error}"));
    assert!(text.contains("local_size_x = 256"), "{name}");
}

#[test]
fn every_text_is_valid_for_every_back_end() {
    for subgroups in [false, true] {
        let tuning = &Tuning { subgroups, ..Tuning::STANDARD };
        texts_of_families(tuning);
        texts_of_moves(tuning);
        texts_of_passes(tuning);
    }
    texts_of_moves(&Tuning::CPU);
    let tuning = &Tuning::STANDARD;
    for item_bytes in [1, 2, 3, 6, 7] {
        translate("bytes", &shader::take_bytes(item_bytes, tuning));
    }
    translate("check", &shader::check(tuning));
    translate("invert", &shader::invert(tuning));
    for numbers in [FillNumbers::U32, FillNumbers::F32, FillNumbers::NormalF32, FillNumbers::F64] {
        translate("fill", &shader::fill(numbers, 10));
    }
}

const TILE: WorkgroupTile = WorkgroupTile { threads: 256, each: 8 };

fn texts_of_families(tuning: &Tuning) {
    for len in [3, 200, 1000, 1 << 20, 1 << 32] {
        for (name, bijection) in families(len) {
            let source = &WgslSource::from_bijection(&*bijection).expect(name);
            for is_inverted in [false, true] {
                for what in [Move::Gather, Move::Phases] {
                    let text = shader::whole(source, what, is_inverted, false, Units::WORD, tuning);
                    translate(name, &text);
                }
                let records = RecordSource::Source { source, is_inverted };
                translate(
                    name,
                    &shader::distribute(
                        records,
                        Units::WORD,
                        RecordLayout::Pairs,
                        TILE,
                        256,
                        tuning,
                    ),
                );
            }
            let text = shader::survivors(
                source,
                Move::Gather,
                Status::Short,
                false,
                false,
                Units::WORD,
                TILE,
                tuning,
            );
            translate(name, &text);
        }
    }
}

const STATUSES: [Status; 3] = [Status::Short, Status::Narrow, Status::Wide];

fn own() -> WgslSource {
    WgslSource::new(99, "fn forward(slot: u32) -> u32 { return param(0u) - slot; }", [99])
}

fn texts_of_moves(tuning: &Tuning) {
    let own = own();
    for what in [Move::Gather, Move::Scatter, Move::Indexes, Move::Places] {
        for item_bytes in [4, 8, 12, 16, 24, 48] {
            let units = Units::of(item_bytes).expect("whole words");
            if units != Units::WORD && matches!(what, Move::Indexes | Move::Places) {
                continue;
            }
            let name = format!("{what:?} of {item_bytes} bytes");
            for parts in [false, true] {
                translate(&name, &shader::whole(&own, what, false, parts, units, tuning));
                for status in STATUSES {
                    let is_resort = status == Status::Narrow;
                    let text = shader::survivors(
                        &own, what, status, parts, is_resort, units, TILE, tuning,
                    );
                    translate(&name, &text);
                }
            }
            translate(&name, &shader::take(units, tuning));
        }
    }
}

fn texts_of_passes(tuning: &Tuning) {
    for item_bytes in [4, 8, 16] {
        let units = Units::of(item_bytes).expect("whole words");
        let name = format!("a pass, {item_bytes} bytes");
        let layouts = match item_bytes {
            4 => &[RecordLayout::Pairs, RecordLayout::Halves][..],
            _ => &[RecordLayout::Apart],
        };
        for &layout in layouts {
            for records in [RecordSource::Listed, RecordSource::Bucket] {
                translate(&name, &shader::distribute(records, units, layout, TILE, 1024, tuning));
            }
            for is_dense in [false, true] {
                translate(&name, &shader::place(is_dense, units, layout, TILE, tuning));
            }
        }
    }
}

/// What WebGPU guarantees everywhere is enough.
#[test]
fn the_tuning_keeps_the_limits_of_every_device() {
    let limits = wgpu::Limits::default();
    let Tuning { slots, window, .. } = Tuning::STANDARD;
    let slots = slots.iter().map(|&(_, slots)| slots).max().expect("one at least");
    assert!(shader::THREADS <= limits.max_compute_invocations_per_workgroup);
    assert!(window <= shader::THREADS);
    // The stage, the counts with their gaps, and less than 32 other words.
    let words = shader::THREADS * slots + 272 + 16 + 32;
    assert!(4 * words <= limits.max_compute_workgroup_storage_size);
}
