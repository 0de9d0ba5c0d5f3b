//! [`AbortOnUnwind`]: ends the program where a panic would leave items lost or duplicated.

/// Ends the program when it is dropped. Code that must not unwind holds one, and forgets it when it
/// is done.
pub struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
