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
//! size of the bytes. The families name each parameter ([`BijectionForm`]), and a test compares the
//! names and offsets with the members of their structs.

use alloc::{borrow::Cow, string::String, vec::Vec};

use super::form::{BijectionForm, BijectionView, Field, WORD};

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
/// a text that does not compile is `GpuError::CompileFailed`. The example `gpu_bijection` of
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
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceSource {
    form: BijectionForm,
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
        let name: String = type_name.into();
        let form = BijectionForm::of_text(name.into(), text.into(), params.len());
        Self { form, params }
    }

    /// The struct of a family, in the project's own namespace. Its parts, the arguments of its
    /// template and its members follow, in this order.
    ///
    /// # Safety
    ///
    /// The text and the values that follow keep together what [`new`](Self::new) demands.
    #[doc(hidden)]
    pub unsafe fn family(name: &'static str, text: &'static str) -> Self {
        Self::own(name, text)
    }

    /// As [`family`](Self::family), for the families of this package. Their texts evaluate numbers,
    /// and compare with the length of an array, which is a member too, before they read from it.
    pub(super) fn own(name: &'static str, text: &'static str) -> Self {
        // A call of a few microseconds on the device asks for this, so little grows.
        Self { form: BijectionForm::family(name, text), params: Vec::with_capacity(544) }
    }

    pub(super) fn combinator(name: &'static str) -> Self {
        Self::own(name, r#"#include "bijection/combinators.cuh""#)
    }

    /// With a part, whose parameters come next in memory.
    #[doc(hidden)]
    #[must_use]
    pub fn part(mut self, part: Self) -> Self {
        self.params.extend_from_slice(&part.params);
        self.form.parts.push(part.form);
        self.form.bytes = self.params.len();
        self
    }

    /// With a number as the next argument of the template.
    #[doc(hidden)]
    #[must_use]
    pub fn number(mut self, name: &'static str, number: u32) -> Self {
        self.form.numbers.push((name, number));
        self
    }

    /// With the narrower word that has this many bits as the next argument of the template.
    #[doc(hidden)]
    #[must_use]
    pub fn word(self, bits: u32) -> Self {
        self.number(WORD, if bits <= 32 { 32 } else { 64 })
    }

    /// With the next member of the struct. An array cannot be empty in C++: without values it has
    /// one that nobody reads.
    #[doc(hidden)]
    #[must_use]
    pub fn field<V: Value>(mut self, name: &'static str, values: &[V]) -> Self {
        let offset = self.params.len();
        values.iter().for_each(|&value| value.put(&mut self.params));
        if values.is_empty() {
            V::default().put(&mut self.params);
        }
        self.form.bytes = self.params.len();
        let field = Field { name, word: V::WORD, offset, bytes: self.form.bytes - offset };
        self.form.fields.push(field);
        self
    }

    /// What determines the code.
    #[doc(hidden)]
    pub fn form(&self) -> &BijectionForm {
        &self.form
    }

    /// The form with its parameters.
    #[doc(hidden)]
    pub fn view(&self) -> BijectionView<'_> {
        BijectionView { form: &self.form, params: &self.params }
    }

    /// The struct's bytes.
    #[doc(hidden)]
    pub fn params(&self) -> &[u8] {
        &self.params
    }
}

/// What a member of a struct consists of.
#[doc(hidden)]
pub trait Value: Copy + Default {
    /// The bytes of a word.
    const WORD: usize;

    fn put(self, out: &mut Vec<u8>);
}

macro_rules! values {
    ($($word:ty)+) => {$(
        impl Value for $word {
            const WORD: usize = size_of::<$word>();

            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )+};
}

values!(u8 u16 u32 u64);

impl<V: Value, const N: usize> Value for [V; N]
where
    Self: Default,
{
    const WORD: usize = V::WORD;

    fn put(self, out: &mut Vec<u8>) {
        self.into_iter().for_each(|value| value.put(out));
    }
}
