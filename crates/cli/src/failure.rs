//! [`Failure`]: what is said when something goes wrong.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use bijective_shuffle_cli::files::NamedError;

/// Why something could not be done, in one line, and what kind of an error it is.
#[derive(Debug)]
pub struct Failure(NamedError);

impl Failure {
    /// A failure for a reason that is a text or an error.
    pub(crate) fn new(
        what: impl fmt::Display,
        why: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self(NamedError::new(what, why))
    }

    /// The failure that an error is. It may name the file that it was met with; others are those of
    /// something with this name.
    pub(crate) fn named(what: impl fmt::Display, error: &io::Error) -> Self {
        let named = NamedError::of(error).cloned();
        named.map_or_else(|| Self::caused(what, error, error), Self)
    }

    /// The failure that an error is, with a text of its own.
    pub(crate) fn caused(
        what: impl fmt::Display,
        why: impl fmt::Display,
        error: &(dyn Error + 'static),
    ) -> Self {
        Self(NamedError::caused(what, why, error))
    }

    /// What could not be done, or with what: the name of a file, if it is one.
    pub fn what(&self) -> &str {
        &self.0.name
    }

    /// Why.
    pub fn why(&self) -> &str {
        &self.0.why
    }

    /// The kind of the error; [`ErrorKind::OutOfMemory`] if there was too little memory.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The number that the system has for the error, if it is one of the system.
    pub fn os_error(&self) -> Option<i32> {
        self.0.os_error
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Failure {}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::other(failure.0)
    }
}

/// Adds to an error what it was met with.
pub(crate) trait FailureContext<T> {
    /// The same result, with an error that says what could not be done.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> FailureContext<T> for Result<T, E> {
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
    use super::*;
    use crate::files::FilesError;
    use crate::formats::reworded;
    #[cfg(feature = "tables")]
    use crate::tables::TableError;

    #[test]
    fn errors_keep_their_kinds_and_the_numbers_of_the_system() {
        for number in [1, 2, 12, 13, 28] {
            let error = || io::Error::from_raw_os_error(number);
            let changed = || reworded(error(), format!("temporary file: {}", error()));
            let named = NamedError::io("y", changed());
            assert_eq!(named.to_string(), format!("y: temporary file: {}", error()));
            let mut failures = vec![
                Failure::new("x", error()),
                Failure::new("x", changed()),
                Failure::named("x", &named),
                Failure::new("x", FilesError::Temporary(changed())),
                Failure::new("x", io::Error::other(FilesError::Read(named))),
                Failure::named("x", &Failure::new("x", error()).into()),
                Failure::caused("x", "said otherwise", &changed()),
            ];
            #[cfg(feature = "tables")]
            failures.push(Failure::new("x", TableError::Write(changed().into())));
            for failure in failures {
                assert_eq!(failure.os_error(), Some(number), "{failure}");
                assert_eq!(failure.kind(), error().kind(), "{failure}");
            }
        }
    }

    #[test]
    fn a_lack_of_memory_is_a_kind() {
        let refused = || Vec::<u8>::new().try_reserve(usize::MAX / 2 + 1).unwrap_err();
        let order = || FilesError::Shuffle(bijective_shuffle::Error::OutOfMemory { bytes: 7 });
        for failure in [
            Failure::new("x", refused()),
            Failure::new("x", order()),
            Failure::new("x", io::Error::other(order())),
            Failure::new("x", FilesError::Read(NamedError::io("y", io::Error::from(refused())))),
        ] {
            assert_eq!((failure.kind(), failure.os_error()), (ErrorKind::OutOfMemory, None));
        }
    }

    #[test]
    fn a_text_has_neither_a_kind_nor_a_number() {
        for why in ["out of memory", "Cannot allocate memory (os error 12)", "(os error x)"] {
            for failure in [Failure::new("x", why), Failure::new("x", io::Error::other(why))] {
                assert_eq!((failure.kind(), failure.os_error()), (ErrorKind::Other, None));
            }
        }
    }
}
