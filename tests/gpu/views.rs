//! Parts of permutations in device memory are those of the host's views.

use bijective_shuffle::Error;
use bijective_shuffle::Word;
use bijective_shuffle::bijection::{CycleWalk, Standard};
use bijective_shuffle::cuda::cudarc::driver::DeviceRepr;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::error::{GpuError, ViewError};
use bijective_shuffle::prelude::*;

use super::cuda;
use bijective_shuffle_laws::{Numbers, lengths, short};

/// A range of a permutation, from the GPU.
fn range<B: Bijection, N: Word + DeviceRepr>(
    workspace: &mut CudaWorkspace,
    p: &Permutation<B>,
    places: core::ops::Range<u64>,
) -> Result<Vec<u64>, Error> {
    const GUARD: usize = 100;
    let stream = workspace.stream().clone();
    let len = (places.end - places.start) as usize;
    let poisoned = vec![N::MAX; len + 2 * GUARD];
    let mut out = stream.clone_htod(&poisoned).unwrap();
    let done = workspace.write_range(p, places, &mut out.slice_mut(GUARD..GUARD + len));
    let all = stream.clone_dtoh(&out).unwrap();
    stream.synchronize().unwrap();
    assert!(all[..GUARD].iter().chain(&all[GUARD + len..]).all(|&x| x == N::MAX));
    done.map(|()| all[GUARD..GUARD + len].iter().map(|&index| index.widen()).collect())
}

/// Some ranges of a length.
fn ranges(len: u64, numbers: &mut Numbers) -> Vec<core::ops::Range<u64>> {
    let mut all = vec![0..len, 0..0, len..len, 0..len / 2, len / 2..len, 0..len.min(1)];
    for _ in 0..if short() { 1 } else { 4 } {
        let (a, b) = (numbers.below(len + 1), numbers.below(len + 1));
        all.push(a.min(b)..a.max(b));
    }
    all
}

#[test]
fn ranges_are_those_of_the_host() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let mut numbers = Numbers(1);
    for len in lengths(13) {
        for places in ranges(len, &mut numbers) {
            // Without an index, and with one that an earlier range has built.
            let p = Permutation::new(len, len + 2);
            for _ in 0..2 {
                let expected: Vec<u64> = p.range(places.clone()).unwrap().collect();
                let fresh = Permutation::new(len, len + 2);
                let got = range::<_, u64>(&mut workspace, &fresh, places.clone()).unwrap();
                assert!(got == expected, "{places:?} of {len}");
                let got = range::<_, u32>(&mut workspace, &p, places.clone()).unwrap();
                assert!(got == expected, "{places:?} of {len}, in 32 bits");
            }
            let walk = Permutation::walk(len, len + 2);
            let expected: Vec<u64> = walk.range(places.clone()).unwrap().collect();
            let got = range::<_, u64>(&mut workspace, &walk, places.clone()).unwrap();
            assert!(got == expected, "{places:?} of {len}, walked");
            let back = walk.inverted();
            let expected: Vec<u64> = back.range(places.clone()).unwrap().collect();
            let got = range::<_, u64>(&mut workspace, &back, places.clone()).unwrap();
            assert!(got == expected, "{places:?} of {len}, walked back");
        }
    }
}

#[test]
fn parts_of_what_no_memory_holds() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    for len in [(1 << 33) + 5, 1 << 41, (1 << 50) + 7] {
        let walk = Permutation::walk(len, 3);
        let head = Permutation::new(len, 3);
        for start in [0, len / 3, len - 100_000] {
            let places = start..start + 100_000;
            let expected: Vec<u64> = walk.range(places.clone()).unwrap().collect();
            assert!(range::<_, u64>(&mut workspace, &walk, places).unwrap() == expected, "{len}");
        }
        let expected: Vec<u64> = head.iter().take(200_000).collect();
        let got = range::<_, u64>(&mut workspace, &head, 0..200_000).unwrap();
        assert!(got == expected, "the head of {len}");
    }
    let p = Permutation::new((1 << 41) + 1, 3);
    let refused = range::<_, u64>(&mut workspace, &p, 1 << 40..(1 << 40) + 10);
    assert!(matches!(refused, Err(Error::View(ViewError::IndexNotBuilt { .. }))));
}

