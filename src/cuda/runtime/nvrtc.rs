//! The run-time compiler, loaded when it is first needed.
//!
//! cudarc has bindings too, but they panic where the library is missing, look for it by names of their own version
//! only, and have no way to machine code; the eight functions that are needed are loaded here instead.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::probe;
use crate::error::Unavailable;

type Program = *mut c_void;
type Headers = *const *const c_char;

/// NVRTC's functions.
pub(crate) struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        Headers,
        Headers,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, Headers) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log: Text,
    cubin: Text,
    ptx: Text,
    /// Major and minor.
    pub(crate) version: (u32, u32),
    /// The architectures that it compiles the kernels for, such as 90, in order.
    pub(crate) architectures: Vec<u32>,
    _libraries: (Library, Option<Library>),
}

/// A pair of functions, for the size of a text and for the text.
type Text = (
    unsafe extern "C" fn(Program, *mut usize) -> c_int,
    unsafe extern "C" fn(Program, *mut c_char) -> c_int,
);

/// What a program is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// Machine code for an architecture. A driver older than the compiler takes it too.
    Cubin(u32),
    /// The intermediate language, which a driver younger than the compiler translates for devices younger than it.
    Ptx(u32),
}

/// A program with its handle, which is given back in the end.
struct Handle<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` and is not used again.
        unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

/// The version that `__grid_constant__` came with, by which kernels read their parameters where they are.
const OLDEST_VERSION: (c_int, c_int) = (11, 7);

/// The oldest architecture that has it.
const OLDEST_ARCHITECTURE: u32 = 70;

impl Nvrtc {
    /// The compiler of this process.
    pub(crate) fn get() -> Result<&'static Self, Unavailable> {
        static NVRTC: OnceLock<Result<Nvrtc, Unavailable>> = OnceLock::new();
        // Set to nothing is as good as not set.
        let named = || std::env::var_os("BIJECTIVE_SHUFFLE_NVRTC").filter(|path| !path.is_empty());
        NVRTC
            .get_or_init(|| match named() {
                Some(path) => Self::at(path.as_ref()),
                None => Self::find(),
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The compiler at a path that the user has named, for which no other will do.
    fn at(path: &Path) -> Result<Self, Unavailable> {
        let companion = companion(path);
        let not_loaded = |error: libloading::Error| Unavailable::CompilerNotLoaded {
            path: path.display().to_string(),
            reason: loader_message(&error),
        };
        let library = probe::load(path.as_os_str()).map_err(not_loaded)?;
        // A library of something else is not told that it is too old.
        // SAFETY: whatever has this name is only looked for here, and a pointer may have any value.
        unsafe { library.get::<*const c_void>(b"nvrtcVersion\0") }.map_err(not_loaded)?;
        Self::in_library(library, companion)
    }

    /// The first compiler that will do, of those where it usually is.
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
        // A macro, since each function has a type of its own.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field has the type that this function has had since NVRTC 11.2.
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
        // SAFETY: it writes a number to where each pointer points, and there is one.
        checked(unsafe { version(&mut major, &mut minor) })?;
        // SAFETY: it writes a number to where the pointer points, and there is one.
        checked(unsafe { count(&mut len) })?;
        let mut architectures = vec![0; usize::try_from(len).unwrap_or(0)];
        // SAFETY: it writes as many numbers as `count` has said, without an error, and there is
        // room for those.
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

    /// What to compile to for a device; `None` if it is older than all that the compiler knows.
    pub(crate) fn target(&self, architecture: u32) -> Option<Target> {
        let best = self.architectures.iter().copied().filter(|&a| a <= architecture).max()?;
        // Machine code runs on later devices of the same generation.
        Some(if best / 10 == architecture / 10 { Target::Cubin(best) } else { Target::Ptx(best) })
    }

    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// The compiler's log.
    pub(crate) fn compile(&self, text: &str, target: Target) -> Result<Vec<u8>, String> {
        let zero = |_| "the text has a zero byte".to_owned();
        let text = CString::new(text).map_err(zero)?;
        let mut program: Program = ptr::null_mut();
        // SAFETY: the texts end with zero bytes, and there are no headers.
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
        let handle = Handle { nvrtc: self, program };
        let architecture = match target {
            Target::Cubin(number) => format!("--gpu-architecture=sm_{number}"),
            Target::Ptx(number) => format!("--gpu-architecture=compute_{number}"),
        };
        let options = [CString::new(architecture).map_err(zero)?, c"--std=c++17".into()];
        let pointers = options.each_ref().map(|option| option.as_ptr());
        // SAFETY: the pointers are to texts that end with zero bytes, as many as are told.
        let code =
            unsafe { (self.compile)(handle.program, pointers.len() as c_int, pointers.as_ptr()) };
        if code != 0 {
            let log = handle.read(self.log).unwrap_or_default();
            let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy);
            return Err(log.map_or_else(|_| format!("code {code}"), |log| log.trim().to_owned()));
        }
        let image =
            handle.read(if matches!(target, Target::Cubin(_)) { self.cubin } else { self.ptx });
        image.filter(|image| !image.is_empty()).ok_or_else(|| "the compiler made nothing".into())
    }
}

impl Handle<'_> {
    /// Reads one of a program's texts.
    fn read(&self, (size, text): Text) -> Option<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program has not been destroyed, which dropping the handle does, and the size
        // is written to where the pointer points.
        let code = unsafe { size(self.program, &mut len) };
        if code != 0 {
            return None;
        }
        let mut bytes = vec![0_u8; len];
        // SAFETY: the program has not been destroyed, and as many bytes are written as the size
        // that the compiler has just said without an error.
        let code = unsafe { text(self.program, bytes.as_mut_ptr().cast()) };
        (code == 0).then_some(bytes)
    }
}

/// The compiler's other library, which it opens by name only: where the system does not look it must be there already.
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

/// What the system's loader says of a library that it could not load.
fn loader_message(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Where the library may be: wherever the system looks, newest first, then in the usual places of
/// an installation.
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

    /// The path and the reason of the error that a path ends in.
    fn refusal(path: &Path) -> (String, String) {
        match Nvrtc::at(path) {
            Err(Unavailable::CompilerNotLoaded { path, reason }) => (path, reason),
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn a_path_with_nothing_at_it_is_not_passed_over() {
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
        // What the loader says of this file, and not that something is missing.
        assert_ne!(reason, refusal(&folder.path().join("none.so")).1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_of_something_else_is_no_compiler() {
        // As good as any that the system has.
        let (path, reason) = refusal(Path::new("libm.so.6"));
        assert_eq!(path, "libm.so.6");
        assert!(reason.contains("nvrtcVersion"), "{reason}");
    }

    #[test]
    fn what_to_install_is_said_in_a_line() {
        let message = Unavailable::NoCompiler.to_string();
        for command in ["pip install", "conda install", "apt install", "BIJECTIVE_SHUFFLE_NVRTC"] {
            assert!(message.contains(command), "{message}");
        }
        assert_eq!(message.lines().count(), 1);
    }
}
