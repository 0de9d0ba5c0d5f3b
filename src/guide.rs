//! The book, as pages.
//!
//! Its chapters are the Markdown files in `docs`. Here their Rust code is run as doc tests.

// A chapter links to its neighbours as files. Here the same names are links to pages: of two
// definitions of a name, Markdown takes the first.

/// Slices, tables and matrices, on all cores.
///
/// [families]: mod@crate::guide::algorithm#the-bijections
/// [writing]: mod@crate::guide::writing_a_bijection
/// [limit]: mod@crate::guide::recipes#a-limit-of-threads
#[doc = include_str!("../docs/shuffle.md")]
pub mod shuffle {}

/// Orders that are not stored: any place, part or sample of them, saved and resumed.
///
/// [reproducibility]: mod@crate::guide::reproducibility#lengths-that-share-a-key
/// [cluster]: mod@crate::guide::cluster
/// [recipes]: mod@crate::guide::recipes#splits-and-folds
/// [`Permutation`]: struct@crate::Permutation
#[doc = include_str!("../docs/resume.md")]
pub mod resume {}

/// The batches of a training loop on many ranks.
///
/// [files]: mod@crate::guide::files#data-in-blocks
/// [python]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/python.md
#[doc = include_str!("../docs/cluster.md")]
pub mod cluster {}

/// Shuffling arrays that are spread over ranks.
///
/// [`exchange`]: mod@crate::exchange
/// [gpu]: mod@crate::guide::gpu#several-gpus
/// [gpu ranks]: mod@crate::guide::gpu#a-gpu-for-each-rank
/// [results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/distributed.md
#[doc = include_str!("../docs/distributed.md")]
pub mod distributed {}

/// The lines of files, and data in records and blocks.
///
/// [cluster]: mod@crate::guide::cluster#data-in-blocks
/// [data sets]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/data-sets.md
/// [results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/lines.md
#[doc = include_str!("../docs/files.md")]
pub mod files {}

/// Single indexes of an order, in kernels of your own.
///
/// [resume]: mod@crate::guide::resume
/// [c]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/c.md
/// [no_std]: mod@crate::guide::recipes#without-the-standard-library
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
#[doc = include_str!("../docs/inside-kernels.md")]
pub mod inside_kernels {}

/// Shuffles on an NVIDIA GPU.
///
/// [`CudaWorkspace`]: struct@crate::cuda::CudaWorkspace
/// [`CudaGroup`]: struct@crate::cuda::CudaGroup
/// [`CudaExchange`]: struct@crate::cuda::CudaExchange
/// [distributed]: mod@crate::guide::distributed
/// [algorithm]: mod@crate::guide::algorithm#the-gpu-engine
/// [results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/gpu.md
/// [writing]: mod@crate::guide::writing_a_bijection#on-the-gpu
// Without the engine its examples would not compile.
#[cfg_attr(
    all(feature = "cuda", target_pointer_width = "64", any(target_os = "linux", target_os = "windows")),
    doc = include_str!("../docs/gpu.md")
)]
pub mod gpu {}

/// How to write a bijection of your own, for the CPU and for a GPU.
///
/// [verify]: fn@crate::bijection::verify
/// [source]: struct@crate::DeviceSource
#[doc = include_str!("../docs/writing-a-bijection.md")]
pub mod writing_a_bijection {}

/// Splits, grids, ids, decks, random numbers, asynchronous code, stopping, threads, no `std`.
///
/// [resume]: mod@crate::guide::resume#save-and-resume-an-iterator
/// [rows]: mod@crate::guide::resume#many-small-orders
/// [files]: mod@crate::guide::files#records-of-a-fixed-size
/// [frames]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/loaders.md
/// [splits]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/loaders.md
/// [together]: mod@crate::guide::shuffle#several-arrays-together
/// [python]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/python.md
/// [c]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/c.md
/// [javascript]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/javascript.md
#[doc = include_str!("../docs/recipes.md")]
pub mod recipes {}

/// What a seed gives, and what it does not depend on.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
/// [specification]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/specification.md
#[doc = include_str!("../docs/reproducibility.md")]
pub mod reproducibility {}

/// How it works: the paper's algorithm, the families of bijections, and the engines.
///
/// [quality]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/quality.md
/// [proof]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/proof.md
/// [specification]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/specification.md
/// [blocks]: mod@crate::guide::files#data-in-blocks
/// [CPU results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/cpu.md
/// [GPU results]: https://docs.rs/crate/bijective-shuffle/latest/source/docs/results/gpu.md
#[doc = include_str!("../docs/algorithm.md")]
pub mod algorithm {}
