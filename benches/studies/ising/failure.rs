//! [`Failure`]: what goes wrong.

use std::error::Error;

/// What goes wrong is said to the user, and nobody tells one thing from another.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;
