//! The kernels of gpu/fill.cuh, with their arguments.

use super::tuning::FillShape;
use crate::cuda::runtime::kernel::{Kernel, KernelArguments, TemplateValue, arguments};

arguments! {
    /// Fills with one stream of Philox4x32 whose blocks fall on aligned places.
    #[derive(PartialEq, Eq)]
    pub(super) struct FillPhilox => Fill, None, "fill_philox<Number, ROUNDS, THREADS, TOGETHER>" {
        key: u64 => "uint64_t",
        stream: u64 => "uint64_t",
        block: u64 => "uint64_t",
        out: u64 => "uint32_t*",
        first: u64 => "uint64_t",
        end: u64 => "uint64_t",
    }
}

arguments! {
    /// Fills with one stream of Philox4x32, at any place.
    #[derive(PartialEq, Eq)]
    pub(super) struct FillPhiloxAnywhere
        => Fill, None, "fill_philox_anywhere<Number, ROUNDS, THREADS, TOGETHER>" {
        key: u64 => "uint64_t",
        stream: u64 => "uint64_t",
        block: u64 => "uint64_t",
        skip: u64 => "uint64_t",
        out: u64 => "uint32_t*",
        words: u64 => "uint64_t",
    }
}

arguments! {
    /// Fills with streams that a thread steps alone, one or several neighbouring ones for each
    /// thread.
    pub(super) struct FillStreams
        => Fill, None, "fill_streams<Generator, Number, THREADS, STREAMS, TOGETHER>" {
        states: u64 => "uint32_t*",
        count: u64 => "uint64_t",
        out: u64 => "Number::Type*",
        len: u64 => "uint64_t",
    }
}

/// Declares a kernel whose streams are shared by threads; all of these take the same arguments.
macro_rules! shared_streams {
    ($(#[$doc:meta])* $name:ident, $call:literal) => {
        arguments! {
            $(#[$doc])*
            pub(super) struct $name => Fill, None, $call {
                states: u64 => "uint32_t*",
                count: u64 => "uint64_t",
                out: u64 => "uint32_t*",
                words: u64 => "uint64_t",
            }
        }
    };
}

shared_streams! {
    /// Fills with an ensemble of streams of Philox4x32.
    FillPhiloxStreams, "fill_philox_streams<Number, ROUNDS, THREADS, TOGETHER>"
}

shared_streams! {
    /// Fills with streams that threads of a warp share.
    FillWarps, "fill_warps<Generator, Number, THREADS>"
}

shared_streams! {
    /// Fills with streams that a block shares.
    FillRings, "fill_rings<Generator, Number>"
}

/// The kernel with these arguments that fills by Philox.
pub(super) fn philox<A: KernelArguments>(
    number: &'static str,
    rounds: usize,
    shape: FillShape,
) -> Kernel<A> {
    let template = [
        ("Number", TemplateValue::Type(number)),
        ("ROUNDS", TemplateValue::Number(rounds as u32)),
        ("THREADS", TemplateValue::Number(shape.threads)),
        ("TOGETHER", TemplateValue::Number(shape.together)),
    ];
    Kernel::new(template, shape.threads, shape.blocks)
}

pub(super) fn fill_streams(
    generator: &'static str,
    number: &'static str,
    streams: u32,
    shape: FillShape,
) -> Kernel<FillStreams> {
    let template = [
        ("Generator", TemplateValue::Type(generator)),
        ("Number", TemplateValue::Type(number)),
        ("THREADS", TemplateValue::Number(shape.threads)),
        ("STREAMS", TemplateValue::Number(streams)),
        ("TOGETHER", TemplateValue::Number(shape.together)),
    ];
    Kernel::new(template, shape.threads, shape.blocks)
}

pub(super) fn fill_warps(
    generator: &'static str,
    number: &'static str,
    shape: FillShape,
) -> Kernel<FillWarps> {
    let template = [
        ("Generator", TemplateValue::Type(generator)),
        ("Number", TemplateValue::Type(number)),
        ("THREADS", TemplateValue::Number(shape.threads)),
    ];
    Kernel::new(template, shape.threads, shape.blocks)
}

/// The kernel for blocks of `threads` threads, which share a stream.
pub(super) fn fill_rings(
    generator: &'static str,
    number: &'static str,
    threads: u32,
) -> Kernel<FillRings> {
    let template =
        [("Generator", TemplateValue::Type(generator)), ("Number", TemplateValue::Type(number))];
    Kernel::new(template, threads, 1)
}
