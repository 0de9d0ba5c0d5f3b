//! Slices that several streams use: nobody overwrites or frees one under a kernel.
//!
//! A stream is held up by a function of the host in front of its kernels, so that what does not
//! wait for them comes first.

use std::ffi::c_void;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bijective_shuffle::Error;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, result};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaWorkspace};
use bijective_shuffle::prelude::*;

use super::cuda;
use bijective_shuffle_laws::agreement::reference;

const LEN: usize = 100_000;

unsafe extern "C" fn sleep(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(100));
}

/// Lets a tenth of a second pass in a stream before what comes next.
fn hold_up(stream: &CudaStream) {
    // SAFETY: the stream exists, and the function uses no argument.
    unsafe {
        result::stream::launch_host_function(stream.cu_stream(), sleep, std::ptr::null_mut())
    }
    .unwrap();
}

/// Streams of a context of their own, and a workspace on each of the first two.
struct Several {
    context: Arc<CudaContext>,
    streams: [Arc<CudaStream>; 4],
    workspaces: [CudaWorkspace; 2],
    f: Standard,
    g: Standard,
}

impl Several {
    fn new() -> Option<Self> {
        cuda()?;
        let context = CudaContext::new_non_primary(0, 0).unwrap();
        let streams = [(); 4].map(|()| context.new_stream().unwrap());
        let workspace =
            |k: usize| CudaWorkspace::new(&Cuda::on_stream(streams[k].clone()).unwrap());
        let mut workspaces = [workspace(0), workspace(1)];
        let (f, g) = (Standard::from_seed(LEN as u64, 1), Standard::from_seed(8, 2));
        // Nothing is compiled, loaded or allocated later, which may wait for the device.
        for workspace in &mut workspaces {
            workspace.reserve::<u64>(&f, LEN).unwrap();
            workspace.reserve::<u64>(&f, LEN / 2).unwrap();
            workspace.reserve::<u64>(&g, 8).unwrap();
        }
        Some(Self { context, streams, workspaces, f, g })
    }

    /// The numbers from 0 on, made in one of the streams.
    fn source(&self, home: usize) -> CudaSlice<u64> {
        let source = self.streams[home].clone_htod(&(0..LEN as u64).collect::<Vec<_>>()).unwrap();
        self.context.synchronize().unwrap();
        source
    }

    /// What a slice of any stream holds, when all streams have finished.
    fn contents(&self, slice: &CudaSlice<u64>) -> Vec<u64> {
        self.context.synchronize().unwrap();
        let contents = self.streams[3].clone_dtoh(slice).unwrap();
        self.context.synchronize().unwrap();
        self.context.check_err().unwrap();
        contents
    }
}

/// Both readers are ours, and the source is then overwritten in whatever stream, or dropped.
#[test]
fn a_source_of_two_shuffles_outlives_the_longer_one() {
    let Some(mut several) = Several::new() else { return };
    let expected = reference(&several.f, LEN);
    for home in 0..4 {
        for last in 0..5 {
            let mut source = several.source(home);
            let mut out = several.streams[0].alloc_zeros::<u64>(LEN).unwrap();
            let mut few = several.streams[1].alloc_zeros::<u64>(8).unwrap();
            several.context.synchronize().unwrap();
            let [long, short] = &mut several.workspaces;
            hold_up(&several.streams[0]);
            long.shuffle_into(&several.f, &source, &mut out).unwrap();
            short.shuffle_into(&several.g, &source.slice(..8), &mut few).unwrap();
            // The driver may give the memory to the next who asks for as much.
            let _later = match several.streams.get(last) {
                Some(stream) => {
                    stream.memset_zeros(&mut source).unwrap();
                    None
                }
                None => {
                    drop(source);
                    Some(several.streams[home].alloc_zeros::<u64>(LEN).unwrap())
                }
            };
            assert!(several.contents(&out) == expected, "made in {home}, overwritten in {last}");
        }
    }
}

/// A group's streams read it, and then a workspace in another stream.
#[test]
fn a_source_of_a_group_outlives_its_shuffle() {
    let Some(mut several) = Several::new() else { return };
    let engines = [Cuda::on_stream(several.streams[0].clone()).unwrap()];
    let mut group = CudaGroup::new(&engines).unwrap();
    let mut source = [several.source(2)];
    let mut out = [several.streams[0].alloc_zeros::<u64>(LEN).unwrap()];
    let mut few = several.streams[1].alloc_zeros::<u64>(8).unwrap();
    // From now on it has its kernels and its memory.
    match group.shuffle_into(&several.f, &source, &mut out) {
        Err(Error::BackendUnavailable { reason }) => return println!("skipped: {reason}"),
        shuffled => shuffled.unwrap(),
    }
    several.context.synchronize().unwrap();
    hold_up(&several.streams[0]);
    group.shuffle_into(&several.f, &source, &mut out).unwrap();
    let [_, short] = &mut several.workspaces;
    short.shuffle_into(&several.g, &source[0].slice(..8), &mut few).unwrap();
    several.streams[3].memset_zeros(&mut source[0]).unwrap();
    assert!(several.contents(&out[0]) == reference(&several.f, LEN));
}

