//! Arrays permuted by affine maps: the GPU does as the CPU.

use bijective_shuffle::Error;
use bijective_shuffle::affine::Affine;
use bijective_shuffle::affine::{BitMatrix, permuted};
use bijective_shuffle::cuda::cudarc::driver::DeviceRepr;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::error::GpuError;

use super::{cuda, guarded};
use bijective_shuffle_laws::short;

/// What can be in device memory and be looked at.
trait Item: DeviceRepr + Copy + PartialEq + core::fmt::Debug + Send + Sync {}

impl<T: DeviceRepr + Copy + PartialEq + core::fmt::Debug + Send + Sync> Item for T {}

const OFFSET: u64 = 0x9E37_79B9_7F4A_7C15;

fn maps(bits: u32) -> Vec<Affine> {
    let families = [
        BitMatrix::identity(bits),
        BitMatrix::bit_reversal(bits),
        BitMatrix::rotation(bits, 1),
        BitMatrix::array_transpose(bits / 2, bits - bits / 2),
        BitMatrix::gray_code(bits),
        BitMatrix::random(bits, 1),
        BitMatrix::identity(bits),
    ];
    let maps = families.into_iter().zip([0, OFFSET].into_iter().cycle());
    let maps = maps.map(|(matrix, offset)| Affine::new(&matrix.unwrap(), offset).unwrap());
    maps.chain([Affine::reversal(bits).unwrap()]).collect()
}

/// The two kinds that differ most, for large arrays.
fn few_maps(bits: u32) -> Vec<Affine> {
    let matrices = [BitMatrix::bit_reversal(bits), BitMatrix::random(bits, 2)];
    matrices.map(|matrix| Affine::new(&matrix.unwrap(), OFFSET).unwrap()).into()
}

fn check<T: Item>(
    cuda: &Cuda,
    maps: fn(u32) -> Vec<Affine>,
    bits: u32,
    poison: T,
    item: impl Fn(u64) -> T,
) {
    let source: Vec<T> = (0..1 << bits).map(item).collect();
    for map in maps(bits) {
        let expected = permuted(&map, &source).unwrap();
        let what = format!("{map:?}, items of {} bytes", size_of::<T>());
        let got = guarded(cuda, poison, &source, |workspace, source, out| {
            workspace.permute_into(&map, source, out)
        });
        assert!(got.unwrap() == expected, "{what}");
    }
}

/// Checks arrays that begin after these numbers of items.
fn check_at<T: Item>(
    cuda: &Cuda,
    maps: fn(u32) -> Vec<Affine>,
    bits: u32,
    (before_source, before_out): (usize, usize),
    item: impl Fn(u64) -> T,
) {
    let (stream, len) = (cuda.stream(), 1_usize << bits);
    let all: Vec<T> = (0..(before_source + len) as u64).map(&item).collect();
    let source = &all[before_source..];
    let empty = vec![item(1); before_out + len + 3];
    let from = stream.clone_htod(&all).unwrap();
    for map in maps(bits) {
        let expected = permuted(&map, source).unwrap();
        let what = format!("{map:?}, items of {} bytes", size_of::<T>());
        let mut workspace = CudaWorkspace::new(cuda);
        let mut out = stream.clone_htod(&empty).unwrap();
        let there = before_out..before_out + len;
        let from = from.slice(before_source..);
        workspace.permute_into(&map, &from, &mut out.slice_mut(there.clone())).unwrap();
        let got = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        assert!(got[there.clone()] == expected, "{what}");
        assert!(got[..before_out] == empty[..before_out], "before: {what}");
        assert!(got[there.end..] == empty[there.end..], "behind: {what}");
    }
}

fn byte(x: u64) -> u8 {
    (x ^ x >> 8 ^ x >> 16) as u8 & 0x7F
}

fn two_bytes(x: u64) -> u16 {
    (x ^ x >> 16) as u16 & 0x7FFF
}

#[test]
fn permutes_as_the_cpu_does() {
    let Some(cuda) = cuda() else { return };
    let step = if short() { 4 } else { 1 };
    for bits in [0, 1, 5, 10, 11, 12, 13, 14, 15, 17, 20].into_iter().step_by(step) {
        check(&cuda, maps, bits, 0xEE, byte);
        check(&cuda, maps, bits, 0xEEEE, two_bytes);
        check(&cuda, maps, bits, u32::MAX, |x| x as u32);
        check(&cuda, maps, bits, u64::MAX, |x| x);
        check(&cuda, maps, bits, [u64::MAX; 2], |x| [x, !x >> 1]);
    }
    for bits in [0, 7, 10, 13] {
        check(&cuda, maps, bits, [u64::MAX; 8], |x| [x; 8]);
    }
}

