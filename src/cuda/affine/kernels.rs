//! The kernels that permute by affine maps, with their arguments: functions of gpu/affine.cuh.

use super::arguments::{MapArgument, RowArgument, TilesArgument};
use super::tuning::AffineShape;
use crate::cuda::runtime::kernel::{Kernel, Value, arguments};
use crate::cuda::runtime::own::THREADS;
use crate::cuda::runtime::word_type::WordType;

arguments! {
    /// An array by an affine map, tile by tile; with gaps, of items that are not of a power of two
    /// of words.
    pub(super) struct PermuteTiles
        => Permutations, None, "permute_tiles<Word, ITEM_BITS, THREAD_BITS, ROUND_BITS>" {
        tiles: TilesArgument => "Tiles",
        row: RowArgument => "Row<GAPS>",
        source: u64 => "const Word*",
        out: u64 => "Word*",
    }
}

arguments! {
    /// An array by an affine map, row by row of so many units.
    pub(super) struct PermuteRows => Permutations, None, "permute_rows" {
        map: MapArgument => "AffineMap",
        source: u64 => "const Word*",
        out: u64 => "Word*",
        units: u64 => "uint64_t",
    }
}

arguments! {
    /// The pairs of neighbours in order.
    pub(super) struct OrderPairs => Permutations, None, "order_pairs" {
        items: u64 => "Ordered*",
        pairs: u64 => "uint64_t",
    }
}

pub(super) fn permute_tiles(
    word: WordType,
    shape: AffineShape,
    gaps: bool,
) -> Kernel<PermuteTiles> {
    let AffineShape { item_bits, thread_bits, round_bits, blocks, .. } = shape;
    let template = [
        ("Word", Value::Word(word)),
        ("ITEM_BITS", Value::Number(item_bits)),
        ("THREAD_BITS", Value::Number(thread_bits)),
        ("ROUND_BITS", Value::Number(round_bits)),
        ("GAPS", Value::Flag(gaps)),
    ];
    Kernel::new(template, shape.threads(), blocks)
}

pub(super) fn permute_rows(unit: WordType) -> Kernel<PermuteRows> {
    Kernel::new([("Word", Value::Word(unit))], THREADS, 1)
}

/// For numbers of a type of CUDA C++.
pub(super) fn order_pairs(number: &'static str) -> Kernel<OrderPairs> {
    Kernel::new([("Ordered", Value::Type(number))], THREADS, 1)
}
