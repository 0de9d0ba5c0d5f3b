//! Shuffles of tables in memory, with budgets from nearly nothing to enough.

use std::io::{self, Seek, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int64Array, ListArray, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use bijective_shuffle::bijection::BlockShuffle;
use bijective_shuffle::{Bijection, Permutation, Seed};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::batches::{Picked, ROW_COST, cost, for_rows_at, rows_of};
use super::table::read;
use super::{
    About, IpcTable, Joined, ParquetTable, RowBatches, TableError, TableFile, TableShuffle,
    TableWriter,
};
use crate::files::{FileOrder, FilesError, Memory};

/// A table in memory, which may say that it has other groups than it has.
struct Rows {
    batch: RecordBatch,
    about: About,
}

impl Rows {
    /// Numbered rows with a text each, of which some are long.
    fn new(rows: u64, group: u64) -> Self {
        let text = |k: u64| {
            "x".repeat((k * 7919 % if k.is_multiple_of(100) { 900 } else { 300 }) as usize)
        };
        let columns = [
            ("number", Arc::new(UInt64Array::from_iter_values(0..rows)) as ArrayRef),
            ("text", Arc::new(StringArray::from_iter_values((0..rows).map(text))) as ArrayRef),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let starts = (0..rows).step_by(group as usize);
        Self::of(batch, starts.map(|start| group.min(rows - start)).collect())
    }

    fn of(batch: RecordBatch, groups: Vec<u64>) -> Self {
        let about = About::new(batch.schema(), groups);
        Self { batch, about }
    }

    fn cut(mut self, cuts: Vec<usize>) -> Self {
        self.about.cuts = cuts;
        self
    }
}

impl TableFile for Rows {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(
        &self,
        group: usize,
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<RowBatches<'_>, TableError> {
        let columns: Vec<usize> = columns.collect();
        let rows = rows_of(bytes, self.about.bytes, self.batch.num_rows() as u64);
        let start: u64 = self.about.groups[..group].iter().sum();
        let end = (start + self.about.groups[group]).min(self.batch.num_rows() as u64);
        Ok(Box::new((start..end).step_by(rows).map(move |at| {
            let len = rows.min((end - at) as usize);
            Ok(self.batch.slice(at as usize, len).project(&columns).unwrap())
        })))
    }

    fn writer<'w>(
        &self,
        _: Box<dyn Write + Send + 'w>,
        _: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
        Err(TableError::Unsupported("a table in memory".to_owned()))
    }
}

/// Takes rows, of which it keeps the numbers, until it has enough.
#[derive(Default)]
struct Taken {
    numbers: Vec<u64>,
    most: Option<usize>,
}

impl TableWriter for Taken {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let numbers = batch.column(0).as_primitive::<UInt64Type>().values();
        let texts = batch.column(1).as_string::<i32>();
        for (&number, text) in numbers.iter().zip(texts) {
            let long = if number.is_multiple_of(100) { 900 } else { 300 };
            assert_eq!(text.unwrap().len() as u64, number * 7919 % long);
        }
        self.numbers.extend(numbers);
        match self.most {
            Some(most) if self.numbers.len() > most => {
                Err(TableError::Write(Box::new(io::Error::from(io::ErrorKind::StorageFull))))
            }
            _ => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Result<(), TableError> {
        Ok(())
    }
}

fn run(
    memory: usize,
    order: &FileOrder,
    table: &dyn TableFile,
    most: usize,
    taken: &mut Taken,
) -> Result<crate::files::Summary, TableError> {
    let mut store = Memory::new(most);
    TableShuffle::new(memory).run(order, table, &mut store, taken, &())
}

#[test]
fn memory_makes_no_difference() {
    orders_hold(&Rows::new(5000, 700));
    orders_hold(&Rows::new(5000, 700).cut(vec![1]));
}

fn orders_hold(table: &Rows) {
    for order in [FileOrder::shuffle(5000, 3), FileOrder::unshuffle(5000, 3)] {
        for part in [0..5000, 0..1, 700..4000, 5000..5000] {
            let order = order.clone().range(part.clone()).unwrap();
            for (memory, splits) in [(1 << 16, true), (1 << 18, true), (1 << 26, false)] {
                let mut taken = Taken::default();
                let summary = run(memory, &order, table, usize::MAX, &mut taken).unwrap();
                assert!(taken.numbers == order.indexes::<u64>().unwrap(), "{memory} {part:?}");
                assert_eq!(summary.items, part.end - part.start);
                if order.is_whole() {
                    // Nothing was known of the bytes, so there were too few buckets.
                    assert_eq!(summary.splits > 0, splits, "{summary:?}");
                    assert_eq!(summary.buckets > 2, memory < 1 << 26, "{summary:?}");
                }
            }
        }
    }
}

#[test]
fn few_rows_are_shuffled() {
    for rows in [0, 1, 2, 3] {
        let table = Rows::new(rows, 2);
        let mut taken = Taken::default();
        run(1, &FileOrder::shuffle(rows, 1), &table, usize::MAX, &mut taken).unwrap();
        assert_eq!(taken.numbers, Permutation::new(rows, 1).to_vec());
    }
}

#[test]
fn faults_are_told_apart() {
    let mut table = Rows::new(5000, 1000);
    let order = FileOrder::shuffle(5000, 1);
    let full = run(1 << 16, &order, &table, 10_000, &mut Taken::default());
    assert!(matches!(full, Err(TableError::Files(FilesError::Temporary(_)))), "{full:?}");
    let mut taken = Taken { most: Some(1000), ..Taken::default() };
    let written = run(1 << 16, &order, &table, usize::MAX, &mut taken);
    assert!(matches!(written, Err(TableError::Write(_))), "{written:?}");
    let other = run(1 << 16, &FileOrder::shuffle(1, 1), &table, usize::MAX, &mut Taken::default());
    assert!(matches!(
        other,
        Err(TableError::Files(FilesError::LengthMismatch { items: 5000, order: 1 }))
    ));
    // It has fewer rows than it says.
    *table.about.groups.last_mut().unwrap() += 1;
    let mut taken = Taken::default();
    let changed = run(1 << 16, &FileOrder::shuffle(5001, 1), &table, usize::MAX, &mut taken);
    assert!(matches!(changed, Err(TableError::Files(FilesError::Changed))), "{changed:?}");
    // And more.
    table.about.groups = vec![4000];
    table.batch = table.batch.slice(0, 4500);
    struct More(Rows);
    impl TableFile for More {
        fn about(&self) -> &About {
            &self.0.about
        }
        fn read(&self, _: usize, _: Range<usize>, _: u64) -> Result<RowBatches<'_>, TableError> {
            Ok(Box::new([Ok(self.0.batch.clone())].into_iter()))
        }
        fn writer<'w>(
            &self,
            output: Box<dyn Write + Send + 'w>,
            bytes: usize,
        ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
            self.0.writer(output, bytes)
        }
    }
    let changed = run(1 << 16, &FileOrder::shuffle(4000, 1), &More(table), usize::MAX, &mut taken);
    assert!(matches!(changed, Err(TableError::Files(FilesError::Changed))), "{changed:?}");
    assert!(taken.numbers.is_empty());
}

