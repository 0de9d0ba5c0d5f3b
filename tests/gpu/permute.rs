//! Arrays permuted by affine maps: the GPU does as the CPU.

use bijective_shuffle::affine::Affine;
use bijective_shuffle::affine::MatrixError;
use bijective_shuffle::affine::{BitMatrix, Network, parm, permute_in_place, permuted};
use bijective_shuffle::cuda::cudarc::driver::DeviceRepr;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, DeviceNumber, RawArray};
use bijective_shuffle::error::BijectionError;
use bijective_shuffle::error::GpuError;
use bijective_shuffle::prelude::*;

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
        let got = guarded(cuda, poison, &source, |workspace, source, out| {
            workspace.stream().clone().memcpy_dtod(source, out).unwrap();
            workspace.permute_in_place(&map, out)
        });
        assert!(got.unwrap() == expected, "in place: {what}");
    }
}

/// With so many items before the arrays.
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
        workspace.permute_in_place(&map.inverted(), &mut out.slice_mut(there.clone())).unwrap();
        let got = stream.clone_dtoh(&out.slice(there)).unwrap();
        stream.synchronize().unwrap();
        assert!(got == source, "in place: {what}");
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

/// So many items that blocks take several tiles, and that the tiles are those for large arrays.
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
fn the_identity_takes_no_memory_in_place() {
    let Some(cuda) = cuda() else { return };
    let mut items = cuda.stream().clone_htod(&(0..1 << 12).collect::<Vec<u32>>()).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let identity = Affine::translation(12, 0).unwrap();
    workspace.permute_in_place(&identity, &mut items).unwrap();
    workspace.order_by_network(&Network::permutation(identity), &mut items).unwrap();
    let got = cuda.stream().clone_dtoh(&items).unwrap();
    cuda.stream().synchronize().unwrap();
    assert!(got.into_iter().eq(0..1 << 12));
    assert_eq!(workspace.bytes(), 0);
}

#[test]
fn parts_by_a_mask_are_those_of_the_cpu() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    for bits in [1, 4, 14, 16] {
        let items: Vec<u32> = (0..1 << bits).collect();
        let map = Affine::from_seed(1 << (bits - 1), 3);
        for mask in [1, 0b110, 1 << (bits - 1)].into_iter().filter(|&mask| mask < 1 << bits) {
            let mut expected = items.clone();
            parm(mask, &mut expected, |part| permute_in_place(&map, part)).unwrap();
            let mut device = stream.clone_htod(&items).unwrap();
            CudaWorkspace::new(&cuda)
                .parm(mask, &mut device, |workspace, part| workspace.permute_in_place(&map, part))
                .unwrap();
            let got = stream.clone_dtoh(&device).unwrap();
            stream.synchronize().unwrap();
            assert!(got == expected, "{bits} bits, mask {mask:b}");
        }
    }
}

#[test]
fn parts_within_parts() {
    let Some(cuda) = cuda() else { return };
    let items: Vec<u64> = (0..1 << 12).collect();
    let map = Affine::from_seed(1 << 10, 3);
    let whole = map.parm(0b101).unwrap().parm(0b11).unwrap();
    let mut device = cuda.stream().clone_htod(&items).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    // Twice, by memory that is there already the second time.
    for _ in 0..2 {
        workspace
            .parm(0b11, &mut device, |workspace, part| {
                workspace
                    .parm(0b101, part, |workspace, part| workspace.permute_in_place(&map, part))
            })
            .unwrap();
    }
    let got = cuda.stream().clone_dtoh(&device).unwrap();
    cuda.stream().synchronize().unwrap();
    assert!(got == permuted(&whole.then(&whole).unwrap(), &items).unwrap());
}

#[test]
fn a_part_that_fails_leaves_the_array_as_it_was() {
    let Some(cuda) = cuda() else { return };
    let items: Vec<u32> = (0..1 << 12).collect();
    let mut device = cuda.stream().clone_htod(&items).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    for fails_at in [0, 1] {
        let mut part_number = 0;
        let done = workspace.parm(0b1010, &mut device, |workspace, part| {
            workspace.permute_in_place(&Affine::reversal(11)?, part)?;
            part_number += 1;
            if part_number > fails_at {
                Err(Error::Bijection(BijectionError::EmptyDomain))
            } else {
                Ok(())
            }
        });
        assert_eq!(done, Err(Error::Bijection(BijectionError::EmptyDomain)));
        let got = cuda.stream().clone_dtoh(&device).unwrap();
        cuda.stream().synchronize().unwrap();
        assert!(got == items, "part {fails_at}");
    }
}

