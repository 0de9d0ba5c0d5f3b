//! [`Failure`]: what is said when something goes wrong.

use std::fmt;

/// What could not be done, or with what, and why. It is shown in one line.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    why: String,
}

impl Failure {
    /// A failure for a reason that anything may give.
    pub(crate) fn new(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { what: what.to_string(), why: why.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// Adds to an error what it was met with.
pub(crate) trait Context<T> {
    /// The same result, with an error that says what could not be done.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|why| Failure::new(what, why))
    }
}
