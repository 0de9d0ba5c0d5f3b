//! [`Fake`]: a library that is loaded as NCCL, and does what a test tells it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use super::library::Nccl;
use crate::cuda::runtime::probe;

/// One copy of the stand-in, with its own settings.
pub(super) struct Fake {
    library: Library,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Fake {
    /// `None`, with a line that says so, if there is no C++ compiler.
    pub(super) fn new() -> Option<Self> {
        static WHOLE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
        Self::of(WHOLE.get_or_init(|| compiled(&[])).as_deref())
    }

    /// As [`new`](Self::new), without the function `ncclSend`.
    pub(super) fn without_send() -> Option<Self> {
        Self::of(compiled(&["-DWITHOUT_SEND"]).as_deref())
    }

    /// Loads a library from a file of its own: what is loaded from one file is the same library.
    fn of(image: Option<&[u8]>) -> Option<Self> {
        let Some(image) = image else {
            println!("skipped: there is no C++ compiler");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnccl.so.2");
        std::fs::write(&path, image).unwrap();
        let library = probe::load(path.as_os_str()).unwrap();
        Some(Self { library, path, _folder: folder })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The library as the crate loads it.
    pub(super) fn nccl(&self) -> &'static Nccl {
        Box::leak(Box::new(Nccl::at(&self.path).unwrap()))
    }

    pub(super) fn set(&self, name: &str, value: c_int) {
        let name = CString::new(name).unwrap();
        // SAFETY: the stand-in defines the function with this type.
        let set: libloading::Symbol<'_, unsafe extern "C" fn(*const c_char, c_int)> =
            unsafe { self.library.get(b"fake_set\0") }.unwrap();
        // SAFETY: the text ends with a zero byte.
        unsafe { set(name.as_ptr(), value) };
    }

    /// Does what the thread that joins the other ranks does last, after everything else: stores the
    /// communicator. Returns where.
    pub(super) fn end_init(&self) -> usize {
        // SAFETY: the stand-in defines the function with this type.
        let end: libloading::Symbol<'_, unsafe extern "C" fn() -> *mut c_void> =
            unsafe { self.library.get(b"fake_end_init\0") }.unwrap();
        // SAFETY: it stores to the address that the last `Link::new` has given it, as NCCL does.
        // That this may be done so late is what is tested.
        unsafe { end() }.addr()
    }

    /// What it has been told so far.
    pub(super) fn log(&self) -> Vec<String> {
        // SAFETY: the stand-in defines the function with this type.
        let log: libloading::Symbol<'_, unsafe extern "C" fn(*mut c_char, usize) -> usize> =
            unsafe { self.library.get(b"fake_log\0") }.unwrap();
        let mut text = vec![0_u8; 1 << 16];
        // SAFETY: no more bytes are written than the length says.
        let len = unsafe { log(text.as_mut_ptr().cast(), text.len()) };
        let text = std::str::from_utf8(&text[..len]).unwrap();
        assert!(!text.contains("misuse"), "{text}");
        text.lines().map(Into::into).collect()
    }
}

/// The stand-in, compiled; `None` if there is no compiler.
fn compiled(options: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("fake.cpp"), folder.path().join("fake.so"));
    std::fs::write(&source, include_str!("fake.cpp")).unwrap();
    let compiled = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()))
        .args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        .args(["-shared", "-fPIC", "-pthread"])
        .args(options)
        .args([Path::new("-o"), &binary, &source])
        .output()
        .ok()?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(std::fs::read(binary).unwrap())
}
