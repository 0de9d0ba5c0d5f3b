//! [`DeviceSource`]: a bijection as CUDA C++.
//!
//! [`DeviceSource::new`] is unsafe, unlike the rest of a bijection, because device code can write
//! to any memory of the context and need not end. No check of its results prevents that, so safe
//! code must not be able to run it. The author of a text guarantees what it *touches*. What it
//! *returns* is still checked, so a wrong formula is an error and no more. The fields are private
//! and read by functions, since public fields would bypass the constructor.
//!
//! The parameters are bytes. The driver copies as many bytes as the kernel's parameter has,
//! whatever the host holds, so a `static_assert` in each program checks that the struct has the
//! size of the bytes.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::fmt::{self, Write as _};

/// A bijection's code and parameters for a GPU, as [`Bijection::device_source`] returns them.
///
/// The text defines a trivially copyable struct with two members,
///
/// ```cuda
/// __device__ uint64_t forward(uint64_t slot) const;
/// __device__ uint64_t inverse(uint64_t index) const;
/// ```
///
/// that return what the Rust methods return. Its size is a multiple of 8 bytes and its alignment at
/// most 8, so that combinators can put structs side by side; a struct without parameters has one
/// unused word. The text is placed after `gpu/prelude.cuh`, which defines integers of fixed width
/// and the markers of device functions, outside any namespace and possibly more than once, so it
/// needs an include guard and globally unique names. It is C++17 and includes no headers but the
/// project's own, which define the families and combinators: `#include "bijection/lcg.cuh"` is the
/// text of [`Lcg`](crate::bijection::Lcg). Those are in the folder `gpu` of `bijective-shuffle`,
/// and are also plain C++, for compilers without CUDA.
///
/// The text and the name determine what is compiled. They may depend on what is worth compiling
/// separately, such as the width. The parameters hold the rest, such as the key, so that one kernel
/// serves every key. A struct whose size differs from that of the parameters does not compile, and
/// a text that does not compile is `GpuError::Compile`. The example `gpu_bijection` of
/// `bijective-shuffle` is a whole program.
///
/// [`Bijection::device_source`]: crate::Bijection::device_source
///
/// # Examples
///
/// ```
/// use bijective_shuffle::DeviceSource;
///
/// let text = "
///     #ifndef BACKWARDS
///     #define BACKWARDS
///     struct Backwards {
///         uint64_t last;
///         __device__ uint64_t forward(uint64_t slot) const { return last - slot; }
///         __device__ uint64_t inverse(uint64_t index) const { return last - index; }
///     };
///     #endif
/// ";
/// // SAFETY: the functions end, and touch nothing but the struct's own member.
/// let backwards = unsafe { DeviceSource::new("Backwards", text, 9_u64.to_le_bytes().to_vec()) };
/// assert_eq!(backwards.params().len(), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceSource {
    type_name: String,
    text: Cow<'static, str>,
    params: Vec<u8>,
}

impl DeviceSource {
    /// A bijection in CUDA C++.
    ///
    /// `type_name` is the struct's name, with its namespace and template arguments, and `text`
    /// defines it. `params` are the struct's bytes as they lie in memory: little endian, each field
    /// aligned to its size, padding included.
    ///
    /// # Safety
    ///
    /// The text runs on the GPU, in this process's context, where nothing checks what it does. For
    /// every argument, of all 2^64, its functions must end, read only the struct's members, their
    /// arguments and constants, do nothing that C++ leaves undefined, and write nothing. Arguments
    /// need not be slots or indexes of the domain. In a combinator the argument is what another
    /// bijection returned, which may be any number, and a kernel may evaluate whole tiles of slots
    /// beyond the last. A function must therefore compare its argument with the length of a member
    /// array before it reads from that array.
    ///
    /// The returned values may be wrong, and those outside the domain are unspecified: they are
    /// checked, unless the bijection is [trusted](crate::TrustedBijection).
    pub unsafe fn new(
        type_name: impl Into<String>,
        text: impl Into<Cow<'static, str>>,
        params: Vec<u8>,
    ) -> Self {
        Self { type_name: type_name.into(), text: text.into(), params }
    }

    /// The struct's name, with its namespace and template arguments.
    #[doc(hidden)]
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The CUDA C++ text that defines the struct.
    #[doc(hidden)]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The struct's bytes.
    #[doc(hidden)]
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// A struct of the crate's own namespace, with 64-bit words as parameters.
    #[doc(hidden)]
    pub fn own(type_name: fmt::Arguments<'_>, text: &'static str, params: &[&[u64]]) -> Self {
        // A call of a few microseconds on the device asks for this: the text is not copied, and
        // the name and the words are allocated once.
        let mut name = String::with_capacity(64);
        name.push_str("bijective_shuffle::");
        // Writing to a string cannot fail.
        let _ = name.write_fmt(type_name);
        let mut bytes = Vec::with_capacity(params.iter().map(|words| 8 * words.len()).sum());
        let words = params.iter().copied().flatten();
        words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        Self { type_name: name, text: text.into(), params: bytes }
    }

    /// The struct of a combinator: those of its parts side by side, then its own words.
    pub(super) fn combine<const PARTS: usize>(
        template: &str,
        parts: [Self; PARTS],
        params: &[u64],
    ) -> Self {
        let text = r#"#include "bijection/combinators.cuh""#;
        Self::around(template, text, parts, params)
    }

    /// A struct template of the crate's own namespace that a text defines, with this struct as its
    /// part.
    #[doc(hidden)]
    pub fn wrapped(self, template: &str, text: &'static str, params: &[u64]) -> Self {
        Self::around(template, text, [self], params)
    }

    fn around<const PARTS: usize>(
        template: &str,
        text: &'static str,
        parts: [Self; PARTS],
        params: &[u64],
    ) -> Self {
        let names: Vec<&str> = parts.iter().map(|part| &*part.type_name).collect();
        let names = names.join(", ");
        let own = Self::own(format_args!("{template}<{names}>"), text, &[params]);
        // A text may end without a newline, in the middle of a preprocessor line.
        let texts = parts.iter().map(|part| &*part.text).chain([&*own.text]);
        Self {
            text: texts.flat_map(|text| [text, "\n"]).collect::<String>().into(),
            params: parts
                .iter()
                .flat_map(|part| &part.params)
                .chain(&own.params)
                .copied()
                .collect(),
            type_name: own.type_name,
        }
    }
}

/// The narrower word of the device that has `bits` bits.
pub(super) const fn word_for(bits: u32) -> &'static str {
    if bits <= 32 { "uint32_t" } else { "uint64_t" }
}

/// Packs two 32-bit words into one of 64 bits, with the first one first in memory.
pub(super) fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}
