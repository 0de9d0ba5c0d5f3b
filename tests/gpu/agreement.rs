//! The same permutation as `Serial`, bit for bit, by every strategy, for every kind of item.

use bijective_shuffle::GpuError;
use bijective_shuffle::cudarc::driver::DeviceRepr;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaStrategy, CudaWorkspace};
use rayon::prelude::*;

use crate::common::{every_family, lengths, long};
use crate::{STRATEGIES, cuda, guarded, reference};

/// Shuffles there and back, three times each, and compares.
fn check<T: DeviceRepr + Copy + PartialEq + core::fmt::Debug>(
    cuda: &Cuda,
    f: &dyn Bijection,
    p: &[u64],
    poison: T,
    item: impl Fn(u64) -> T,
    name: &str,
) {
    let items: Vec<T> = (0..p.len() as u64).map(&item).collect();
    let shuffled: Vec<T> = p.iter().map(|&index| item(index)).collect();
    let at =
        || format!("{name}, {} items of {} bytes, {:?}", p.len(), size_of::<T>(), cuda.strategy());
    for _ in 0..3 {
        let there = guarded(cuda, poison, &items, |w, source, out| w.shuffle_into(f, source, out));
        assert!(there.unwrap() == shuffled, "{}", at());
        let back =
            guarded(cuda, poison, &shuffled, |w, source, out| w.unshuffle_into(f, source, out));
        assert!(back.unwrap() == items, "back: {}", at());
    }
}

/// Compares the indexes in both words.
fn check_indices(cuda: &Cuda, f: &dyn Bijection, p: &[u64], name: &str) {
    let at = || format!("{name}, {} indexes, {:?}", p.len(), cuda.strategy());
    let wide = guarded(cuda, u64::MAX, &vec![0; p.len()], |w, _, out| w.indices(f, out));
    assert!(wide.unwrap() == p, "{}", at());
    let narrow = guarded(cuda, u32::MAX, &vec![0; p.len()], |w, _, out| w.indices(f, out)).unwrap();
    assert!(narrow.iter().map(|&x| u64::from(x)).eq(p.iter().copied()), "{}", at());
}

#[test]
fn every_length_agrees() {
    let Some(cuda) = cuda() else { return };
    let most = if long() { 23 } else { 20 };
    lengths(most).into_par_iter().for_each(|len| {
        let f = Standard::from_seed(len, len + 1);
        let p = reference(&f, len as usize);
        let own = Cuda::new().unwrap();
        check_indices(&own, &f, &p, "Standard");
        check::<u64>(&own, &f, &p, u64::MAX, |x| x * 3, "Standard");
        check::<u32>(&own, &f, &p, u32::MAX, |x| x as u32, "Standard");
    });
    drop(cuda);
}

/// A `Permutation` on the GPU is the one on the CPU, and its inverse too.
#[test]
fn views_agree() {
    let Some(_) = cuda() else { return };
    for len in lengths(16) {
        let cpu = Permutation::new(len, len + 2).on(Backend::Cpu);
        let order: Vec<u64> = cpu.iter().collect();
        let items: Vec<u32> = (0..len as u32).map(|x| x ^ 0x5A5A).collect();
        let gpu = cpu.clone().on(Backend::Cuda);
        assert_eq!(gpu.to_vec(), order, "length {len}");
        assert_eq!(gpu.inverse().to_vec(), cpu.inverse().to_vec(), "length {len}, inverse");
        let shuffled = gpu.apply(&items).unwrap();
        assert_eq!(shuffled, cpu.apply(&items).unwrap(), "length {len}, applied");
        assert_eq!(gpu.inverse().apply(&shuffled).unwrap(), items, "length {len}, and back");
        let walk = Permutation::walk(len, 3);
        assert_eq!(walk.clone().on(Backend::Cuda).to_vec(), walk.to_vec(), "length {len}, walk");
        let mut there = items.clone();
        gpu.apply_in_place(&mut there).unwrap();
        gpu.inverse().apply_in_place(&mut there).unwrap();
        assert_eq!(there, items, "length {len}, in place");
    }
    // Of two permutations as one there is a device text only where neither needs an index.
    let (p, q) = (Permutation::new(4096, 1), Permutation::new(4096, 2).inverse());
    let both = p.then(&q).unwrap();
    assert_eq!(both.clone().on(Backend::Cuda).to_vec(), both.to_vec());
    let p = Permutation::new(1000, 1);
    let refused = p.then(&p).unwrap().on(Backend::Cuda).try_to_vec();
    assert_eq!(refused.unwrap_err(), Error::Gpu(GpuError::NoSource));
}