fn run_blocks(
    memory: usize,
    window: u64,
    places: std::ops::Range<u64>,
    table: &dyn TableFile,
) -> Result<Vec<u64>, TableError> {
    let mut taken = Taken::default();
    let shuffle = TableShuffle::new(memory);
    shuffle.run_blocks(window, Seed::new(4).with_epoch(1), places, table, &mut taken, &())?;
    Ok(taken.numbers)
}

#[test]
fn groups_are_shuffled_as_blocks() {
    for (rows, group, cuts) in
        [(10_000, 700, vec![]), (10_000, 700, vec![1]), (9000, 1000, vec![]), (5, 10, vec![])]
    {
        let table = Rows::new(rows, group).cut(cuts);
        for window in [1, 3, 100] {
            let order = BlockShuffle::new(rows, group, window, Seed::new(4).with_epoch(1)).unwrap();
            let expected: Vec<u64> = (0..rows).map(|slot| order.forward(slot)).collect();
            for part in [0..rows, 0..0, 1..4, rows / 2..rows] {
                let found = run_blocks(1 << 24, window, part.clone(), &table).unwrap();
                assert_eq!(found, expected[part.start as usize..part.end as usize], "{window}");
            }
        }
    }
    assert_eq!(run_blocks(1, 1, 0..0, &Rows::new(0, 1)).unwrap(), Vec::<u64>::new());
}

