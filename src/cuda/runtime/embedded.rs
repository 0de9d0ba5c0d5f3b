//! The embedded kernels, which the crate holds compiled, found by their text.

use std::hash::Hasher;
use std::sync::OnceLock;

use siphasher::sip128::{Hasher128, SipHasher13};

/// The key of a program: a hash of its whole text. An image is found only by the key of the very
/// text that it was compiled from, so that a stale one is never used.
pub(crate) fn key(text: &str) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    hasher.finish128().as_u128()
}

/// Which of the embedded kernels are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    All,
    /// Only PTX.
    Ptx,
    None,
}

impl Use {
    /// What the environment variable `BIJECTIVE_SHUFFLE_KERNELS` says. It is for tests and
    /// measurements, and is looked up once.
    fn get() -> Self {
        static USE: OnceLock<Use> = OnceLock::new();
        *USE.get_or_init(|| match std::env::var("BIJECTIVE_SHUFFLE_KERNELS").as_deref() {
            Ok("ptx") => Self::Ptx,
            Ok("none") => Self::None,
            _ => Self::All,
        })
    }
}

/// Whether there are kernels for a device of this architecture, such as 90.
pub(crate) fn serve(architecture: u32) -> bool {
    !targets(architecture, Use::get()).is_empty()
}

/// The images of a program for a device of this architecture, the best first: machine code, then
/// PTX.
pub(crate) fn images(text: &str, architecture: u32) -> impl Iterator<Item = Vec<u8>> {
    let targets = targets(architecture, Use::get());
    let key = if targets.is_empty() { 0 } else { key(text) };
    targets.into_iter().filter_map(move |target| target.find(key)).filter(|image| has_end(image))
}

/// Whether the driver finds the end of an image: machine code has its length in its header, and PTX
/// must end with a zero byte.
fn has_end(image: &[u8]) -> bool {
    image.starts_with(b"\x7FELF") || image.ends_with(&[0])
}

#[cfg(feature = "kernels")]
use bijective_shuffle_kernels::Images as Target;

/// The targets whose images run on a device, the best first.
#[cfg(feature = "kernels")]
fn targets(architecture: u32, which: Use) -> Vec<&'static Target> {
    use bijective_shuffle_kernels::{Code, TARGETS};

    let runs = |target: &&Target| match target.code() {
        Code::Machine(of) => {
            which == Use::All && of / 10 == architecture / 10 && of <= architecture
        }
        Code::Ptx(of) => which != Use::None && of <= architecture,
    };
    let mut targets: Vec<_> = TARGETS.iter().filter(runs).collect();
    targets.sort_by_key(|target| match target.code() {
        Code::Machine(of) => (0, u32::MAX - of),
        Code::Ptx(of) => (1, u32::MAX - of),
    });
    targets
}

/// Nothing is embedded.
#[cfg(not(feature = "kernels"))]
enum Target {}

#[cfg(not(feature = "kernels"))]
impl Target {
    fn find(&self, _: u128) -> Option<Vec<u8>> {
        match *self {}
    }
}

#[cfg(not(feature = "kernels"))]
fn targets(_: u32, _: Use) -> Vec<&'static Target> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_without_an_end_are_not_given_to_the_driver() {
        assert!(has_end(b"\x7FELF\x02\x01"));
        assert!(has_end(b".version 8.0\n\0"));
        assert!(!has_end(b".version 8.0\n"));
        assert!(!has_end(b""));
    }
}
