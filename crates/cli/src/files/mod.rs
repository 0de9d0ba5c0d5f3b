//! Shuffles of files that are larger than memory.
//!
//! A [`FileShuffle`] reads lines, or records of a fixed size, from anything that can be read and
//! sought, and writes them in another [`FileOrder`]. The order depends on the number of items and
//! on the seed; it is that of [`Permutation::new`](bijective_shuffle::Permutation::new). It depends
//! on neither the memory nor the threads that it is given.
//!
//! | pass | reads | writes |
//! | --- | --- | --- |
//! | [`count`](FileShuffle::count), not for records | the source | nothing |
//! | 1 | the source, in order | each item to its bucket in the [`Store`], a large block at a time |
//! | 2 | the buckets, one after the other | the output, in order |
//!
//! A bucket has the items whose places in the output are between two bounds, so its items fit
//! memory where the file does not. An item's bucket follows from the seed: it takes one evaluation
//! of the permutation's bijection at the item's number, and these numbers are consecutive, so they
//! are evaluated by vectors and by all threads. Each item has a key beside it in the store, of as
//! many bytes as it takes to order the items of one bucket.
//!
//! A bucket that is too large, because its lines are long or because the store has as many buckets
//! as there is memory for, is split into more of them before it is read.
//!
//! # Examples
//!
//! ```
//! use std::io::Cursor;
//!
//! use bijective_shuffle::prelude::*;
//! use bijective_shuffle_cli::files::{FileOrder, FileShuffle, Items, TemporaryFile};
//!
//! let text: String = (0..10_000).map(|k| format!("line {k}\n")).collect();
//! let mut source = Cursor::new(text.as_bytes()); // a `File` in earnest
//!
//! let lines = FileShuffle::new(Items::Lines { delimiter: b'\n' }, 1 << 20);
//! let count = lines.count(&mut source, &())?;
//! let order = FileOrder::shuffle(count.items, 42);
//! let mut store = TemporaryFile::in_folder(&std::env::temp_dir())?;
//! let mut output = Vec::new();
//! lines.run(&order, &count, &mut source, &mut store, &mut output, &())?;
//!
//! let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
//! lines.par_bijective_shuffle(42);
//! assert_eq!(output, lines.concat().as_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod buckets;
pub(crate) mod budget;
mod chunks;
pub(crate) mod distribute;
mod error;
pub(crate) mod gather;
pub(crate) mod items;
pub(crate) mod keys;
mod order;
pub(crate) mod ordered;
pub(crate) mod place;
mod readers;
pub(crate) mod room;
mod shuffle;
pub(crate) mod sources;
mod store;
mod summary;
#[cfg(test)]
mod tests;
pub(crate) mod watch;

pub use error::FilesError;
pub use items::{ItemCount, Items};
pub use order::FileOrder;
pub use shuffle::FileShuffle;
pub use sources::{NamedError, Pieces, Sources};
#[cfg(test)]
pub(crate) use store::Memory;
pub(crate) use store::{PRIVATE, named_file_in};
pub use store::{Store, TemporaryFile};
pub use summary::Summary;
pub use watch::{ShufflePass, Watch};