#[test]
fn blocks_that_cannot_be_are_refused() {
    let mut table = Rows::new(10_000, 1000);
    let large = run_blocks(1 << 16, 5, 0..10_000, &table);
    assert!(matches!(large, Err(TableError::WindowTooLarge { most: 49_152 })), "{large:?}");
    let none = run_blocks(1 << 24, 0, 0..10_000, &table);
    assert!(matches!(none, Err(TableError::Files(FilesError::Shuffle(_)))), "{none:?}");
    let beyond = run_blocks(1 << 24, 1, 0..10_001, &table);
    assert!(matches!(beyond, Err(TableError::Files(FilesError::Shuffle(_)))), "{beyond:?}");
    table.about.groups[3] -= 1;
    let unequal = run_blocks(1 << 24, 1, 0..9999, &table);
    let expected =
        matches!(unequal, Err(TableError::UnequalGroups { group: 3, rows: 999, expected: 1000 }));
    assert!(expected, "{unequal:?}");
    table.about.groups = vec![1000, 1001];
    let unequal = run_blocks(1 << 24, 1, 0..2001, &table);
    assert!(matches!(unequal, Err(TableError::UnequalGroups { group: 1, .. })), "{unequal:?}");
}

#[test]
fn columns_that_cannot_be_kept_are_refused() {
    let refused = |result: Result<String, TableError>| match result {
        Err(TableError::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    };
    let parquet = |columns: &str| {
        let mut file = tempfile::tempfile().unwrap();
        let schema = parse_message_type(&format!("message rows {{ {columns} }}")).unwrap();
        let writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default());
        writer.unwrap().close().unwrap();
        ParquetTable::open(file, 1 << 20).map(|table| format!("{:?}", table.about().groups))
    };
    assert_eq!(parquet("required int64 number;").unwrap(), "[]");

    let ipc = |kind: DataType| {
        let mut file = tempfile::tempfile().unwrap();
        let schema = Schema::new(vec![Field::new("column", kind, true)]);
        let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &schema).unwrap();
        writer.finish().unwrap();
        IpcTable::open(file, 1 << 20)
            .map(|table| format!("{:?}", table.about().schema.field(0).data_type()))
    };
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    assert_eq!(ipc(dictionary.clone()).unwrap(), "Int8");
    let list = DataType::List(Arc::new(Field::new("item", dictionary, true)));
    assert_eq!(refused(ipc(list)), "column column, which has a dictionary in it,");
}

