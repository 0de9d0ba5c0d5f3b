//! Shuffles of data sets: folders of files in, shards out.
//!
//! A [`Dataset`] joins [inputs](Input), each of which may be compressed, and divides them into
//! [`Records`]: lines, rows of CSV, groups of lines, TFRecords, or the samples of tar archives. Its
//! records are written in another [`Order`](crate::files::Order), compressed or not, to the files
//! that a list of [`Shards`] names, which a [`Sink`] takes.
//!
//! The order is that of the number of records. It depends on neither the memory, nor the threads,
//! nor how the records are divided among inputs and shards, nor how these are compressed. So the
//! records of all shards, one after the other, are those of a single output.
//!
//! | pass | reads | writes |
//! | --- | --- | --- |
//! | [`count`](Dataset::count) | all inputs, side by side | nothing |
//! | 1 | all inputs, side by side | each record to its bucket in the store |
//! | 2 | the buckets, one after the other | the shards, one after the other, each by all threads |
//!
//! Inputs whose records fit half of the memory are read once. If those of all do, with 24 bytes
//! for each in five eighths of it, they are written from there, and nothing goes to the store.
//! Otherwise the passes are those of [`files`](crate::files): records whose ends cannot be seen
//! from where they begin are stored behind their lengths.
//!
//! Nothing is left out in silence. A compressed input that is cut short, a binary file among lines,
//! a quote that is not closed, a row of another number of fields, a header that is not that of the
//! other inputs, a group that lacks a line, a checksum that is another, a sample that lacks a part:
//! each is an error that names the input and, where it can, the record. An input without a byte is
//! skipped, and counted.
//!
//! | to add | write |
//! | --- | --- |
//! | a kind of record | a [`Splitter`], and a variant of [`Records`] |
//! | a compression | a [`Codec`](crate::formats::Codec), as its module says |
//! | a place for inputs | an [`Input`] |
//! | a place for shards | a [`Sink`] |
//!
//! # Several workers
//!
//! Workers on machines of their own that share a file system do it in three stages, without talking
//! to each other. What they write is what one would.
//!
//! | stage | a worker reads | and leaves |
//! | --- | --- | --- |
//! | [`count_share`](Dataset::count_share) | its [share](Dataset::share) of the inputs, or of the pieces of [divided](Dataset::divided) ones | how many records they have |
//! | [`distribute`](Dataset::distribute) | the counts of all, [joined](Dataset::join), and its share of the inputs | a [`Bundle`]: its records, bucket by bucket |
//! | [`collect`](Dataset::collect) | the buckets of its shards, in the bundles of all | its shards |
//!
//! # Examples
//!
//! ```
//! use bijective_shuffle_cli::dataset::{
//!     Bundle, Dataset, Folder, Form, Input, Known, Shards, Temporary,
//! };
//! use bijective_shuffle_cli::files::{FilesError, Order};
//! use bijective_shuffle_cli::formats::Compression;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("names.csv");
//! std::fs::write(&path, "name,said\nAda,\"one\ntwo\"\nBob,three\n")?;
//!
//! let inputs = vec![Box::new(path) as Box<dyn Input>];
//! let set = Dataset::open(inputs, &Form::csv(b',').with_headers(1), 64 << 20)?;
//! let counted = set.count(&())?;
//! assert_eq!(counted.records(), 2);
//!
//! let order = Order::shuffle(counted.records(), 42);
//! let shards = Shards::even("part", "csv.zst", counted.records(), 2);
//! let mut store = Temporary::in_folders(&[std::env::temp_dir()], false, 16 << 20)?;
//! let mut sink = Folder::new(folder.path().join("shards"))?;
//! let written = set.shuffle(
//!     (&counted, &order),
//!     &mut store,
//!     (&shards, "zstd:3".parse::<Compression>()?, &mut sink),
//!     &(),
//! )?;
//! assert_eq!(written.shards.len(), 2);
//! assert!(folder.path().join("shards/part-00001-of-00002.csv.zst").exists());
//!
//! // The same by two workers, one after the other.
//! let counts: Vec<_> = (0..2)
//!     .map(|worker| Ok(set.count_share(&set.share(worker, 2), &())?.to_json()))
//!     .collect::<Result<_, FilesError>>()?;
//! let counted = set.join(&counts)?;
//! let known = Known { counted: &counted, order: &order, memory: 64 << 20, run: "names, seed 42" };
//! let bundle = |worker: u64| folder.path().join(format!("bundle-{worker}"));
//! for worker in 0..2 {
//!     set.distribute(&set.share(worker, 2), known, (&bundle(worker), false), &())?;
//! }
//! let mut sink = Folder::new(folder.path().join("others"))?;
//! for worker in 0..2 {
//!     let open = |other| Ok(Bundle::open(&bundle(other), known.run)?.expect("distributed"));
//!     let bundles = (0..2).map(open).collect::<std::io::Result<_>>()?;
//!     let own = shards.range(worker..worker + 1);
//!     // The first one has one record.
//!     let store = Temporary::in_folders(&[std::env::temp_dir()], false, 0)?;
//!     let target = (&own, "zstd:3".parse::<Compression>()?, &mut sink);
//!     let by_worker = set.collect(known, (bundles, worker as u64), store, target, &())?;
//!     assert_eq!(by_worker.shards[0], written.shards[worker]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundle;
mod compress;
mod csv;
mod index;
mod input;
mod kept;
mod lines;
mod piece;
mod reader;
mod records;
mod samples;
mod set;
mod shards;
mod splitter;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod tfrecords;
mod walk;
mod workers;

pub use bundle::Bundle;
pub use compress::Hashed;
pub use csv::Csv;
pub use index::Index;
pub use input::Input;
pub use records::{Form, Records};
pub use set::{Counted, Dataset, Written, start_of};
pub use shards::{Folder, Shard, Shards, Sink, WrittenShard};
pub use splitter::{Broken, Found, Splitter};
pub use store::Temporary;
pub use walk::{Walk, Walked};
pub use workers::Known;
