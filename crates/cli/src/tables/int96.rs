//! [`Int96Column`]: a column of the deprecated type INT96, which is written as a timestamp of 64
//! bits.
//!
//! A value of INT96 is a day and the nanoseconds of that day, so it holds more than any timestamp
//! of 64 bits does. All values are looked at before anything is written, and the unit is one that
//! keeps every one of them.

use std::fs::File;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, TimeUnit};
use parquet::basic::{self, LogicalType};
use parquet::column::reader::ColumnReader;
use parquet::data_type::Int96;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;

use super::error::TableError;

/// The Julian day of 1 January 1970.
const EPOCH: i128 = 2_440_588;

const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;

/// 1 January 1900. From then on Spark counts in the same way, whatever it has written.
const NEW_CALENDAR: i128 = -2_208_988_800_000_000_000;

/// The most rows whose values are looked at in one go.
const ROWS: usize = 1 << 12;

/// The units of Parquet's timestamps, their names there, and their nanoseconds.
const UNITS: [(TimeUnit, &str, basic::TimeUnit, i128); 3] = [
    (TimeUnit::Microsecond, "MICROS", basic::TimeUnit::MICROS, 1000),
    (TimeUnit::Nanosecond, "NANOS", basic::TimeUnit::NANOS, 1),
    (TimeUnit::Millisecond, "MILLIS", basic::TimeUnit::MILLIS, 1_000_000),
];

/// A value that a unit cannot hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) group: usize,
    /// Since 1970.
    pub(super) nanoseconds: i128,
}

/// A column of type INT96, and what its values need.
#[derive(Debug)]
pub(super) struct Int96Column {
    /// Its number among the columns of Parquet, which are the leaves.
    pub(super) number: usize,
    /// The first value that each of [`UNITS`] would lose.
    lost: [Option<Lost>; UNITS.len()],
    /// What it is read as.
    pub(super) kind: DataType,
}

impl Int96Column {
    /// Looks at all values of a column.
    pub(super) fn read(
        reader: &SerializedFileReader<File>,
        number: usize,
    ) -> Result<Self, TableError> {
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let first = if has_own_calendar(pairs) { NEW_CALENDAR } else { i128::MIN };
        let mut lost = [None; UNITS.len()];
        for group in 0..reader.num_row_groups() {
            let column = reader.get_row_group(group).map_err(TableError::read)?;
            let column = column.get_column_reader(number).map_err(TableError::read)?;
            let ColumnReader::Int96ColumnReader(mut column) = column else {
                return Err(TableError::read("has a column of another type than it says"));
            };
            let (mut values, mut definitions, mut repetitions) = (vec![], vec![], vec![]);
            loop {
                values.clear();
                definitions.clear();
                repetitions.clear();
                let (levels, repeats) = (Some(&mut definitions), Some(&mut repetitions));
                let read = column.read_records(ROWS, levels, repeats, &mut values);
                if read.map_err(TableError::read)?.0 == 0 {
                    break;
                }
                for nanoseconds in values.iter().map(nanoseconds) {
                    if nanoseconds < first {
                        let path = metadata.schema_descr().column(number).path().string();
                        return Err(TableError::Unsupported(format!(
                            "column {path} of the deprecated type INT96, which has times before \
                             1900 that Spark takes for others in any other type,"
                        )));
                    }
                    for (lost, (.., of_unit)) in lost.iter_mut().zip(UNITS) {
                        let fits = nanoseconds % of_unit == 0
                            && i64::try_from(nanoseconds / of_unit).is_ok();
                        if !fits {
                            lost.get_or_insert(Lost { group, nanoseconds });
                        }
                    }
                }
            }
        }
        Ok(Self { number, lost, kind: DataType::Timestamp(TimeUnit::Nanosecond, None) })
    }

    /// The first value that a timestamp of this type would lose.
    pub(super) fn lost(&self, kind: &DataType) -> Option<Lost> {
        self.lost.into_iter().zip(UNITS).find(|(_, (unit, ..))| is_in(kind, *unit))?.0
    }
}

fn is_in(kind: &DataType, unit: TimeUnit) -> bool {
    matches!(kind, DataType::Timestamp(of_kind, _) if *of_kind == unit)
}

/// Whether Spark takes early times in this type for those of another calendar than in other types,
/// by what it says of a file that it wrote.
fn has_own_calendar(pairs: &[KeyValue]) -> bool {
    let of = |key: &str| pairs.iter().find(|pair| pair.key == format!("org.apache.spark.{key}"));
    let Some(version) = of("version").and_then(|pair| pair.value.as_deref()) else { return false };
    // Older versions write the Julian calendar, and say nothing of it.
    let is_julian = version < "3.1.0" || of("legacyINT96").is_some();
    is_julian != (version < "3.0.0" || of("legacyDateTime").is_some())
}

/// The time since 1970 that a value stands for.
fn nanoseconds(value: &Int96) -> i128 {
    let [low, high, day] = [0, 1, 2].map(|at| value.data()[at]);
    let of_day = (u64::from(high) << 32 | u64::from(low)).cast_signed();
    (i128::from(day.cast_signed()) - EPOCH) * NANOSECONDS_OF_DAY + i128::from(of_day)
}

/// What Parquet calls the unit of a timestamp.
pub(super) fn name_of(kind: &DataType) -> &'static str {
    UNITS.iter().find(|(unit, ..)| is_in(kind, *unit)).map_or("SECONDS", |(_, name, ..)| name)
}

/// A field whose leaves have other types, which come in the order of the leaves.
pub(super) fn retyped(field: &FieldRef, kinds: &mut impl Iterator<Item = DataType>) -> FieldRef {
    let kind = match field.data_type() {
        DataType::List(item) => DataType::List(retyped(item, kinds)),
        DataType::Map(entry, is_sorted) => DataType::Map(retyped(entry, kinds), *is_sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| retyped(field, kinds)).collect())
        }
        kind => kinds.next().unwrap_or_else(|| kind.clone()),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// A type of Parquet with timestamps of 64 bits in place of INT96. The types of the leaves come in
/// their order.
pub(super) fn written(
    kind: &Type,
    kinds: &mut impl Iterator<Item = DataType>,
) -> Result<Type, TableError> {
    if let Type::GroupType { basic_info, fields } = kind {
        let fields = fields.iter().map(|field| written(field, kinds).map(Arc::new));
        let fields = fields.collect::<Result<_, _>>()?;
        return Ok(Type::GroupType { basic_info: basic_info.clone(), fields });
    }
    let is_int96 = kind.get_physical_type() == basic::Type::INT96;
    let of_arrow = kinds.next().filter(|_| is_int96);
    let Some(DataType::Timestamp(unit, zone)) = of_arrow else { return Ok(kind.clone()) };
    let info = kind.get_basic_info();
    let unit = UNITS.into_iter().find(|(one, ..)| *one == unit);
    let unit = unit.map(|(_, _, unit, _)| LogicalType::timestamp(zone.is_some(), unit));
    Type::primitive_type_builder(info.name(), basic::Type::INT64)
        .with_repetition(info.repetition())
        .with_logical_type(unit)
        .with_id(info.has_id().then(|| info.id()))
        .build()
        .map_err(TableError::write)
}
