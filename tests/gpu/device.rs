//! Bijections written by users, and work beside other work.

use bijective_shuffle::cudarc::driver::CudaContext;
use bijective_shuffle::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaStrategy, CudaWorkspace, DeviceSource};

use crate::{STRATEGIES, cuda, reference};

/// Counts backwards, on the device too.
struct Backwards {
    last: u64,
}

impl Bijection for Backwards {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        self.last - slot
    }
    fn inverse(&self, index: u64) -> u64 {
        self.last - index
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let text = "
            #ifndef BACKWARDS
            #define BACKWARDS
            struct Backwards {
                uint64_t last;
                __device__ uint64_t forward(uint64_t slot) const { return last - slot; }
                __device__ uint64_t inverse(uint64_t index) const { return last - index; }
            };
            #endif
        ";
        // SAFETY: the functions end, and touch nothing but the struct's own member.
        Some(unsafe { DeviceSource::new("Backwards", text, self.last.to_le_bytes().to_vec()) })
    }
}

#[test]
fn a_users_bijection_runs() {
    let Some(cuda) = cuda() else { return };
    for (len, last) in [(1, 0), (5, 9), (5, 4), (1000, 1000), (100_000, 150_000)] {
        for f in [Backwards { last }] {
            let mut items: Vec<u32> = (0..len).collect();
            let p: Vec<u32> = reference(&f, len as usize).iter().map(|&x| x as u32).collect();
            for strategy in STRATEGIES {
                let cuda = cuda.clone().with_strategy(strategy);
                cuda.shuffle(&f, &mut items).unwrap();
                assert_eq!(items, p);
                cuda.unshuffle(&f, &mut items).unwrap();
                assert!(items.iter().copied().eq(0..len));
                let mut indices = vec![0_u32; len as usize];
                cuda.indices(&f, &mut indices).unwrap();
                assert_eq!(indices, p);
            }
        }
    }
}

#[test]
fn composes_with_the_crates_own() {
    let Some(cuda) = cuda() else { return };
    let last = (1 << 12) - 1;
    let f = Compose::new(Backwards { last }, VariablePhilox::<24>::from_seed(last + 1, 2)).unwrap();
    let f = RandomSign::new(Inverse::new(f), true);
    let mut items: Vec<u64> = (0..3000).collect();
    cuda.shuffle(&f, &mut items).unwrap();
    assert_eq!(items, reference(&f, 3000));
}

#[test]
fn a_graph_replays() {
    let Some(_) = cuda() else { return };
    // Events that were recorded outside cannot be waited for within a capture, so a context without them is used.
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    // SAFETY: everything in this context is on one stream.
    unsafe { context.disable_event_tracking() };
    let cuda = Cuda::on_stream(context.new_stream().unwrap()).unwrap();
    for (len, strategy) in [
        (1000, CudaStrategy::Auto),
        (100_000, CudaStrategy::SinglePass),
        (100_000, CudaStrategy::Partitioned),
    ] {
        let cuda = cuda.clone().with_strategy(strategy);
        let stream = cuda.stream();
        let f = Standard::from_seed(len as u64, 1);
        let p = reference(&f, len);
        let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>()).unwrap();
        let mut out = stream.alloc_zeros::<u64>(len).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        workspace.reserve::<u64>(&f, len).unwrap();
        let held = workspace.bytes();
        stream.synchronize().unwrap();
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        let captured = workspace.shuffle_into(&f, &source, &mut out);
        assert_eq!(captured, Ok(()), "{len} items, {strategy:?}");
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().expect("something was captured");
        assert_eq!(workspace.bytes(), held);
        for _ in 0..3 {
            stream.memset_zeros(&mut out).unwrap();
            graph.launch().unwrap();
            let got = stream.clone_dtoh(&out).unwrap();
            stream.synchronize().unwrap();
            assert!(got == p, "{len} items, {strategy:?}");
        }
    }
}

#[test]
fn nothing_is_got_in_the_steady_state() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    for strategy in STRATEGIES {
        let cuda = cuda.clone().with_strategy(strategy);
        let mut workspace = CudaWorkspace::new(&cuda);
        let f = Standard::from_seed(100_000, 1);
        let held = workspace.reserve::<u64>(&f, 100_000).unwrap();
        let held = workspace.reserve_indices::<u32>(&f, 100_000).unwrap().max(held);
        let source = stream.alloc_zeros::<u64>(100_000).unwrap();
        let mut out = stream.alloc_zeros::<u64>(100_000).unwrap();
        let mut indices = stream.alloc_zeros::<u32>(100_000).unwrap();
        for epoch in 0..3 {
            let f = Standard::from_seed(100_000, Seed::new(1).epoch(epoch));
            workspace.shuffle_into(&f, &source, &mut out).unwrap();
            workspace.unshuffle_into(&f, &source, &mut out).unwrap();
            workspace.indices(&f, &mut indices).unwrap();
            assert_eq!(workspace.bytes(), held, "{strategy:?}");
        }
    }
}

#[test]
fn other_streams_are_waited_for() {
    let Some(cuda) = cuda() else { return };
    let other = Cuda::new().unwrap();
    let f = Standard::from_seed(1 << 20, 1);
    let p = reference(&f, 1 << 20);
    // Written on one stream, shuffled on another, read on the first again.
    let source = other.stream().clone_htod(&(0..1_u64 << 20).collect::<Vec<_>>()).unwrap();
    let mut out = other.stream().alloc_zeros::<u64>(1 << 20).unwrap();
    CudaWorkspace::new(&cuda).shuffle_into(&f, &source, &mut out).unwrap();
    let got = other.stream().clone_dtoh(&out).unwrap();
    other.stream().synchronize().unwrap();
    assert!(got == p);
}
