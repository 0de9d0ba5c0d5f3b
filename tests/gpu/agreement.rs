//! The permutation of algorithm 1 where the shape of the work is particular to a GPU.

use bijective_shuffle::Error;
use bijective_shuffle::bijection::{Standard, Table, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::DevicePtr;
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace, RawArray};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::prelude::*;
use rayon::prelude::*;

use super::{STRATEGIES, cuda, reference};
use bijective_shuffle_laws::items::mix;
use bijective_shuffle_laws::{every_family, lengths, short};

/// Items of any number of bytes at any address, which are both only known at run time.
fn check_bytes(cuda: &Cuda, len: usize, size: usize, offset: usize) {
    let f = Standard::from_seed(len as u64, 7);
    let p = reference(&f, len);
    let stream = cuda.stream();
    // Each byte of an item is another, and bytes beside the items belong to none.
    let item = |index: u64| (0..size as u64).map(move |k| (mix(index + (k << 32)) >> 56) as u8);
    let of = |order: &[u64]| -> Vec<u8> {
        let mut bytes = vec![0xA5; offset];
        bytes.extend(order.iter().flat_map(|&index| item(index)));
        bytes.resize(bytes.len() + 64, 0xA5);
        bytes
    };
    let (original, shuffled) = (of(&(0..len as u64).collect::<Vec<_>>()), of(&p));
    let source = stream.clone_htod(&original).unwrap();
    let there = stream.clone_htod(&vec![0xA5_u8; original.len()]).unwrap();
    let back = stream.clone_htod(&vec![0xA5_u8; original.len()]).unwrap();
    let mut workspace = CudaWorkspace::new(cuda);
    {
        let [(from, _a), (to, _b), (again, _c)] =
            [&source, &there, &back].map(|bytes| bytes.device_ptr(stream));
        let [from, to, again] = [from, to, again].map(|address| address + offset as u64);
        let on_way = |source, out| RawArray { source, out, len, item_bytes: size };
        // SAFETY: from each address on there are `len * size` bytes and 64 more, of slices that are
        // kept until the stream has been waited for; no two of them overlap.
        unsafe { workspace.shuffle_raw(&f, on_way(from, to)) }.unwrap();
        // SAFETY: as many bytes of slices that live as long, and other ones for source and target.
        unsafe { workspace.unshuffle_raw(&f, on_way(to, again)) }.unwrap();
    }
    let [there, back] = [&there, &back].map(|bytes| stream.clone_dtoh(bytes).unwrap());
    stream.synchronize().unwrap();
    let what = format!("{len} items of {size} bytes at {offset}, {cuda:?}");
    assert!(there == shuffled, "{what}");
    assert!(back == original, "{what}, back");
}

#[test]
fn every_size_of_item_agrees() {
    let Some(_) = cuda() else { return };
    STRATEGIES.into_par_iter().for_each(|strategy| {
        let cuda = Cuda::new().unwrap().with_strategy(strategy);
        for size in [1, 2, 3, 4, 7, 8, 12, 16, 24, 64, 1000] {
            for len in [1, 100, 5000, 70_001] {
                check_bytes(&cuda, len, size, 0);
            }
        }
    });
    check_bytes(&Cuda::new().unwrap(), 1000, 1 << 16, 0);
}

#[test]
fn addresses_that_are_hardly_aligned_agree() {
    let Some(cuda) = cuda() else { return };
    for size in [4, 8, 16] {
        for offset in 0..8 {
            check_bytes(&cuda, 999, size, offset);
        }
    }
}