/// cudarc's copy is the longer reader, and comes first.
#[test]
fn a_source_of_a_copy_and_a_shuffle_outlives_the_copy() {
    let Some(mut several) = Several::new() else { return };
    let mut source = several.source(2);
    let mut copy = several.streams[0].alloc_zeros::<u64>(LEN).unwrap();
    let mut few = several.streams[1].alloc_zeros::<u64>(8).unwrap();
    several.context.synchronize().unwrap();
    hold_up(&several.streams[0]);
    several.streams[0].memcpy_dtod(&source, &mut copy).unwrap();
    several.workspaces[1].shuffle_into(&several.g, &source.slice(..8), &mut few).unwrap();
    several.streams[3].memset_zeros(&mut source).unwrap();
    assert!(several.contents(&copy).into_iter().eq(0..LEN as u64));
}

/// cudarc's copy is the shorter reader, and comes last: what is done in the stream that the source
/// was made in, such as freeing it, waits for the shuffle all the same.
#[test]
fn a_source_of_a_shuffle_and_a_copy_outlives_the_shuffle() {
    let Some(mut several) = Several::new() else { return };
    for is_dropped in [false, true] {
        let mut source = several.source(2);
        let mut out = several.streams[0].alloc_zeros::<u64>(LEN).unwrap();
        let mut few = several.streams[1].alloc_zeros::<u64>(8).unwrap();
        several.context.synchronize().unwrap();
        hold_up(&several.streams[0]);
        several.workspaces[0].shuffle_into(&several.f, &source, &mut out).unwrap();
        several.streams[1].memcpy_dtod(&source.slice(..8), &mut few).unwrap();
        let home = several.streams[2].clone();
        let _later = if is_dropped {
            drop(source);
            Some(home.alloc_zeros::<u64>(LEN).unwrap())
        } else {
            home.memset_zeros(&mut source).unwrap();
            None
        };
        assert!(several.contents(&out) == reference(&several.f, LEN), "dropped: {is_dropped}");
    }
}

/// Two calls that write the halves of one slice, begun before either of them is executed.
#[test]
fn both_writers_of_halves_are_waited_for() {
    let Some(mut several) = Several::new() else { return };
    let half = LEN / 2;
    let f = Standard::from_seed(half as u64, 3);
    let source = several.source(2);
    let mut out = several.streams[2].alloc_zeros::<u64>(LEN).unwrap();
    several.context.synchronize().unwrap();
    let (low, high) = (source.slice(..half), source.slice(half..));
    let (mut first, mut second) = out.split_at_mut(half);
    let [a, b] = &mut several.workspaces;
    let a = a.arrays(&f, half).array(&low, &mut first).unwrap();
    let b = b.arrays(&f, half).array(&high, &mut second).unwrap();
    hold_up(&several.streams[0]);
    a.shuffle().unwrap();
    b.shuffle().unwrap();
    // Not by `contents`, which waits for all streams before it reads.
    let found = several.streams[3].clone_dtoh(&out).unwrap();
    several.context.synchronize().unwrap();
    let p = reference(&f, half);
    let expected: Vec<_> = p.iter().copied().chain(p.iter().map(|x| x + half as u64)).collect();
    assert!(found == expected);
}

/// Two streams read one slice at the same time: what the second writes is there before the first
/// has come to its part.
#[test]
fn readers_do_not_wait_for_each_other() {
    unsafe extern "C" fn wait(receiver: *mut c_void) {
        // SAFETY: it is the address of the test's receiver.
        let receiver = unsafe { &*receiver.cast::<mpsc::Receiver<()>>() };
        let _ = receiver.recv();
    }
    let Some(mut several) = Several::new() else { return };
    let source = several.source(2);
    let mut out = several.streams[0].alloc_zeros::<u64>(LEN).unwrap();
    let mut few = several.streams[1].alloc_zeros::<u64>(8).unwrap();
    let mut copy = several.streams[3].alloc_zeros::<u64>(8).unwrap();
    several.context.synchronize().unwrap();
    let (go, receiver) = mpsc::channel();
    let (held, argument) = (several.streams[0].cu_stream(), (&raw const receiver).cast_mut());
    // SAFETY: the stream exists, and the receiver is dropped after all streams have finished.
    unsafe { result::stream::launch_host_function(held, wait, argument.cast()) }.unwrap();
    let [long, short] = &mut several.workspaces;
    long.shuffle_into(&several.f, &source, &mut out).unwrap();
    short.shuffle_into(&several.g, &source.slice(..8), &mut few).unwrap();
    several.streams[3].memcpy_dtod(&few, &mut copy).unwrap();
    let copied = several.streams[3].record_event(None).unwrap();
    let since = Instant::now();
    while !copied.is_complete() && since.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    let is_copied = copied.is_complete();
    go.send(()).unwrap();
    assert!(several.contents(&out) == reference(&several.f, LEN));
    assert_eq!(several.contents(&copy), reference(&several.g, 8));
    assert!(is_copied);
}
