//! Parquet and Arrow IPC files.

use std::collections::HashMap;
use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array,
    Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_ipc::reader::{FileReader, read_footer_length};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, DictionaryBatch, root_as_footer, root_as_message};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use bijective_shuffle::bijection::BlockShuffle;
use bijective_shuffle::prelude::*;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::folder::{Folder, one_line};
use crate::outside::statistic;

/// The rows of a file: how many there are, and how many make a group.
const ROWS: usize = 20_000;
const GROUP: usize = 3000;

/// Rows with columns of many kinds; their numbers begin with `first`.
pub(crate) fn rows(first: usize) -> RecordBatch {
    let numbers = first..first + ROWS;
    let text = |k: usize| (!k.is_multiple_of(7)).then(|| format!("text {}", "x".repeat(k % 90)));
    let list = |k: usize| (!k.is_multiple_of(5)).then(|| vec![Some(k as i32); k % 4]);
    let name: DictionaryArray<Int32Type> =
        numbers.clone().map(|k| ["red", "green", "blue"][k % 3]).collect();
    let number = Int64Array::from_iter_values(numbers.clone().map(|k| k as i64));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(numbers.clone().map(list));
    let columns = [
        ("number", Arc::new(number) as ArrayRef),
        ("text", Arc::new(numbers.map(text).collect::<StringArray>())),
        ("list", Arc::new(list)),
        ("name", Arc::new(name)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    // A reader of Parquet adds the pairs of the file to those of the schema.
    let metadata = [("author", "somebody"), ("key", "value")];
    let metadata: HashMap<_, _> =
        metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    batch.with_schema(Arc::new(schema)).unwrap()
}

pub(crate) fn write_parquet(folder: &Folder, name: &str, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new("key".to_owned(), "value".to_owned())]))
        .build();
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub(crate) fn write_ipc(folder: &Folder, name: &str, batch: &RecordBatch) {
    let options = IpcWriteOptions::default();
    let options = options.try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    writer.write_metadata("key", "value");
    for start in (0..batch.num_rows()).step_by(GROUP) {
        writer.write(&batch.slice(start, GROUP.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

/// All rows of a file, and the columns that it says it has.
fn read(folder: &Folder, name: &str) -> (SchemaRef, RecordBatch) {
    let file = File::open(folder.path(name)).unwrap();
    let (schema, batches): (_, Vec<RecordBatch>) = if name.ends_with(".parquet") {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = builder.schema().clone();
        (schema, builder.build().unwrap().map(Result::unwrap).collect())
    } else {
        let reader = FileReader::try_new(file, None).unwrap();
        assert_eq!(reader.custom_metadata()["key"], "value");
        (reader.schema(), reader.map(Result::unwrap).collect())
    };
    let all = concat_batches(&schema, &batches).unwrap();
    (schema, all)
}

fn metadata(folder: &Folder, name: &str) -> ParquetMetaData {
    let file = File::open(folder.path(name)).unwrap();
    ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().as_ref().clone()
}

/// Rows at these numbers.
fn at(batch: &RecordBatch, numbers: impl Iterator<Item = u64>) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(numbers.map(|number| number as i64));
    take_record_batch(batch, &numbers).unwrap()
}

/// Runs the program quietly, to the file `new` of the same format.
#[track_caller]
fn output(folder: &Folder, options: &[&str], name: &str) -> RecordBatch {
    let new = if name.ends_with(".parquet") { "new.parquet" } else { "new.arrow" };
    assert_eq!(folder.output(&[&["-o", new, name], options].concat(), b""), b"");
    let (schema, all) = read(folder, new);
    assert_eq!(schema, read(folder, name).0);
    all
}

fn folder_with_both() -> (Folder, RecordBatch) {
    let (folder, whole) = (Folder::new(), rows(0));
    write_parquet(&folder, "rows.parquet", &whole);
    write_ipc(&folder, "rows.arrow", &whole);
    (folder, whole)
}

#[test]
fn order_is_that_of_lines_in_any_memory() {
    let (folder, whole) = folder_with_both();
    let order = Permutation::new(ROWS as u64, 3);
    let expected = at(&whole, order.iter());
    for name in ["rows.parquet", "rows.arrow"] {
        for memory in ["1M", "4M", "1G"] {
            let options = ["--seed", "3", "--memory", memory];
            assert_eq!(output(&folder, &options, name), expected, "{name} {memory}");
            let new = name.replace("rows", "new");
            let back = folder.path("back").with_extension(new.rsplit_once('.').unwrap().1);
            let back = back.file_name().unwrap().to_str().unwrap();
            folder.output(&[&options[..], &["--undo", "-o", back, &new]].concat(), b"");
            assert_eq!(read(&folder, back).1, whole);
            for (part, places) in [
                (["--range", "700..15000"], 700..15_000),
                (["--shard", "1/4"], 5000..10_000),
                (["--head", "5"], 0..5),
                (["--range", "..0"], 0..0),
            ] {
                let found = output(&folder, &[&options[..], &part].concat(), name);
                assert_eq!(found, expected.slice(places.start, places.end - places.start));
            }
        }
        let options = ["--stats", "--seed", "3", "--memory", "1M", "-o", "new", name];
        let outcome = folder.run(&options, b"");
        assert!(statistic(&outcome.stderr, "buckets") > 4, "{}", outcome.stderr);
        assert_eq!(statistic(&outcome.stderr, "lines"), ROWS as u64);
        assert_eq!(statistic(&outcome.stderr, "bytes"), folder.read("new").len() as u64);
    }
}

/// Rows with columns of the kinds that parts of a record batch are read of.
fn of_all_kinds() -> RecordBatch {
    let some = rows(0);
    let flags: BooleanArray = (0..ROWS).map(|k| (k % 5 > 0).then_some(k % 3 == 0)).collect();
    let view = |k: usize| (!k.is_multiple_of(4)).then(|| format!("{k} {}", "view ".repeat(k % 9)));
    let views: StringViewArray = (0..ROWS).map(view).collect();
    let bytes = FixedSizeBinaryArray::try_from_iter((0..ROWS).map(|k| [k as u8; 3])).unwrap();
    let sized = (0..ROWS).map(|k| (k % 6 > 0).then_some([Some(k as i32), None]));
    let sized = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(sized, 2);
    let large: LargeStringArray = (0..ROWS).map(|k| Some("large ".repeat(k % 5))).collect();
    let inner = [("flag", Arc::new(flags.clone()) as ArrayRef), ("list", some.column(2).clone())];
    let inner = StructArray::from(RecordBatch::try_from_iter(inner).unwrap());
    let more = [
        ("flags", Arc::new(flags) as ArrayRef),
        ("views", Arc::new(views)),
        ("bytes", Arc::new(bytes)),
        ("sized", Arc::new(sized)),
        ("large", Arc::new(large)),
        ("inner", Arc::new(inner)),
        ("null", Arc::new(NullArray::new(ROWS))),
    ];
    let schema = some.schema();
    let named = schema.fields().iter().map(|field| field.name().clone());
    let named: Vec<(String, ArrayRef)> = named.zip(some.columns().iter().cloned()).collect();
    let more = more.into_iter().map(|(name, column)| (name.to_owned(), column));
    RecordBatch::try_from_iter(named.into_iter().chain(more)).unwrap()
}

#[test]
fn large_batches_are_read_in_parts() {
    let (folder, whole) = (Folder::new(), of_all_kinds());
    let file = File::create(folder.path("rows.arrow")).unwrap();
    let mut writer = FileWriter::try_new(file, &whole.schema()).unwrap();
    writer.write_metadata("key", "value");
    // Columns that begin within their buffers, and two batches, of which one is large.
    writer.write(&whole.slice(0, 1003)).unwrap();
    writer.write(&whole.slice(1003, ROWS - 1003)).unwrap();
    writer.finish().unwrap();
    let expected = at(&whole, Permutation::new(ROWS as u64, 3).iter());
    for memory in ["1M", "3M", "1G"] {
        let options = ["--seed", "3", "--memory", memory];
        assert_eq!(output(&folder, &options, "rows.arrow"), expected, "{memory}");
    }
}

/// The place in an Arrow file of the byte that says whether its second batch of dictionary values
/// is added to the first.
fn place_of_delta(file: &[u8]) -> usize {
    let (rest, trailer) = file.split_last_chunk::<10>().unwrap();
    let footer = &rest[rest.len() - read_footer_length(*trailer).unwrap()..];
    let block = *root_as_footer(footer).unwrap().dictionaries().unwrap().get(1);
    // A mark and the length come before the message.
    let at = block.offset() as usize + 8;
    let message = root_as_message(&file[at..]).unwrap();
    let table = message.header_as_dictionary_batch().unwrap()._tab;
    let field = table.vtable().get(DictionaryBatch::VT_ISDELTA);
    assert!(field > 0, "it is not a delta");
    at + table.loc() + usize::from(field)
}

#[test]
fn dictionaries_may_grow_and_are_not_replaced() {
    let folder = Folder::new();
    let names = |of: &[&str], name: fn(usize) -> i32| -> ArrayRef {
        let keys = Int32Array::from_iter_values((0..1000).map(name));
        let values = Arc::new(StringArray::from_iter_values(of));
        Arc::new(DictionaryArray::new(keys, values))
    };
    let first = names(&["red", "green"], |k| k as i32 % 2);
    let second = names(&["red", "green", "blue"], |k| k as i32 % 3);
    let batches = [first, second].map(|name| RecordBatch::try_from_iter([("name", name)]).unwrap());
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let file = File::create(folder.path("grown.arrow")).unwrap();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
    writer.write_metadata("key", "value");
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let texts = |batch: &RecordBatch| -> Vec<String> {
        let names = batch.column(0).as_dictionary::<Int32Type>();
        let names = names.downcast_dict::<StringArray>().unwrap();
        names.into_iter().map(|name| name.unwrap().to_owned()).collect()
    };
    let whole = [texts(&batches[0]), texts(&batches[1])].concat();
    let expected: Vec<_> =
        Permutation::new(2000, 3).iter().map(|row| whole[row as usize].clone()).collect();
    assert_eq!(texts(&output(&folder, &["--seed", "3"], "grown.arrow")), expected);

    // The same values as a dictionary of their own: the numbers of the first batch mean others.
    let mut bytes = folder.read("grown.arrow");
    let at = place_of_delta(&bytes);
    assert_eq!(bytes[at], 1);
    bytes[at] = 0;
    folder.write("replaced.arrow", &bytes);
    let complaint = folder.complaint(&["-o", "none.arrow", "replaced.arrow"], b"");
    let why = "a dictionary that changes within a file cannot be shuffled";
    assert_eq!(complaint, format!("bshuf: replaced.arrow: {why}"));
    assert!(!folder.names().contains(&"none.arrow".to_owned()));
}

#[test]
fn shards_with_dictionaries_are_put_back() {
    let (folder, whole) = folder_with_both();
    // More shards than rows, too: some have no batch, and so no dictionary.
    write_ipc(&folder, "few.arrow", &whole.slice(0, 5));
    for (name, shards) in [("rows.arrow", "6"), ("few.arrow", "8")] {
        let whole = read(&folder, name);
        let out = format!("{name}.shards");
        let options = ["--seed", "3", "--shards", shards, "--output-dir", &out, name];
        folder.output(&options, b"");
        for memory in ["2M", "1G"] {
            let options = ["--memory", memory, "--undo", "-o", "back.arrow", &out];
            folder.output(&options, b"");
            assert_eq!(read(&folder, "back.arrow"), whole, "{name} {memory}");
        }
        folder.output(&["--seed", "4", "-o", "again.arrow", &out], b"");
        let places = whole.1.num_rows() as u64;
        let mixed = at(&whole.1, Permutation::new(places, 3).iter());
        assert_eq!(read(&folder, "again.arrow").1, at(&mixed, Permutation::new(places, 4).iter()));
    }
    // One dictionary goes on where the other ends; a file without values has none.
    let names = |of: &[&str], keys: Vec<Option<i32>>| {
        let values = Arc::new(StringArray::from_iter_values(of));
        let names: ArrayRef = Arc::new(DictionaryArray::new(Int32Array::from(keys), values));
        RecordBatch::try_from_iter_with_nullable([("name", names, true)]).unwrap()
    };
    write_ipc(&folder, "a.arrow", &names(&[], vec![None]));
    write_ipc(&folder, "b.arrow", &names(&["red", "green"], vec![Some(1), Some(0)]));
    write_ipc(&folder, "c.arrow", &names(&["red", "green", "blue"], vec![Some(2), Some(1)]));
    folder.output(&["--seed", "1", "-o", "abc.arrow", "a.arrow", "b.arrow", "c.arrow"], b"");
    let found = read(&folder, "abc.arrow").1;
    let found = found.column(0).as_dictionary::<Int32Type>();
    let mut found: Vec<_> = found.downcast_dict::<StringArray>().unwrap().into_iter().collect();
    found.sort_unstable();
    assert_eq!(found, [None, Some("blue"), Some("green"), Some("green"), Some("red")]);
}

#[test]
fn files_of_all_compressions_are_read_and_written() {
    use parquet::basic::{BrotliLevel, GzipLevel};

    let folder = Folder::new();
    let batch = rows(0).slice(0, 500);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let file = File::create(folder.path("x.parquet")).unwrap();
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        folder.output(&["--seed", "3", "-o", "y.parquet", "x.parquet"], b"");
        let order = Permutation::new(500, 3);
        assert_eq!(read(&folder, "y.parquet").1, at(&batch, order.iter()), "{compression}");
        let found = metadata(&folder, "y.parquet");
        assert_eq!(found.row_group(0).column(1).compression(), compression);
    }
}

#[test]
fn metadata_and_compression_are_kept() {
    let (folder, whole) = folder_with_both();
    output(&folder, &["--seed", "3"], "rows.parquet");
    let [old, new] = ["rows.parquet", "new.parquet"].map(|name| metadata(&folder, name));
    assert_eq!(old.file_metadata().schema(), new.file_metadata().schema());
    let pairs = old.file_metadata().key_value_metadata();
    assert!(pairs.unwrap().iter().any(|pair| pair.key == "key"));
    assert_eq!(pairs, new.file_metadata().key_value_metadata());
    let groups = |of: &ParquetMetaData| -> Vec<i64> {
        of.row_groups().iter().map(|group| group.num_rows()).collect()
    };
    assert_eq!(groups(&old), groups(&new));
    let codec = |of: &ParquetMetaData| of.row_group(0).column(1).compression();
    assert_eq!(codec(&old), codec(&new));
    // Without its compression it would be twice as long.
    assert_eq!(output(&folder, &["--seed", "3"], "rows.arrow").num_rows(), whole.num_rows());
    let [old, new] = ["rows.arrow", "new.arrow"].map(|name| folder.read(name).len());
    assert!(new < old + old / 4, "{old} {new}");
}

#[test]
fn row_groups_are_shuffled_as_blocks() {
    let (folder, whole) = folder_with_both();
    let order = BlockShuffle::new(ROWS as u64, GROUP as u64, 2, 3).unwrap();
    let expected = at(&whole, (0..ROWS as u64).map(|slot| order.forward(slot)));
    for name in ["rows.parquet", "rows.arrow"] {
        let options = ["--seed", "3", "--blocks", "2"];
        assert_eq!(output(&folder, &options, name), expected);
        let part = output(&folder, &[&options[..], &["--shard", "1/2"]].concat(), name);
        assert_eq!(part, expected.slice(ROWS / 2, ROWS / 2));
        let complaint =
            folder.complaint(&["--blocks", "9", "--memory", "1M", "-o", "new", name], b"");
        let why = "a window does not fit memory: raise --memory, or lower --blocks";
        assert_eq!(complaint, format!("bshuf: {name}: {why}"));
        assert!(!folder.names().contains(&"new".to_owned()));
    }
    let complaint =
        folder.complaint(&["--blocks", "2", "-o", "new", "rows.parquet", "rows.parquet"], b"");
    let why = "row group 6, counted from 0, has 2000 rows, and the first has 3000: blocks have to \
               be of one size";
    assert_eq!(complaint, format!("bshuf: the inputs: {why}"));
}

#[test]
fn files_are_joined_and_kept_side_by_side() {
    let (folder, whole) = folder_with_both();
    let more = rows(ROWS);
    write_parquet(&folder, "more.parquet", &more);
    let order = Permutation::new(2 * ROWS as u64, 3);
    folder.output(&["--seed", "3", "-o", "new.parquet", "rows.parquet", "more.parquet"], b"");
    let both = concat_batches(&whole.schema(), [&whole, &more]).unwrap();
    assert_eq!(read(&folder, "new.parquet").1, at(&both, order.iter()));

    std::fs::create_dir(folder.path("out")).unwrap();
    let names = ["rows.parquet", "rows.arrow"];
    folder.output(&[&["--seed", "3", "-o", "out", "--together"], &names[..]].concat(), b"");
    let order = Permutation::new(ROWS as u64, 3);
    for name in names {
        let found = read(&folder, &format!("out/{name}")).1;
        let numbers = found.column(0).as_primitive::<Int64Type>().values();
        assert!(numbers.iter().map(|&number| number as u64).eq(order.iter()));
    }
}

/// A file with a column `time` of a number of nanoseconds of 1 January 1970, in row groups of one.
fn write_int96(folder: &Folder, name: &str, times: &[u32]) {
    let schema = Arc::new(parse_message_type("message rows { required int96 time; }").unwrap());
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    for &time in times {
        let mut value = Int96::new();
        value.set_data(time, 0, 2_440_588);
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn old_timestamps_are_read_and_the_report_says_so() {
    let folder = Folder::new();
    write_int96(&folder, "a.parquet", &[1000, 2000]);
    write_int96(&folder, "b.parquet", &[3000]);
    for (name, unit) in [("b.parquet", "MICROS"), ("c.parquet", "NANOS")] {
        write_int96(&folder, "c.parquet", &[3001]);
        for folder_or_file in [["-o", "new.parquet"], ["--output-dir", unit]] {
            let inputs = [&folder_or_file[..], &["a.parquet", name]].concat();
            let outcome = folder.run(&inputs, b"");
            let said = format!(", columns of INT96 written as TIMESTAMP({unit}): time");
            assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
        }
        let outcome = folder.run(&["--stats", "-o", "new.parquet", "a.parquet", name], b"");
        assert_eq!(statistic(&outcome.stderr, "columns_rewritten"), 1);
        let (schema, all) = read(&folder, "new.parquet");
        assert_eq!(all.num_rows(), 3);
        let unit = if unit == "NANOS" { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(unit, None));
    }

    fs::create_dir(folder.path("together")).unwrap();
    let together = ["--together", "-o", "together", "b.parquet", "c.parquet"];
    let said = ", columns of INT96 written as TIMESTAMP(MICROS): time, columns of INT96 written as \
                TIMESTAMP(NANOS): time";
    let outcome = folder.run(&together, b"");
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);

    // Numbers of microseconds in another file.
    let micros = TimestampMicrosecondArray::from(vec![7]);
    let kind = DataType::Timestamp(TimeUnit::Microsecond, None);
    let fields = vec![Field::new("time", kind, false)];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(micros)]);
    write_parquet(&folder, "d.parquet", &batch.unwrap());
    let outcome = folder.run(&["-o", "new.parquet", "d.parquet", "a.parquet", "c.parquet"], b"");
    let expected = "bshuf: c.parquet: column time of the deprecated type INT96 has, in row group \
                    0, counted from 0, a time of 3001 nanoseconds since 1970, which \
                    TIMESTAMP(MICROS) cannot hold: write the column as a timestamp of 64 bits";
    assert_eq!((outcome.code, one_line(&outcome.stderr)), (1, expected.to_owned()));
    folder.output(&["-o", "new.parquet", "a.parquet", "d.parquet"], b"");
    assert_eq!(read(&folder, "new.parquet").1.num_rows(), 3);
}

#[test]
fn files_that_are_no_tables_are_named() {
    let (folder, whole) = folder_with_both();
    folder.write("text.parquet", b"one\ntwo\nthree\n");
    folder.write("text.arrow", b"one\ntwo\nthree\n");
    folder.write("empty.feather", b"");
    folder.write("lines", b"one\n");
    write_parquet(&folder, "other.parquet", &whole.project(&[0]).unwrap());
    // It begins with another color.
    write_ipc(&folder, "blue.arrow", &rows(2));
    for (options, expected) in [
        (&["text.arrow"][..], "bshuf: text.arrow: is not an Arrow IPC file"),
        (&["empty.feather"], "bshuf: empty.feather: is not an Arrow IPC file"),
        (
            &["rows.arrow", "blue.arrow"],
            "bshuf: blue.arrow: column name has another dictionary than in the other tables, and \
             only equal ones can be joined: write all tables with one, or the values themselves",
        ),
        (&["rows.parquet", "lines"], "bshuf: lines: is of another format than the first file"),
        (
            &["rows.parquet", "rows.arrow"],
            "bshuf: rows.arrow: is of another format than the first file",
        ),
        (
            &["rows.parquet", "other.parquet"],
            "bshuf: other.parquet: lacks the column `text` of the first file",
        ),
        (
            &["-r", "-n", "3", "rows.parquet"],
            "bshuf: rows.parquet: rows of a table cannot be repeated",
        ),
        (
            &["-z", "rows.parquet"],
            "bshuf: --zero-terminated: rows of arrays and tables do not end with a delimiter",
        ),
        (
            &["--record", "2", "lines", "rows.arrow"],
            "bshuf: rows.arrow: a Parquet or Arrow file states what its rows are: leave out \
             --record",
        ),
        (&["--blocks", "2", "lines"], "bshuf: --blocks: there is no Parquet or Arrow file"),
        (&["missing.parquet"], "bshuf: missing.parquet: No such file or directory (os error 2)"),
    ] {
        assert_eq!(folder.complaint(&[&["-o", "new"], options].concat(), b""), expected);
    }
    let complaint = folder.complaint(&["-o", "new", "text.parquet"], b"");
    assert!(complaint.starts_with("bshuf: text.parquet: Parquet error"), "{complaint}");
    for options in [["--blocks", "0"], ["--blocks", "2"]] {
        let outcome = folder.run(&[&options[..], &["--undo", "--seed", "1", "x"]].concat(), b"");
        assert_eq!(outcome.code, 1);
    }
    assert!(!folder.names().contains(&"new".to_owned()));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_named() {
    let (folder, _) = folder_with_both();
    for name in ["rows.parquet", "rows.arrow"] {
        let outcome = folder.run(&["-o", "/dev/full", name], b"");
        assert_eq!(outcome.code, 1);
        let complaint = one_line(&outcome.stderr);
        assert!(complaint.starts_with("bshuf: /dev/full: No space left"), "{complaint}");
    }
}

/// All rows of the files in a folder, in the order of their names.
fn read_all(folder: &Folder, below: &str) -> RecordBatch {
    let entries = std::fs::read_dir(folder.path(below)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| format!("{below}/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|name| !name.ends_with(".json"))
        .collect();
    names.sort();
    let batches: Vec<RecordBatch> = names.iter().map(|name| read(folder, name).1).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn folders_are_shuffled_to_shards() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    write_parquet(&folder, "in/a.parquet", &rows(0));
    write_parquet(&folder, "in/b.parquet", &rows(ROWS));
    let whole = read_all(&folder, "in");
    let order = Permutation::new(2 * ROWS as u64, 3);
    for (number, (options, files)) in
        [(&["--shards", "3"][..], 3), (&["--shard-records", "9000", "--memory", "8M"], 5), (&[], 2)]
            .into_iter()
            .enumerate()
    {
        let out = format!("out{number}");
        let arguments = [&["--seed", "3", "--output-dir", &out, "in"], options].concat();
        folder.output(&arguments, b"");
        assert_eq!(std::fs::read_dir(folder.path(&out)).unwrap().count(), files + 1);
        assert_eq!(read_all(&folder, &out), at(&whole, order.iter()), "{options:?}");
        folder.output(&["--undo", "-o", "back.parquet", &out], b"");
        assert_eq!(read(&folder, "back.parquet").1, whole);
    }
    // Neither an index with another number of rows nor a name that is not true is taken.
    let mut index: serde_json::Value =
        serde_json::from_slice(&folder.read("out2/index.json")).unwrap();
    index["records"] = (2 * ROWS + 1).into();
    index["shards"][0]["records"] = (ROWS + 1).into();
    folder.write("out2/index.json", index.to_string());
    let complaint = folder.complaint(&["--undo", "-o", "new.parquet", "out2"], b"");
    let (rows, found) = (2 * ROWS + 1, 2 * ROWS);
    let why = format!("the index says that the shards have {rows} records, but {found} were found");
    assert!(complaint.starts_with(&format!("bshuf: index.json: {why}")), "{complaint}");
    let complaint = folder.complaint(&["-o", "new.gz", "in/a.parquet"], b"");
    assert!(complaint.starts_with("bshuf: new.gz: its name says that it is compressed"));
    assert!(!folder.path("new.parquet").exists() && !folder.path("new.gz").exists());

    // Statistics of pages are written, and the compression is that of the inputs.
    let shard = metadata(&folder, "out0/part-00000-of-00003.parquet");
    let column = shard.row_group(0).column(1);
    assert!(column.column_index_offset().is_some() && column.offset_index_offset().is_some());
    assert_eq!(column.compression(), Compression::ZSTD(ZstdLevel::default()));

    // Each split has a folder, and what is there is kept.
    let split = ["--split", "train=0.9,test=rest", "--shards", "2", "--output-dir", "split", "in"];
    let split = [&["--seed", "3", "--resume"], &split[..]].concat();
    folder.output(&split, b"");
    let both = ["split/train", "split/test"].map(|name| read_all(&folder, name));
    let both = concat_batches(&whole.schema(), &both).unwrap();
    assert_eq!(both, at(&whole, order.iter()));
    let outcome = folder.run(&[&["--stats"], &split[..]].concat(), b"");
    assert_eq!((outcome.code, statistic(&outcome.stderr, "lines")), (0, 4 * ROWS as u64 / 2));

    // Columns that have changed are named.
    let other = RecordBatch::try_from_iter([(
        "other",
        Arc::new(Int64Array::from_iter_values(0..3)) as ArrayRef,
    )]);
    write_parquet(&folder, "in/c.parquet", &other.unwrap());
    let complaint = folder.complaint(&["--output-dir", "new", "in"], b"");
    let why = "has another column `other` than the first file";
    assert_eq!(complaint, format!("bshuf: in/c.parquet: {why}"));
}
