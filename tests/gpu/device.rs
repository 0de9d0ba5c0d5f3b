//! Bijections written by users, and work beside other work.

use bijective_shuffle::DeviceSource;
use bijective_shuffle::Error;
use bijective_shuffle::affine::Affine;
use bijective_shuffle::bijection::{Compose, Inverse, RandomSign, Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::sys::{
    CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode,
};
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaSlice, DriverError};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaStrategy, CudaStreams, CudaWorkspace};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::{Philox4x32Rng, Streams, Xorwow};

use super::{STRATEGIES, cuda, reference};
use crate::common::capture::{alone, capture};

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
                cuda.write_indexes(&f, &mut indices).unwrap();
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
    // SAFETY: each graph is dropped before the slices and the workspace of its round, and launched
    // in their stream.
    let cuda = unsafe { alone().with_capture() };
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
        let (captured, graph) = capture(stream, || workspace.shuffle_into(&f, &source, &mut out));
        assert_eq!(captured, Ok(()), "{len} items, {strategy:?}");
        let graph = graph.expect("something was captured");
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
fn an_engine_that_was_not_made_for_it_is_not_captured() {
    let Some(_) = cuda() else { return };
    let cuda = alone();
    let stream = cuda.stream();
    let f = Standard::from_seed(1000, 1);
    let source = stream.alloc_zeros::<u32>(1024).unwrap();
    let mut out = stream.alloc_zeros::<u32>(1024).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    workspace.reserve::<u32>(&f, 1000).unwrap();
    let ensemble = Streams::<Xorwow>::new(1, 0..8).unwrap();
    let mut streams = CudaStreams::new(&cuda, &ensemble).unwrap();
    let mut rng = Philox4x32Rng::<10>::new(42, 0);
    let reversal = Affine::reversal(10).unwrap();
    // All of them have run before, so that nothing else is missing.
    for is_captured in [false, true] {
        let mut calls = || {
            [
                workspace.shuffle_into(&f, &source.slice(..1000), &mut out.slice_mut(..1000)),
                workspace.write_indexes(&f, &mut out.slice_mut(..1000)),
                workspace.permute_into(&reversal, &source, &mut out),
                workspace.write_rows(&Permutations::new(64, 16, 1), 0, &mut out),
                streams.fill_u32(&mut out),
                cuda.fill_u32(&mut rng, &mut out),
                CudaStreams::new(&cuda, &ensemble).map(drop),
            ]
        };
        if is_captured {
            let (answers, graph) = capture(stream, calls);
            assert_eq!(answers, [const { Err(Error::Gpu(GpuError::StreamCaptured)) }; 7]);
            assert!(graph.is_none_or(|graph| graph.launch().is_ok()), "nothing was captured");
        } else {
            assert_eq!(calls(), [const { Ok(()) }; 7]);
        }
    }
    // Nor is it if the capture begins between an array and the call.
    let (from, mut to) = (source.slice(..1000), out.slice_mut(..1000));
    let arrays = workspace.arrays(&f, 1000).array(&from, &mut to).unwrap();
    let (answer, _) = capture(stream, || arrays.shuffle());
    assert_eq!(answer, Err(Error::Gpu(GpuError::StreamCaptured)));
    // And it goes on as before.
    assert_eq!(workspace.write_indexes(&f, &mut out.slice_mut(..1000)), Ok(()));
    stream.synchronize().unwrap();
}

/// A graph would keep the host's address, and not what is there.
#[test]
fn views_evaluated_by_the_host_are_not_captured() {
    let Some(_) = cuda() else { return };
    // SAFETY: there is no graph that could be launched.
    let cuda = unsafe { alone().with_capture() };
    let stream = cuda.stream();
    let mut workspace = CudaWorkspace::new(&cuda);
    let p = Permutation::from_bijection(100, Standard::from_seed(1 << 20, 1)).unwrap();
    let mut out = stream.alloc_zeros::<u64>(100).unwrap();
    let (answer, graph) = capture(stream, || workspace.write_range(&p, .., &mut out));
    assert_eq!(answer, Err(Error::Gpu(GpuError::StreamCaptured)));
    assert!(graph.is_none_or(|graph| graph.launch().is_ok()), "nothing was captured");
    workspace.write_range(&p, .., &mut out).unwrap();
    let got = stream.clone_dtoh(&out).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(got, p.to_vec());
}

