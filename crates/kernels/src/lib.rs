//! The GPU kernels of the crate [`bijective-shuffle`], compiled: so that a machine needs NVIDIA's
//! driver and nothing else.
//!
//! `bijective-shuffle` depends on this crate by its feature `kernels` and finds an image by a hash
//! of the text that it was compiled from. There is nothing here for other crates.
//!
//! # The files
//!
//! There is a file for each target in the folder `data`: machine code for an architecture, or PTX,
//! which every driver for a later GPU can translate. The images are in groups of similar kernels,
//! each compressed as a stream of LZMA2 of its own. All numbers are little endian:
//!
//! ```text
//! u32 groups, u32 images
//! groups: u32 bytes compressed, u32 bytes decompressed
//! images: u128 key, u32 group, u32 bytes before it in the group, u32 bytes of it
//! the streams, one after the other
//! ```
//!
//! The images are in the order of their keys. `crates/kernels/make` writes the files.
//!
//! [`bijective-shuffle`]: https://crates.io/crates/bijective-shuffle

use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use lzma_rust2::Lzma2Reader;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Machine code for GPUs of this compute capability, such as 90, and later ones of the same
    /// major number.
    Machine(u32),
    /// PTX for GPUs of this compute capability and all later ones.
    Ptx(u32),
}

/// The images for one target.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    code: Code,
    file: &'static [u8],
}

macro_rules! images {
    ($($code:ident $architecture:literal $file:literal,)*) => {
        /// All targets.
        pub static TARGETS: &[Images] = &[$(
            Images {
                code: Code::$code($architecture),
                file: include_bytes!(concat!("../data/", $file, ".bin")),
            },
        )*];
    };
}

images! {
    Machine 80 "sm_80",
    Machine 90 "sm_90",
    Ptx 70 "ptx_70",
}

/// The bytes of an entry of the table of groups, and of the table of images.
const GROUP: usize = 8;
const IMAGE: usize = 28;

impl Images {
    /// What the images are.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The bytes of the file.
    pub fn file_bytes(&self) -> usize {
        self.file.len()
    }

    /// The keys of all images, in order.
    pub fn keys(&self) -> impl Iterator<Item = u128> {
        self.table().chunks_exact(IMAGE).map(key_of)
    }

    /// Whether there is an image with a key.
    pub fn has(&self, key: u128) -> bool {
        self.place(key).is_some()
    }

    /// The image with a key, if there is one.
    ///
    /// Its group is decompressed, which takes milliseconds. The last few groups are kept, since
    /// the next image mostly is of one of them.
    pub fn find(&self, key: u128) -> Option<Vec<u8>> {
        let (group, place) = self.place(key)?;
        Some(self.group(group)?.get(place)?.to_vec())
    }

    /// The group that an image is in, and its place there.
    fn place(&self, key: u128) -> Option<(usize, Range<usize>)> {
        let table = self.table();
        let images = table.len() / IMAGE;
        let image = |place: usize| table.get(place * IMAGE..(place + 1) * IMAGE);
        // A binary search by hand, since the entries are bytes.
        let (mut low, mut high) = (0, images);
        while low < high {
            let middle = low + (high - low) / 2;
            if key_of(image(middle)?) < key { low = middle + 1 } else { high = middle }
        }
        let entry = image(low).filter(|entry| key_of(entry) == key)?;
        let [group, start, len] = [16, 20, 24].map(|at| number(entry, at));
        Some((group?, start?..start?.checked_add(len?)?))
    }

    /// A group, decompressed.
    fn group(&self, number: usize) -> Option<Arc<[u8]>> {
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |group: &&ImageGroup| group.of == self.code && group.number == number;
        if let Some(group) = kept().iter().find(is_it) {
            return Some(group.bytes.clone());
        }
        // The lock is not held meanwhile; at worst two threads do the same.
        let bytes: Arc<[u8]> = self.decompress(number)?.into();
        let mut kept = kept();
        if kept.len() == MOST_KEPT {
            kept.pop_front();
        }
        kept.push_back(ImageGroup { of: self.code, number, bytes: bytes.clone() });
        Some(bytes)
    }

