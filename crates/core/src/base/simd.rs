//! Chooses the vector instructions at run time. Nothing else in the crate does.
//!
//! A [`SimdKernel`] is plain code, mostly loops over arrays, that is compiled once for every
//! [`SimdLevel`]. The compiler vectorises it with the instructions of that level.
//!
//! A vector crate such as `wide` picks its instructions at compile time, and users of x86-64
//! compile for the oldest machine. With SSE2 its vectors are faster than the loops in some families
//! and slower in others (`benches/notes/cpu.md`, "Evaluators"), and where there is AVX-512 the
//! loops are several times as fast as with SSE2. So `wide` serves the default family on other
//! targets, which have one set of vectors. Intrinsics are used only where compilers do not find the
//! instruction: to pack survivors, to mark them, to list marked slots, to close gaps between items,
//! and for the default family with AVX2 and AVX-512.

#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU8, Ordering};
#[cfg(feature = "std")]
use std::vec::Vec;

/// A set of vector instructions that this machine has. A value of the type is the proof that it
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimdLevel(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every machine of the target architecture has: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2, with the bit-manipulation instructions that came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with the byte, word, doubleword and quadword instructions.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with those of VBMI2 too, which compress vectors of 16-bit words: processors since
    /// 2019 (Ice Lake, Zen 4).
    #[cfg(target_arch = "x86_64")]
    Vbmi2,
}

/// All kinds, each at its number.
#[cfg(feature = "std")]
#[cfg(target_arch = "x86_64")]
const KINDS: [Kind; 4] = [Kind::Portable, Kind::Avx2, Kind::Avx512, Kind::Vbmi2];
#[cfg(feature = "std")]
#[cfg(not(target_arch = "x86_64"))]
const KINDS: [Kind; 1] = [Kind::Portable];

#[cfg(feature = "std")]
const _: () = {
    let mut number = 0;
    while number < KINDS.len() {
        assert!(KINDS[number] as usize == number);
        number += 1;
    }
};

/// Code that is compiled for every level. Everything that [`run`](Self::run) calls must be inlined
/// into it; what is not inlined is compiled for the portable level only.
pub trait SimdKernel {
    type Output;

    /// Whether AVX-512 serves the kernel better than AVX2. Where it does not, as where items are
    /// copied one by one, no more code is compiled for that level.
    #[cfg(target_arch = "x86_64")]
    const USES_AVX512: bool = true;

    /// Whether [`run_vbmi2`](Self::run_vbmi2) is other code than [`run_avx512`](Self::run_avx512).
    /// Where it is not, no more code is compiled for that level.
    #[cfg(target_arch = "x86_64")]
    const USES_VBMI2: bool = false;

    /// Runs the code. Implementations must be `#[inline(always)]`.
    fn run(self) -> Self::Output;

    /// Runs the code with AVX2. By default this is [`run`](Self::run); a kernel may override it
    /// with intrinsics.
    ///
    /// # Safety
    ///
    /// The machine has the features of `run_avx2`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx2(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }

    /// Runs the code with AVX-512. By default this is [`run`](Self::run); a kernel may override it
    /// with intrinsics.
    ///
    /// # Safety
    ///
    /// The machine has the features of `run_avx512`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }

    /// Runs the code with AVX-512 and VBMI2. By default this is [`run_avx512`](Self::run_avx512).
    ///
    /// # Safety
    ///
    /// The machine has the features of `run_vbmi2`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_vbmi2(self) -> Self::Output
    where
        Self: Sized,
    {
        // SAFETY: the features of `run_vbmi2` include those of `run_avx512`.
        unsafe { self.run_avx512() }
    }
}

/// The environment variable that limits the level, for measurements: `portable`, `avx2`, `avx512`
/// or `vbmi2`.
const LIMIT: &str = "BIJECTIVE_SHUFFLE_SIMD";

