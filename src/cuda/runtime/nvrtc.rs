//! The run-time compiler NVRTC, loaded at first use.
//!
//! The crate loads the eight functions that it needs itself, because cudarc's bindings panic where
//! the library is missing, look for it only under the names of their own version, and cannot
//! produce machine code. Here a missing library is an error ([`Unavailable`]), and machine code is
//! needed because a driver that is older than the compiler loads it, but not the compiler's PTX.
//! cudarc's feature `nvrtc` is on only for a type without which no `CudaFunction` can be created.

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fmt, ptr};

use libloading::Library;

use super::probe;
use crate::error::Unavailable;

type RawProgram = *mut c_void;
type Headers = *const *const c_char;

/// NVRTC's functions.
pub(crate) struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut RawProgram,
        *const c_char,
        *const c_char,
        c_int,
        Headers,
        Headers,
    ) -> c_int,
    compile: unsafe extern "C" fn(RawProgram, c_int, Headers) -> c_int,
    destroy: unsafe extern "C" fn(*mut RawProgram) -> c_int,
    log: TextFunctions,
    cubin: TextFunctions,
    ptx: TextFunctions,
    /// Major and minor.
    pub(crate) version: (u32, u32),
    /// The architectures for which it can compile the kernels, such as 90, in order.
    pub(crate) architectures: Vec<u32>,
    _libraries: (Library, Option<Library>),
}

/// A pair of functions, one for the size of a text and one for the text.
type TextFunctions = (
    unsafe extern "C" fn(RawProgram, *mut usize) -> c_int,
    unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int,
);

/// What a program is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CompiledTo {
    /// Machine code for an architecture. A driver older than the compiler accepts it too.
    Cubin(u32),
    /// The intermediate language PTX, which a driver translates for devices that the compiler does
    /// not know yet.
    Ptx(u32),
}

/// The architecture's name, as the compiler is given it.
impl fmt::Display for CompiledTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubin(number) => write!(f, "sm_{number}"),
            Self::Ptx(number) => write!(f, "compute_{number}"),
        }
    }
}

/// A program's handle, which is destroyed when this is dropped.
struct ProgramHandle<'a> {
    nvrtc: &'a Nvrtc,
    program: RawProgram,
}

