//! The back ends that need a GPU: their lines, and the engine on host memory, and in the middle of
//! device memory whose ends are watched.

use std::sync::OnceLock;

use bijective_shuffle::Error;
use bijective_shuffle::Order;
use bijective_shuffle::cuda::cudarc::driver::{CudaView, CudaViewMut, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;

use super::group;
use crate::back_ends::{View, compact};
use bijective_shuffle_laws::items::{Items, Table};
use bijective_shuffle_laws::under_test::{Answer, Direction, Given, Indices, UnderTest};

back_ends! {
    cuda_view: view();
    cuda_host: host(CudaStrategy::Auto);
    cuda_host_partitioned: host(CudaStrategy::Partitioned);
    cuda_device: device(CudaStrategy::Auto);
    cuda_device_single_pass: device(CudaStrategy::SinglePass);
    cuda_device_partitioned: device(CudaStrategy::Partitioned);
    cuda_group: group::of_three(CudaStrategy::Auto);
    cuda_group_partitioned: group::of_three(CudaStrategy::Partitioned);
}

/// One engine for all of these tests, so that each kernel is compiled once.
fn engine() -> Option<Cuda> {
    static ENGINE: OnceLock<Option<Cuda>> = OnceLock::new();
    ENGINE.get_or_init(crate::common::cuda).clone()
}

/// The engine on host slices, if there is a GPU.
pub(crate) fn host(strategy: CudaStrategy) -> Option<impl UnderTest> {
    Some(Host(engine()?.with_strategy(strategy)))
}

/// The engine on device memory, if there is a GPU.
pub(crate) fn device(strategy: CudaStrategy) -> Option<impl UnderTest> {
    let cuda = engine()?.with_strategy(strategy);
    Some(Device(CudaWorkspace::new(&cuda)))
}

/// A [`Permutation`] on the GPU, if there is one.
pub(crate) fn view() -> Option<impl UnderTest> {
    engine().map(|_| View(Backend::Cuda))
}

struct Host(Cuda);

impl UnderTest for Host {
    fn serves(&self, given: &Given) -> bool {
        given.bijection.device_source().is_some()
    }

    fn serves_passes(&self) -> bool {
        true
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => self.0.write_indexes(given.bijection, out)))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        Some(with_items!(items, items => compact(&self.0, given, items, direction)))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        Some(map_items!(source, source => match direction {
            Direction::Shuffle => self.0.shuffled(given.bijection, source),
            Direction::Unshuffle => self.0.unshuffled(given.bijection, source),
        }))
    }
}

/// The seed, where there is one, and otherwise the bijection.
pub(super) fn order<'a>(given: &Given<'a>) -> Order<'a> {
    given.seed.map_or_else(|| given.bijection.into(), Order::from)
}

struct Device(CudaWorkspace);

impl UnderTest for Device {
    fn serves(&self, given: &Given) -> bool {
        given.bijection.device_source().is_some()
    }

    fn serves_passes(&self) -> bool {
        true
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        fn write<N: bijective_shuffle::Word + DeviceRepr>(
            workspace: &mut CudaWorkspace,
            given: &Given,
            out: &mut Vec<N>,
        ) -> Result<(), Error> {
            *out = guarded(workspace, N::MAX, out, out.len(), |workspace, _, out| {
                workspace.write_indexes(given.bijection, out)
            })?;
            Ok(())
        }
        Some(with_indices!(out, out => write(&mut self.0, given, out)))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, to: Direction) -> Answer {
        fn shuffle<T: DeviceRepr + Copy + Default + PartialEq>(
            workspace: &mut CudaWorkspace,
            given: &Given,
            items: &mut [T],
            to: Direction,
        ) -> Result<(), Error> {
            let stream = workspace.stream().clone();
            let poison = items.first().copied().unwrap_or_default();
            let len = items.len();
            let mut padded = vec![poison; GUARD];
            padded.extend_from_slice(items);
            padded.resize(len + 2 * GUARD, poison);
            let mut array = stream.clone_htod(&padded).unwrap();
            let mut part = array.slice_mut(GUARD..GUARD + len);
            match to {
                Direction::Shuffle => workspace.shuffle(order(given), &mut part),
                Direction::Unshuffle => workspace.unshuffle(order(given), &mut part),
            }?;
            let all = stream.clone_dtoh(&array).unwrap();
            stream.synchronize().unwrap();
            assert!(all[..GUARD] == padded[..GUARD], "written before the beginning");
            assert!(all[GUARD + len..] == padded[GUARD + len..], "written beyond the end");
            items.copy_from_slice(&all[GUARD..GUARD + len]);
            Ok(())
        }
        with_device_copies!(items.clone(), items, _unused, items => shuffle(&mut self.0, given, items, to))
    }