#[test]
fn tables_of_other_dictionaries_are_not_joined() {
    let open = |values: &[&str], keys: &[i8]| {
        let mut file = tempfile::tempfile().unwrap();
        let values = Arc::new(StringArray::from_iter_values(values));
        let names = DictionaryArray::new(Int8Array::from(keys.to_vec()), values);
        let batch = RecordBatch::try_from_iter([("name", Arc::new(names) as ArrayRef)]).unwrap();
        let schema = batch.schema();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        IpcTable::open(file, 1 << 20).unwrap()
    };
    let joined = |tables: [IpcTable; 2]| {
        let tables = tables.map(|table| Box::new(table) as Box<dyn TableFile>);
        Joined::new(tables.into()).map(|joined| joined.about().groups.clone())
    };
    let both = |other: &[&str]| [open(&["a", "b"], &[1, 0]), open(other, &[0])];
    assert_eq!(joined(both(&["a", "b"])).unwrap(), [2, 1]);
    for other in [&["a"][..], &["a", "b", "c"]] {
        // Unless they agree, the numbers of one could be no values of the other.
        assert!(matches!(joined(both(other)), Err(TableError::Unsupported(_))), "{other:?}");
        let mut tables = both(other);
        IpcTable::agree(&mut tables).unwrap();
        assert_eq!(joined(tables).unwrap(), [2, 1], "{other:?}");
    }
    let error = IpcTable::agree(&mut both(&["b", "a"])).unwrap_err();
    let column = "name".to_owned();
    assert!(
        matches!(&error, TableError::OtherDictionary { table: 1, column: found } if *found == column),
        "{error:?}"
    );
    assert!(matches!(joined(both(&["b", "a"])), Err(TableError::Unsupported(_))));
    // A column of the numbers themselves is none of a dictionary.
    let column = DataType::Int8;
    let batch =
        RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new("name", column, false)])));
    let rows = Rows::of(batch, Vec::new());
    let tables: Vec<Box<dyn TableFile>> = vec![Box::new(open(&["a"], &[0])), Box::new(rows)];
    assert!(matches!(
        Joined::new(tables),
        Err(TableError::Unsupported(_) | TableError::OtherColumns { .. })
    ));
}

/// A value of INT96 that is this many nanoseconds from 1970.
fn int96(nanoseconds: i128) -> Int96 {
    let day = 86_400_000_000_000;
    let (days, of_day) = (nanoseconds.div_euclid(day), nanoseconds.rem_euclid(day) as u64);
    let mut value = Int96::new();
    value.set_data(of_day as u32, (of_day >> 32) as u32, (days + 2_440_588) as i32 as u32);
    value
}

/// A file of one row group for each of these lists of times, with a null after every time, and with
/// all times of a group as the list of the first row.
fn old_timestamps(groups: &[&[i128]]) -> ParquetTable {
    timestamps("int96", "", groups)
}

/// The same with columns of another type, where there are no groups.
fn timestamps(kind: &str, logical: &str, groups: &[&[i128]]) -> ParquetTable {
    try_timestamps(kind, logical, groups, &[]).unwrap()
}

fn try_timestamps(
    kind: &str,
    logical: &str,
    groups: &[&[i128]],
    of_spark: &[(&str, &str)],
) -> Result<ParquetTable, TableError> {
    let columns = format!(
        "required {kind} kept {logical}; optional {kind} time {logical}; optional group times \
         (LIST) {{ repeated group list {{ optional {kind} element {logical}; }} }}"
    );
    let schema = parse_message_type(&format!("message rows {{ {columns} }}")).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    let writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default());
    let mut writer = writer.unwrap();
    for times in groups {
        let mut group = writer.next_row_group().unwrap();
        let times: Vec<Int96> = times.iter().copied().map(int96).collect();
        let (twice, rows) = (times.iter().flat_map(|&time| [time; 2]).collect(), 2 * times.len());
        let (of_rows, of_list) = ([1, 0].repeat(times.len()), rows - 1);
        let first = [vec![3; times.len()], vec![0; of_list]].concat();
        let repeated = [vec![0], vec![1; times.len() - 1], vec![0; of_list]].concat();
        let columns: [(Vec<Int96>, _, _); 3] = [
            (twice, None, None),
            (times.clone(), Some(of_rows), None),
            (times, Some(first), Some(repeated)),
        ];
        for (times, defined, repeated) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<Int96Type>();
            typed.write_batch(&times, defined.as_deref(), repeated.as_deref()).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    for (key, value) in of_spark {
        let (key, value) = (format!("org.apache.spark.{key}"), (*value).to_owned());
        writer.append_key_value_metadata(KeyValue::new(key, value));
    }
    writer.close().unwrap();
    ParquetTable::open(file, 1 << 20)
}