#[test]
fn every_strategy_agrees() {
    let Some(_) = cuda() else { return };
    let lengths =
        [1, 2, 5, 31, 32, 33, 64, 255, 256, 257, 2048, 4095, 4097, 70_000, 131_072, 131_073];
    let mut cases: Vec<(usize, CudaStrategy)> =
        lengths.iter().flat_map(|&len| STRATEGIES.map(|strategy| (len, strategy))).collect();
    let large = [(1 << 20, 1), (1 << 20, 0), (3 << 19, 0), (1 << 22, 0)];
    cases.extend(large.iter().flat_map(|&(len, more)| STRATEGIES.map(|s| (len + more, s))));
    cases.into_par_iter().for_each(|(len, strategy)| {
        let cuda = Cuda::new().unwrap().with_strategy(strategy);
        let f = VariablePhilox::<24>::from_seed(len as u64, 5);
        let p = reference(&f, len);
        check_indices(&cuda, &f, &p, "VariablePhilox");
        check::<u64>(&cuda, &f, &p, u64::MAX, |x| x * 3, "VariablePhilox");
        let grid = GridFeistel::<10>::from_seed(len as u64, 5);
        check::<u32>(&cuda, &grid, &reference(&grid, len), u32::MAX, |x| x as u32, "GridFeistel");
    });
}

#[test]
fn every_family_agrees() {
    let Some(_) = cuda() else { return };
    let widths = [1, 2, 3, 5, 8, 11, 14, 17];
    let strategies = [CudaStrategy::SinglePass, CudaStrategy::Partitioned];
    let cases: Vec<_> = widths.iter().flat_map(|&bits| strategies.map(|s| (bits, s))).collect();
    cases.into_par_iter().for_each(|(bits, strategy)| {
        let cuda = Cuda::new().unwrap().with_strategy(strategy);
        for (name, f) in every_family(bits, 9) {
            if f.device_source().is_none() {
                continue;
            }
            let points = f.last() + 1;
            for len in [points, points / 2 + 1, points - points / 3] {
                let p = reference(&f, len as usize);
                check_indices(&cuda, &f, &p, name);
                check::<u64>(&cuda, &f, &p, u64::MAX, |x| x * 3, name);
            }
        }
    });
}

#[test]
fn every_size_of_item_agrees() {
    let Some(_) = cuda() else { return };
    fn all<const SIZE: usize>(strategy: CudaStrategy)
    where
        [u8; SIZE]: DeviceRepr,
    {
        let cuda = Cuda::new().unwrap().with_strategy(strategy);
        for len in [1, 100, 5000, 70_001] {
            let f = Standard::from_seed(len as u64, 7);
            let p = reference(&f, len);
            let item =
                |x: u64| core::array::from_fn(|k| (x.wrapping_mul(0x9E37_79B9) >> (k % 24)) as u8);
            check::<[u8; SIZE]>(&cuda, &f, &p, [0xA5; SIZE], item, "Standard");
        }
    }
    STRATEGIES.into_par_iter().for_each(|strategy| {
        all::<1>(strategy);
        all::<2>(strategy);
        all::<3>(strategy);
        all::<4>(strategy);
        all::<7>(strategy);
        all::<8>(strategy);
        all::<12>(strategy);
        all::<16>(strategy);
        all::<24>(strategy);
        all::<64>(strategy);
        all::<1000>(strategy);
    });
    let cuda = Cuda::new().unwrap();
    let f = Standard::from_seed(1000, 7);
    let p = reference(&f, 1000);
    check::<[u64; 8192]>(&cuda, &f, &p, [9; 8192], |x| [x; 8192], "Standard, 64 KiB");
    check::<u128>(&cuda, &f, &p, 9, |x| u128::from(x) << 70, "Standard");
    check::<u8>(&cuda, &f, &p, 9, |x| x as u8, "Standard");
}

