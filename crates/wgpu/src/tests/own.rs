//! A program's own buffers, and bijections in WGSL of a user.

use std::borrow::Cow;

use bijective_shuffle::bijection::{Lcg, MulXorshift, Standard};
use bijective_shuffle::error::Defect;
use bijective_shuffle::{Bijection, Compactor, Cpu, DeviceSource, Error, FromSeed, Trusted};
use wgpu::BufferUsages;
use wgpu::util::{BufferInitDescriptor, DeviceExt as _};

use super::gpu;
use crate::{AsWgsl, WgpuError, WgslError, WgslSource};

const ALL: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

fn buffer(device: &wgpu::Device, contents: &[u8]) -> wgpu::Buffer {
    device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage: ALL })
}

fn words(gpu: &crate::Wgpu, buffer: &wgpu::Buffer) -> Vec<u32> {
    let mut words = vec![0; buffer.size() as usize / 4];
    gpu.read(buffer, buffer.size(), |bytes| {
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
    })
    .expect("the device is there");
    words
}

/// All methods in one encoder, with parts of buffers, and what is outside of the parts unchanged.
#[test]
fn own_buffers_in_an_own_encoder() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.device();
    let mut workspace = gpu.workspace();
    for len in [100_usize, 5000] {
        let f = Standard::from_seed(len as u64, 5);
        let items: Vec<u32> = (0..len as u32).map(|k| k.wrapping_mul(77) + 1).collect();
        let pairs: Vec<u64> = items.iter().map(|&item| u64::from(item) << 20).collect();
        let bytes: Vec<u8> = items.iter().map(|&item| item as u8).collect();
        // 64 words before the items, and 3 behind them.
        let framed: Vec<u32> =
            [7; 64].into_iter().chain(items.iter().copied()).chain([9; 3]).collect();
        let from = buffer(device, bytemuck::cast_slice(&framed));
        let into = buffer(device, &vec![1; 4 * framed.len()]);
        let back = buffer(device, &vec![1; 4 * framed.len()]);
        let second = buffer(device, bytemuck::cast_slice(&pairs));
        // One byte too many for the items, in the word of the last.
        let mut padded = bytes.clone();
        padded.resize(len.next_multiple_of(4) + 4, 0xEE);
        let third = buffer(device, &padded);
        let indexes = buffer(device, &vec![0; 4 * len]);
        let mut encoder = device.create_command_encoder(&Default::default());
        let count = len as u64;
        workspace
            .shuffle_into(&mut encoder, &f, count, 4, from.slice(256..), into.slice(256..))
            .expect("valid");
        workspace
            .unshuffle_into(&mut encoder, &f, count, 4, into.slice(256..), back.slice(256..))
            .expect("valid");
        let arrays = [(second.slice(..), 8), (third.slice(..), 1)];
        workspace.shuffle(&mut encoder, &f, count, &arrays).expect("valid");
        workspace.write_indexes(&mut encoder, &f, count, indexes.slice(..)).expect("valid");
        gpu.queue().submit([encoder.finish()]);

        let expected = Cpu.shuffled(&f, &items).expect("valid");
        let shuffled = words(gpu, &into);
        assert_eq!(shuffled[64..64 + len], expected);
        assert_eq!(shuffled[..64], [0x0101_0101; 64]);
        assert_eq!(shuffled[64 + len..], [0x0101_0101; 3]);
        assert_eq!(words(gpu, &back)[64..64 + len], items);
        let expected = Cpu.shuffled(&f, &pairs).expect("valid");
        assert_eq!(bytemuck::cast_slice::<u32, u64>(&words(gpu, &second)), expected);
        let expected = Cpu.shuffled(&f, &bytes).expect("valid");
        let got = words(gpu, &third);
        let got: &[u8] = bytemuck::cast_slice(&got);
        assert_eq!(got[..len], expected);
        assert_eq!(got[len..], padded[len..]);
        let mut expected = vec![0_u32; len];
        Cpu.write_indexes(&f, &mut expected).expect("valid");
        assert_eq!(words(gpu, &indexes), expected);

        let mut encoder = device.create_command_encoder(&Default::default());
        workspace.unshuffle(&mut encoder, &f, count, &arrays).expect("valid");
        gpu.queue().submit([encoder.finish()]);
        assert_eq!(bytemuck::cast_slice::<u32, u64>(&words(gpu, &second)), pairs);
        assert_eq!(bytemuck::cast_slice::<u32, u8>(&words(gpu, &third)), padded);
    }
}