/// Waiting for a slice that was written in another stream's capture would make the engine's stream
/// part of that capture.
#[test]
fn a_slice_of_another_streams_capture_is_refused() {
    let Some(_) = cuda() else { return };
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    let (ours, theirs) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let cuda = Cuda::on_stream(ours.clone()).unwrap();
    let mut group = CudaGroup::new(core::slice::from_ref(&cuda)).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let f = Standard::from_seed(1000, 1);
    let (source, mut ready) = (ours.alloc_zeros(1000), ours.alloc_zeros::<u64>(1000).unwrap());
    let source: [CudaSlice<u64>; 1] = [source.unwrap()];
    workspace.write_indexes(&f, &mut ready).unwrap();
    group.shuffle_into(&f, &source, core::slice::from_mut(&mut ready)).unwrap();
    for by_group in [false, true] {
        // SAFETY: nobody reads it before it is written.
        let mut out = unsafe { theirs.alloc::<u64>(1000) }.unwrap();
        context.synchronize().unwrap();
        theirs.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        theirs.memset_zeros(&mut out).unwrap();
        let answer = if by_group {
            group.shuffle_into(&f, &source, core::slice::from_mut(&mut out))
        } else {
            workspace.write_indexes(&f, &mut out)
        };
        assert_eq!(answer, Err(Error::Gpu(GpuError::StreamCaptured)));
        // The capture ends; whether with an error, since the engine's stream was drawn into it, is
        // the driver's affair.
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let _ = theirs.end_capture(flags);
        // The slice's events belong to the capture that has failed.
        let _ = context.check_err();
        core::mem::forget(out);
    }
    workspace.write_indexes(&f, &mut ready).unwrap();
    ours.synchronize().unwrap();
}

/// cudarc keeps an error that it cannot return, and its `synchronize` returns that before it waits.
#[test]
fn a_group_waits_although_an_error_has_been_kept() {
    let Some(_) = cuda() else { return };
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    let engines = [(); 2].map(|()| Cuda::on_stream(context.new_stream().unwrap()).unwrap());
    let group = CudaGroup::new(&engines).unwrap();
    let mut ballast: Vec<CudaSlice<u8>> =
        engines.iter().map(|engine| engine.stream().alloc_zeros(1 << 28).unwrap()).collect();
    let mut ends = Vec::new();
    for (engine, ballast) in engines.iter().zip(&mut ballast) {
        for _ in 0..100 {
            engine.stream().memset_zeros(ballast).unwrap();
        }
        ends.push(engine.stream().record_event(None).unwrap());
    }
    context.record_err::<()>(Err(DriverError(CUresult::CUDA_ERROR_UNKNOWN)));
    let kept = group.synchronize();
    assert!(matches!(kept, Err(Error::Gpu(GpuError::DriverFailed { code: 999, .. }))), "{kept:?}");
    assert!(ends.iter().all(|end| end.is_complete()));
    assert_eq!(group.synchronize(), Ok(()));
}

#[test]
fn a_group_is_not_captured() {
    let Some(_) = cuda() else { return };
    // SAFETY: there is no graph that could be launched.
    let cuda = unsafe { alone().with_capture() };
    let stream = cuda.stream();
    let mut group = CudaGroup::new(core::slice::from_ref(&cuda)).unwrap();
    let f = Standard::from_seed(1000, 1);
    let source = [stream.alloc_zeros::<u64>(1000).unwrap()];
    let mut out = [stream.alloc_zeros::<u64>(1000).unwrap()];
    let captured = [const { Err(Error::Gpu(GpuError::StreamCaptured)) }; 2];
    let mut calls =
        || [group.shuffle_into(&f, &source, &mut out), group.unshuffle_into(&f, &source, &mut out)];
    assert_eq!(calls(), [const { Ok(()) }; 2]);
    let (answers, graph) = capture(stream, &mut calls);
    assert_eq!(answers, captured);
    assert!(graph.is_none_or(|graph| graph.launch().is_ok()), "nothing was captured");
    assert_eq!(calls(), [const { Ok(()) }; 2]);
}

