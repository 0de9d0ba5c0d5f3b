//! Looking for the driver without a call that could panic.
//!
//! cudarc's functions panic if the driver's library cannot be loaded, so none of them is called
//! before [`driver`] has succeeded.

use std::ffi::{OsStr, c_int};
use std::sync::OnceLock;

use libloading::{Library, Symbol};

use crate::error::Unavailable;

/// The oldest driver that the crate supports, that of CUDA 12.0.
const OLDEST_DRIVER: u32 = 12_000;

const NAMES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

/// A driver that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// The CUDA version of the driver: 1000 times the major version plus 10 times the minor one.
    pub(crate) version: u32,
    /// The number of devices, at least one.
    pub(crate) devices: usize,
}

/// The driver, or what is missing. It is looked for once in a process.
pub(crate) fn driver() -> Result<Driver, Unavailable> {
    static ANSWER: OnceLock<Result<Driver, Unavailable>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| {
        let library = open(NAMES).ok_or(Unavailable::NoDriver)?;
        // The library is never unloaded, since cudarc will use it.
        let driver = ask(&library);
        core::mem::forget(library);
        driver
    });
    answer.clone()
}

/// The first library that can be loaded.
pub(crate) fn open<S: AsRef<OsStr>>(names: &[S]) -> Option<Library> {
    names.iter().find_map(|name| load(name.as_ref()).ok())
}

/// Loads one of NVIDIA's libraries, by a name that this crate knows or by a path from the
/// environment.
///
/// Its initialisers run now, in this process, and its functions later. That it is NVIDIA's library
/// is the responsibility of those who set up the process: the person who installed the libraries
/// and, for a path, the person who set `BIJECTIVE_SHUFFLE_NVRTC`, `BIJECTIVE_SHUFFLE_NCCL`,
/// `CUDA_HOME` or `CUDA_PATH`.
pub(crate) fn load(name: &OsStr) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers and finalisers of NVIDIA's driver, of NVRTC and of NCCL may run at
    // any time and on any thread. That the library is one of these is not checked, and cannot be: a
    // name is looked up where the system's loader is told to look, and a path comes from the
    // process's environment. The user who starts it controls both, and can already make it run any
    // code: the loader takes LD_PRELOAD and LD_LIBRARY_PATH, or PATH, from the same environment
    // before the program's first instruction. No data that the program reads becomes a name here,
    // and a program that changes its environment by `std::env::set_var` is responsible for what it
    // sets.
    unsafe { Library::new(name) }
}

/// The message of the system's loader for a library that it could not load.
pub(crate) fn loader_message(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Asks a driver's library for its version and its devices.
fn ask(library: &Library) -> Result<Driver, Unavailable> {
    let call = |name: &[u8], out: &mut c_int| -> Result<(), Unavailable> {
        // SAFETY: the two functions that are looked up here have this type in every version of the
        // driver's interface.
        let function: Symbol<'_, unsafe extern "C" fn(*mut c_int) -> c_int> =
            unsafe { library.get(name) }.map_err(|_| Unavailable::NoDriver)?;
        // SAFETY: both functions write one `int` through the pointer, which is that of a borrowed
        // variable.
        check(unsafe { function(out) })
    };
    let mut version = 0;
    call(b"cuDriverGetVersion\0", &mut version)?;
    let version = version as u32;
    if version < OLDEST_DRIVER {
        return Err(Unavailable::DriverTooOld { version, oldest: OLDEST_DRIVER });
    }
    // SAFETY: `cuInit` has this type in every version of the driver's interface.
    let init: Symbol<'_, unsafe extern "C" fn(u32) -> c_int> =
        unsafe { library.get(b"cuInit\0") }.map_err(|_| Unavailable::NoDriver)?;
    // SAFETY: `cuInit` may be called at any time, any number of times; its argument must be 0.
    check(unsafe { init(0) })?;
    let mut devices = 0;
    call(b"cuDeviceGetCount\0", &mut devices)?;
    let devices = usize::try_from(devices).ok().filter(|&devices| devices > 0);
    Ok(Driver { version, devices: devices.ok_or(Unavailable::NoDevice)? })
}

/// Converts the driver's result code.
fn check(code: c_int) -> Result<(), Unavailable> {
    match code {
        0 => Ok(()),
        34 => Err(Unavailable::StubDriver),
        100 => Err(Unavailable::NoDevice),
        803 | 804 => Err(Unavailable::DriverMismatch),
        code => Err(Unavailable::DriverFailed { code: code as u32 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_answers_are_told_apart() {
        assert_eq!(check(0), Ok(()));
        assert_eq!(check(34), Err(Unavailable::StubDriver));
        assert_eq!(check(100), Err(Unavailable::NoDevice));
        assert_eq!(check(803), Err(Unavailable::DriverMismatch));
        assert_eq!(check(999), Err(Unavailable::DriverFailed { code: 999 }));
    }

    #[test]
    fn missing_libraries_are_not_opened() {
        assert!(open(&["libno-such-library-at-all.so"]).is_none());
    }

    #[test]
    fn answer_of_a_probe_stays_the_same() {
        assert_eq!(driver(), driver());
    }
}
