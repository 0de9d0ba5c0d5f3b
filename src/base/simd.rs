//! Which vector instructions are used: chosen when the program runs, in this one place.
//!
//! A [`SimdKernel`] is plain code, loops over arrays mostly, that is compiled once for every
//! [`SimdLevel`]. The compiler vectorises it for the instructions that the level has.

use std::sync::OnceLock;

/// A set of vector instructions that this machine has: a value of the type is the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimdLevel(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every machine of the target has: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2, with the bit manipulation that came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with the byte, word, doubleword and quadword instructions.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Code that is compiled for every level. Everything that [`run`](Self::run) calls has to be
/// inlined into it, or it is compiled for the portable level alone.
pub(crate) trait SimdKernel {
    type Output;

    /// Runs the code. Has to be `#[inline(always)]`.
    fn run(self) -> Self::Output;

    /// Runs the code with AVX2: the same, unless written with its instructions.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`run_avx2`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx2(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }

    /// Runs the code with AVX-512: the same, unless written with its instructions.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`run_avx512`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }
}

/// The variable that limits the level: `portable`, `avx2` or `avx512`; for measurements.
const LIMIT: &str = "BIJECTIVE_SHUFFLE_SIMD";

impl SimdLevel {
    /// The levels that this machine has, the lowest first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let portable = [Kind::Portable];
        #[cfg(target_arch = "x86_64")]
        let more = [
            is_x86_feature_detected!("avx2")
                .then_some(Kind::Avx2)
                .filter(|_| is_x86_feature_detected!("bmi1"))
                .filter(|_| is_x86_feature_detected!("bmi2"))
                .filter(|_| is_x86_feature_detected!("lzcnt"))
                .filter(|_| is_x86_feature_detected!("popcnt")),
            is_x86_feature_detected!("avx512f")
                .then_some(Kind::Avx512)
                .filter(|_| is_x86_feature_detected!("avx512bw"))
                .filter(|_| is_x86_feature_detected!("avx512dq"))
                .filter(|_| is_x86_feature_detected!("avx512vl"))
                .filter(|_| is_x86_feature_detected!("bmi1"))
                .filter(|_| is_x86_feature_detected!("bmi2"))
                .filter(|_| is_x86_feature_detected!("lzcnt"))
                .filter(|_| is_x86_feature_detected!("popcnt")),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let more: [Option<Kind>; 0] = [];
        portable.into_iter().chain(more.into_iter().flatten()).map(Self)
    }

    /// The highest level that this machine has and that the environment variable
    /// `BIJECTIVE_SHUFFLE_SIMD`, if it is set, allows; looked up once.
    #[inline]
    pub(crate) fn current() -> Self {
        static CURRENT: OnceLock<SimdLevel> = OnceLock::new();
        *CURRENT.get_or_init(|| {
            let limit = std::env::var(LIMIT).ok();
            let mut allowed = Self::all().collect::<Vec<_>>();
            if let Some(place) =
                allowed.iter().position(|level| Some(level.name()) == limit.as_deref())
            {
                allowed.truncate(place + 1);
            }
            *allowed.last().expect("the portable level is always there")
        })
    }

    /// The name, as in the environment variable.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Runs a kernel with the level's instructions.
    #[inline]
    pub(crate) fn run<K: SimdKernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Kind::Portable => kernel.run(),
            // SAFETY: the level is only made where the machine was found to have these features.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: this kind is only made where the machine was found to have AVX-512.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { run_avx512(kernel) },
        }
    }
}

/// A figure for every level.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is one level only"))]
pub(crate) struct PerLevel {
    pub(crate) portable: u32,
    pub(crate) avx2: u32,
    pub(crate) avx512: u32,
}

impl PerLevel {
    /// The one of the level that is used.
    pub(crate) fn current(self) -> u32 {
        self.at(SimdLevel::current())
    }

    /// The one of a level.
    pub(crate) fn at(self, level: SimdLevel) -> u32 {
        match level.0 {
            Kind::Portable => self.portable,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => self.avx512,
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<K: SimdKernel>(kernel: K) -> K::Output {
    // SAFETY: `run_avx2` asks for the features that this function is compiled for, and so was
    // called with.
    unsafe { kernel.run_avx2() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<K: SimdKernel>(kernel: K) -> K::Output {
    // SAFETY: `run_avx512` asks for the features that this function is compiled for, and so was
    // called with.
    unsafe { kernel.run_avx512() }
}
