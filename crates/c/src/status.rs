//! What functions return, and the text of the last failure.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bindings::{Fault, LanguageNames};
use library::Error;

/// What a function returns: BS_OK, or what went wrong.
pub type Status = i32;

/// The function has done its work.
pub const BS_OK: i32 = 0;
/// A sampler's epoch is over. This is not a failure, and has no error text.
pub const BS_END: i32 = 1;
/// A pointer that must not be null is null.
pub const BS_ERROR_NULL: i32 = 2;
/// An argument is outside the range that the function takes.
pub const BS_ERROR_ARGUMENT: i32 = 3;
/// An array has the wrong length.
pub const BS_ERROR_LENGTH: i32 = 4;
/// There is no such place, item, rank or epoch.
pub const BS_ERROR_RANGE: i32 = 5;
/// There is not enough memory.
pub const BS_ERROR_MEMORY: i32 = 6;
/// A map that was passed in is not a bijection.
pub const BS_ERROR_NOT_A_BIJECTION: i32 = 7;
/// The order is so long that single places need an index, which is built only on request: by
/// bs_permutation_build_index. Orders of bs_permutation_walk need none.
pub const BS_ERROR_INDEX_NOT_BUILT: i32 = 8;
/// A text is not a saved state, or is the state of another sampler.
pub const BS_ERROR_STATE: i32 = 9;
/// Threads cannot be started.
pub const BS_ERROR_THREADS: i32 = 10;
/// The library failed, or a function that was passed in panicked. Results are unspecified, and a
/// sampler or a generator that was in use must only be freed.
pub const BS_ERROR_INTERNAL: i32 = 11;

/// Why a function fails.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(BS_ERROR_NULL, format!("the pointer to {what} is null"))
    }

    /// A structure's fields for later versions are in use.
    pub(crate) fn not_zero(what: &str) -> Self {
        Self::argument(format!(
            "a reserved field of {what} is not zero: set all fields to zero before those that matter"
        ))
    }

    /// The functions of a caller's bijection are wrong.
    pub(crate) fn not_a_bijection() -> Self {
        let text = "the functions are no bijection: they map a point out of their domain, or two \
                    points to one";
        Self::new(BS_ERROR_NOT_A_BIJECTION, text)
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(BS_ERROR_ARGUMENT, text)
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let names = LanguageNames {
            walk: "bs_permutation_walk",
            build_index: "bs_permutation_build_index",
        };
        let (fault, text) = Fault::of(&error.into(), names);
        let status = match fault {
            Fault::Memory => BS_ERROR_MEMORY,
            Fault::Length => BS_ERROR_LENGTH,
            Fault::Range | Fault::Missing => BS_ERROR_RANGE,
            Fault::IndexNotBuilt => BS_ERROR_INDEX_NOT_BUILT,
            Fault::NotABijection => BS_ERROR_NOT_A_BIJECTION,
            Fault::State => BS_ERROR_STATE,
            Fault::TooWide | Fault::Unavailable | Fault::Gpu | Fault::Argument => BS_ERROR_ARGUMENT,
        };
        Self::new(status, text)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Does a function's work, and turns a failure or a panic into a status and a text. What is called
/// deep in the library ends the work by unwinding with a failure.
pub(crate) fn guarded(work: impl FnOnce() -> Result<Status, Failure>) -> Status {
    // What a panic leaves behind is not looked at again: shared values do not change, and of others
    // the header says that they must only be freed.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(payload) => payload.downcast().map_or_else(of_panic, |failure| *failure),
    };
    let text = CString::new(failure.text.replace('\0', " ")).unwrap_or_default();
    // A thread that ends has no text any more.
    let _ = LAST.try_with(|last| last.replace(text));
    failure.status
}

/// [`guarded`], for work that succeeds or fails.
pub(crate) fn done(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    guarded(|| work().map(|()| BS_OK))
}

fn of_panic(payload: Box<dyn Any + Send>) -> Failure {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
    let failure = Failure::new(BS_ERROR_INTERNAL, format!("the library has panicked: {text}"));
    // A payload whose destructor panics is not worth the process.
    std::mem::forget(payload);
    failure
}

/// The text of the calling thread's last failure: a sentence in English, in UTF-8; empty if no
/// function has failed yet.
///
/// It exists until the next failure of the same thread, or the thread's end, and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn bs_error_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as "0.1.0". The text is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn bs_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    const TEXT: &CStr = match CStr::from_bytes_with_nul(VERSION.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a version without zeros"),
    };
    TEXT.as_ptr()
}