#[test]
fn an_index_built_on_the_gpu_is_the_hosts() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let lens = [300, 5000, 70_001, (1 << 20) + 1, (3 << 20) - 1, (1 << 28) + 1];
    for &len in &lens[..if short() { 4 } else { 6 }] {
        let (ours, theirs) = (Permutation::new(len, 4), Permutation::new(len, 4));
        workspace.build_index(&ours).unwrap();
        theirs.build_index().unwrap();
        let [a, b] = [&ours, &theirs].map(|p| p.index_bytes());
        assert_eq!(a, b, "{len}");
        let mut numbers = Numbers(len);
        for _ in 0..1000 {
            let k = numbers.below(len);
            assert_eq!(ours.get(k).unwrap(), theirs.get(k).unwrap(), "{len}");
            assert_eq!(ours.position(k).unwrap(), theirs.position(k).unwrap(), "{len}");
        }
        let start = numbers.below(len);
        let places = start..len.min(start + 50_000);
        let expected: Vec<u64> = theirs.range(places.clone()).unwrap().collect();
        assert!(range::<_, u64>(&mut workspace, &ours, places).unwrap() == expected, "{len}");
    }
}

/// Where few of the slots survive, however many slots there are, the host lists them.
#[test]
fn few_of_many_slots() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    for points in [1 << 20, 1 << 40, 1 << 63] {
        let few = || Permutation::from_bijection(100, Standard::from_seed(points, 1)).unwrap();
        for places in [0..100, 0..1, 0..99, 20..70, 99..100] {
            let expected: Vec<u64> = few().range(places.clone()).unwrap().collect();
            let got = range::<_, u64>(&mut workspace, &few(), places.clone()).unwrap();
            assert!(got == expected, "{places:?} of 100 in {points}");
        }
    }
    // Two out of sixteen million are found sooner than all can be listed.
    let p = Permutation::from_bijection(1 << 24, Standard::from_seed(1 << 31, 1)).unwrap();
    let expected: Vec<u64> = p.head(2).collect();
    assert!(range::<_, u64>(&mut workspace, &p, 0..2).unwrap() == expected);
    assert!(p.index_bytes().is_none());
}

#[test]
fn many_points_are_looked_up_at_once() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let mut look_up = |cuda: &Cuda,
                       p: &Permutation<CycleWalk<Standard>>,
                       points: &[u64],
                       back: bool|
     -> Vec<u64> {
        let stream = cuda.stream();
        let points = stream.clone_htod(points).unwrap();
        let mut out = stream.alloc_zeros::<u64>(points.len()).unwrap();
        if back {
            workspace.position_many(p, &points, &mut out).unwrap();
        } else {
            workspace.get_many(p, &points, &mut out).unwrap();
        }
        let out = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        out
    };
    for len in [1, 17, 1000, (1 << 20) + 1, 1 << 32, (1 << 41) + 1] {
        let p = Permutation::walk(len, 6);
        let mut numbers = Numbers(len);
        let mut points: Vec<u64> = (0..10_000).map(|_| numbers.below(len + len / 8 + 1)).collect();
        points.extend([0, len - 1, len, u64::MAX]);
        let expected: Vec<u64> = points.iter().map(|&k| p.get(k).unwrap_or(u64::MAX)).collect();
        assert!(look_up(&cuda, &p, &points, false) == expected, "{len}");
        let expected: Vec<u64> =
            points.iter().map(|&x| p.position(x).unwrap_or(u64::MAX)).collect();
        assert!(look_up(&cuda, &p, &points, true) == expected, "{len}, back");
    }
}

#[test]
fn views_that_are_not_there_are_refused() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let mut out = cuda.stream().alloc_zeros::<u64>(10).unwrap();
    let points = cuda.stream().alloc_zeros::<u64>(10).unwrap();
    let p = Permutation::new(1000, 1);
    assert_eq!(
        workspace.write_range(&p, 995..1005, &mut out),
        Err(Error::View(ViewError::OutOfRange { start: 995, end: 1005, len: 1000 }))
    );
    assert_eq!(
        workspace.write_range(&p, 0..9, &mut out),
        Err(Error::LengthMismatch { expected: 9, actual: 10 })
    );
    assert_eq!(
        workspace.write_range(&p.inverted(), 0..10, &mut out),
        Err(Error::Gpu(GpuError::NoSource))
    );
    assert_eq!(workspace.get_many(&p, &points, &mut out), Err(Error::Gpu(GpuError::NoSource)));
    let mut narrow = cuda.stream().alloc_zeros::<u32>(10).unwrap();
    assert_eq!(
        workspace.write_range(&Permutation::walk((1 << 32) + 1, 1), 0..10, &mut narrow),
        Err(Error::IndexTooWide { len: (1 << 32) + 1, bits: 32 })
    );
}