#[test]
fn items_that_are_not_of_a_power_of_two_of_words() {
    let Some(cuda) = cuda() else { return };
    let step = if short() { 2 } else { 1 };
    for bits in [0, 7, 9, 10, 13, 17].into_iter().step_by(step) {
        check(&cuda, maps, bits, [0xFF; 3], |x| [x, x >> 7, x >> 14].map(|x| x as u8 & 0x7F));
        check(&cuda, maps, bits, [0xFF; 7], |x| [byte(x); 7]);
        check(&cuda, maps, bits, [u16::MAX; 3], |x| [two_bytes(x), two_bytes(x >> 8), 1]);
        check(&cuda, maps, bits, [u32::MAX; 3], |x| [x as u32, 1, 2]);
        check(&cuda, maps, bits, [u64::MAX; 3], |x| [x, !x >> 1, 5]);
        // Words of 16 bytes, and items that are moved one by one.
        check(&cuda, maps, bits, [u64::MAX; 6], |x| [x, 1, 2, 3, 4, !x >> 1]);
        check(&cuda, maps, bits, [u32::MAX; 17], |x| [x as u32; 17]);
    }
    check(&cuda, few_maps, 22, [u32::MAX; 3], |x| [x as u32, 1, x as u32 >> 3]);
}

/// Enough items that blocks take several tiles, and that the tiles are those for large arrays.
#[test]
fn large_arrays_are_permuted_as_on_the_cpu() {
    let Some(cuda) = cuda() else { return };
    let less = if short() { 3 } else { 0 };
    check(&cuda, few_maps, 24 - less, 0xEE, byte);
    check(&cuda, few_maps, 22 - less, 0xEEEE, two_bytes);
    check(&cuda, few_maps, 22 - less, u32::MAX, |x| x as u32);
    check(&cuda, few_maps, 24 - less, u64::MAX, |x| x);
    check(&cuda, few_maps, 20 - less, [u64::MAX; 2], |x| [x, !x >> 1]);
    check(&cuda, few_maps, 24 - less, [0xFF; 3], |x| [byte(x), byte(x >> 7), byte(x >> 14)]);
    check(&cuda, few_maps, 22 - less, [u16::MAX; 3], |x| [two_bytes(x), two_bytes(x >> 8), 1]);
    // Word by word.
    check_at(&cuda, few_maps, 20 - less, (1, 3), |x| [byte(x), byte(x >> 7), byte(x >> 14)]);
    check_at(&cuda, few_maps, 25 - less, (1, 3), byte);
    check_at(&cuda, few_maps, 25 - less, (1, 3), two_bytes);
    check_at(&cuda, few_maps, 24 - less, (1, 3), |x| x as u32);
    check_at(&cuda, few_maps, 24 - less, (1, 3), |x| x);
}

#[test]
fn slices_that_begin_anywhere() {
    let Some(cuda) = cuda() else { return };
    let step = if short() { 3 } else { 1 };
    for before in [(1, 0), (0, 1), (1, 1), (3, 5), (7, 2)].into_iter().step_by(step) {
        for bits in [0, 5, 11, 12, 14, 15, 17].into_iter().step_by(step) {
            check_at(&cuda, maps, bits, before, byte);
            check_at(&cuda, maps, bits, before, two_bytes);
            check_at(&cuda, maps, bits, before, |x| x as u32);
            check_at(&cuda, maps, bits, before, |x| x);
            check_at(&cuda, maps, bits, before, |x| [x, !x]);
            check_at(&cuda, maps, bits, before, |x| [byte(x), 3, byte(x >> 8)]);
        }
    }
}

#[test]
fn permuting_refuses_unsuitable_lengths_and_maps() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let map = Affine::reversal(4).unwrap();
    let source = stream.alloc_zeros::<u32>(16).unwrap();
    let mut out = stream.alloc_zeros::<u32>(15).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let error = Err(Error::LengthMismatch { expected: 16, actual: 15 });
    assert_eq!(workspace.permute_into(&map, &source, &mut out), error);
    // Said before memory is taken for it.
    let large = stream.alloc_zeros::<[u8; (64 << 10) + 1]>(16).unwrap();
    let mut out = stream.alloc_zeros::<[u8; (64 << 10) + 1]>(16).unwrap();
    let error = Err(Error::Gpu(GpuError::ItemTooLarge { bytes: (64 << 10) + 1, most: 64 << 10 }));
    assert_eq!(workspace.permute_into(&map, &large, &mut out), error);
    assert_eq!(workspace.bytes(), 0);
}
