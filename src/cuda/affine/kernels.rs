//! The kernels of gpu/affine.cuh, with their arguments.

use super::arguments::{MapArgument, RowArgument, TilesArgument};
use super::tuning::AffineShape;
use crate::cuda::runtime::kernel::{Kernel, TemplateValue, arguments};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::word_type::WordType;

arguments! {
    /// Permutes an array by an affine map, tile by tile. With gaps, an item may have any number of
    /// words; without, a power of two.
    pub(super) struct PermuteTiles
        => Permutations, None, "permute_tiles<Word, ITEM_BITS, THREAD_BITS, ROUND_BITS>" {
        tiles: TilesArgument => "Tiles",
        row: RowArgument => "Row<GAPS>",
        source: u64 => "const Word*",
        out: u64 => "Word*",
    }
}

arguments! {
    /// Permutes an array of items of three words by an affine map, tile by tile.
    pub(super) struct PermuteTriples
        => Permutations, None, "permute_triples<Word, THREAD_BITS, ROUND_BITS>" {
        tiles: TilesArgument => "Tiles",
        source: u64 => "const Word*",
        out: u64 => "Word*",
    }
}

arguments! {
    /// Permutes an array by an affine map, item by item. An item has `units` words.
    pub(super) struct PermuteRows => Permutations, None, "permute_rows" {
        map: MapArgument => "AffineMap",
        source: u64 => "const Word*",
        out: u64 => "Word*",
        units: u64 => "uint64_t",
    }
}

pub(super) fn permute_tiles(
    word: WordType,
    shape: AffineShape,
    gaps: bool,
) -> Kernel<PermuteTiles> {
    let AffineShape { item_bits, thread_bits, round_bits, blocks, .. } = shape;
    let template = [
        ("Word", TemplateValue::Word(word)),
        ("ITEM_BITS", TemplateValue::Number(item_bits)),
        ("THREAD_BITS", TemplateValue::Number(thread_bits)),
        ("ROUND_BITS", TemplateValue::Number(round_bits)),
        ("GAPS", TemplateValue::Flag(gaps)),
    ];
    Kernel::new(template, shape.threads(), blocks)
}

/// `word` is a third of an item, and `shape` has four items in `item_bits`.
pub(super) fn permute_triples(word: WordType, shape: AffineShape) -> Kernel<PermuteTriples> {
    debug_assert_eq!(shape.item_bits, 2, "a thread loads four items at once");
    let template = [
        ("Word", TemplateValue::Word(word)),
        ("THREAD_BITS", TemplateValue::Number(shape.thread_bits)),
        ("ROUND_BITS", TemplateValue::Number(shape.round_bits)),
    ];
    Kernel::new(template, shape.threads(), shape.blocks)
}

pub(super) fn permute_rows(unit: WordType) -> Kernel<PermuteRows> {
    Kernel::new([("Word", TemplateValue::Word(unit))], THREADS, 1)
}
