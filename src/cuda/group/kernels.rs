//! The kernels of gpu/group, with their arguments.

use super::shards::{MOST_MEMBERS, ShardsArgument};
use super::sizes::GroupSizes;
use crate::compact::Direction;
use crate::cuda::runtime::kernel::{Kernel, TemplateValue, arguments, device_struct};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::shuffle::kernels::Buckets;
use crate::cuda::shuffle::tuning as of_one;

device_struct! {
    /// `Everywhere` in gpu/group/exchange.cuh.
    pub(super) struct Everywhere {
        pub(super) words: [u64; MOST_MEMBERS],
    }
}

arguments! {
    /// The first pass: a member's items, in order, to their buckets.
    pub(super) struct SendItems
        => Permutations, Value, "send_items<THREADS, RECORDS, BITS, DIRECTION, Slot>" {
        source: u64 => "const Word*",
        start: u64 => "uint64_t",
        len: u64 => "uint64_t",
        shift: i32 => "int",
        to: Buckets => "Buckets<Word, uint32_t>",
    }
}

arguments! {
    /// The first pass for undoing a shuffle where not every slot survives.
    pub(super) struct SendSurvivors
        => Permutations, Value, "send_survivors<THREADS, RECORDS, BITS, Slot>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        bases: u64 => "const uint64_t*",
        slots: u32 => "uint32_t",
        counted: u32 => "uint32_t",
        before: u64 => "const uint64_t*",
        source: ShardsArgument => "Shards<Word>",
        shift: i32 => "int",
        to: Buckets => "Buckets<Word, uint32_t>",
    }
}

arguments! {
    /// The sum of the numbers of the members before one.
    pub(super) struct AddUp => Permutations, None, "add_up" {
        of: Everywhere => "Everywhere<uint64_t>",
        member: u32 => "uint32_t",
        sum: u64 => "uint64_t*",
    }
}

arguments! {
    /// The last pass: an owner's items to their places.
    pub(super) struct PlaceInShards
        => Permutations, None, "place_in_shards<THREADS, TOGETHER, BUCKET_BITS, DENSE>" {
        from: Buckets => "Buckets<Word, uint16_t>",
        bases: u64 => "const uint64_t*",
        before: u64 => "const uint64_t*",
        first: u64 => "uint64_t",
        out: ShardsArgument => "Shards<Word>",
    }
}

arguments! {
    /// Whether any member's word is set.
    pub(super) struct AnyWord => Permutations, None, "any_word" {
        of: Everywhere => "Everywhere<uint32_t>",
        members: u32 => "uint32_t",
        any: u64 => "uint32_t*",
    }
}

pub(super) fn send_items(sizes: &GroupSizes, direction: Direction) -> Kernel<SendItems> {
    let template = [
        ("THREADS", TemplateValue::Number(of_one::PASS_THREADS)),
        ("RECORDS", TemplateValue::Number(sizes.first.records)),
        ("BITS", TemplateValue::Number(sizes.first.bits)),
        ("DIRECTION", TemplateValue::Way(direction)),
        ("Slot", TemplateValue::Word(sizes.slot)),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, of_one::PASS_THREADS, sizes.first.blocks)
}

pub(super) fn send_survivors(sizes: &GroupSizes) -> Kernel<SendSurvivors> {
    let template = [
        ("THREADS", TemplateValue::Number(of_one::PASS_THREADS)),
        ("RECORDS", TemplateValue::Number(sizes.first.records)),
        ("BITS", TemplateValue::Number(sizes.first.bits)),
        ("Slot", TemplateValue::Word(sizes.slot)),
        ("Word", TemplateValue::Word(sizes.word)),
    ];
    Kernel::new(template, of_one::PASS_THREADS, sizes.first.blocks)
}

pub(super) fn add_up() -> Kernel<AddUp> {
    Kernel::new([], THREADS, 1)
}

pub(super) fn any_word() -> Kernel<AnyWord> {
    Kernel::new([], THREADS, 1)
}
