//! Shuffles of tables in memory, with budgets from nearly nothing to enough.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use bijective_shuffle::bijection::BlockShuffle;
use bijective_shuffle::{Bijection, Permutation, Seed};

use super::batches::{Part, ROW_COST, cost, for_rows_at, rows_of};
use super::{
    Batches, IpcTable, Joined, ParquetTable, Table, TableError, TableShuffle, TableWriter,
};
use crate::files::{Memory, Order};

/// A table in memory, which may say that it has other groups than it has.
struct Rows {
    batch: RecordBatch,
    groups: Vec<u64>,
    bytes: u64,
    cuts: Vec<usize>,
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
        let groups = starts.map(|start| group.min(rows - start)).collect();
        Self { batch, groups, bytes: 0, cuts: Vec::new() }
    }
}

impl Table for Rows {
    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn groups(&self) -> &[u64] {
        &self.groups
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn cuts(&self) -> &[usize] {
        &self.cuts
    }

    fn read(
        &self,
        groups: &[usize],
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<Batches<'_>, TableError> {
        let columns: Vec<usize> = columns.collect();
        let rows = rows_of(bytes, self.bytes, self.batch.num_rows() as u64);
        let mut batches = Vec::new();
        for &group in groups {
            let start: u64 = self.groups[..group].iter().sum();
            let end = (start + self.groups[group]).min(self.batch.num_rows() as u64);
            for at in (start..end).step_by(rows) {
                let len = rows.min((end - at) as usize);
                batches.push(Ok(self.batch.slice(at as usize, len).project(&columns).unwrap()));
            }
        }
        Ok(Box::new(batches.into_iter()))
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
    order: &Order,
    table: &dyn Table,
    most: usize,
    taken: &mut Taken,
) -> Result<crate::files::Summary, TableError> {
    let mut store = Memory::new(most);
    TableShuffle::new(memory).run(order, table, &mut store, taken, &())
}

#[test]
fn memory_makes_no_difference() {
    orders_hold(&Rows::new(5000, 700));
    orders_hold(&Rows { cuts: vec![1], ..Rows::new(5000, 700) });
}

fn orders_hold(table: &Rows) {
    for order in [Order::shuffle(5000, 3), Order::unshuffle(5000, 3)] {
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
        run(1, &Order::shuffle(rows, 1), &table, usize::MAX, &mut taken).unwrap();
        assert_eq!(taken.numbers, Permutation::new(rows, 1).to_vec());
    }
}

#[test]
fn faults_are_told_apart() {
    let mut table = Rows::new(5000, 1000);
    let order = Order::shuffle(5000, 1);
    let full = run(1 << 16, &order, &table, 10_000, &mut Taken::default());
    assert!(matches!(full, Err(TableError::Temporary(_))), "{full:?}");
    let mut taken = Taken { most: Some(1000), ..Taken::default() };
    let written = run(1 << 16, &order, &table, usize::MAX, &mut taken);
    assert!(matches!(written, Err(TableError::Write(_))), "{written:?}");
    let other = run(1 << 16, &Order::shuffle(1, 1), &table, usize::MAX, &mut Taken::default());
    assert!(matches!(other, Err(TableError::LengthMismatch { rows: 5000, order: 1 })));
    // It has fewer rows than it says.
    *table.groups.last_mut().unwrap() += 1;
    let mut taken = Taken::default();
    let changed = run(1 << 16, &Order::shuffle(5001, 1), &table, usize::MAX, &mut taken);
    assert!(matches!(changed, Err(TableError::Changed)), "{changed:?}");
    // And more.
    table.groups = vec![4000];
    table.batch = table.batch.slice(0, 4500);
    struct More(Rows);
    impl Table for More {
        fn schema(&self) -> SchemaRef {
            self.0.schema()
        }
        fn groups(&self) -> &[u64] {
            &self.0.groups
        }
        fn bytes(&self) -> u64 {
            self.0.bytes
        }
        fn read(&self, _: &[usize], _: Range<usize>, _: u64) -> Result<Batches<'_>, TableError> {
            Ok(Box::new([Ok(self.0.batch.clone())].into_iter()))
        }
    }
    let changed = run(1 << 16, &Order::shuffle(4000, 1), &More(table), usize::MAX, &mut taken);
    assert!(matches!(changed, Err(TableError::Changed)), "{changed:?}");
    assert!(taken.numbers.is_empty());
}

fn run_blocks(
    memory: usize,
    window: u64,
    places: std::ops::Range<u64>,
    table: &dyn Table,
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
        let table = Rows { cuts, ..Rows::new(rows, group) };
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
    assert!(matches!(none, Err(TableError::Order(_))), "{none:?}");
    let beyond = run_blocks(1 << 24, 1, 0..10_001, &table);
    assert!(matches!(beyond, Err(TableError::Order(_))), "{beyond:?}");
    table.groups[3] -= 1;
    let unequal = run_blocks(1 << 24, 1, 0..9999, &table);
    let expected =
        matches!(unequal, Err(TableError::UnequalGroups { group: 3, rows: 999, expected: 1000 }));
    assert!(expected, "{unequal:?}");
    table.groups = vec![1000, 1001];
    let unequal = run_blocks(1 << 24, 1, 0..2001, &table);
    assert!(matches!(unequal, Err(TableError::UnequalGroups { group: 1, .. })), "{unequal:?}");
}

#[test]
fn columns_that_cannot_be_kept_are_refused() {
    use arrow_schema::{DataType, Field, Schema};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let refused = |result: Result<String, TableError>| match result {
        Err(TableError::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    };
    let parquet = |columns: &str| {
        let mut file = tempfile::tempfile().unwrap();
        let schema = parse_message_type(&format!("message rows {{ {columns} }}")).unwrap();
        let writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default());
        writer.unwrap().close().unwrap();
        ParquetTable::open(file, 1 << 20).map(|table| format!("{:?}", table.groups()))
    };
    assert_eq!(parquet("required int64 number;").unwrap(), "[]");
    let old = refused(parquet("required int64 number; required int96 time;"));
    assert!(old.starts_with("column time has the deprecated type INT96 (write it as"), "{old}");

    let ipc = |kind: DataType| {
        let mut file = tempfile::tempfile().unwrap();
        let schema = Schema::new(vec![Field::new("column", kind, true)]);
        let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &schema).unwrap();
        writer.finish().unwrap();
        IpcTable::open(file, 1 << 20)
            .map(|table| format!("{:?}", table.schema().field(0).data_type()))
    };
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    assert_eq!(ipc(dictionary.clone()).unwrap(), "Int8");
    let list = DataType::List(Arc::new(Field::new("item", dictionary, true)));
    assert_eq!(refused(ipc(list)), "column column, which has a dictionary in it,");
}

