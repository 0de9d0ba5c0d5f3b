//! [`Samples`]: the samples of tar archives.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tar::{EntryType, Header, PaxExtension, PaxExtensions};

use super::splitter::{Broken, Found, Splitter};
use crate::formats::has_checksum;

/// The size of a block. Archives consist of whole blocks.
const BLOCK: usize = 512;

/// The names of a sample's parts, sorted: what follows the first dot of a file's name.
pub(super) type PartNames = Vec<Vec<u8>>;

/// Finds the samples of a tar archive: files that stand together and have one name up to its first
/// dot. A sample is the archive's own bytes, so that owners, times and extended headers are kept.
///
/// Folders are left out, as by everything that reads samples, and so are comments on all files, as
/// `git archive` writes one. What macOS writes beside a file stays with its sample, and is no part
/// of it. Archives may be joined.
pub(super) struct Samples {
    /// The parts of the first sample of a data set, if all others have to have the same.
    first: Option<Arc<OnceLock<PartNames>>>,
    /// What the open sample is called, and the parts that it has.
    key: Vec<u8>,
    parts: PartNames,
    /// How many bytes of the text are whole files of it, and how many files macOS wrote beside
    /// them.
    at: usize,
    beside: u64,
    /// The names of the samples before, as hashes.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// Whether the last block was one that ends an archive.
    is_ended: bool,
}

/// A file of an archive.
struct ArchiveEntry<'t> {
    kind: EntryType,
    path: Cow<'t, [u8]>,
    /// Where its contents begin, and how many bytes they take with the headers before them.
    start: usize,
    bytes: usize,
}

/// What a text begins with.
enum TextStart<'t> {
    /// The text does not have all of it.
    More,
    /// A block of zeros.
    End,
    /// This many bytes that say nothing of the files.
    Comment(usize),
    Entry(ArchiveEntry<'t>),
}

impl Samples {
    /// Samples with the parts of the first of a data set, if it is given.
    pub(super) fn new(first: Option<Arc<OnceLock<PartNames>>>) -> Self {
        let (seen, hasher) = (HashSet::new(), RandomState::new());
        let (key, parts) = (Vec::new(), Vec::new());
        Self { first, key, parts, at: 0, beside: 0, seen, hasher, is_ended: false }
    }

    /// The open sample is whole.
    fn sample(&mut self) -> Result<Found, Broken> {
        let (name, beside) = (self.key.escape_ascii(), std::mem::take(&mut self.beside));
        if self.parts.is_empty() {
            return Ok(Found::Skip { bytes: std::mem::take(&mut self.at), entries: beside });
        }
        if !self.seen.insert(self.hasher.hash_one(&self.key)) {
            return Err(Broken(format!("has the name of an earlier one, `{name}`")));
        }
        self.parts.sort();
        if let Some(first) = &self.first {
            let first = first.get_or_init(|| self.parts.clone());
            if *first != self.parts {
                let all = |parts: &PartNames| match parts.as_slice() {
                    [part] if part.is_empty() => "nothing after a dot".to_owned(),
                    _ => parts.join(&b", "[..]).escape_ascii().to_string(),
                };
                let (own, first) = (all(&self.parts), all(first));
                return Err(Broken(format!(
                    "`{name}` has the parts {own}, and the first sample has {first}: give --uneven \
                     if that is as it should be"
                )));
            }
        }
        let bytes = std::mem::take(&mut self.at);
        self.parts.clear();
        Ok(Found::Record { bytes, end: Vec::new() })
    }
}

impl Splitter for Samples {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        loop {
            let entry = match first(&text[self.at..], is_end)? {
                TextStart::More => return Ok(Found::More),
                TextStart::End if self.at > 0 => return self.sample(),
                TextStart::End => {
                    self.is_ended = true;
                    let zeros = text.chunks_exact(BLOCK).take_while(|block| is_zero(block));
                    return Ok(Found::Skip { bytes: BLOCK * zeros.count(), entries: 0 });
                }
                TextStart::Comment(_) if self.at > 0 => return self.sample(),
                TextStart::Comment(bytes) => {
                    self.is_ended = false;
                    return Ok(Found::Skip { bytes, entries: 1 });
                }
                TextStart::Entry(entry) => entry,
            };
            self.is_ended = false;
            if entry.is_folder()? {
                let skip = Found::Skip { bytes: entry.bytes, entries: 1 };
                return if self.at > 0 { self.sample() } else { Ok(skip) };
            }
            let Some(described) = entry.described(&text[self.at..], is_end) else {
                return Ok(Found::More);
            };
            let name = entry.path.escape_ascii();
            let path = described.as_deref().unwrap_or(&entry.path);
            let (key, part) = path.split_at(key(path).end);
            if self.at > 0 && self.key != key {
                return self.sample();
            }
            if text.len() - self.at < entry.bytes {
                if is_end {
                    return Err(Broken(format!("is cut short within `{name}`")));
                }
                return Ok(Found::More);
            }
            let part = part.strip_prefix(b".").unwrap_or(part);
            if described.is_none() && self.parts.iter().any(|other| other == part) {
                return Err(Broken(format!("has `{name}` twice")));
            }
            if self.at == 0 {
                self.key.clear();
                self.key.extend_from_slice(key);
            }
            match described {
                Some(_) => self.beside += 1,
                None => self.parts.push(part.to_vec()),
            }
            self.at += entry.bytes;
        }
    }

    fn finish(&mut self) -> Result<(), Broken> {
        if self.is_ended {
            return Ok(());
        }
        let why = "is missing, and so is the end of the archive, two blocks of zeros, without \
                   which \
                   it may be cut short: if it is not, add them, as by \
                   `(cat FILE; head -c 1024 /dev/zero) | bshuf --tar`";
        Err(Broken(why.to_owned()))
    }
}

