//! [`DeviceGenerator`]: generators and distributions, with their names in gpu/rng.

use cudarc::driver::DeviceRepr;

use crate::rng::engine::{Distribution, F32, F64, NormalF32, NormalF64, U32, U64};
use crate::rng::{
    Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng,
    XorShift1024Weyl, Xorwow,
};

/// A kind of numbers, with the name of its type in gpu/rng/number.cuh.
pub(super) trait DeviceDraw: Distribution<Number: DeviceRepr> {
    const NAME: &'static str;

    /// The number of 32-bit words that `numbers` numbers take in memory, which is what the kernels
    /// count.
    fn words(numbers: usize) -> u64 {
        numbers as u64 * (size_of::<Self::Number>() / 4) as u64
    }
}

macro_rules! device_draw {
    ($($kind:ident),*) => {$(
        impl DeviceDraw for $kind {
            const NAME: &'static str = stringify!($kind);
        }
    )*};
}

device_draw!(U32, U64, F32, F64, NormalF32, NormalF64);

/// Which threads step a stream, and the generator's type in gpu/rng.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Threads {
    /// A thread has one stream or several. Word `w` of the state of stream `i` of `count` is at
    /// place `w * count + i`.
    One(&'static str),
    /// This many neighbouring threads share a stream. The words of a stream's state are contiguous.
    Part(&'static str, u32),
    /// A block of this many threads shares a stream. The words of a stream's state are contiguous.
    Block(&'static str, u32),
    /// Philox4x32 with this many rounds: a stream has as many threads as a number has words. The
    /// words of a stream's state are contiguous.
    Philox(usize),
}

/// A [`Generator`] that has a GPU version, which gives the same words.
pub trait DeviceGenerator: Generator {
    /// How the GPU runs it.
    #[doc(hidden)]
    fn threads() -> Threads;
}

macro_rules! alone {
    ($($generator:ident),*) => {$(
        impl DeviceGenerator for $generator {
            fn threads() -> Threads {
                Threads::One(stringify!($generator))
            }
        }
    )*};
}

alone!(Lcg32, Lcg64, Mwc, Xorwow);

impl<const ROUNDS: usize> DeviceGenerator for Philox4x32Rng<ROUNDS> {
    fn threads() -> Threads {
        Threads::Philox(ROUNDS)
    }
}

impl DeviceGenerator for XorShift1024Weyl {
    fn threads() -> Threads {
        Threads::Part("XorShift1024WeylQuads", 8)
    }
}

impl DeviceGenerator for LaggedFibonacci521 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<521, 353, 64>", 64)
    }
}

impl DeviceGenerator for LaggedFibonacci1279 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<1279, 861, 128>", 128)
    }
}

/// Calls a macro with the six methods that fill: what each writes, its name, its kind of numbers
/// and their type.
macro_rules! six_fills {
    ($fills:ident) => {
        $fills! {
            #[doc = "Fills a slice with words."]
            fill_u32: U32, u32;
            #[doc = "Fills a slice with numbers of two words each, the low word first."]
            fill_u64: U64, u64;
            #[doc = "Fills a slice with numbers in [0, 1), multiples of 2^-24, of one word each."]
            fill_f32: F32, f32;
            #[doc = "Fills a slice with numbers in [0, 1), multiples of 2^-53, of two words each."]
            fill_f64: F64, f64;
            #[doc = "Fills a slice with normal numbers, mean 0, variance 1: two from two words."]
            fill_normal_f32: NormalF32, f32;
            #[doc = "Fills a slice with normal numbers, mean 0, variance 1: two from four words."]
            fill_normal_f64: NormalF64, f64;
        }
    };
}

pub(super) use six_fills;
