//! The library NCCL, loaded at first use.
//!
//! The crate loads the functions that it needs itself, because cudarc's bindings panic where the
//! library is missing, look for it under other names, and panic when a communicator that has failed
//! is dropped.

use std::ffi::{OsString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::cuda::runtime::probe;
use crate::error::Unavailable;

/// The first version that ties the work of a call that does not block to its communicator. Before,
/// it belongs to the thread that made the call, and another thread that aborts the communicator
/// frees what is still in use.
const OLDEST_VERSION: u32 = 21_900;

/// The version whose `ncclConfig_t` is [`Config`]. A library that is newer takes its defaults for
/// all fields that came later.
const CONFIG_VERSION: c_uint = OLDEST_VERSION;

/// The values of `ncclResult_t` that are told apart.
pub(super) const SUCCESS: c_int = 0;
pub(super) const INTERNAL_ERROR: c_int = 3;
pub(super) const REMOTE_ERROR: c_int = 6;
pub(super) const IN_PROGRESS: c_int = 7;

/// `ncclUint8` of `ncclDataType_t`.
pub(super) const BYTE: c_int = 1;

/// `ncclComm_t`, a pointer to what only NCCL knows.
pub(super) type Comm = *mut c_void;

/// `cudaStream_t`, which is the driver's `CUstream`.
pub(super) type Stream = *mut c_void;

/// `ncclUniqueId`. NCCL's is of `char`, and passed in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub(super) struct UniqueId(pub(super) [u8; 128]);

/// `ncclConfig_t`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Config, blocking) == 16);
    assert!(offset_of!(Config, net_name) == 32);
    assert!(offset_of!(Config, split_share) == 40);
    assert!(size_of::<Config>() == 48);
};

impl Config {
    /// What is chosen here is that no call blocks. NCCL chooses the rest.
    pub(super) fn without_blocking() -> Self {
        // What NCCL takes for "not set".
        let unset = c_int::MIN;
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: CONFIG_VERSION,
            blocking: 0,
            cga_cluster_size: unset,
            min_ctas: unset,
            max_ctas: unset,
            net_name: ptr::null(),
            split_share: unset,
        }
    }
}

type OfComm = unsafe extern "C" fn(Comm) -> c_int;
type OfNothing = unsafe extern "C" fn() -> c_int;

/// NCCL's functions. Each returns an `ncclResult_t`.
pub(super) struct Nccl {
    pub(super) unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    pub(super) init: unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int, *mut Config) -> c_int,
    pub(super) async_error: unsafe extern "C" fn(Comm, *mut c_int) -> c_int,
    pub(super) user_rank: unsafe extern "C" fn(Comm, *mut c_int) -> c_int,
    pub(super) finalize: OfComm,
    pub(super) destroy: OfComm,
    pub(super) abort: OfComm,
    pub(super) group_start: OfNothing,
    pub(super) group_end: OfNothing,
    /// Address, count, type, peer.
    pub(super) send:
        unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Comm, Stream) -> c_int,
    /// As [`send`](Self::send).
    pub(super) receive:
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int,
    /// Where from, where to, the count of one rank, type.
    pub(super) all_gather:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Comm, Stream) -> c_int,
    /// As `ncclGetVersion` encodes it, such as 22803.
    version: u32,
    /// Never unloaded: NCCL has threads of its own, and functions that run when the process ends.
    _library: Library,
}

/// The value of `BIJECTIVE_SHUFFLE_NCCL` that forbids the library.
const NONE: &str = "none";

/// The names that the system's loader looks up. The first is also that of a library which the
/// process has loaded already, wherever it was, as PyTorch does.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

impl Nccl {
    /// The library, which is loaded once in a process.
    pub(super) fn get() -> Result<&'static Self, Unavailable> {
        static NCCL: OnceLock<Result<Nccl, Unavailable>> = OnceLock::new();
        NCCL.get_or_init(|| Self::by_setting(std::env::var_os("BIJECTIVE_SHUFFLE_NCCL")))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The library that a value of `BIJECTIVE_SHUFFLE_NCCL` leads to. An empty variable counts as
    /// not set.
    pub(super) fn by_setting(value: Option<OsString>) -> Result<Self, Unavailable> {
        match value.filter(|value| !value.is_empty()) {
            Some(value) if value == NONE => Err(Unavailable::NoNccl),
            Some(path) => Self::at(path.as_ref()),
            None => Self::find(),
        }
    }

    /// The library at a path that the user has named. No other is tried instead.
    pub(super) fn at(path: &Path) -> Result<Self, Unavailable> {
        let library = probe::load(path.as_os_str());
        Self::in_library(library.map_err(|error| not_loaded(path, &error))?, path)
    }

    /// The first suitable library of those that the system finds by their names.
    fn find() -> Result<Self, Unavailable> {
        let mut found = Err(Unavailable::NoNccl);
        for name in NAMES.map(Path::new) {
            let Some(library) = probe::open(&[name]) else { continue };
            found = Self::in_library(library, name);
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// The functions of a library, if it is new enough.
    fn in_library(library: Library, path: &Path) -> Result<Self, Unavailable> {
        // A macro, because each function has a different type.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type that is inferred here is the one that NCCL's header declares for
                // this function, unchanged since the oldest version that is accepted; that of
                // `ncclGetVersion` is older than any that is still in use.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|error| not_loaded(path, &error))?
            };
        }
        let get_version: unsafe extern "C" fn(*mut c_int) -> c_int = function!("ncclGetVersion");
        let mut version = 0;
        // SAFETY: the function writes one `int` through the pointer, which points to a variable of
        // that type.
        let code = unsafe { get_version(&mut version) };
        let version = if code == SUCCESS { version as u32 } else { 0 };
        if version < OLDEST_VERSION {
            return Err(Unavailable::NcclTooOld { version, oldest: OLDEST_VERSION });
        }
        Ok(Self {
            unique_id: function!("ncclGetUniqueId"),
            init: function!("ncclCommInitRankConfig"),
            async_error: function!("ncclCommGetAsyncError"),
            user_rank: function!("ncclCommUserRank"),
            finalize: function!("ncclCommFinalize"),
            destroy: function!("ncclCommDestroy"),
            abort: function!("ncclCommAbort"),
            group_start: function!("ncclGroupStart"),
            group_end: function!("ncclGroupEnd"),
            send: function!("ncclSend"),
            receive: function!("ncclRecv"),
            all_gather: function!("ncclAllGather"),
            version,
            _library: library,
        })
    }
}

/// The error for a library that the system's loader cannot load, or in which it does not find a
/// function.
fn not_loaded(path: &Path, error: &libloading::Error) -> Unavailable {
    Unavailable::NcclNotLoaded {
        path: path.display().to_string(),
        reason: probe::loader_message(error),
    }
}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nccl").field("version", &self.version).finish_non_exhaustive()
    }
}