impl SimdLevel {
    /// The level that every machine has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// AVX2.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx2`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub unsafe fn avx2() -> Self {
        Self(Kind::Avx2)
    }

    /// AVX-512 without more instructions.
    ///
    /// # Safety
    ///
    /// The machine has the features of [`SimdKernel::run_avx512`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub unsafe fn avx512() -> Self {
        Self(Kind::Avx512)
    }

    /// The levels that this machine has, lowest first.
    pub fn all() -> impl Iterator<Item = Self> {
        let portable = [Kind::Portable];
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        let avx512 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        let more = [
            is_x86_feature_detected!("avx2")
                .then_some(Kind::Avx2)
                .filter(|_| is_x86_feature_detected!("bmi1"))
                .filter(|_| is_x86_feature_detected!("bmi2"))
                .filter(|_| is_x86_feature_detected!("lzcnt"))
                .filter(|_| is_x86_feature_detected!("popcnt")),
            avx512.then_some(Kind::Avx512),
            (avx512 && is_x86_feature_detected!("avx512vbmi2")).then_some(Kind::Vbmi2),
        ];
        #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
        let more: [Option<Kind>; 0] = [];
        portable.into_iter().chain(more.into_iter().flatten()).map(Self)
    }

    /// The highest level that this machine has, limited by the environment variable
    /// `BIJECTIVE_SHUFFLE_SIMD` if that is set. It is looked up once.
    #[cfg(feature = "std")]
    #[inline]
    pub fn current() -> Self {
        // One more than the kind's number. Not behind a lock, which would stay closed in a child
        // that is forked while another thread fills it. Only kinds that this machine was found to
        // have are written to it.
        static CURRENT: AtomicU8 = AtomicU8::new(0);
        match CURRENT.load(Ordering::Relaxed).checked_sub(1) {
            Some(kind) => Self(KINDS[usize::from(kind)]),
            None => {
                let highest = Self::highest();
                CURRENT.store(1 + highest.0 as u8, Ordering::Relaxed);
                highest
            }
        }
    }

    #[cfg(feature = "std")]
    fn highest() -> Self {
        let limit = std::env::var(LIMIT).ok();
        let mut allowed = Self::all().collect::<Vec<_>>();
        if let Some(place) = allowed.iter().position(|level| Some(level.name()) == limit.as_deref())
        {
            allowed.truncate(place + 1);
        }
        *allowed.last().expect("the portable level is always there")
    }

    /// The level that needs no looking for.
    #[cfg(not(feature = "std"))]
    #[inline]
    pub fn current() -> Self {
        Self(Kind::Portable)
    }

    /// Whether the level's instructions include those of AVX-512.
    #[inline]
    pub fn has_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self.0, Kind::Avx512 | Kind::Vbmi2);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Whether the level's instructions include those of AVX2.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub fn has_avx2(self) -> bool {
        self.0 != Kind::Portable
    }

    /// The level's name, as the environment variable spells it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Vbmi2 => "vbmi2",
        }
    }

    /// Runs a kernel with the level's instructions.
    #[inline]
    pub fn run<K: SimdKernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Kind::Portable => kernel.run(),
            // SAFETY: `Kind::Avx2` is only constructed after the machine was found to have AVX2 and
            // the other features of `run_avx2`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: these kinds are only constructed after the machine was found to have the
            // features of `run_avx2` too.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Vbmi2 if !K::USES_AVX512 => unsafe { run_avx2(kernel) },
            // SAFETY: `Kind::Vbmi2` is only constructed after the machine was found to have all
            // features of `run_vbmi2`.
            #[cfg(target_arch = "x86_64")]
            Kind::Vbmi2 if K::USES_VBMI2 => unsafe { run_vbmi2(kernel) },
            // SAFETY: `Kind::Avx512` and `Kind::Vbmi2` are only constructed after the machine was
            // found to have all features of `run_avx512`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Vbmi2 => unsafe { run_avx512(kernel) },
        }
    }
}

/// A figure for every level.
#[derive(Clone, Copy, Debug)]
pub struct PerLevel {
    pub portable: u32,
    pub avx2: u32,
    pub avx512: u32,
}

impl PerLevel {
    /// The figure for the level in use.
    #[inline]
    pub fn current(self) -> u32 {
        self.at(SimdLevel::current())
    }

    /// The figure for the given level.
    #[inline]
    pub fn at(self, level: SimdLevel) -> u32 {
        match level.0 {
            Kind::Portable => self.portable,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Vbmi2 => self.avx512,
        }
    }
}

/// Runs a kernel with the instructions of every machine, as a function of its own.
#[inline(never)]
pub fn run_portable<K: SimdKernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Runs a kernel with AVX2, as a function of its own.
///
/// # Safety
///
/// The machine has the features of the function.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn run_avx2<K: SimdKernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the target features that the kernel's method requires, and its
    // caller has ensured that the machine has them.
    unsafe { kernel.run_avx2() }
}

/// Runs a kernel with AVX-512, as a function of its own.
///
/// # Safety
///
/// The machine has the features of the function.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
pub fn run_avx512<K: SimdKernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the target features that the kernel's method requires, and its
    // caller has ensured that the machine has them.
    unsafe { kernel.run_avx512() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run_vbmi2<K: SimdKernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the target features that the kernel's method requires, and its
    // caller has ensured that the machine has them.
    unsafe { kernel.run_vbmi2() }
}
