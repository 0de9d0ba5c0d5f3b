//! The kernels of gpu/shuffle/in_place, with their arguments.

use super::sizes::InPlaceSizes;
use crate::cuda::runtime::kernel::{
    Kernel, KernelArguments, TemplateValue, arguments, device_struct,
};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::kernels::SCAN_THREADS;
use crate::cuda::shuffle::tuning;

device_struct! {
    /// `Striped` in gpu/shuffle/in_place/blocks.cuh.
    pub(super) struct Striped {
        pub(super) items: u64,
        pub(super) len: u64,
        pub(super) stripes: u32,
        pub(super) buckets: u32,
        pub(super) stripe_bits: u32,
        pub(super) shift: u32,
        pub(super) together_bits: u32,
        pub(super) counted: u32,
        pub(super) tile_bases: u64,
        pub(super) first_slots: u64,
        pub(super) planes: u64,
        pub(super) rests: u64,
        pub(super) table: u64,
        pub(super) block_rows: u64,
        pub(super) item_rows: u64,
        pub(super) block_counts: u64,
        pub(super) item_counts: u64,
        pub(super) block_bases: u64,
        pub(super) item_bases: u64,
    }
}

device_struct! {
    /// `Parts` in gpu/shuffle/in_place/buckets.cuh.
    pub(super) struct Parts {
        pub(super) items: u64,
        pub(super) keys: u64,
        pub(super) counts: u64,
        pub(super) bases: u64,
        pub(super) first: u64,
        pub(super) part_bits: u32,
        pub(super) tile_bits: u32,
    }
}

arguments! {
    /// Sorts each stripe into blocks of one bucket each.
    pub(super) struct CollectBlocks
        => InPlace, Value, "collect_blocks<THREADS, RECORDS, BITS, BLOCK, DIRECTION, GAPS, Index>" {
        to: Striped => "Striped<Word>",
        last: u64 => "uint64_t",
    }
}

arguments! {
    /// Sums the counts of each bucket's stripes.
    pub(super) struct SumRows => InPlace, None, "sum_rows<THREADS>" {
        to: Striped => "Striped<Word>",
    }
}

arguments! {
    /// Sums the counts of the buckets.
    pub(super) struct SumAllBuckets => InPlace, None, "sum_all_buckets<THREADS>" {
        to: Striped => "Striped<Word>",
    }
}

arguments! {
    /// Finds where each block goes.
    pub(super) struct FindTargets => InPlace, None, "find_targets<BLOCK>" {
        to: Striped => "Striped<Word>",
    }
}

arguments! {
    /// Moves all blocks to where they go.
    pub(super) struct ExchangeBlocks => InPlace, None, "exchange_blocks<THREADS, LANES, UNITS>" {
        items: u64 => "Word*",
        table: u64 => "uint32_t*",
        blocks: u32 => "uint32_t",
        mask: u32 => "uint32_t",
    }
}

arguments! {
    /// Lists the sources of some buckets' items.
    pub(super) struct ListSources
        => InPlace, Value, "list_sources<THREADS, RECORDS, BINS, DIRECTION, GAPS, Index>" {
        to: Striped => "Striped<Word>",
        first_bucket: u32 => "uint32_t",
        last: u64 => "uint64_t",
        slots: u64 => "uint64_t",
        list: u64 => "uint32_t*",
        keys: u64 => "uint32_t*",
    }
}

arguments! {
    /// Copies some buckets' items to their parts in working memory.
    pub(super) struct SpreadItems
        => InPlace, None, "spread_items<THREADS, RECORDS, BITS, BLOCK, GAPS>" {
        from: Striped => "Striped<Word>",
        first_bucket: u32 => "uint32_t",
        slots: u64 => "uint64_t",
        list: u64 => "const uint32_t*",
        keys: u64 => "const uint32_t*",
        to: Parts => "Parts<Word>",
    }
}

arguments! {
    /// The same, by planes of bits instead of lists.
    pub(super) struct SpreadByPlanes
        => InPlace, Value, "spread_by_planes<THREADS, RECORDS, BITS, PLANES, BLOCK, DIRECTION, Index>" {
        from: Striped => "Striped<Word>",
        first_bucket: u32 => "uint32_t",
        to: Parts => "Parts<Word>",
    }
}

arguments! {
    /// Moves the items of parts to their places.
    pub(super) struct PlacePart => InPlace, None, "place_part<THREADS, TOGETHER, PART_BITS, DENSE>" {
        from: Parts => "Parts<Word>",
        capacity: u32 => "uint32_t",
        out: u64 => "Word*",
    }
}

