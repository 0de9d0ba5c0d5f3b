//! [`Drawer`]: draws the rows of one length, exactly or by ciphers.

use super::Batch;
use super::ciphers::CipherRows;
use super::exact::ExactRows;
use crate::bijection::Standard;
use crate::{Error, Word};

/// What a thread needs to draw rows: the choices that all rows share, and working memory.
pub(super) enum Drawer {
    Exact(ExactRows),
    Ciphers(CipherRows),
}

impl Drawer {
    pub(super) fn new(batch: &Batch) -> Self {
        if batch.len as u64 <= Standard::EXACT_MAX {
            Self::Exact(ExactRows::new(batch))
        } else {
            Self::Ciphers(CipherRows::new(batch))
        }
    }

    /// Writes the rows from `first` on, on the calling thread. `out` consists of whole rows.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn draw<N: Word>(&mut self, first: u64, out: &mut [N]) -> Result<(), Error> {
        match self {
            _ if out.is_empty() => Ok(()),
            Self::Exact(exact) => {
                exact.draw(first, out);
                Ok(())
            }
            Self::Ciphers(ciphers) => ciphers.draw(first, out),
        }
    }
}
