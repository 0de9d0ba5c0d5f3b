//! The documents, as pages.

// A document links to its neighbours as files. Here the same names are links to pages: of two
// definitions of a name, Markdown takes the first.

/// How it works: the paper's algorithm, the families of bijections, and the engines.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
/// [kernels]: https://docs.rs/crate/bijective-shuffle/latest/source/gpu/README.md
/// [CPU results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/cpu.md
/// [GPU results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/gpu.md
#[doc = include_str!("../docs/algorithm.md")]
pub mod algorithm {}

/// What a reader of the code may wonder about, and why it is as it is.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
/// [CPU results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/cpu.md
/// [RNG results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/rng.md
/// [results for several arrays]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/views.md
/// [TestU01 results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/testu01.md
#[doc = include_str!("../docs/decisions.md")]
pub mod decisions {}

/// What a seed gives, and what it does not depend on.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
#[doc = include_str!("../docs/reproducibility.md")]
pub mod reproducibility {}

/// What is tested, and how to run it.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
/// [results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/
#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

/// How to write a bijection of your own, for the CPU and for a GPU.
#[doc = include_str!("../docs/writing-a-bijection.md")]
pub mod writing_a_bijection {}