/// What the files begin with in which macOS keeps what else it knows of others.
const APPLE_DOUBLE: &[u8] = b"\0\x05\x16\x07";

impl ArchiveEntry<'_> {
    /// Whether it is a folder. Otherwise it is a regular file.
    fn is_folder(&self) -> Result<bool, Broken> {
        let name = self.path.escape_ascii();
        // The oldest archives have no other sign of folders than the end of their names.
        let is_folder = self.kind.is_dir() || self.kind.is_file() && self.path.ends_with(b"/");
        if is_folder && self.bytes > self.start {
            // Some programs write its contents after it, and some do not.
            return Err(Broken(format!("has the folder `{name}` with a size")));
        }
        if !is_folder && !matches!(self.kind, EntryType::Regular | EntryType::Continuous) {
            return Err(Broken(format!("has `{name}`, which is not a regular file")));
        }
        Ok(is_folder)
    }

    /// The file that a file of macOS is about by its name, `._x` about `x`, where a text begins
    /// with it. `None` if more of the text has to be read to tell.
    fn described(&self, text: &[u8], is_end: bool) -> Option<Option<Vec<u8>>> {
        let name = self.path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        let own = self.path[name..].strip_prefix(b"._").filter(|own| !own.is_empty());
        let Some(own) = own.filter(|_| self.bytes > self.start) else { return Some(None) };
        let contents = text.get(self.start..).unwrap_or_default();
        if contents.len() < BLOCK && !is_end {
            return None;
        }
        let is_about = contents.starts_with(APPLE_DOUBLE);
        Some(is_about.then(|| [&self.path[..name], own].concat()))
    }
}

/// The part of a path that is common to the files of a sample: up to the first dot of the name.
fn key(path: &[u8]) -> Range<usize> {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let dot = path[name..].iter().position(|&byte| byte == b'.');
    0..dot.filter(|&at| at > 0).map_or(path.len(), |at| name + at)
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// The first file of a text, with the headers that stand before it.
fn first(text: &[u8], is_end: bool) -> Result<TextStart<'_>, Broken> {
    let cut_short = || Broken("is cut short within a header".to_owned());
    let more = || if is_end { Err(cut_short()) } else { Ok(TextStart::More) };
    let (mut at, mut extended) = (0, Extended::default());
    loop {
        let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) else {
            // The open sample is whole, and what is missing behind it is for `finish` to say.
            return if is_end && at == 0 && text.is_empty() { Ok(TextStart::End) } else { more() };
        };
        if is_zero(block) {
            return if at == 0 { Ok(TextStart::End) } else { Err(cut_short()) };
        }
        let header = Header::from_byte_slice(block);
        if !has_checksum(block) {
            let why = "is not a file of a tar archive: the checksum of its header does not match";
            return Err(Broken(why.to_owned()));
        }
        let bytes = match extended.bytes {
            Some(bytes) => bytes,
            None => header.entry_size().map_err(|_| bad("size"))?,
        };
        let bytes = usize::try_from(bytes).map_err(|_| bad("size"))?;
        let padded =
            bytes.checked_next_multiple_of(BLOCK).and_then(|bytes| bytes.checked_add(BLOCK));
        let padded = padded.ok_or_else(|| bad("size"))?;
        let kind = header.entry_type();
        let is_global = kind.is_pax_global_extensions();
        let is_extension =
            kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions();
        if !is_extension && !is_global {
            let path = extended.path.unwrap_or_else(|| header.path_bytes());
            let end = at.checked_add(padded).ok_or_else(|| bad("size"))?;
            let start = if bytes > 0 { at + BLOCK } else { end };
            return Ok(TextStart::Entry(ArchiveEntry { kind, path, start, bytes: end }));
        }
        let Some(contents) = text.get(at + BLOCK..).and_then(|rest| rest.get(..bytes)) else {
            return more();
        };
        if is_global {
            let is_comment = |extension: io::Result<PaxExtension>| {
                extension.is_ok_and(|extension| extension.key_bytes() == b"comment")
            };
            if at > 0 || !PaxExtensions::new(contents).all(is_comment) {
                let why = "has a header for all files after it, which cannot be shuffled";
                return Err(Broken(why.to_owned()));
            }
            let text = text.get(..padded);
            return text.map_or_else(more, |text| Ok(TextStart::Comment(text.len())));
        }
        extended.take(kind, contents)?;
        at += padded;
    }
}

/// What the headers before that of a file say of it.
#[derive(Default)]
struct Extended<'t> {
    path: Option<Cow<'t, [u8]>>,
    bytes: Option<u64>,
}

impl<'t> Extended<'t> {
    /// Takes what one of them has.
    fn take(&mut self, kind: EntryType, contents: &'t [u8]) -> Result<(), Broken> {
        if kind.is_gnu_longname() {
            self.path = Some(contents.strip_suffix(b"\0").unwrap_or(contents).into());
        }
        if !kind.is_pax_local_extensions() {
            return Ok(());
        }
        for extension in PaxExtensions::new(contents) {
            let extension = extension.map_err(|_| bad("pax extension"))?;
            match extension.key_bytes() {
                b"path" => self.path = Some(extension.value_bytes().into()),
                b"size" => {
                    let size = extension.value().ok().and_then(|text| text.parse().ok());
                    self.bytes = Some(size.ok_or_else(|| bad("size"))?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(Broken("has a sparse file".to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn bad(what: &str) -> Broken {
    Broken(format!("has a header with an invalid {what}"))
}
