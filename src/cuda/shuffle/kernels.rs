//! The kernels of gpu/shuffle, with their arguments.

use super::sizes::PassSizes;
use super::tuning::{self, DirectShape};
use crate::compact::Direction;
use crate::cuda::runtime::kernel::{
    Kernel, KernelArguments, TemplateValue, arguments, device_struct,
};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::word_type::WordType;

arguments! {
    /// Moves items where every slot survives.
    pub(crate) struct MoveDense<M> => Permutations, Value, "move_dense<Index, THREADS, SLOTS>" {
        len: u64 => "uint64_t",
        movement: M => "Move",
    }
}

arguments! {
    /// Moves the survivors, whose places come from a look-back. If `only_if` is not null, the
    /// kernel does nothing if the word there is 0.
    pub(crate) struct MoveSurvivors<M>
        => Permutations, Value, "move_survivors<Index, THREADS, SLOTS>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        states: u64 => "TileStates*",
        movement: M => "Move",
        only_if: u64 => "const uint32_t*",
    }
}

arguments! {
    /// Moves the survivors of tiles that each add up the counts of all tiles before them.
    pub(crate) struct MoveAtOnce<M> => Permutations, Value, "move_at_once<Index, THREADS, SLOTS>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        states: u64 => "TileStates*",
        movement: M => "Move",
    }
}

arguments! {
    /// Counts the survivors of each tile.
    pub(crate) struct CountSurvivors
        => Permutations, Value, "count_survivors<Index, THREADS, SLOTS>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        counts: u64 => "uint32_t*",
    }
}

arguments! {
    /// Computes the exclusive prefix sums of the counts, in one block.
    pub(crate) struct ScanCounts => Permutations, None, "scan_counts<THREADS>" {
        counts: u64 => "const uint32_t*",
        len: u32 => "uint32_t",
        bases: u64 => "uint64_t*",
    }
}

arguments! {
    /// Checks the indexes of a bijection that is not trusted.
    pub(crate) struct FindRepeats => Permutations, None, "find_repeats<Word>" {
        indexes: u64 => "const Word*",
        len: u64 => "uint64_t",
        states: u64 => "const TileStates*",
        seen: u64 => "uint32_t*",
        repeats: u64 => "uint32_t*",
    }
}

device_struct! {
    /// `Buckets` in gpu/shuffle/partitioned.cuh.
    pub(crate) struct Buckets {
        pub(crate) items: u64,
        pub(crate) keys: u64,
        pub(crate) counts: u64,
        pub(crate) capacity: u64,
        pub(crate) overflow: u64,
    }
}

arguments! {
    /// The first pass, in the order of the source array.
    pub(crate) struct DistributeSource
        => Permutations, Value, "distribute_source<THREADS, RECORDS, BITS, DIRECTION>" {
        source: u64 => "const Word*",
        len: u64 => "uint64_t",
        shift: i32 => "int",
        to: Buckets => "Buckets<Word, Key>",
    }
}

arguments! {
    /// The first pass for undoing a shuffle where not every slot survives: by the indexes that
    /// survive.
    pub(crate) struct DistributeSurvivors
        => Permutations, Value, "distribute_survivors<THREADS, RECORDS, BITS>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        states: u64 => "TileStates*",
        source: u64 => "const Word*",
        shift: i32 => "int",
        slots: u32 => "uint32_t",
        to: Buckets => "Buckets<Word, Key>",
    }
}

arguments! {
    /// The second pass.
    pub(crate) struct DistributeBucket
        => Permutations, None, "distribute_bucket<THREADS, RECORDS, BITS>" {
        from: Buckets => "Buckets<Word, uint32_t>",
        shift: i32 => "int",
        to: Buckets => "Buckets<Word, Key>",
    }
}

arguments! {
    /// Moves the items of buckets to their places.
    pub(crate) struct PlaceBucket
        => Permutations, None, "place_bucket<THREADS, TOGETHER, BUCKET_BITS, DENSE>" {
        from: Buckets => "Buckets<Word, uint16_t>",
        bases: u64 => "const uint64_t*",
        out: u64 => "Word*",
    }
}

/// The kernel with these arguments that moves what is at tiles of slots.
pub(crate) fn of_slots<A: KernelArguments>(
    index: WordType,
    shape: DirectShape,
    movement: TemplateValue,
) -> Kernel<A> {
    let template = [
        ("Index", TemplateValue::Word(index)),
        ("THREADS", TemplateValue::Number(shape.threads)),
        ("SLOTS", TemplateValue::Number(shape.slots)),
        ("Move", movement),
    ];
    Kernel::new(template, shape.threads, shape.blocks)
}

pub(crate) fn count_survivors(index: WordType, shape: DirectShape) -> Kernel<CountSurvivors> {
    let DirectShape { threads, slots, .. } = shape;
    let template = [
        ("Index", TemplateValue::Word(index)),
        ("THREADS", TemplateValue::Number(threads)),
        ("SLOTS", TemplateValue::Number(slots)),
    ];
    Kernel::new(template, threads, 1)
}

/// Threads of the one block that sums counts.
pub(crate) const SCAN_THREADS: u32 = 1024;

pub(crate) fn scan_counts() -> Kernel<ScanCounts> {
    Kernel::new([("THREADS", TemplateValue::Number(SCAN_THREADS))], SCAN_THREADS, 1)
}

pub(crate) fn find_repeats(word: WordType) -> Kernel<FindRepeats> {
    Kernel::new([("Word", TemplateValue::Word(word))], THREADS, 1)
}

/// Template arguments of a pass.
fn pass_template(pass: PassSizes, word: WordType) -> [(&'static str, TemplateValue); 5] {
    [
        ("THREADS", TemplateValue::Number(tuning::PASS_THREADS)),
        ("RECORDS", TemplateValue::Number(pass.records)),
        ("BITS", TemplateValue::Number(pass.bits)),
        ("Word", TemplateValue::Word(word)),
        ("Key", TemplateValue::Word(pass.key)),
    ]
}

pub(crate) fn distribute_source(
    pass: PassSizes,
    word: WordType,
    direction: Direction,
) -> Kernel<DistributeSource> {
    let [threads, records, bits, word, key] = pass_template(pass, word);
    let direction = ("DIRECTION", TemplateValue::Way(direction));
    Kernel::new(
        [threads, records, bits, word, key, direction],
        tuning::PASS_THREADS,
        tuning::PASS_BLOCKS,
    )
}

/// The kernel with these arguments that distributes records in a pass.
pub(crate) fn distribute<A: KernelArguments>(pass: PassSizes, word: WordType) -> Kernel<A> {
    Kernel::new(pass_template(pass, word), tuning::PASS_THREADS, tuning::PASS_BLOCKS)
}

/// The kernel with these arguments that moves buckets' items to their places.
pub(crate) fn place<A: KernelArguments>(
    word: WordType,
    bucket_bits: u32,
    dense: bool,
) -> Kernel<A> {
    let tuning::PlaceShape { threads, blocks, together } = tuning::place(dense);
    let template = [
        ("THREADS", TemplateValue::Number(threads)),
        ("TOGETHER", TemplateValue::Number(together)),
        ("BUCKET_BITS", TemplateValue::Number(bucket_bits)),
        ("DENSE", TemplateValue::Flag(dense)),
        ("Word", TemplateValue::Word(word)),
    ];
    Kernel::new(template, threads, blocks)
}