impl Drop for ProgramHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create`, has not been destroyed before, and is not used
        // again.
        unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

/// The value of `BIJECTIVE_SHUFFLE_NVRTC` that forbids the compiler.
const NONE: &str = "none";

/// The path that the user has named. An empty variable counts as not set.
fn named() -> Option<OsString> {
    std::env::var_os("BIJECTIVE_SHUFFLE_NVRTC").filter(|path| !path.is_empty())
}

/// The first version with `__grid_constant__`, by which kernels read their parameters in place.
const OLDEST_VERSION: (c_int, c_int) = (11, 7);

/// The oldest architecture that supports it.
const OLDEST_ARCHITECTURE: u32 = 70;

impl Nvrtc {
    /// The compiler, which is loaded once in a process.
    pub(crate) fn get() -> Result<&'static Self, Unavailable> {
        static NVRTC: OnceLock<Result<Nvrtc, Unavailable>> = OnceLock::new();
        NVRTC
            .get_or_init(|| match named() {
                Some(path) if path == NONE => Err(Unavailable::NoCompiler),
                Some(path) => Self::at(path.as_ref()),
                None => Self::find(),
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Whether the user has named a path.
    pub(crate) fn is_named() -> bool {
        named().is_some_and(|path| path != NONE)
    }

    /// The compiler at a path that the user has named. No other is tried instead.
    fn at(path: &Path) -> Result<Self, Unavailable> {
        let companion = companion(path);
        let not_loaded = |error: libloading::Error| Unavailable::CompilerNotLoaded {
            path: path.display().to_string(),
            reason: probe::loader_message(&error),
        };
        let library = probe::load(path.as_os_str()).map_err(not_loaded)?;
        // A library that is not NVRTC gets this error, instead of one that says it is too old.
        // SAFETY: the symbol is only looked up and never used, and a pointer may have any value.
        unsafe { library.get::<*const c_void>(b"nvrtcVersion\0") }.map_err(not_loaded)?;
        Self::in_library(library, companion)
    }

    /// The first suitable compiler in the usual places.
    fn find() -> Result<Self, Unavailable> {
        let mut found = Err(Unavailable::NoCompiler);
        for path in candidates() {
            let companion = companion(&path);
            let Some(library) = probe::open(&[path]) else { continue };
            found = Self::in_library(library, companion);
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// The compiler in a library, if it is new enough.
    fn in_library(library: Library, companion: Option<Library>) -> Result<Self, Unavailable> {
        // A macro, because each function has a different type.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type that is inferred here is the one that NVRTC's documentation
                // gives for this function, unchanged since NVRTC 11.2.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|_| Unavailable::CompilerTooOld)?
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
            function!("nvrtcVersion");
        let count: unsafe extern "C" fn(*mut c_int) -> c_int =
            function!("nvrtcGetNumSupportedArchs");
        let list: unsafe extern "C" fn(*mut c_int) -> c_int = function!("nvrtcGetSupportedArchs");
        let (mut major, mut minor, mut len) = (0, 0, 0);
        let checked = |code| if code == 0 { Ok(()) } else { Err(Unavailable::CompilerTooOld) };
        // SAFETY: the function writes one `int` through each pointer, and both point to a variable
        // of that type.
        checked(unsafe { version(&mut major, &mut minor) })?;
        // SAFETY: the function writes one `int` through the pointer, which points to a variable of
        // that type.
        checked(unsafe { count(&mut len) })?;
        let mut architectures = vec![0; usize::try_from(len).unwrap_or(0)];
        // SAFETY: the function writes as many numbers as `count` has returned without an error, and
        // the vector has room for those.
        checked(unsafe { list(architectures.as_mut_ptr()) })?;
        if (major, minor) < OLDEST_VERSION {
            return Err(Unavailable::CompilerTooOld);
        }
        let architectures = architectures.into_iter().map(|architecture| architecture as u32);
        Ok(Self {
            create: function!("nvrtcCreateProgram"),
            compile: function!("nvrtcCompileProgram"),
            destroy: function!("nvrtcDestroyProgram"),
            log: (function!("nvrtcGetProgramLogSize"), function!("nvrtcGetProgramLog")),
            cubin: (function!("nvrtcGetCUBINSize"), function!("nvrtcGetCUBIN")),
            ptx: (function!("nvrtcGetPTXSize"), function!("nvrtcGetPTX")),
            version: (major as u32, minor as u32),
            architectures: architectures.filter(|&number| number >= OLDEST_ARCHITECTURE).collect(),
            _libraries: (library, companion),
        })
    }

    /// The target for a device; `None` if the device is older than all architectures of the
    /// compiler.
    pub(crate) fn target(&self, architecture: u32) -> Option<CompiledTo> {
        let best = self.architectures.iter().copied().filter(|&a| a <= architecture).max()?;
        // Machine code runs on later devices of the same generation.
        Some(if best / 10 == architecture / 10 {
            CompiledTo::Cubin(best)
        } else {
            CompiledTo::Ptx(best)
        })
    }

    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// The compiler's log.
    pub(crate) fn compile(&self, text: &str, target: CompiledTo) -> Result<Vec<u8>, String> {
        self.compile_by(text, target, &[])
    }

    /// [`compile`](Self::compile), with more options.
    pub(crate) fn compile_by(
        &self,
        text: &str,
        target: CompiledTo,
        more: &[&str],
    ) -> Result<Vec<u8>, String> {
        let zero = |_| "the text has a zero byte".to_owned();
        let text = CString::new(text).map_err(zero)?;
        let mut program: RawProgram = ptr::null_mut();
        // SAFETY: both texts end with a zero byte, there are no headers, and the handle is written
        // to a variable.
        let code = unsafe {
            (self.create)(
                &mut program,
                text.as_ptr(),
                c"bijective_shuffle.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        if code != 0 {
            return Err(format!("the compiler failed with code {code}"));
        }
        let handle = ProgramHandle { nvrtc: self, program };
        let architecture = format!("--gpu-architecture={target}");
        let options = [&[architecture.as_str(), "--std=c++17"], more].concat();
        let options: Result<Vec<_>, _> = options.into_iter().map(CString::new).collect();
        let options = options.map_err(zero)?;
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program's handle is valid, and the array has as many pointers as the number
        // says, each to a text that ends with a zero byte.
        let code =
            unsafe { (self.compile)(handle.program, pointers.len() as c_int, pointers.as_ptr()) };
        if code != 0 {
            let log = handle.read(self.log).unwrap_or_default();
            let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy);
            return Err(log.map_or_else(|_| format!("code {code}"), |log| log.trim().to_owned()));
        }
        let image =
            handle.read(if matches!(target, CompiledTo::Cubin(_)) { self.cubin } else { self.ptx });
        image.filter(|image| !image.is_empty()).ok_or_else(|| "the compiler made nothing".into())
    }
}

impl ProgramHandle<'_> {
    /// Reads one of a program's texts.
    fn read(&self, (size, text): TextFunctions) -> Option<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program is destroyed only when `self` is dropped, and the size is written to
        // a variable of its type.
        let code = unsafe { size(self.program, &mut len) };
        if code != 0 {
            return None;
        }
        let mut bytes = vec![0_u8; len];
        // SAFETY: the program is destroyed only when `self` is dropped. The function writes as many
        // bytes as the size that the compiler has just returned, and the vector has that many.
        let code = unsafe { text(self.program, bytes.as_mut_ptr().cast()) };
        (code == 0).then_some(bytes)
    }
}

/// The compiler's second library, next to the compiler. The compiler opens it by name only, so if
/// it is not where the system looks, it must be loaded already.
fn companion(path: &Path) -> Option<Library> {
    let folder = path.parent().filter(|folder| folder.is_absolute())?;
    let is_companion = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libnvrtc-builtins.so.")
    };
    let files = std::fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
    let paths: Vec<PathBuf> = files.filter(is_companion).collect();
    probe::open(&paths)
}

/// The paths to try: first the library's names, newest first, which the system's loader looks up;
/// then the usual folders of an installation.
fn candidates() -> Vec<PathBuf> {
    let names: &[&str] = if cfg!(windows) {
        &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"]
    } else {
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "libnvrtc.so.11.2"]
    };
    let mut paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let roots = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let folder = if cfg!(windows) { "bin" } else { "lib64" };
    for root in roots.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]) {
        paths.extend(names.iter().map(|name| root.join(folder).join(name)));
    }
    paths
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nvrtc")
            .field("version", &self.version)
            .field("architectures", &self.architectures)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path and the reason of the error for a path.
    fn refusal(path: &Path) -> (String, String) {
        match Nvrtc::at(path) {
            Err(Unavailable::CompilerNotLoaded { path, reason }) => (path, reason),
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn wrong_path_of_nvrtc_is_an_error() {
        let nothing = Path::new("/no-such-folder/libnvrtc.so.13");
        let (path, reason) = refusal(nothing);
        assert_eq!(Path::new(&path), nothing);
        assert!(!reason.is_empty());
        let message = Unavailable::CompilerNotLoaded { path, reason: reason.clone() }.to_string();
        assert!(message.contains("BIJECTIVE_SHUFFLE_NVRTC") && message.contains(&reason));
        assert!(message.contains("/no-such-folder/libnvrtc.so.13"), "{message}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_in_the_loaders_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libnvrtc.so");
        std::fs::write(&file, "no library").unwrap();
        let (path, reason) = refusal(&file);
        assert_eq!(Path::new(&path), file);
        // The loader's message is about this file, and not about a missing one.
        assert_ne!(reason, refusal(&folder.path().join("none.so")).1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_of_something_else_is_no_compiler() {
        // Any library of the system would do.
        let (path, reason) = refusal(Path::new("libm.so.6"));
        assert_eq!(path, "libm.so.6");
        assert!(reason.contains("nvrtcVersion"), "{reason}");
    }

    #[test]
    fn missing_compiler_says_how_to_install_it() {
        let message = Unavailable::NoCompiler.to_string();
        for command in ["pip install", "conda install", "apt install", "BIJECTIVE_SHUFFLE_NVRTC"] {
            assert!(message.contains(command), "{message}");
        }
        assert_eq!(message.lines().count(), 1);
    }
}
