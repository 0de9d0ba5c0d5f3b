//! [`Fault`]: what kind of failure an error is.

use bijective_shuffle::Error;
use bijective_shuffle::error::ViewError;

/// What kind of failure an error is. Each language has an exception or a number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is not enough memory.
    Memory,
    /// An array has another length than it should have.
    Length,
    /// There is no such place.
    Range,
    /// There is no such rank or epoch.
    Missing,
    /// Indexes do not fit the integers that were asked for.
    TooWide,
    /// A map that was given is not a bijection.
    NotABijection,
    /// A single place needs an index that is built only on request.
    IndexNotBuilt,
    /// A text is not a saved state, or is that of another sampler.
    State,
    /// There is no GPU that can be used.
    Unavailable,
    /// A GPU has failed.
    Gpu,
    /// A number or a choice is not one that is taken.
    Argument,
}

/// The names that error texts use in a language.
#[derive(Clone, Copy, Debug)]
pub struct LanguageNames {
    /// The permutation that needs no index.
    pub walk: &'static str,
    /// The function that builds an index.
    pub build_index: &'static str,
}

impl Fault {
    /// What kind of failure an error is, and its text.
    pub fn of(error: &Error, names: LanguageNames) -> (Self, String) {
        let fault = match error {
            Error::OutOfMemory { .. } => Self::Memory,
            Error::LengthMismatch { .. } => Self::Length,
            Error::View(ViewError::OutOfRange { .. } | ViewError::TooManyConsumed { .. }) => {
                Self::Range
            }
            Error::View(ViewError::LastEpoch) | Error::NoSuchRank { .. } => Self::Missing,
            Error::IndexTooWide { .. } => Self::TooWide,
            Error::NotABijection(_) => Self::NotABijection,
            Error::View(ViewError::IndexNotBuilt { .. }) => Self::IndexNotBuilt,
            Error::Saved(_) => Self::State,
            Error::BackendUnavailable { .. } => Self::Unavailable,
            Error::Gpu(_) => Self::Gpu,
            _ => Self::Argument,
        };
        let LanguageNames { walk, build_index } = names;
        let text = match error {
            Error::View(ViewError::IndexNotBuilt { last }) => format!(
                "this place is found by an index over {} points, too many to build it unasked: use \
                 {walk}, which needs none, or call {build_index} first",
                u128::from(*last) + 1
            ),
            error => error.to_string(),
        };
        (fault, text)
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::{Permutation, Sampler};

    use super::*;

    #[test]
    fn errors_are_told_in_the_words_of_the_language() {
        let names = LanguageNames { walk: "a_walk", build_index: "an_index()" };
        let told = |error| Fault::of(&error, names);
        let far = Permutation::new(1 << 40 | 1, 1).get(1 << 39).unwrap_err();
        let (fault, text) = told(far);
        assert_eq!(fault, Fault::IndexNotBuilt);
        assert!(text.contains("use a_walk, ") && text.contains("call an_index() first"), "{text}");
        let error = Error::OutOfMemory { bytes: 7 };
        assert_eq!(told(error.clone()), (Fault::Memory, error.to_string()));
        let error = Sampler::builder(0, 1).build().unwrap_err();
        assert_eq!(told(error.clone()), (Fault::Argument, error.to_string()));
        let error = Sampler::builder(5, 1).build().unwrap().state_at(0, 6).unwrap_err();
        assert_eq!(told(error.clone()), (Fault::Range, error.to_string()));
    }
}
