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
/// that answer as the Rust methods do. Its bytes, in the device's layout (little endian, fields aligned to
/// their size), are the parameters. Equal text with other parameters is compiled only once.
///
/// [`Bijection::device_source`]: crate::Bijection::device_source
///
/// # Examples
///
/// ```
/// use bijective_shuffle::DeviceSource;
///
/// let backwards = DeviceSource {
///     type_name: "Backwards".into(),
///     text: "
///         struct Backwards {
///             uint64_t last;
///             __device__ uint64_t forward(uint64_t slot) const { return last - slot; }
///             __device__ uint64_t inverse(uint64_t index) const { return last - index; }
///         };"
///     .into(),
///     params: 9_u64.to_le_bytes().to_vec(),
/// };
/// assert_eq!(backwards.params.len(), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceSource {
    /// The struct's name.
    pub type_name: String,
    /// CUDA C++ that defines it. `<cstdint>`'s fixed-width types are already declared.
    pub text: String,
    /// The struct's bytes.
    pub params: Vec<u8>,
}