    fn into(&mut self, given: &Given, source: &Items, out: &mut Items, to: Direction) -> Answer {
        fn copy<T: DeviceRepr + Copy + Default + PartialEq>(
            workspace: &mut CudaWorkspace,
            given: &Given,
            source: &[T],
            out: &mut Vec<T>,
            to: Direction,
        ) -> Result<(), Error> {
            let poison = out.first().copied().unwrap_or_default();
            *out =
                guarded(workspace, poison, source, out.len(), |workspace, source, out| match to {
                    Direction::Shuffle => workspace.shuffle_into(order(given), source, out),
                    Direction::Unshuffle => workspace.unshuffle_into(order(given), source, out),
                })?;
            Ok(())
        }
        with_device_copies!(source, out, source, out => copy(&mut self.0, given, source, out, to))
    }

    fn together(&mut self, given: &Given, table: &mut Table, direction: Direction) -> Answer {
        let stream = self.0.stream().clone();
        let len = table.len();
        match table {
            Table::Eight(columns) => {
                let from = columns.each_ref().map(|bytes| stream.clone_htod(bytes).unwrap());
                let mut to = columns.each_ref().map(|_| stream.alloc_zeros::<u8>(len).unwrap());
                let arrays = self.0.arrays(given.bijection, len);
                let arrays = from
                    .iter()
                    .zip(&mut to)
                    .try_fold(arrays, |arrays, (from, to)| arrays.array(from, to));
                let done = arrays.and_then(|arrays| match direction {
                    Direction::Shuffle => arrays.shuffle(),
                    Direction::Unshuffle => arrays.unshuffle(),
                });
                if done.is_ok() {
                    for (bytes, to) in columns.iter_mut().zip(&to) {
                        stream.memcpy_dtoh(to, bytes).unwrap();
                    }
                }
                stream.synchronize().unwrap();
                Some(done)
            }
            Table::Nested(words, halves, _, bytes) => {
                let from = (
                    stream.clone_htod(words).unwrap(),
                    stream.clone_htod(halves).unwrap(),
                    stream.clone_htod(bytes).unwrap(),
                );
                let mut to = (
                    stream.alloc_zeros::<u64>(len).unwrap(),
                    stream.alloc_zeros::<u32>(len).unwrap(),
                    stream.alloc_zeros::<u8>(len).unwrap(),
                );
                let arrays = self.0.arrays(given.bijection, len);
                let arrays = arrays
                    .array(&from.0, &mut to.0)
                    .and_then(|arrays| arrays.array(&from.1, &mut to.1))
                    .and_then(|arrays| arrays.array(&from.2, &mut to.2));
                let done = arrays.and_then(|arrays| match direction {
                    Direction::Shuffle => arrays.shuffle(),
                    Direction::Unshuffle => arrays.unshuffle(),
                });
                if done.is_ok() {
                    stream.memcpy_dtoh(&to.0, words).unwrap();
                    stream.memcpy_dtoh(&to.1, halves).unwrap();
                    stream.memcpy_dtoh(&to.2, bytes).unwrap();
                }
                stream.synchronize().unwrap();
                Some(done)
            }
            _ => None,
        }
    }

    fn rows(&mut self, permutations: &Permutations, first: u64, out: &mut Indices) -> Answer {
        fn write<N: bijective_shuffle::Word + DeviceRepr>(
            workspace: &mut CudaWorkspace,
            permutations: &Permutations,
            first: u64,
            out: &mut Vec<N>,
        ) -> Result<(), Error> {
            *out = guarded(workspace, N::MAX, out, out.len(), |workspace, _, out| {
                workspace.write_rows(permutations, first, out)
            })?;
            Ok(())
        }
        Some(with_indices!(out, out => write(&mut self.0, permutations, first, out)))
    }
}

/// Items of poison on both sides of those that are moved.
const GUARD: usize = 1024;

/// Runs a movement into the middle of poisoned memory for `len` items, and gives back what is
/// there, after a look at the guards on both sides.
pub(crate) fn guarded<T: DeviceRepr + Copy + PartialEq>(
    workspace: &mut CudaWorkspace,
    poison: T,
    source: &[T],
    len: usize,
    run: impl FnOnce(&mut CudaWorkspace, &CudaView<'_, T>, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    let stream = workspace.stream().clone();
    let readable = GUARD..GUARD + source.len();
    let mut padded = vec![poison; GUARD];
    padded.extend_from_slice(source);
    padded.resize(source.len() + 2 * GUARD, poison);
    let source = stream.clone_htod(&padded).unwrap();
    let mut out = stream.clone_htod(&vec![poison; len + 2 * GUARD]).unwrap();
    let done = run(workspace, &source.slice(readable), &mut out.slice_mut(GUARD..GUARD + len));
    let all = stream.clone_dtoh(&out).unwrap();
    let kept = stream.clone_dtoh(&source).unwrap();
    stream.synchronize().unwrap();
    assert!(kept == padded, "the source was written");
    assert!(all[..GUARD].iter().all(|&x| x == poison), "written before the beginning");
    assert!(all[GUARD + len..].iter().all(|&x| x == poison), "written beyond the end");
    done.map(|()| all[GUARD..GUARD + len].to_vec())
}
