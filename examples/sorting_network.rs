//! A sorting network written with the combinator `parm`, on the CPU and, where there is one, on a
//! GPU.
//!
//! ```console
//! cargo run --release --example sorting_network -- 20
//! ```
//!
//! It is the network of Bouverot-Dupuis and Sheeran, *Efficient GPU implementation of affine index
//! permutations on arrays* (FHPNC 2023), section 7.1. `Network::sorting` has it ready made; here it
//! is put together by the same rules.

use std::time::Instant;

use bijective_shuffle::Error;
use bijective_shuffle::affine::{Affine, MatrixError, Network};
use bijective_shuffle::prelude::*;

/// A column of the merger, in the form of a V: two columns of half the size, interleaved by mask 3.
fn column(bits: u32) -> Result<Network, MatrixError> {
    if bits == 1 { Ok(Network::pair()) } else { column(bits - 1)?.parm(0b11) }
}

/// Merges the items at even and at odd places: a column, and then both halves likewise.
fn merge(bits: u32) -> Result<Network, MatrixError> {
    if bits == 0 {
        return Ok(Network::permutation(Affine::translation(0, 0)?));
    }
    column(bits)?.then(&merge(bits - 1)?.parm(1 << (bits - 1))?)
}

/// Sorts the items at even and at odd places, and merges them.
fn sort(bits: u32) -> Result<Network, MatrixError> {
    if bits == 0 {
        return merge(0);
    }
    sort(bits - 1)?.parm(1)?.then(&merge(bits)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bits: u32 = std::env::args().nth(1).map_or(Ok(16), |bits| bits.parse())?;
    let network = sort(bits)?;
    assert_eq!(network, Network::sorting(bits)?);
    println!("2^{bits} items, {} layers of pairs", network.maps().len() - 1);

    let items: Vec<u64> = Permutation::new(1 << bits, 42).to_vec();
    let mut sorted = items.clone();
    let start = Instant::now();
    network.run(&mut sorted, |a, b| {
        if b < a {
            core::mem::swap(a, b);
        }
    })?;
    println!("CPU: {:?}", start.elapsed());
    assert!(sorted.iter().copied().eq(0..1 << bits));
    on_gpu(&network, &items)
}

#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
fn on_gpu(network: &Network, items: &[u64]) -> Result<(), Box<dyn std::error::Error>> {
    use bijective_shuffle::cuda::{Cuda, CudaWorkspace};

    let cuda = match Cuda::new() {
        Ok(cuda) => cuda,
        Err(Error::BackendUnavailable { reason }) => {
            println!("no GPU: {reason}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let stream = cuda.stream().clone();
    let mut workspace = CudaWorkspace::new(&cuda);
    // Once for the kernels, which are compiled when they are first needed.
    for what in ["with compiling", "GPU"] {
        let mut device = stream.clone_htod(items)?;
        stream.synchronize()?;
        let start = Instant::now();
        workspace.order_by_network(network, &mut device)?;
        stream.synchronize()?;
        println!("{what}: {:?}", start.elapsed());
        let got = stream.clone_dtoh(&device)?;
        stream.synchronize()?;
        assert!(got.is_sorted());
    }
    Ok(())
}

#[cfg(not(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
)))]
fn on_gpu(_: &Network, _: &[u64]) -> Result<(), Box<dyn std::error::Error>> {
    println!("the GPU was not built in");
    Ok(())
}
