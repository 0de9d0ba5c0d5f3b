//! Tables in little memory: the program keeps to it, or says in one line how much it would take.

use std::fs::File;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;

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

fn write_ipc(folder: &Folder, name: &str, batch: &RecordBatch) {
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
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
    // A record batch is read whole.
    write_ipc(&folder, "x.arrow", &rows);
    let complaint = folder.complaint(&["--memory", "8M", "-o", "new", "x.arrow"], b"");
    let (start, rest) = complaint.split_at("bshuf: x.arrow: its record batch 0, ".len());
    assert_eq!(start, "bshuf: x.arrow: its record batch 0, ");
    assert!(rest.ends_with("bytes of memory, and may take 2097152: raise --memory"), "{rest}");
    folder.output(&["--memory", "256M", "-o", "new", "x.arrow"], b"");
}

#[test]
fn pages_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let column = |k: usize| {
        let numbers = (0..5000).map(|row| (row * 1009 + k) as f64);
        (format!("column {k}"), Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef)
    };
    let rows = RecordBatch::try_from_iter((0..200).map(column)).unwrap();
    write_parquet(&folder, "x.parquet", &rows);
    let complaint = folder.complaint(&["--memory", "8M", "-o", "new", "x.parquet"], b"");
    let start = "bshuf: x.parquet: a page of each of its 200 columns takes ";
    assert!(complaint.starts_with(start), "{complaint}");
    assert!(complaint.ends_with("may take 4194304: raise --memory"), "{complaint}");
    fits(&folder, 32, "x.parquet");
}