/// A `Permutation` on the GPU, and what it is made of, is the one on the CPU.
#[test]
fn views_agree() {
    let Some(_) = cuda() else { return };
    for len in lengths(16) {
        let cpu = Permutation::new(len, len + 2).with_backend(Backend::Cpu);
        let gpu = cpu.clone().with_backend(Backend::Cuda);
        assert_eq!(gpu.inverted().to_vec(), cpu.inverted().to_vec(), "length {len}, inverse");
        let walk = Permutation::walk(len, 3);
        assert_eq!(
            walk.clone().with_backend(Backend::Cuda).to_vec(),
            walk.to_vec(),
            "length {len}, walk"
        );
    }
    // Of two permutations as one there is a device text only where neither needs an index. Where
    // one does, the items are moved by one permutation and then the other.
    let (p, q) = (Permutation::new(4096, 1), Permutation::new(4096, 2).inverted());
    let both = p.then(&q).unwrap();
    assert_eq!(both.clone().with_backend(Backend::Cuda).to_vec(), both.to_vec());
    let p = Permutation::new(1000, 1);
    let both = p.then(&Permutation::new(1000, 2).inverted()).unwrap();
    assert_eq!(both.clone().with_backend(Backend::Cuda).to_vec(), both.to_vec());
    let table = Permutation::from_bijection(1000, Table::from_seed(1000, 1)).unwrap();
    let refused = p.then(&table).unwrap().with_backend(Backend::Cuda).try_to_vec();
    assert_eq!(refused.unwrap_err(), Error::Gpu(GpuError::NoSource));
}

/// Domains of more points than the body of tests has for every back end.
#[test]
fn wide_families_agree() {
    let Some(_) = cuda() else { return };
    let strategies = [CudaStrategy::SinglePass, CudaStrategy::Partitioned];
    strategies.into_par_iter().for_each(|strategy| {
        let cuda = Cuda::new().unwrap().with_strategy(strategy);
        for (name, f) in every_family(17, 9) {
            if f.device_source().is_none() {
                continue;
            }
            let points = f.last() + 1;
            for len in [points, points / 2 + 1, points - points / 3] {
                let mut indices = vec![0_u64; len as usize];
                cuda.write_indexes(&f, &mut indices).unwrap();
                assert!(indices == reference(&f, len as usize), "{name}, {len}, {strategy:?}");
            }
        }
    });
}

#[test]
fn many_tiles_a_block_agree() {
    let Some(cuda) = cuda() else { return };
    for &len in &[3_000_001, 3 << 19, 1 << 22][..if short() { 1 } else { 3 }] {
        let f = VariablePhilox::<24>::from_seed(len as u64, 4);
        let p = reference(&f, len);
        for strategy in STRATEGIES {
            let mut indices = vec![0_u32; len];
            cuda.clone().with_strategy(strategy).write_indexes(&f, &mut indices).unwrap();
            let is_right = indices.iter().map(|&x| u64::from(x)).eq(p.iter().copied());
            assert!(is_right, "{len}, {strategy:?}");
        }
    }
}

#[test]
fn lengths_of_one_domain_take_turns() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_strategy(CudaStrategy::Partitioned);
    let f = VariablePhilox::<24>::new(17, [7; 24]).unwrap();
    let mut workspaces = [CudaWorkspace::new(&cuda), CudaWorkspace::new(&cuda)];
    let stream = cuda.stream();
    // The same kernels with more shared memory, and with less again.
    for (turn, len) in [70_001, 71_500, 66_000, 80_000, 70_001, 100_000].into_iter().enumerate() {
        let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>()).unwrap();
        let mut out = stream.alloc_zeros::<u64>(len).unwrap();
        workspaces[turn % 2].shuffle_into(&f, &source, &mut out).unwrap();
        let got = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        assert!(got == reference(&f, len), "{len} items");
    }
}

#[test]
fn host_slices_of_several_threads_agree() {
    let Some(cuda) = cuda() else { return };
    let len = 300_000_u64;
    let f = Standard::from_seed(len, 1);
    let p = reference(&f, len as usize);
    let mut all: Vec<Vec<u64>> = vec![(0..len).collect(); 24];
    all.par_iter_mut().for_each(|items| cuda.shuffle(&f, items).unwrap());
    assert!(all.iter().all(|items| *items == p));
}
