//! A sorting network written with the combinator `parm`.
//!
//! ```console
//! cargo run --release --example sorting_network -- 20
//! ```
//!
//! It is the network of Bouverot-Dupuis and Sheeran, *Efficient GPU implementation of affine index
//! permutations on arrays* (FHPNC 2023), section 7.1. `Network::sorting` has it ready made; here it
//! is put together by the same rules.

use std::time::Instant;

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

    let mut sorted: Vec<u64> = Permutation::new(1 << bits, 42).to_vec();
    let start = Instant::now();
    network.run(&mut sorted, |a, b| {
        if b < a {
            core::mem::swap(a, b);
        }
    })?;
    println!("{:?}", start.elapsed());
    assert!(sorted.is_sorted());
    Ok(())
}