#[test]
fn views_that_are_hardly_aligned_agree() {
    let Some(cuda) = cuda() else { return };
    let f = Standard::from_seed(999, 7);
    let p = reference(&f, 999);
    let stream = cuda.stream();
    let items: Vec<[u8; 8]> = (0..1000_u64).map(u64::to_le_bytes).collect();
    let bytes: Vec<u8> = items.iter().flatten().copied().collect();
    for offset in 0..8 {
        let source = stream.clone_htod(&bytes).unwrap();
        let out = stream.alloc_zeros::<u8>(8000).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        {
            use bijective_shuffle::cudarc::driver::DevicePtr;
            let (from, _reading) = source.device_ptr(stream);
            let (to, _writing) = out.device_ptr(stream);
            // SAFETY: both are of 8000 bytes, of which 7992 from the offset on are used, and are
            // kept until the end of the loop, when the stream has been waited for.
            unsafe { workspace.shuffle_raw(&f, from + offset, to + offset, 999, 8) }.unwrap();
        }
        let got = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        let offset = offset as usize;
        for (k, &index) in p.iter().enumerate() {
            let (got, expected) =
                (&got[offset + 8 * k..][..8], &bytes[offset + 8 * index as usize..][..8]);
            assert_eq!(got, expected, "item {k} at offset {offset}");
        }
    }
}

#[test]
fn several_arrays_move_together() {
    let Some(cuda) = cuda() else { return };
    for len in [1, 300, 4097, 65_536, 100_000_usize] {
        let f = Standard::from_seed(len as u64, 3);
        let p = reference(&f, len);
        let stream = cuda.stream();
        let a: Vec<u64> = (0..len as u64).collect();
        let b: Vec<f32> = (0..len).map(|x| x as f32).collect();
        let c: Vec<[u8; 12]> = (0..len).map(|x| [x as u8; 12]).collect();
        let (da, db, dc) = (
            stream.clone_htod(&a).unwrap(),
            stream.clone_htod(&b).unwrap(),
            stream.clone_htod(&c).unwrap(),
        );
        let mut oa = stream.alloc_zeros::<u64>(len).unwrap();
        let mut ob = stream.alloc_zeros::<f32>(len).unwrap();
        let mut oc = stream.alloc_zeros::<[u8; 12]>(len).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        let all =
            workspace.arrays(&f, len).array(&da, &mut oa).unwrap().array(&db, &mut ob).unwrap();
        all.array(&dc, &mut oc).unwrap().shuffle().unwrap();
        let (ga, gb, gc) = (
            stream.clone_dtoh(&oa).unwrap(),
            stream.clone_dtoh(&ob).unwrap(),
            stream.clone_dtoh(&oc).unwrap(),
        );
        stream.synchronize().unwrap();
        for (k, &index) in p.iter().enumerate() {
            let index = index as usize;
            assert_eq!((ga[k], gb[k], gc[k]), (a[index], b[index], c[index]), "{k} of {len}");
        }
    }
}

#[test]
fn host_slices_agree() {
    let Some(cuda) = cuda() else { return };
    for len in [0, 1, 2, 257, 10_000, 1 << 16, 100_003_usize] {
        let p = Permutation::new(len as u64, 11);
        let on_gpu = p.clone().on(Backend::Cuda);
        assert_eq!(on_gpu.to_vec(), p.to_vec());
        let strings: Vec<String> = (0..len).map(|x| x.to_string()).collect();
        let mut moved = strings.clone();
        on_gpu.apply_in_place(&mut moved).unwrap();
        assert_eq!(moved, p.apply(&strings).unwrap());
        on_gpu.unapply_in_place(&mut moved).unwrap();
        assert_eq!(moved, strings);
        assert_eq!(on_gpu.apply(&strings).unwrap(), p.apply(&strings).unwrap());
        let mut empty = vec![(); len];
        cuda.shuffle(p.bijection(), &mut empty).unwrap();
    }
}

#[test]
fn many_tiles_a_block_agree() {
    let Some(cuda) = cuda() else { return };
    let len = 3_000_001;
    let f = VariablePhilox::<24>::from_seed(len as u64, 4);
    let p = reference(&f, len);
    for strategy in STRATEGIES {
        check_indices(&cuda.clone().with_strategy(strategy), &f, &p, "VariablePhilox");
    }
}

#[test]
fn lengths_of_one_domain_take_turns() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_strategy(CudaStrategy::Partitioned);
    let f = VariablePhilox::<24>::from_keys(17, [7; 24]);
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
