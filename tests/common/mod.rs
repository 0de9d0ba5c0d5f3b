//! What the tests of GPUs share. Each file uses a part of it.
#![allow(dead_code, reason = "every test file is a crate of its own and uses its own part")]

pub(crate) mod capture;
pub(crate) mod group;

use bijective_shuffle::Error;
use bijective_shuffle::cuda::Cuda;

/// An engine on a stream of its own, if this machine has a GPU and the compiler; it must, if the
/// environment says so.
pub(crate) fn cuda() -> Option<Cuda> {
    let cuda = gpu()?;
    // Only what has to be compiled shows whether there is a compiler.
    let compiled = cuda.kernel("extern \"C\" __global__ void nothing() {}", "nothing");
    available(compiled).map(|_| cuda)
}

/// An engine on a stream of its own, if this machine has a GPU, with or without the compiler.
/// Compiled kernels are kept in the folder that `BIJECTIVE_SHUFFLE_TEST_KERNELS` names.
pub(crate) fn gpu() -> Option<Cuda> {
    let cuda = available(Cuda::new())?;
    if let Some(folder) = std::env::var_os("BIJECTIVE_SHUFFLE_TEST_KERNELS") {
        cuda.keep_kernels_in(folder);
    }
    Some(cuda)
}

/// What needs a GPU, if there is one.
fn available<T>(what: Result<T, Error>) -> Option<T> {
    match what {
        Ok(what) => Some(what),
        Err(error @ Error::BackendUnavailable { .. }) => {
            assert!(std::env::var_os("BIJECTIVE_SHUFFLE_REQUIRE_GPU").is_none(), "{error}");
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