#[test]
fn users_text_is_evaluated() {
    let Some(gpu) = gpu() else { return };
    let backwards = "fn forward(slot: u32) -> u32 { return param(4u) - slot; }";
    for (last, len) in [(9, 10), (9999, 10_000), (9999, 3000)] {
        let source = WgslSource::new(last, backwards, [0, 0, 0, 0, last]);
        let mut items: Vec<u64> = (0..len).collect();
        gpu.shuffle(&source, &mut items).expect("a bijection");
        assert!(items.iter().copied().eq((0..len).rev()));
        gpu.unshuffle(&source, &mut items).expect("a bijection");
        assert!(items.iter().copied().eq(0..len));
        gpu.verify(&source, len).expect("a bijection");
        let rotate = "fn forward(slot: u32) -> u32 { return (slot + 3u) % (param(0u) + 1u); }";
        let source = WgslSource::new(last, rotate, [last]);
        let mut bytes: Vec<u8> = (0..len).map(|k| k as u8).collect();
        gpu.unshuffle(&source, &mut bytes).expect("a bijection");
        let order: Vec<u64> = (0..=u64::from(last))
            .map(|k| (k + 3) % (u64::from(last) + 1))
            .filter(|&k| k < len)
            .collect();
        assert!(order.iter().zip(0..).all(|(&to, k)| bytes[to as usize] == k as u8));
    }
}