fn check_sorting<T: DeviceNumber + Copy + PartialEq>(
    cuda: &Cuda,
    network: &Network,
    items: Vec<T>,
    order: fn(&T, &T) -> core::cmp::Ordering,
) {
    let stream = cuda.stream();
    let mut device = stream.clone_htod(&items).unwrap();
    CudaWorkspace::new(cuda).order_by_network(network, &mut device).unwrap();
    let got = stream.clone_dtoh(&device).unwrap();
    stream.synchronize().unwrap();
    let mut sorted = items;
    sorted.sort_unstable_by(order);
    assert!(got == sorted, "{}, {} items", core::any::type_name::<T>(), sorted.len());
}

#[test]
fn the_sorting_network_sorts_every_type() {
    let Some(cuda) = cuda() else { return };
    for bits in [0, 1, 2, 7, 13, 16] {
        let network = Network::sorting(bits).unwrap();
        // Both halves of every type's range.
        let words: Vec<u64> = (0..1 << bits).map(|x: u64| (x + 1).wrapping_mul(OFFSET)).collect();
        fn all<T>(words: &[u64], number: impl Fn(u64) -> T) -> Vec<T> {
            words.iter().map(|&x| number(x)).collect()
        }
        check_sorting(&cuda, &network, all(&words, |x| (x >> 32) as u32), Ord::cmp);
        check_sorting(&cuda, &network, all(&words, |x| (x >> 32) as i32), Ord::cmp);
        check_sorting(&cuda, &network, all(&words, |x| x), Ord::cmp);
        check_sorting(&cuda, &network, all(&words, |x| x as i64), Ord::cmp);
        let floats = all(&words, |x| (x as i64 as f32) * 1e-10);
        check_sorting(&cuda, &network, floats, f32::total_cmp);
        let floats = all(&words, |x| (x as i64 as f64) * 1e-200);
        check_sorting(&cuda, &network, floats, f64::total_cmp);
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
    assert_eq!(workspace.permute_in_place(&map, &mut out), error);
    let overlapping = RawArray { source: 4096, out: 4096 + 60, len: 15, item_bytes: 4 };
    // SAFETY: it fails before anything is launched.
    assert_eq!(unsafe { workspace.permute_raw(&map, overlapping) }, error);
    let overlapping = RawArray { len: 16, ..overlapping };
    // SAFETY: it fails before anything is launched.
    let overlapping = unsafe { workspace.permute_raw(&map, overlapping) };
    assert_eq!(overlapping, Err(Error::Gpu(GpuError::Overlap)));

    // Said before memory is taken for it.
    let mut large = stream.alloc_zeros::<[u8; (64 << 10) + 1]>(16).unwrap();
    let error = Err(Error::Gpu(GpuError::ItemTooLarge { bytes: (64 << 10) + 1, most: 64 << 10 }));
    assert_eq!(workspace.permute_in_place(&map, &mut large), error);
    assert_eq!(workspace.parm(1, &mut large, |_, _| Ok(())), error);
    let overflowing = RawArray { source: 0, out: 16, len: 1 << 63, item_bytes: 3 };
    // SAFETY: it fails before anything is launched.
    let overflowing = unsafe { workspace.permute_raw(&Affine::reversal(63).unwrap(), overflowing) };
    assert_eq!(overflowing, Err(Error::Gpu(GpuError::OutOfMemory)));
    assert_eq!(workspace.bytes(), 0);
    assert_eq!(
        workspace.parm(0, &mut out, |_, _| Ok(())),
        Err(Error::Matrix(MatrixError::NotAPowerOfTwo { len: 15 }))
    );
    let mut source = source;
    assert_eq!(
        workspace.parm(16, &mut source, |_, _| Ok(())),
        Err(Error::Matrix(MatrixError::EmptyMask))
    );
}