    fn decompress(&self, group: usize) -> Option<Vec<u8>> {
        let sizes = |group: usize| number(self.file, 8 + group * GROUP);
        let before = (0..group).map(sizes).sum::<Option<usize>>()?;
        let start = self.table_place()?.end.checked_add(before)?;
        let stream = self.file.get(start..start.checked_add(sizes(group)?)?)?;
        let len = number(self.file, 12 + group * GROUP)?;
        let mut bytes = vec![0; len];
        Lzma2Reader::new(stream, u32::try_from(len).ok()?, None).read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The table of images.
    fn table(&self) -> &'static [u8] {
        self.table_place().and_then(|place| self.file.get(place)).unwrap_or_default()
    }

    /// Where the table of images is, behind the table of groups.
    fn table_place(&self) -> Option<Range<usize>> {
        let [groups, images] = [0, 4].map(|at| number(self.file, at));
        let start = groups?.checked_mul(GROUP)?.checked_add(8)?;
        Some(start..images?.checked_mul(IMAGE)?.checked_add(start)?)
    }
}

/// A group, decompressed: some megabytes at most.
struct ImageGroup {
    of: Code,
    number: usize,
    bytes: Arc<[u8]>,
}

/// How many groups are kept: those of a plan with two passes and its alternative.
const MOST_KEPT: usize = 4;

/// The groups that were decompressed last, the latest at the end.
static KEPT: Mutex<VecDeque<ImageGroup>> = Mutex::new(VecDeque::new());

/// The number of 32 bits at a place.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*word)).ok()
}

/// The key of an entry of the table of images, which has at least as many bytes as a key.
fn key_of(entry: &[u8]) -> u128 {
    entry.first_chunk().map_or(0, |key| u128::from_le_bytes(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_found_by_its_key_alone() {
        for target in TARGETS {
            let keys: Vec<u128> = target.keys().collect();
            assert!(!keys.is_empty() && keys.is_sorted_by(|a, b| a < b));
            // One group after the other, so that each is decompressed once.
            let mut by_group = keys.clone();
            by_group.sort_by_key(|&key| target.place(key).map(|(group, _)| group));
            for key in by_group {
                assert!(target.has(key));
                assert!(target.find(key).is_some_and(|image| !image.is_empty()));
                let others = [key ^ 1, key ^ 1 << 127, key.wrapping_add(1)];
                let other = others.into_iter().find(|other| !keys.contains(other)).unwrap();
                assert!(!target.has(other) && target.find(other).is_none());
            }
            assert!(target.find(0).is_none() && target.find(u128::MAX).is_none());
        }
    }

    #[test]
    fn a_damaged_file_has_no_images() {
        let target = TARGETS[0];
        // Of the last group, so that every beginning of the file lacks it.
        let key = target.keys().max_by_key(|&key| target.place(key).unwrap().0).unwrap();
        assert!(target.decompressed(key).is_some());
        let of = |file: &[u8]| Images { file: file.to_vec().leak(), ..target };
        // Neither an empty file nor any beginning of one is read beyond its end.
        for len in [0, 3, 4, 7, 8, 20, 100, 20_000, target.file.len() / 2] {
            assert!(of(&target.file[..len]).decompressed(key).is_none(), "{len}");
        }
        let mut file = target.file.to_vec();
        file[..8].fill(0xFF);
        assert!(of(&file).decompressed(key).is_none());
    }

    impl Images {
        /// What `find` finds, without the groups that are kept.
        fn decompressed(&self, key: u128) -> Option<Vec<u8>> {
            let (group, place) = self.place(key)?;
            Some(self.decompress(group)?.get(place)?.to_vec())
        }
    }
}