#[test]
fn liars_lose_nothing() {
    let Some(gpu) = gpu() else { return };
    let defect = |last, text: &'static str, len: usize| {
        let source = WgslSource::new(last, text, [1, 2]);
        let items: Vec<u32> = (5..5 + len as u32).collect();
        for unshuffle in [false, true] {
            let mut moved = items.clone();
            let result = match unshuffle {
                false => gpu.shuffle(&source, &mut moved),
                true => gpu.unshuffle(&source, &mut moved),
            };
            assert_eq!(moved, items, "{text}");
            match result {
                Err(WgpuError::Shuffle(Error::NotABijection(defect))) => {
                    let verified = gpu.verify(&source, len as u64);
                    assert_eq!(verified, Err(Error::NotABijection(defect).into()));
                    if unshuffle {
                        return defect;
                    }
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        unreachable!()
    };
    let constant = "fn forward(slot: u32) -> u32 { return 0u; }";
    assert_eq!(defect(9, constant, 10), Defect::Repeats { index: 0, slots: None });
    let survivors = |expected, actual| Defect::Survivors { expected, actual };
    assert_eq!(defect(99_999, constant, 70_000), survivors(70_000, 70_001));
    let outside = "fn forward(slot: u32) -> u32 { return select(slot, 0xffffffffu, slot == 3u); }";
    assert_eq!(defect(9, outside, 10), survivors(10, 9));
    assert_eq!(defect(9999, outside, 5000), survivors(5000, 4999));
    let twice = "fn forward(slot: u32) -> u32 { return select(slot, 7u, slot == 8u); }";
    assert_eq!(defect(9999, twice, 10_000), Defect::Repeats { index: 7, slots: None });
    assert_eq!(defect(9999, twice, 5000), Defect::Repeats { index: 7, slots: None });
    // Of many that come again, the first that does.
    let halves = "fn forward(slot: u32) -> u32 { return slot / 2u; }";
    assert_eq!(defect(9999, halves, 10_000), Defect::Repeats { index: 0, slots: None });
    // More survivors than a word can count, which takes lavapipe some minutes.
    if std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some() {
        let verified = gpu.verify(&WgslSource::new(u32::MAX, constant, []), 70_000);
        assert_eq!(verified, Err(Error::NotABijection(survivors(70_000, 70_001)).into()));
    }
    // It writes where it is not to write, and it never ends; the GPU sees to both.
    let harm = "var<workgroup> x: array<u32, 4>;\n\
                fn forward(slot: u32) -> u32 { x[slot] = 1u; return x[slot + param(900u)] * 5u; }";
    assert!(matches!(defect(9999, harm, 5000), Defect::Survivors { .. } | Defect::Repeats { .. }));
}

/// One that has another bijection vouch for it, and the text of a third.
struct Borrower {
    vouched: MulXorshift<10>,
    text: Lcg,
}

impl Bijection for Borrower {
    fn last(&self) -> u64 {
        1023
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        self.vouched.trusted()
    }
    fn device_source(&self) -> Option<DeviceSource> {
        self.text.device_source()
    }
}

/// Only the form that is vouched for is evaluated, with its own text and its own domain.
#[test]
fn nobody_vouches_for_the_text_of_another() {
    let Some(gpu) = gpu() else { return };
    let text = Lcg::new(9, 5, 3).expect("512 points");
    let f = Borrower { vouched: MulXorshift::from_seed(1024, 1), text };
    for len in [1024_usize, 1000] {
        let items: Vec<u32> = (5..5 + len as u32).collect();
        let mut moved = items.clone();
        gpu.shuffle(&f, &mut moved).expect("another vouches for it");
        assert_eq!(moved, Cpu.shuffled(&f.vouched, &items).expect("valid"));
        gpu.unshuffle(&f, &mut moved).expect("another vouches for it");
        assert_eq!(moved, items);
        let [mut indexes, mut expected] = [0, 1].map(|_| vec![0_u32; len]);
        gpu.write_indexes(&f, &mut indexes).expect("another vouches for it");
        Cpu.write_indexes(&f.vouched, &mut expected).expect("valid");
        assert_eq!(indexes, expected);
    }
    let text = Lcg::new(10, 5, 3).expect("1024 points");
    refuses(gpu, &Borrower { vouched: MulXorshift::from_seed(512, 1), text }, 1024, 511);
}

/// One that claims more points than its source has.
struct Longer(WgslSource);

impl AsWgsl for Longer {
    fn last_point(&self) -> u64 {
        1 << 20
    }
    fn as_wgsl(&self) -> Result<Cow<'_, WgslSource>, WgslError> {
        Ok(Cow::Borrowed(&self.0))
    }
}

/// The domain that counts is the one that is evaluated.
#[test]
fn a_length_beyond_the_source_is_refused() {
    let Some(gpu) = gpu() else { return };
    let source =
        WgslSource::from_bijection(&Standard::from_seed(1000, 1)).expect("the default family");
    refuses(gpu, &Longer(source), 5000, 1023);
}

/// Checks that every call refuses `len` items, and leaves them as they are.
fn refuses(gpu: &crate::Wgpu, f: &impl AsWgsl, len: usize, last: u64) {
    let expected = WgpuError::from(Error::LengthExceedsDomain { len: len as u64, last });
    let items: Vec<u32> = (5..5 + len as u32).collect();
    let mut moved = items.clone();
    assert_eq!(gpu.shuffle(f, &mut moved), Err(expected.clone()));
    assert_eq!(gpu.unshuffle(f, &mut moved), Err(expected.clone()));
    assert_eq!(gpu.write_indexes(f, &mut moved), Err(expected.clone()));
    assert_eq!(moved, items);
    let device = gpu.device();
    let [from, into] = [0, 1].map(|_| buffer(device, bytemuck::cast_slice(&items)));
    let (mut workspace, count) = (gpu.workspace(), len as u64);
    let mut encoder = device.create_command_encoder(&Default::default());
    let result = workspace.shuffle_into(&mut encoder, f, count, 4, from.slice(..), into.slice(..));
    assert_eq!(result, Err(expected.clone()));
    let result = workspace.unshuffle(&mut encoder, f, count, &[(from.slice(..), 4)]);
    assert_eq!(result, Err(expected.clone()));
    let result = workspace.write_indexes(&mut encoder, f, count, into.slice(..));
    assert_eq!(result, Err(expected));
}

/// A walk along the cycles of a larger map may never end from a slot that is not in its domain.
#[test]
fn a_text_is_called_for_slots_of_its_domain_only() {
    let Some(gpu) = gpu() else { return };
    // It counts the other calls where kernels count tiles, since there is only one tile.
    let text = "fn forward(slot: u32) -> u32 {\n\
                if (slot > param(0u)) { atomicAdd(&bs_state[1], 1u); } return param(0u) - slot; }";
    let source = WgslSource::new(9, text, [9]);
    let mut workspace = gpu.workspace();
    let into = buffer(gpu.device(), &[0; 20]);
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    workspace.write_indexes(&mut encoder, &source, 5, into.slice(..)).expect("it is short");
    gpu.queue().submit([encoder.finish()]);
    assert_eq!(words(gpu, &into), [4, 3, 2, 1, 0]);
    assert_eq!(words(gpu, workspace.last_state().expect("there was a call"))[1..3], [0, 5]);
}

#[test]
fn users_text_that_does_not_compile_is_an_error() {
    let Some(gpu) = gpu() else { return };
    for text in [
        "",
        "fn forward(",
        "fn forward(slot: u32) -> f32 { return 1.0; }",
        "var<private> bs_dst: u32;",
    ] {
        let mut items = [1, 2, 3_u32];
        let error = gpu.shuffle(&WgslSource::new(2, text, []), &mut items).unwrap_err();
        assert!(matches!(error, WgpuError::CompileFailed { .. }), "{text}: {error:?}");
        assert_eq!(items, [1, 2, 3]);
    }
}
