//! Shuffles of data sets: folders of files in, shards out.
//!
//! A [`Dataset`] joins [inputs](Input), compressed or not, and divides them into
//! [`Records`]: lines, rows of CSV, groups of lines, TFRecords, or the samples of tar archives. Its
//! records are written in another [`FileOrder`](crate::files::FileOrder), compressed or not, to the
//! files that a list of [`Shards`] names, which a [`ShardSink`] takes.
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
//! If all records fit half of the memory, with 24 bytes for each in five eighths of it, the inputs
//! are read once, the records are written from there, and nothing goes to the store. Otherwise the
//! passes are those of [`files`](crate::files): records whose ends cannot be seen from where they
//! begin are stored after their lengths.
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
//! | a place for shards | a [`ShardSink`] |
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

mod bundle;
mod compress;
mod csv;
mod header;
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
pub use index::ShardIndex;
pub use input::Input;
pub use records::{RecordForm, Records};
pub use set::{CountedSet, Dataset, Written, start_of};
pub use shards::{Shard, ShardSink, ShardTarget, Shards, WrittenShard};
pub use splitter::{Broken, Found, Splitter};
pub use store::{BlockCodec, TemporaryStore};
pub(crate) use walk::{FileIdentity, identity};
pub use walk::{Subfolders, Walked, walk};
pub use workers::KnownToWorkers;