#[test]
fn tables_are_joined() {
    let tables: Vec<Box<dyn Table>> =
        vec![Box::new(Rows::new(100, 30)), Box::new(Rows::new(0, 30)), Box::new(Rows::new(50, 20))];
    let joined = Joined::new(tables).unwrap();
    assert_eq!(joined.groups(), [30, 30, 30, 10, 20, 20, 10]);
    let mut numbers: Vec<u64> = Vec::new();
    for batch in joined.read(&[6, 0, 1, 3, 4], 0..2, 7 * ROW_COST).unwrap() {
        numbers.extend(batch.unwrap().column(0).as_primitive::<UInt64Type>().values());
    }
    let expected: Vec<u64> = (40..50).chain(0..60).chain(90..100).chain(0..20).collect();
    assert_eq!(numbers, expected);
    assert!(matches!(Joined::new(Vec::new()), Err(TableError::Unsupported(_))));
    let mut other = Rows::new(9, 9);
    other.batch = other.batch.project(&[0]).unwrap();
    let tables: Vec<Box<dyn Table>> = vec![Box::new(Rows::new(100, 30)), Box::new(other)];
    assert!(matches!(Joined::new(tables), Err(TableError::OtherColumns { table: 1 })));
}

#[test]
fn sums_are_checked() {
    let mut table = Rows::new(10, 10);
    table.groups = vec![1 << 62, 1 << 62];
    let order = Order::shuffle(10, 1);
    let many = run(1 << 16, &order, &table, usize::MAX, &mut Taken::default());
    assert!(matches!(many, Err(TableError::TooManyRows)), "{many:?}");
    assert!(matches!(run_blocks(1 << 16, 1, 0..10, &table), Err(TableError::TooManyRows)));
    let tables: Vec<Box<dyn Table>> = vec![Box::new(Rows::new(9, 9)), Box::new(table)];
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
    let part = Part { batches: &[batch], places: &places };
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