/// The times of all columns of a file that a table's writer has written, in its order, as numbers.
fn written_times(table: &dyn TableFile) -> (DataType, Vec<[Option<i64>; 2]>) {
    let rows = table.about().groups.iter().sum();
    let mut file = tempfile::tempfile().unwrap();
    let mut writer = table.writer(Box::new(file.try_clone().unwrap()), 1 << 20).unwrap();
    let (order, mut store) = (FileOrder::unshuffle(rows, 5), Memory::new(usize::MAX));
    TableShuffle::new(1 << 20).run(&order, table, &mut store, &mut *writer, &()).unwrap();
    writer.finish().unwrap();
    file.rewind().unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let kind = reader.schema().field(0).data_type().clone();
    let (mut times, mut in_lists) = (Vec::new(), 0);
    for batch in reader.build().unwrap() {
        let numbers = |array: &dyn Array| {
            assert_eq!(array.data_type(), &kind);
            let data = array.to_data().into_builder().data_type(DataType::Int64).build().unwrap();
            Int64Array::from(data).iter().collect::<Vec<_>>()
        };
        let batch = batch.unwrap();
        let [kept, nullable] = [0, 1].map(|column| numbers(batch.column(column)));
        let lists = batch.column(2).as_list::<i32>();
        for (row, list) in lists.iter().enumerate().filter_map(|(row, list)| Some((row, list?))) {
            let list = numbers(&list);
            assert_eq!(list[0], kept[row]);
            in_lists += list.len();
        }
        times.extend(kept.into_iter().zip(nullable).map(|(kept, nullable)| [kept, nullable]));
    }
    assert_eq!(in_lists as u64, rows / 2);
    // Back in the order of the input.
    let order = Permutation::new(rows, 5);
    let times = order.iter().map(|place| times[place as usize]).collect();
    (kind, times)
}

/// What [`written_times`] returns of these times.
fn expected_times(times: &[i128], of_unit: i128) -> Vec<[Option<i64>; 2]> {
    let number = |time: &i128| Some(i64::try_from(time / of_unit).unwrap());
    times.iter().flat_map(|time| [[number(time); 2], [number(time), None]]).collect()
}

