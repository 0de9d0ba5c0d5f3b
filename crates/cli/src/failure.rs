//! [`Failure`]: what is said when something goes wrong.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use bijective_shuffle_cli::files::NamedError;

/// What could not be done, or with what, and why, in one line.
#[derive(Debug)]
pub struct Failure {
    what: String,
    why: String,
}

impl Failure {
    /// A failure for a reason that anything may give.
    pub(crate) fn new(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { what: what.to_string(), why: why.to_string() }
    }

    /// The failure that an error is. It may name the file that it was met with; others are those of
    /// something with this name.
    pub(crate) fn named(what: impl fmt::Display, error: &io::Error) -> Self {
        match NamedError::of(error) {
            Some(NamedError { name, why }) => Self::new(name, why),
            None => Self::new(what, error),
        }
    }

    /// What could not be done, or with what: the name of a file, if it is one.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Why.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The number that the system has for this error, if it is one of the system.
    pub fn os_error(&self) -> Option<i32> {
        // The standard library has it at the end of such an error's text, which all others quote.
        let (_, rest) = self.why.rsplit_once("(os error ")?;
        rest.split_once(')')?.0.parse().ok()
    }

    /// Whether there was not the memory for it.
    pub fn is_out_of_memory(&self) -> bool {
        // What the shuffle, the standard library and the system say of it, at the end as above.
        ["working memory could not be allocated", "out of memory", "(os error 12)"]
            .iter()
            .any(|end| self.why.ends_with(end))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Failure {}

/// Adds to an error what it was met with.
pub(crate) trait FailureContext<T> {
    /// The same result, with an error that says what could not be done.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> FailureContext<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|why| Failure::new(what, why))
    }
}

/// What the last panic of any thread said, and where.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Does some work. A panic in it becomes a failure like any other: one line.
///
/// A panic is a fault of this program or of what it is made of, and the line says where it is. One
/// that is caught further down, as those of the readers of tables, is said there.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" ({place})"));
        let said = format!("{}{place}", words(panic.payload())).replace('\n', " ");
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let said = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Failure::new("internal error", said.unwrap_or_else(|| words(&*payload).to_owned())))
    })
}

/// What a panic says.
fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::files::{FilesError, NamedError};

    #[test]
    fn errors_of_the_system_have_their_numbers() {
        for number in [1, 2, 13, 28] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(Failure::new("x", &error).os_error(), Some(number));
            // As it is once a name was put to it, before it and behind it.
            let named = NamedError::io("y", io::Error::other(format!("{error} at path \"z\"")));
            assert_eq!(Failure::new("x", named).os_error(), Some(number));
        }
        for error in [
            FilesError::Order(bijective_shuffle::Error::OutOfMemory { bytes: 7 }),
            FilesError::Read(NamedError::io(
                "y",
                Vec::<u8>::new()
                    .try_reserve(usize::MAX / 2 + 1)
                    .map_err(io::Error::from)
                    .unwrap_err(),
            )),
        ] {
            assert!(Failure::new("x", &error).is_out_of_memory(), "{error}");
        }
        assert!(!Failure::new("out of memory", "out of memory or not").is_out_of_memory());
        for why in ["no number", "(os error x)", "(os error 1"] {
            assert_eq!(Failure::new("x (os error 1)", why).os_error(), None);
        }
    }
}