#[test]
fn a_graph_has_its_memory_when_the_workspace_has_grown() {
    let Some(_) = cuda() else { return };
    // SAFETY: the graph is dropped before the slices and the workspace, and launched in their
    // stream.
    let cuda = unsafe { alone().with_capture() };
    let cuda = cuda.with_strategy(CudaStrategy::Partitioned);
    let stream = cuda.stream();
    let (len, more) = (100_000, 3_000_000);
    let f = Standard::from_seed(len as u64, 1);
    let p = reference(&f, len);
    let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>()).unwrap();
    let mut out = stream.alloc_zeros::<u64>(len).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let held = workspace.reserve::<u64>(&f, len).unwrap();
    let (captured, graph) = capture(stream, || workspace.shuffle_into(&f, &source, &mut out));
    assert_eq!(captured, Ok(()));
    let graph = graph.expect("something was captured");

    let g = Standard::from_seed(more as u64, 2);
    let grown = workspace.reserve::<u64>(&g, more).unwrap();
    let numbers = stream.clone_htod(&(0..more as u64).collect::<Vec<_>>()).unwrap();
    let mut indices = stream.alloc_zeros::<u64>(more).unwrap();
    // What is freed now, others may have and write to.
    let mut others = Vec::new();
    for _ in 0..16 {
        others.push(stream.clone_htod(&vec![u64::MAX; held / 8]).unwrap());
    }
    for _ in 0..3 {
        workspace.shuffle_into(&g, &numbers, &mut indices).unwrap();
        stream.memset_zeros(&mut out).unwrap();
        graph.launch().unwrap();
        let got = stream.clone_dtoh(&out).unwrap();
        let all = stream.clone_dtoh(&indices).unwrap();
        stream.synchronize().unwrap();
        assert!(got == p);
        assert!(all == reference(&g, more));
    }
    for other in &others {
        let kept = stream.clone_dtoh(other).unwrap();
        stream.synchronize().unwrap();
        assert!(kept.iter().all(|&word| word == u64::MAX), "the graph wrote to memory of others");
    }
    // What the graph needs is counted, beside what took its place.
    assert!(grown > held);
    drop(graph);
}

#[test]
fn repeated_calls_allocate_nothing() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    for strategy in STRATEGIES {
        let cuda = cuda.clone().with_strategy(strategy);
        let mut workspace = CudaWorkspace::new(&cuda);
        let f = Standard::from_seed(100_000, 1);
        let held = workspace.reserve::<u64>(&f, 100_000).unwrap();
        let held = workspace.reserve_indexes::<u32>(&f, 100_000).unwrap().max(held);
        let source = stream.alloc_zeros::<u64>(100_000).unwrap();
        let mut out = stream.alloc_zeros::<u64>(100_000).unwrap();
        let mut indices = stream.alloc_zeros::<u32>(100_000).unwrap();
        for epoch in 0..3 {
            let f = Standard::from_seed(100_000, Seed::new(1).with_epoch(epoch));
            workspace.shuffle_into(&f, &source, &mut out).unwrap();
            workspace.unshuffle_into(&f, &source, &mut out).unwrap();
            workspace.write_indexes(&f, &mut indices).unwrap();
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

/// The default stream has one handle for all contexts, and means that of the thread's.
#[test]
fn working_memory_is_freed_in_its_own_context() {
    let Some(other) = cuda() else { return };
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    // SAFETY: everything in this context is on one stream. With events, waiting for them would
    // enter the context.
    unsafe { context.disable_event_tracking() };
    let stream = context.default_stream();
    let cuda = Cuda::on_stream(stream.clone()).unwrap().with_strategy(CudaStrategy::Partitioned);
    let len = (1 << 20) + 1;
    let f = Standard::from_seed(len, 3);
    let items: Vec<u64> = (0..len).collect();
    let source = stream.clone_htod(&items).unwrap();
    let mut out = stream.alloc_zeros::<u64>(len as usize).unwrap();
    let mut ballast = stream.alloc_zeros::<u8>(1 << 28).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    workspace.reserve::<u64>(&f, len as usize).unwrap();
    let bytes = workspace.bytes();
    stream.synchronize().unwrap();

    for _ in 0..100 {
        stream.memset_zeros(&mut ballast).unwrap();
    }
    workspace.shuffle_into(&f, &source, &mut out).unwrap();
    let primary = other.stream().context();
    primary.bind_to_thread().unwrap();
    drop(workspace);
    // If the memory were free by now, this would be the same, and its zeros would be among what the
    // kernels of the shuffle read.
    primary.bind_to_thread().unwrap();
    let later = primary.default_stream().alloc_zeros::<u8>(bytes).unwrap();
    let got = stream.clone_dtoh(&out).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(got, reference(&f, len as usize));
    primary.synchronize().unwrap();
    // The slices of this test are cudarc's, and freed where the thread is.
    drop(later);
    context.bind_to_thread().unwrap();
}
