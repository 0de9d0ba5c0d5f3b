//! Random numbers have the same bits as the CPU's.

use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bytemuck::Pod;
use wgpu::{BufferUsages, CommandEncoder};

use super::errors::device;
use super::gpu;
use crate::{Wgpu, WgpuError, WgpuWorkspace};
use bijective_shuffle_wgsl::launch::Params;
use bijective_shuffle_wgsl::shader::{self, FillNumbers, Tuning};

const USAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC);

/// Compares a fill of a stream from a position on with the CPU's: numbers, and where it ends. The
/// buffer is longer, and what follows stays zero.
fn agrees<const ROUNDS: usize, T: Pod + Default>(
    gpu: &Wgpu,
    start: &Philox4x32Rng<ROUNDS>,
    len: usize,
    fill: impl Fn(
        &mut WgpuWorkspace,
        &mut CommandEncoder,
        &mut Philox4x32Rng<ROUNDS>,
        wgpu::BufferSlice<'_>,
    ) -> Result<(), WgpuError>,
    on_cpu: impl Fn(&mut Philox4x32Rng<ROUNDS>, &mut [T]),
) {
    let mut expected = vec![T::default(); len + 5];
    let mut after = start.clone();
    on_cpu(&mut after, &mut expected[..len]);
    let bytes = size_of_val(&expected[..]) as u64;
    let buffer = gpu.context().buffer("numbers", bytes, USAGE).expect("memory");
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let mut rng = start.clone();
    fill(&mut gpu.workspace(), &mut encoder, &mut rng, buffer.slice(..)).expect("it fits");
    gpu.queue().submit([encoder.finish()]);
    let mut words = vec![0_u32; bytes as usize / 4];
    gpu.read(&buffer, bytes, |bytes| {
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
    })
    .expect("the device is there");
    // Bits, since the sign of a zero is one.
    let expected: &[u32] = bytemuck::cast_slice(&expected);
    for (k, (word, expected)) in words.iter().zip(expected).enumerate() {
        assert!(word == expected, "word {k} of {len} from {start:?}: {word:x}, not {expected:x}");
    }
    assert_eq!(rng, after);
}

fn all_kinds<const ROUNDS: usize>(gpu: &Wgpu, start: &Philox4x32Rng<ROUNDS>, len: usize) {
    let n = len as u64;
    agrees(gpu, start, len, |w, e, r, into| w.fill_u32(e, r, n, into), |r, out| r.fill_u32(out));
    agrees(gpu, start, len, |w, e, r, into| w.fill_f32(e, r, n, into), |r, out| r.fill_f32(out));
    agrees(
        gpu,
        start,
        len,
        |w, e, r, into| w.fill_normal_f32(e, r, n, into),
        |r, out| r.fill_normal_f32(out),
    );
    agrees(gpu, start, len, |w, e, r, into| w.fill_u64(e, r, n, into), |r, out| r.fill_u64(out));
    agrees(gpu, start, len, |w, e, r, into| w.fill_f64(e, r, n, into), |r, out| r.fill_f64(out));
}

#[test]
fn numbers_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    // The ends of words of a position, and of the stream itself.
    for position in [0, 1, 2, 3, (1 << 34) - 6, (1 << 66) - 7] {
        for len in [0, 1, 2, 3, 4, 5, 1023, 1025, 4099] {
            let mut rng =
                Philox4x32Rng::<10>::from_key(0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210);
            rng.set_position(position);
            all_kinds(gpu, &rng, len);
        }
    }
    all_kinds(gpu, &Philox4x32Rng::<7>::from_key(5, 6), 1000);
    // Enough that all cases of the arithmetic come, and with `BIJECTIVE_SHUFFLE_LONG` more.
    let is_long = std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some();
    let len = if is_long { 1 << 26 } else { 1 << 18 };
    all_kinds(gpu, &Philox4x32Rng::<10>::from_key(42, 7), len);
}

/// No stream is long enough to give all cases of a number of 64 bits.
#[test]
fn unit_numbers_of_all_magnitudes() {
    let Some(gpu) = gpu() else { return };
    let powers = (0..64).map(|bit| 1_u64 << bit);
    let words: Vec<u64> = powers.flat_map(|one| [one, one - 1, !(one - 1), one | 0x5555]).collect();
    let text = format!(
        "@group(0) @binding(1) var<storage, read> bs_words: array<vec4<u32>>;
         @group(0) @binding(2) var<storage, read_write> bs_dst: array<vec4<u32>>;
         {}
         @compute @workgroup_size(bs_THREADS)
         fn main($entry) {{
           $begin
           if (number == 0u && t < bs_params.len) {{ bs_dst[t] = bs_numbers(bs_words[t]); }}
         }}",
        FillNumbers::F64.text(),
    );
    let context = gpu.context();
    let bytes = size_of_val(&words[..]) as u64;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    let from = context.buffer("words", bytes, usage).expect("memory");
    gpu.queue().write_buffer(&from, 0, bytemuck::cast_slice(&words));
    let into = context.buffer("numbers", bytes, USAGE).expect("memory");
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let params = Params { len: words.len() as u32 / 2, tiles: 1, ..Params::default() };
    let bindings = [(1, from.as_entire_buffer_binding()), (2, into.as_entire_buffer_binding())];
    let text = shader::simple(&text, &Tuning::STANDARD);
    context.record(&mut encoder, &text, true, params, &bindings).expect("it compiles");
    gpu.queue().submit([encoder.finish()]);
    let mut numbers = vec![0.0_f64; words.len()];
    gpu.read(&into, bytes, |bytes| bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes))
        .expect("the device is there");
    for (word, number) in words.iter().zip(numbers) {
        assert_eq!(number, (word >> 11) as f64 * (0.5_f64).powi(53), "{word:x}");
    }
}

#[test]
fn fills_longer_than_a_binding_are_made_in_parts() {
    if gpu().is_none() {
        return;
    }
    let gpu = device(|limits| limits.max_storage_buffer_binding_size = 1 << 16);
    let mut rng = Philox4x32Rng::<10>::from_key(1, 2);
    rng.skip(3);
    all_kinds(&gpu, &rng, 70_001);
}

#[test]
fn a_fill_that_does_not_fit_leaves_the_generator_as_it_was() {
    let Some(gpu) = gpu() else { return };
    let buffer = gpu.context().buffer("numbers", 400, USAGE).expect("memory");
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let mut rng = Philox4x32Rng::<10>::from_key(1, 2);
    for len in [101, 1 << 62, u64::MAX] {
        let error = gpu.workspace().fill_f32(&mut encoder, &mut rng, len, buffer.slice(..));
        assert!(matches!(error, Err(WgpuError::UnsuitableBuffer { fault }) if fault.contains("shorter")));
        assert_eq!(rng.position(), 0);
    }
}
