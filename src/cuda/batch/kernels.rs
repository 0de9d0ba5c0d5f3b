//! The kernels of gpu/batch, which move items within rows, with their arguments.

use super::tuning::{self, RowShape, SegmentShape};
use crate::Seed;
use crate::cuda::runtime::kernel::{
    Kernel, KernelArguments, TemplateValue, arguments, device_struct,
};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::tuning::DirectShape;
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
    /// Moves rows that are drawn exactly.
    pub(super) struct MoveExactRows<M> => Permutations, None, "move_exact_rows<THREADS, INVERSE>" {
        keys: Keys => "Keys",
        shares: Shares => "Shares",
        first: u64 => "uint64_t",
        rows: u64 => "uint64_t",
        movement: M => "Move",
    }
}

arguments! {
    /// Moves the rows that ciphers compact to or, if they are dense, those of the ciphers
    /// themselves.
    pub(super) struct MoveCipherRows<M>
        => Permutations, Type, "move_cipher_rows<Index, WARPS, ROW_WARPS, SLOTS, DENSE, F>" {
        keys: Keys => "Keys",
        width: Width => "F::Width",
        last: u64 => "uint64_t",
        most: u64 => "uint64_t",
        first: u64 => "uint64_t",
        rows: u64 => "uint64_t",
        movement: M => "Move",
    }
}

arguments! {
    /// Moves the rows that ciphers compact to, tile by tile.
    pub(super) struct RowTiles<M>
        => Permutations, Type, "move_row_tiles<WARPS, SLOTS, DENSE, F>" {
        keys: Keys => "Keys",
        width: Width => "F::Width",
        last: u64 => "uint64_t",
        most: u64 => "uint64_t",
        first: u64 => "uint64_t",
        rows: u64 => "uint64_t",
        states: u64 => "TileStates*",
        movement: M => "Move",
    }
}

arguments! {
    /// Checks offsets, and counts the segments of each class.
    pub(super) struct CountSegments => Segments, None, "count_segments<Offset>" {
        offsets: u64 => "const Offset*",
        segments: u64 => "uint64_t",
        items: u64 => "uint64_t",
        counts: u64 => "SegmentCounts*",
    }
}

arguments! {
    /// Lists segments by their classes.
    pub(super) struct ListSegments => Segments, None, "list_segments<THREADS, EACH, Offset>" {
        offsets: u64 => "const Offset*",
        segments: u64 => "uint64_t",
        counts: u64 => "SegmentCounts*",
        list: u64 => "uint32_t*",
    }
}

arguments! {
    /// Moves segments that are drawn exactly.
    pub(super) struct MoveExactSegments<M>
        => Segments, None, "move_exact_segments<THREADS, INVERSE, Offset>" {
        keys: Keys => "Keys",
        offsets: u64 => "const Offset*",
        list: u64 => "const uint32_t*",
        count: u64 => "uint64_t",
        movement: M => "Move",
    }
}

arguments! {
    /// Moves segments that ciphers compact to.
    pub(super) struct MoveCipherSegments<M>
        => Segments, Type, "move_cipher_segments<WARPS, ROW_WARPS, SLOTS, STAGED, Offset, F>" {
        keys: Keys => "Keys",
        width: Width => "F::Width",
        last: u64 => "uint64_t",
        offsets: u64 => "const Offset*",
        list: u64 => "const uint32_t*",
        count: u64 => "uint64_t",
        movement: M => "Move",
    }
}

pub(super) fn exact_rows<A: KernelArguments>(inverse: bool, movement: TemplateValue) -> Kernel<A> {
    let threads = tuning::EXACT_ROWS;
    let template = [
        ("THREADS", TemplateValue::Number(threads)),
        ("INVERSE", TemplateValue::Flag(inverse)),
        ("Move", movement),
    ];
    Kernel::new(template, threads, 1)
}

pub(super) fn cipher_rows<A: KernelArguments>(
    index: WordType,
    shape: RowShape,
    dense: bool,
    movement: TemplateValue,
) -> Kernel<A> {
    let RowShape { warps, row_warps, slots, blocks } = shape;
    let template = [
        ("Index", TemplateValue::Word(index)),
        ("WARPS", TemplateValue::Number(warps)),
        ("ROW_WARPS", TemplateValue::Number(row_warps)),
        ("SLOTS", TemplateValue::Number(slots)),
        ("DENSE", TemplateValue::Flag(dense)),
        ("Move", movement),
    ];
    Kernel::new(template, shape.threads(), blocks)
}

pub(super) fn row_tiles<A: KernelArguments>(
    shape: DirectShape,
    dense: bool,
    movement: TemplateValue,
) -> Kernel<A> {
    let DirectShape { threads, slots, blocks } = shape;
    let template = [
        ("WARPS", TemplateValue::Number(threads / 32)),
        ("SLOTS", TemplateValue::Number(slots)),
        ("DENSE", TemplateValue::Flag(dense)),
        ("Move", movement),
    ];
    Kernel::new(template, threads, blocks)
}

pub(super) fn count_segments(offset: WordType) -> Kernel<CountSegments> {
    Kernel::new([("Offset", TemplateValue::Word(offset))], THREADS, 1)
}

pub(super) fn list_segments(offset: WordType) -> Kernel<ListSegments> {
    let template = [
        ("THREADS", TemplateValue::Number(THREADS)),
        ("EACH", TemplateValue::Number(tuning::LISTED_EACH)),
        ("Offset", TemplateValue::Word(offset)),
    ];
    Kernel::new(template, THREADS, 1)
}

pub(super) fn exact_segments<A: KernelArguments>(
    inverse: bool,
    offset: WordType,
    movement: TemplateValue,
) -> Kernel<A> {
    let threads = tuning::EXACT_ROWS;
    let template = [
        ("THREADS", TemplateValue::Number(threads)),
        ("INVERSE", TemplateValue::Flag(inverse)),
        ("Offset", TemplateValue::Word(offset)),
        ("Move", movement),
    ];
    Kernel::new(template, threads, 1)
}

pub(super) fn cipher_segments<A: KernelArguments>(
    shape: SegmentShape,
    offset: WordType,
    movement: TemplateValue,
) -> Kernel<A> {
    let SegmentShape { shape: RowShape { warps, row_warps, slots, blocks }, is_staged } = shape;
    let template = [
        ("WARPS", TemplateValue::Number(warps)),
        ("ROW_WARPS", TemplateValue::Number(row_warps)),
        ("SLOTS", TemplateValue::Number(slots)),
        ("STAGED", TemplateValue::Flag(is_staged)),
        ("Offset", TemplateValue::Word(offset)),
        ("Move", movement),
    ];
    Kernel::new(template, shape.shape.threads(), blocks)
}