pub(super) fn collect_blocks(sizes: &InPlaceSizes) -> Kernel<CollectBlocks> {
    let template = [
        ("THREADS", TemplateValue::Number(sizes.collect.threads)),
        ("RECORDS", TemplateValue::Number(sizes.collect.records)),
        ("BITS", TemplateValue::Number(sizes.bits)),
        ("BLOCK", TemplateValue::Number(sizes.block)),
        ("DIRECTION", TemplateValue::Way(sizes.direction)),
        ("GAPS", TemplateValue::Flag(sizes.back_with_gaps())),
        ("Index", TemplateValue::Word(sizes.index)),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, sizes.collect.threads, sizes.collect.blocks)
}

/// The kernel with these arguments that sums by one block.
pub(super) fn sum<A: KernelArguments>(word: WordType) -> Kernel<A> {
    let template =
        [("THREADS", TemplateValue::Number(SCAN_THREADS)), ("Word", TemplateValue::Word(word))];
    Kernel::new(template, SCAN_THREADS, 1)
}

pub(super) fn find_targets(sizes: &InPlaceSizes) -> Kernel<FindTargets> {
    let template =
        [("BLOCK", TemplateValue::Number(sizes.block)), ("Word", TemplateValue::Word(sizes.word))];
    Kernel::new(template, THREADS, 1)
}

/// The kernel that exchanges blocks of `bytes` bytes, by units of a word.
pub(super) fn exchange_blocks(unit: WordType, bytes: u32) -> Kernel<ExchangeBlocks> {
    let template = [
        ("THREADS", TemplateValue::Number(THREADS)),
        ("LANES", TemplateValue::Number(tuning::IN_PLACE_LANES)),
        ("UNITS", TemplateValue::Number(bytes / unit.bytes() as u32)),
        ("Word", TemplateValue::Word(unit)),
    ];
    Kernel::new(template, THREADS, tuning::IN_PLACE_EXCHANGE_BLOCKS)
}

pub(super) fn list_sources(sizes: &InPlaceSizes) -> Kernel<ListSources> {
    let template = [
        ("THREADS", TemplateValue::Number(sizes.list.threads)),
        ("RECORDS", TemplateValue::Number(sizes.list.records)),
        ("BINS", TemplateValue::Number(sizes.list_bins())),
        ("DIRECTION", TemplateValue::Way(sizes.direction)),
        ("GAPS", TemplateValue::Flag(sizes.back_with_gaps())),
        ("Index", TemplateValue::Word(sizes.index)),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, sizes.list.threads, sizes.list.blocks)
}

pub(super) fn spread_items(sizes: &InPlaceSizes) -> Kernel<SpreadItems> {
    let template = [
        ("THREADS", TemplateValue::Number(sizes.spread.threads)),
        ("RECORDS", TemplateValue::Number(sizes.spread.records)),
        ("BITS", TemplateValue::Number(sizes.shift - sizes.part_bits)),
        ("BLOCK", TemplateValue::Number(sizes.block)),
        ("GAPS", TemplateValue::Flag(sizes.back_with_gaps())),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, sizes.spread.threads, sizes.spread.blocks)
}

pub(super) fn spread_by_planes(sizes: &InPlaceSizes) -> Kernel<SpreadByPlanes> {
    let template = [
        ("THREADS", TemplateValue::Number(sizes.spread.threads)),
        ("RECORDS", TemplateValue::Number(sizes.spread.records)),
        ("BITS", TemplateValue::Number(sizes.shift - sizes.part_bits)),
        ("PLANES", TemplateValue::Number(sizes.bits)),
        ("BLOCK", TemplateValue::Number(sizes.block)),
        ("DIRECTION", TemplateValue::Way(sizes.direction)),
        ("Index", TemplateValue::Word(sizes.index)),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, sizes.spread.threads, sizes.spread.blocks)
}

pub(super) fn place_part(sizes: &InPlaceSizes) -> Kernel<PlacePart> {
    let tuning::PlaceShape { threads, blocks, together } = sizes.place();
    let template = [
        ("THREADS", TemplateValue::Number(threads)),
        ("TOGETHER", TemplateValue::Number(together)),
        ("PART_BITS", TemplateValue::Number(sizes.part_bits)),
        ("DENSE", TemplateValue::Flag(!sizes.keys_with_gaps())),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, threads, blocks)
}
