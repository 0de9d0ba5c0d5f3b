//! Arrays permuted by affine maps: the GPU does as the CPU.

use bijective_shuffle::affine::{BitMatrix, Network, parm, permute_in_place, permuted};
use bijective_shuffle::cudarc::driver::DeviceRepr;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaWorkspace};

use crate::{cuda, guarded};

fn maps(bits: u32) -> Vec<Affine> {
    let families = [
        BitMatrix::identity(bits),
        BitMatrix::bit_reversal(bits),
        BitMatrix::rotation(bits, 1),
        BitMatrix::array_transpose(bits / 2, bits - bits / 2),
        BitMatrix::gray_code(bits),
        BitMatrix::random(bits, 1),
    ];
    let offsets = [0, 0x9E37_79B9_7F4A_7C15];
    let maps = families.into_iter().zip(offsets.into_iter().cycle());
    maps.map(|(matrix, offset)| Affine::new(&matrix.unwrap(), offset).unwrap()).collect()
}

fn check<T: DeviceRepr + Copy + PartialEq + core::fmt::Debug + Send + Sync>(
    cuda: &Cuda,
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

#[test]
fn permutes_as_the_cpu_does() {
    let Some(cuda) = cuda() else { return };
    for bits in [0, 1, 5, 11, 12, 13, 14, 15, 17, 20] {
        check(&cuda, bits, 0xEE, |x| (x ^ x >> 8 ^ x >> 16) as u8 & 0x7F);
        check(&cuda, bits, 0xEEEE, |x| (x ^ x >> 16) as u16 & 0x7FFF);
        check(&cuda, bits, u32::MAX, |x| x as u32);
        check(&cuda, bits, u64::MAX, |x| x);
        check(&cuda, bits, [u64::MAX; 2], |x| [x, !x >> 1]);
    }
    for bits in [0, 7, 10, 13] {
        check(&cuda, bits, [u64::MAX; 8], |x| [x; 8]);
        check(&cuda, bits, [u32::MAX; 3], |x| [x as u32, 1, 2]);
        check(&cuda, bits, [0xFF_u8; 7], |x| [x as u8; 7].map(|byte| byte & 0x7F));
    }
}

#[test]
fn slices_that_begin_anywhere() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let source: Vec<u16> = (0..=u16::MAX).collect();
    for map in maps(15) {
        let expected = permuted(&map, &source[3..][..1 << 15]).unwrap();
        let from = stream.clone_htod(&source).unwrap();
        let mut out = stream.alloc_zeros::<u16>((1 << 15) + 5).unwrap();
        CudaWorkspace::new(&cuda)
            .permute_into(&map, &from.slice(3..3 + (1 << 15)), &mut out.slice_mut(5..))
            .unwrap();
        let got = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        assert!(got[5..] == expected && got[..5] == [0; 5], "{map:?}");
    }
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
fn the_sorting_network_sorts() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    for bits in [0, 1, 2, 7, 13, 16] {
        let network = Network::sorting(bits).unwrap();
        let items: Vec<u64> =
            (0..1 << bits).map(|x: u64| x.wrapping_mul(0x9E37_79B9_7F4A)).collect();
        let floats: Vec<f32> = items.iter().map(|&x| f32::from((x >> 20) as i16)).collect();
        let mut device = stream.clone_htod(&items).unwrap();
        let mut device_floats = stream.clone_htod(&floats).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        workspace.order_by_network(&network, &mut device).unwrap();
        workspace.order_by_network(&network, &mut device_floats).unwrap();
        let got = stream.clone_dtoh(&device).unwrap();
        let got_floats = stream.clone_dtoh(&device_floats).unwrap();
        stream.synchronize().unwrap();
        let (mut items, mut floats) = (items, floats);
        items.sort_unstable();
        floats.sort_unstable_by(f32::total_cmp);
        assert!(got == items && got_floats == floats, "{bits} bits");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let map = Affine::reversal(4).unwrap();
    let source = stream.alloc_zeros::<u32>(16).unwrap();
    let mut out = stream.alloc_zeros::<u32>(15).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let error = Err(Error::LengthMismatch { expected: 16, actual: 15 });
    assert_eq!(workspace.permute_into(&map, &source, &mut out), error);
    assert_eq!(workspace.permute_in_place(&map, &mut out), error);
    // SAFETY: it fails before anything is launched.
    let overlapping = unsafe { workspace.permute_raw(&map, 4096, 4096 + 60, 4) };
    assert_eq!(overlapping, Err(Error::Overlap));
}
