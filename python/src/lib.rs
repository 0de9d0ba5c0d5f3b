//! The native part of the Python package `bijective_shuffle`, as its module `_native`.
//!
//! What users see is in the folder `bijective_shuffle`: its `__init__.py` re-exports the classes
//! from here, and its other modules are written in Python. The split is by safety: arrays of NumPy
//! are checked here, and whatever Python code calls a function with, memory stays sound. (Of an
//! array on a GPU only what its owner says about it can be checked.) Copies of arrays in other
//! layouts, the wording for users, and adapters to frameworks are Python.
//!
//! Every class is `frozen`: what changes in one is in [`turns::Turns`], so threads of Python can
//! share it. And every call that may take long is [`threads::interruptible`], unless it moves items
//! in place.

mod argument;
mod arrays;
mod blocks;
mod counter;
mod dtype;
mod errors;
mod evaluate;
mod files;
mod gpu;
mod iter;
mod loaders;
mod methods;
mod numbers;
mod passes;
mod permutation;
mod pin;
mod places;
mod resample;
mod run;
mod sampler;
mod seed;
mod shared;
mod streams;
mod threads;
mod tokens;
mod turns;

use bijective_shuffle_bindings::threads::prepare_for_forks;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Native code of the package `bijective_shuffle`.
// Object arrays are shuffled with the GIL held, so an interpreter without one has to enable it.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::{
        arrays::{
            permuted, reorder, reorder_copies, reorder_segments, segment_indexes,
            write_permutations,
        },
        blocks::BlockShuffle,
        errors::{ArrayError, ForeignStateError, GpuUnavailableError, IndexNotBuiltError},
        files::shuffle_files,
        gpu::{gpu, gpu_covers, gpu_indexes, gpu_permuted, gpu_reorder, gpu_segments},
        iter::{Chunks, Indexes},
        loaders::{Sets, Weights, weighted_sample},
        methods::restore,
        permutation::Permutation,
        places::Places,
        resample::{BootstrapRows, Columns, FixedSizeBatches, PoissonBatches, bootstrap_interval},
        sampler::Sampler,
        streams::{
            check_blocks, node_blocks, split_ids, split_parts, stream_buffered, stream_slots,
            stream_state,
        },
        threads::thread_count,
        tokens::{ByLength, Documents},
    };

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // What is looked up at first use is kept behind locks: which instructions the processor
        // has, and where NumPy's functions and its register of borrowed arrays are. A child that is
        // forked while a thread of its parent looks it up would wait for ever: it is done here.
        prepare_for_forks().map_err(PyRuntimeError::new_err)?;
        bijective_shuffle::Permutation::walk(1 << 10, 0).to_vec();
        module.py().import("numpy")?;
        drop(PyArray1::<u64>::zeros(module.py(), 1, false).try_readwrite());
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
