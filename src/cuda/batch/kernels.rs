//! The kernels of gpu/batch, which write rows, with their arguments.

use super::tuning::{self, RowShape};
use crate::Seed;
use crate::cuda::runtime::kernel::{Kernel, Value, arguments, device_struct};
use crate::cuda::runtime::word_type::WordType;
use crate::engine::bijection::{DeviceWidth, batch};

/// `MOST_SHARES` in gpu/batch/draw.cuh.
const MOST_SHARES: usize = 32;

device_struct! {
    /// `Keys` in gpu/batch/draw.cuh: a seed's keys and a domain.
    pub(super) struct Keys {
        keys: [u64; 4],
        count: u32,
        domain: u32,
    }
}

impl Keys {
    pub(super) fn new(seed: &Seed, domain: u32) -> Self {
        let of_seed = seed.keys();
        let mut keys = [0; 4];
        keys[..of_seed.len()].copy_from_slice(of_seed);
        Self { keys, count: of_seed.len() as u32, domain }
    }
}

device_struct! {
    /// `Shares` in gpu/batch/draw.cuh: which exchanges each word of an exact draw decides.
    pub(super) struct Shares {
        len: u32,
        count: u32,
        products: [u64; MOST_SHARES],
        places: [u32; MOST_SHARES],
    }
}

impl Shares {
    pub(super) fn new(len: usize) -> Self {
        let (mut products, mut places) = ([0; MOST_SHARES], [0; MOST_SHARES]);
        let (mut range, mut count) = (len as u64, 0);
        while range > 1 {
            let (taken, product) = batch(range);
            (products[count], places[count]) = (product, taken as u32);
            range -= taken;
            count += 1;
        }
        Self { len: len as u32, count: count as u32, products, places }
    }
}

device_struct! {
    /// `Width` in gpu/bijection/mul_xorshift.cuh.
    pub(super) struct Width {
        last: u64,
        shifts: [u32; 2],
        below: [u32; 2],
    }
}

impl Width {
    pub(super) fn new(bits: u32) -> Self {
        let DeviceWidth { last, shifts, below } = DeviceWidth::new(bits);
        Self { last, shifts, below }
    }
}

arguments! {
    /// Writes rows that are drawn exactly.
    pub(super) struct ExactRows => Permutations, None, "write_exact_rows<THREADS>" {
        keys: Keys => "Keys",
        shares: Shares => "Shares",
        first: u64 => "uint64_t",
        rows: u64 => "uint64_t",
        out: u64 => "Word*",
    }
}

arguments! {
    /// Writes the rows that ciphers compact to or, if they are dense, the ciphers themselves.
    pub(super) struct CipherRows
        => Permutations, Type, "write_cipher_rows<Index, WARPS, ROW_WARPS, SLOTS, DENSE, F>" {
        keys: Keys => "Keys",
        width: Width => "F::Width",
        last: u64 => "uint64_t",
        most: u64 => "uint64_t",
        first: u64 => "uint64_t",
        rows: u64 => "uint64_t",
        out: u64 => "Word*",
    }
}

pub(super) fn exact_rows(word: WordType) -> Kernel<ExactRows> {
    let threads = tuning::EXACT_ROWS;
    Kernel::new([("THREADS", Value::Number(threads)), ("Word", Value::Word(word))], threads, 1)
}

pub(super) fn cipher_rows(
    index: WordType,
    shape: RowShape,
    dense: bool,
    word: WordType,
) -> Kernel<CipherRows> {
    let RowShape { warps, row_warps, slots, blocks } = shape;
    let template = [
        ("Index", Value::Word(index)),
        ("WARPS", Value::Number(warps)),
        ("ROW_WARPS", Value::Number(row_warps)),
        ("SLOTS", Value::Number(slots)),
        ("DENSE", Value::Flag(dense)),
        ("Word", Value::Word(word)),
    ];
    Kernel::new(template, shape.threads(), blocks)
}