#[test]
fn old_timestamps_keep_every_value() {
    let (first, last) = (1000 * i128::from(i64::MIN), 1000 * i128::from(i64::MAX));
    // Around 1970, the end of the Julian calendar, and the bounds of numbers of 64 bits.
    let whole = [0, -1000, 1000, -12_219_292_800_000_000_000, -210_866_803_200_000_000_000];
    let groups: [&[i128]; 3] = [&whole, &[first, last], &[last - 1000]];
    let table = old_timestamps(&groups);
    let (kind, times) = written_times(&table);
    assert_eq!(kind, DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!(times, expected_times(&groups.concat(), 1000));
    let what = "INT96 written as TIMESTAMP(MICROS)".to_owned();
    let columns = ["kept", "time", "times.list.element"].map(str::to_owned);
    assert_eq!(table.about().rewritten, columns.map(|column| (what.clone(), column)).into());

    // Nanoseconds where a value of any table needs them.
    let groups: [&[i128]; 2] = [&[i64::MIN.into(), i64::MAX.into()], &[0, -1]];
    let mut tables = [old_timestamps(&[&whole[..3]]), old_timestamps(&groups)];
    TableFile::agree(&mut tables).unwrap();
    let tables = tables.map(|table| Box::new(table) as Box<dyn TableFile>);
    let (kind, times) = written_times(&Joined::new(tables.into()).unwrap());
    assert_eq!(kind, DataType::Timestamp(TimeUnit::Nanosecond, None));
    assert_eq!(times, expected_times(&[&whole[..3], groups[0], groups[1]].concat(), 1));
}

#[test]
fn old_timestamps_become_the_type_of_other_tables() {
    let kind_with = |logical: &str, times: &[i128], is_last: bool| {
        let mut tables = [old_timestamps(&[times]), timestamps("int64", logical, &[])];
        TableFile::agree(&mut tables)?;
        let expected =
            [0, 1].map(|column| tables[1].about().schema.field(column).data_type().clone());
        if is_last {
            tables.reverse();
        }
        let tables = tables.map(|table| Box::new(table) as Box<dyn TableFile>);
        let (kind, _) = written_times(&Joined::new(tables.into()).unwrap());
        assert_eq!([kind.clone(), kind], expected);
        let [kind, _] = expected;
        Ok::<_, TableError>(kind.to_string())
    };
    for (logical, kind) in [
        ("(TIMESTAMP(MILLIS,true))", "Timestamp(ms, \"UTC\")"),
        ("(TIMESTAMP(MICROS,true))", "Timestamp(µs, \"UTC\")"),
        ("(TIMESTAMP_MICROS)", "Timestamp(µs, \"UTC\")"),
        ("(TIMESTAMP(NANOS,false))", "Timestamp(ns)"),
    ] {
        for is_last in [false, true] {
            assert_eq!(kind_with(logical, &[0, -1_000_000], is_last).unwrap(), kind);
        }
    }
    let lost = kind_with("(TIMESTAMP(MILLIS,false))", &[0, 1_000_000, -1000], false).unwrap_err();
    let expected = "column kept of the deprecated type INT96 has, in row group 0, counted from 0, \
                    a time of -1000 nanoseconds since 1970, which TIMESTAMP(MILLIS) cannot hold: \
                    write the column as a timestamp of 64 bits";
    assert_eq!(lost.to_string(), expected);
    // Not a timestamp, so the columns are others.
    let mut tables = [old_timestamps(&[&[0]]), timestamps("int64", "", &[])];
    TableFile::agree(&mut tables).unwrap();
    let tables = tables.map(|table| Box::new(table) as Box<dyn TableFile>);
    assert!(matches!(Joined::new(tables.into()), Err(TableError::OtherColumns { table: 1 })));
}

#[test]
fn old_timestamps_that_no_unit_holds_are_refused() {
    let (first, last) = (1000 * i128::from(i64::MIN), 1000 * i128::from(i64::MAX));
    // A group, and a value there that no unit holds, or not together with the others.
    let cases: [(&[&[i128]], usize, i128); 4] = [
        (&[&[0], &[0, first - 1000]], 1, first - 1000),
        (&[&[0, last + 1000], &[0]], 0, last + 1000),
        (&[&[last], &[0, 999, 1]], 1, 999),
        (&[&[0], &[1], &[i128::from(i64::MAX) + 1]], 1, 1),
    ];
    let is_lost = |error: TableError, table, group, nanoseconds| match error {
        TableError::Timestamp { table: at, column, group: of, nanoseconds: time, unit } => {
            assert_eq!((column.as_str(), unit), ("kept", "MICROS"));
            assert_eq!((at, of, time), (table, group, nanoseconds));
        }
        other => panic!("{other:?}"),
    };
    for (groups, group, time) in cases {
        is_lost(try_timestamps("int96", "", groups, &[]).unwrap_err(), 0, group, time);
    }
    let mut tables = [old_timestamps(&[&[last]]), old_timestamps(&[&[5000], &[5]])];
    is_lost(TableFile::agree(&mut tables).unwrap_err(), 1, 1, 5);
}

/// The keys are those of Spark's `DataSourceUtils`, which says by them how it reads a file.
#[test]
fn old_timestamps_of_another_calendar_are_refused() {
    let legacy = ("legacyINT96", "");
    let first = -2_208_988_800_000_000_000;
    for (of_spark, is_refused) in [
        (&[("version", "3.5.1")][..], false),
        (&[("version", "3.5.1"), legacy], true),
        (&[("version", "3.5.1"), legacy, ("legacyDateTime", "")], false),
        (&[("version", "3.5.1"), ("legacyDateTime", "")], true),
        (&[legacy], false),
        (&[("version", "3.0.3")], true),
        (&[("version", "2.4.8")], false),
    ] {
        let open = |time| try_timestamps("int96", "", &[&[time]], of_spark);
        assert!(open(first).is_ok(), "{of_spark:?}");
        let early = open(first - 1000).map(drop).map_err(|error| error.to_string());
        let why = "column kept of the deprecated type INT96, which has times before 1900 that \
                   Spark takes for others in any other type, cannot be shuffled";
        assert_eq!(early, if is_refused { Err(why.to_owned()) } else { Ok(()) }, "{of_spark:?}");
    }
}

#[test]
fn tables_are_joined() {
    let tables: Vec<Box<dyn TableFile>> =
        vec![Box::new(Rows::new(100, 30)), Box::new(Rows::new(0, 30)), Box::new(Rows::new(50, 20))];
    let joined = Joined::new(tables).unwrap();
    assert_eq!(joined.about().groups, [30, 30, 30, 10, 20, 20, 10]);
    let mut numbers: Vec<u64> = Vec::new();
    for batch in read(&joined, vec![6, 0, 1, 3, 4], 0..2, 7 * ROW_COST) {
        numbers.extend(batch.unwrap().column(0).as_primitive::<UInt64Type>().values());
    }
    let expected: Vec<u64> = (40..50).chain(0..60).chain(90..100).chain(0..20).collect();
    assert_eq!(numbers, expected);
    assert!(matches!(Joined::new(Vec::new()), Err(TableError::Unsupported(_))));
    let mut other = Rows::new(9, 9);
    other.about.schema = other.batch.project(&[0]).unwrap().schema();
    let tables: Vec<Box<dyn TableFile>> = vec![Box::new(Rows::new(100, 30)), Box::new(other)];
    assert!(matches!(Joined::new(tables), Err(TableError::OtherColumns { table: 1 })));
}

#[test]
fn sums_are_checked() {
    let mut table = Rows::new(10, 10);
    table.about.groups = vec![1 << 62, 1 << 62];
    let order = FileOrder::shuffle(10, 1);
    let many = run(1 << 16, &order, &table, usize::MAX, &mut Taken::default());
    assert!(matches!(many, Err(TableError::TooManyRows)), "{many:?}");
    assert!(matches!(run_blocks(1 << 16, 1, 0..10, &table), Err(TableError::TooManyRows)));
    let tables: Vec<Box<dyn TableFile>> = vec![Box::new(Rows::new(9, 9)), Box::new(table)];
    assert!(matches!(Joined::new(tables), Err(TableError::TooManyRows)));
}

/// Texts of a mebibyte, of which the offsets of a batch have room for 2047. It takes two gigabytes.
#[test]
fn texts_beyond_the_offsets_of_a_batch_are_divided() {
    if std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_none() {
        return;
    }
    let text = Arc::new(StringArray::from_iter_values(["x".repeat(1 << 20)])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
    let (schema, places) = (batch.schema(), vec![(0, 0); 2100]);
    let mut sizes = Vec::new();
    let part = Picked { batches: &[batch], places: &places };
    for_rows_at(&[part], 0..2100, &schema, 2100, |error| error, &mut |batch, places| {
        assert_eq!(batch.num_rows(), places.len());
        sizes.push(batch.num_rows());
        Ok(())
    })
    .unwrap();
    assert_eq!(sizes, [1050, 1050]);
}

#[test]
fn parts_of_lists_take_their_part_of_the_memory() {
    let lists = (0..1000).map(|_| Some(vec![Some(1_i64); 100]));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let batch = RecordBatch::try_from_iter([("list", Arc::new(lists) as ArrayRef)]).unwrap();
    let parts: u64 = (0..100).map(|part| cost(&batch.slice(10 * part, 10))).sum();
    let whole = cost(&batch);
    assert!(parts >= whole && parts < whole + whole / 8, "{parts} {whole}");
}
