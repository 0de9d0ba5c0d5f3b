//! [`Splitter`]: finds where one record ends.

use std::fmt;

/// Finds where the records of an input end.
pub trait Splitter: Send {
    /// Looks for the end of the first record of a text, which begins where a record does.
    ///
    /// After [`Found::More`] it is asked again with the same text and more after it, so that it
    /// need not look at the same bytes twice. If it `is_end`, the text has all that is left of the
    /// input, and is not empty.
    ///
    /// # Errors
    ///
    /// What is wrong with the record.
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken>;

    /// Ends the input after its last record.
    ///
    /// # Errors
    ///
    /// What the input lacks.
    fn finish(&mut self) -> Result<(), Broken> {
        Ok(())
    }
}

/// The result of [`Splitter::find`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// The text does not have the end of the record.
    More,
    /// The first bytes are a record.
    Record {
        /// How many.
        bytes: usize,
        /// What is added to it: the end that the last record of an input may lack.
        end: Vec<u8>,
    },
    /// The first bytes are not a record.
    Skip {
        /// How many.
        bytes: usize,
        /// How many things are left out with them, such as folders.
        entries: u64,
    },
}

/// What is wrong with a record. It is the end of a sentence that begins with the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
