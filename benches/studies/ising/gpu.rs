//! The double checkerboard on an NVIDIA GPU: a launch a colour, a block a tile. The kernel
//! (words.cuh, update.cuh) is a text of this example that draws its words with the crate's
//! generators.

use std::sync::Arc;

use bijective_shuffle::cuda::cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtrMut, LaunchConfig, PushKernelArg,
};
use bijective_shuffle::cuda::{Cuda, CudaStreams};
use bijective_shuffle::rng::Streams;

use crate::failure::Failure;
use crate::simulation::{Setup, Simulation};
use crate::words::TileWords;

/// How many energies are fetched at a time.
const SLOTS: usize = 1 << 14;

/// A lattice in device memory.
pub(crate) struct Gpu<G: TileWords> {
    setup: Setup,
    stream: Arc<CudaStream>,
    update: CudaFunction,
    /// The tiles of colour 0, then those of colour 1.
    spins: CudaSlice<i8>,
    states: States<G>,
    energies: CudaSlice<i32>,
    /// How often each tile has been updated, that of colour 0 and that of colour 1 of a pair added
    /// up.
    hits: u64,
}

/// What a thread begins with.
enum States<G> {
    /// States in device memory.
    Kept(Box<CudaStreams<G>>),
    /// A key, and a word of memory since there has to be some.
    Counted(u64, CudaSlice<u32>),
}

impl<G: TileWords> Gpu<G> {
    /// With the streams of all pairs, one pair after another.
    pub(crate) fn new(setup: Setup, streams: Vec<G>) -> Result<Self, Failure> {
        let cuda = Cuda::new()?;
        let stream = cuda.stream().clone();
        let update = cuda.kernel(&text::<G>(setup.geometry.tile), "update")?;
        let states = match streams[0].counter_key() {
            Some(key) => States::Counted(key, stream.alloc_zeros(1)?),
            None => {
                let streams = Streams::from_generators(streams)?;
                States::Kept(Box::new(CudaStreams::new(&cuda, &streams)?))
            }
        };
        let spins = stream.clone_htod(&vec![1; setup.geometry.sites()])?;
        let energies = stream.alloc_zeros(SLOTS)?;
        Ok(Self { setup, stream, update, spins, states, energies, hits: 0 })
    }

    /// Makes a round for each item: updates both colours, and adds to the slot that the item is, if
    /// it is one, the sum over bonds.
    fn rounds(&mut self, slots: impl Iterator<Item = Option<usize>>) -> Result<(), Failure> {
        let Setup { geometry, hits, .. } = self.setup;
        let metropolis = self.setup.metropolis();
        let shape = LaunchConfig {
            grid_dim: (geometry.pairs() as u32, 1, 1),
            block_dim: (G::block_threads(geometry.tile) as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        let tiles = (geometry.side / geometry.tile) as u32;
        let (key, mut states) = match &mut self.states {
            States::Kept(streams) => (0, streams.states_mut()),
            States::Counted(key, states) => (*key, states.as_view_mut()),
        };
        // Addresses, and events when all is done: with slices as arguments each launch would have
        // its own events, which take longer than an update for k = 1.
        let (spins, _spins) = self.spins.device_ptr_mut(&self.stream);
        let (states, _states) = states.device_ptr_mut(&self.stream);
        let (energies, _energies) = self.energies.device_ptr_mut(&self.stream);
        for slot in slots {
            let (slot, measured) = (slot.unwrap_or(0) as u32, u32::from(slot.is_some()));
            for colour in 0..2_u32 {
                let mut launch = self.stream.launch_builder(&self.update);
                launch.arg(&spins).arg(&states).arg(&key).arg(&self.hits);
                launch.arg(&tiles).arg(&colour).arg(&hits);
                launch.arg(&metropolis.two).arg(&metropolis.four);
                launch.arg(&energies).arg(&slot).arg(&measured);
                // SAFETY: the arguments are the kernel's. It reads and writes the spins of the
                // pairs' tiles, the states of the threads and one energy, all of which are as many
                // as were allocated, and stay borrowed until the launches are in the stream.
                unsafe { launch.launch(shape) }?;
                self.hits += u64::from(hits);
            }
        }
        Ok(())
    }
}

impl<G: TileWords> Simulation for Gpu<G> {
    fn advance(&mut self, rounds: u64) -> Result<(), Failure> {
        self.rounds((0..rounds).map(|_| None))
    }

    fn measure(&mut self, count: usize, every: u64) -> Result<Vec<i32>, Failure> {
        let mut energies = Vec::with_capacity(count);
        while energies.len() < count {
            let slots = (count - energies.len()).min(SLOTS);
            self.stream.memset_zeros(&mut self.energies)?;
            let measured = |slot| (1..every).map(|_| None).chain([Some(slot)]);
            self.rounds((0..slots).flat_map(measured))?;
            let fetched = self.stream.clone_dtoh(&self.energies.slice(..slots))?;
            self.stream.synchronize()?;
            energies.extend(fetched);
        }
        Ok(energies)
    }

    fn spins(&mut self) -> Result<Vec<i8>, Failure> {
        let spins = self.stream.clone_dtoh(&self.spins)?;
        self.stream.synchronize()?;
        Ok(spins)
    }
}

/// The kernel for a generator and a size of tiles.
fn text<G: TileWords>(tile: usize) -> String {
    format!(
        "#define TILE {tile}\n#define WORDS {}\n{}{}",
        G::DEVICE,
        include_str!("words.cuh"),
        include_str!("update.cuh")
    )
}

#[cfg(test)]
mod tests;
