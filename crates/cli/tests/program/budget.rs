//! Tables in little memory: the program keeps to it, or says in one line how much it would take.

use std::fs::File;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::folder::{Folder, is_long, program};
use crate::limits::limited;

/// What the program takes by itself, and what the allocator and the formats do on top, in MiB.
const ITSELF: u64 = 40;

fn write_parquet(folder: &Folder, name: &str, batch: &RecordBatch) {
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write_ipc(
    folder: &Folder,
    name: &str,
    batch: &RecordBatch,
    compression: Option<CompressionType>,
) {
    let file = File::create(folder.path(name)).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Numbered rows with another column.
fn with_numbers(column: ArrayRef) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(0..column.len() as i64);
    RecordBatch::try_from_iter([("number", Arc::new(numbers) as ArrayRef), ("column", column)])
        .unwrap()
}

/// Runs the program where it may have no more than its memory in MiB, and what it takes by itself.
#[track_caller]
fn fits(folder: &Folder, memory: u64, name: &str) {
    let mut command = Command::new(program());
    command.args(["-q", "--seed", "1", "-o", "new", "--memory", &format!("{memory}M"), name]);
    let most = (memory + ITSELF) << 20;
    let command = limited(libc::RLIMIT_DATA, most, command.env("RAYON_NUM_THREADS", "2"));
    let outcome = folder.finish(command, b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn texts_of_a_dictionary_are_not_read_at_once() {
    let folder = Folder::new();
    // A few long texts, which the file has once, and the rows many times: 60 MB, or 160.
    let count = if is_long() { 800 } else { 300 };
    let texts: Vec<String> = ["a", "b", "c"].map(|letter| letter.repeat(200_000)).into();
    let texts = StringArray::from_iter_values((0..count).map(|k| &texts[k % 3]));
    write_parquet(&folder, "x.parquet", &with_numbers(Arc::new(texts)));
    fits(&folder, 8, "x.parquet");
}

#[test]
fn long_lists_are_not_read_at_once() {
    let folder = Folder::new();
    // 60 MB, or 160: so that those of one row group would be too much.
    let (count, length) = (if is_long() { 400 } else { 150 }, 50_000);
    let items = Int64Array::from_iter_values((0..count * length as i64).map(|item| item % 100));
    let field = Arc::new(Field::new_list_field(DataType::Int64, true));
    let lengths = OffsetBuffer::from_lengths((0..count).map(|_| length));
    let lists = ListArray::new(field, lengths, Arc::new(items), None);
    let rows = with_numbers(Arc::new(lists));
    write_parquet(&folder, "x.parquet", &rows);
    fits(&folder, 8, "x.parquet");
    write_ipc(&folder, "x.arrow", &rows, None);
    fits(&folder, 8, "x.arrow");
    // A record batch that is compressed is read whole.
    write_ipc(&folder, "x.arrow", &rows, Some(CompressionType::LZ4_FRAME));
    let complaint = folder.complaint(&["--memory", "8M", "-o", "new", "x.arrow"], b"");
    let (start, rest) = complaint.split_at("bshuf: x.arrow: its record batch 0, ".len());
    assert_eq!(start, "bshuf: x.arrow: its record batch 0, ");
    assert!(rest.ends_with("bytes of memory, and may take 2097152: raise --memory"), "{rest}");
    // It may take a quarter.
    let enough = if is_long() { "768M" } else { "256M" };
    folder.output(&["--memory", enough, "-o", "new", "x.arrow"], b"");
}

/// Columns of numbers, of which each file has a page, and which make one record batch.
fn wide(columns: usize, rows: usize) -> RecordBatch {
    let column = |k: usize| {
        let numbers = (0..rows).map(|row| (row * 1009 + k) as f64);
        (format!("column {k}"), Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef)
    };
    RecordBatch::try_from_iter((0..columns).map(column)).unwrap()
}

#[test]
fn many_columns_are_read_slice_by_slice() {
    let folder = Folder::new();
    // 8 MB, or 160 in 32.
    let (columns, rows, memory) = if is_long() { (1000, 20_000, 32) } else { (200, 5000, 8) };
    let rows = wide(columns, rows);
    write_parquet(&folder, "x.parquet", &rows);
    fits(&folder, memory, "x.parquet");
    write_ipc(&folder, "x.arrow", &rows, None);
    fits(&folder, memory, "x.arrow");
}

/// Texts that are different, and so in a dictionary that takes this many MiB.
fn write_dictionary(folder: &Folder, name: &str, megabytes: usize, rows: usize) {
    let texts: Vec<String> = (b'a'..)
        .take(megabytes)
        .map(|letter| char::from(letter).to_string().repeat(1 << 20))
        .collect();
    let texts = StringArray::from_iter_values((0..rows).map(|k| &texts[k % megabytes]));
    let batch = with_numbers(Arc::new(texts));
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 30).build();
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_dictionary_may_take_half_of_the_memory() {
    let folder = Folder::new();
    write_dictionary(&folder, "x.parquet", 7, 20);
    fits(&folder, 16, "x.parquet");
    let complaint = folder.complaint(&["--memory", "14M", "-o", "new", "x.parquet"], b"");
    let start = "bshuf: x.parquet: a page of column column with its dictionary takes ";
    assert!(complaint.starts_with(start), "{complaint}");
    assert!(complaint.ends_with("may take 7340032: raise --memory"), "{complaint}");
}
