//! [`DeviceSource`]: a bijection as CUDA C++.

/// A bijection's text and parameters for a GPU: what [`Bijection::device_source`] returns.
///
/// The text defines a trivially copyable struct with two members,
///
/// ```cuda
/// __device__ uint64_t forward(uint64_t slot) const;
/// __device__ uint64_t inverse(uint64_t index) const;
/// ```
///
/// that answer as the Rust methods do. Its size is a multiple of 8 bytes and its alignment at most 8, so that
/// combinators can put structs side by side; one without parameters has a word that is not used. It stands after
/// [`PRELUDE`](Self::PRELUDE), outside of any namespace and perhaps more than once, hence wants an include guard and
/// names that nobody else has. It is C++17 without headers. The crate's own texts are also plain C++, for compilers
/// without CUDA.
///
/// Text and name decide what is compiled, and may depend on what is worth compiling for, such as the width; the
/// parameters are for the rest, such as the key, so that one kernel serves every key. A struct that is not as large as
/// the parameters does not compile, and what does not compile is [`GpuError::Compile`](crate::GpuError::Compile).
/// docs/writing-a-bijection.md has an example with all that belongs to it.
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
    text: String,
    params: Vec<u8>,
}

impl DeviceSource {
    /// What every text may rely on: fixed-width integers and the markers of device functions, for NVRTC, for nvcc and
    /// for a plain C++ compiler.
    pub const PRELUDE: &str = include_str!("../../gpu/prelude.cuh");

    /// A bijection in CUDA C++: the struct's name, with its namespace and template arguments; the text that defines it; and
    /// the struct's bytes as it lies in memory, little endian, each field aligned to its size, padding included.
    ///
    /// # Safety
    ///
    /// The text runs on the GPU, in this process's context, where nothing checks what it does. For
    /// any argument, all 2^64 of them, its functions end, read nothing but the struct's members,
    /// their arguments and constants, do nothing that C++ leaves undefined, and write nothing. Not
    /// only slots and indexes of the domain come as arguments: in a combinator the argument is what
    /// another bijection answers, which may be anything, and a kernel may evaluate whole tiles of
    /// slots beyond the last. An array among the members is therefore looked at only after the
    /// argument has been compared with its length.
    ///
    /// What the functions answer may be wrong, and outside the domain means nothing: it is checked,
    /// unless the bijection is [trusted](crate::TrustedBijection).
    pub unsafe fn new(
        type_name: impl Into<String>,
        text: impl Into<String>,
        params: Vec<u8>,
    ) -> Self {
        Self { type_name: type_name.into(), text: text.into(), params }
    }

    /// The struct's name, with its namespace and template arguments.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The CUDA C++ that defines it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The struct's bytes.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// A struct of this crate's namespace whose parameters are 64-bit words.
    pub(crate) fn own(
        type_name: String,
        text: &str,
        params: impl IntoIterator<Item = u64>,
    ) -> Self {
        Self {
            type_name: format!("bijective_shuffle::{type_name}"),
            text: text.into(),
            params: params.into_iter().flat_map(u64::to_le_bytes).collect(),
        }
    }

    /// A combinator's struct: those of its parts side by side, and words of its own.
    pub(super) fn combine<const PARTS: usize>(
        template: &str,
        parts: [Self; PARTS],
        params: impl IntoIterator<Item = u64>,
    ) -> Self {
        let names: Vec<&str> = parts.iter().map(|part| &*part.type_name).collect();
        let type_name = format!("{template}<{}>", names.join(", "));
        let own = Self::own(type_name, include_str!("../../gpu/bijection/combinators.cuh"), params);
        // A text may end without a newline, in the middle of a preprocessor's line.
        let texts = parts.iter().map(|part| &*part.text).chain([&*own.text]);
        Self {
            text: texts.flat_map(|text| [text, "\n"]).collect(),
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

/// Two 32-bit words as one of 64 bits, the first one first in memory.
pub(super) fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}
