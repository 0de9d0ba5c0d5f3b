//! Any bytes as a Parquet or an Arrow file, with little memory: all of its rows come out, or an
//! error says why not. Seeds are in crates/cli/tests/hostile.
#![no_main]

use std::io::{self, Write};

use bijective_shuffle_cli::files::{FileOrder, FilesError, TemporaryFile};
use bijective_shuffle_cli::tables::{IpcTable, ParquetTable, TableError, TableFile, TableShuffle};
use libfuzzer_sys::fuzz_target;

const MEMORY: usize = 4 << 20;

fn shuffle(table: &dyn TableFile) -> Result<(), TableError> {
    // Whatever the file says, the sum was checked when it was opened.
    let rows = table.about().groups.iter().sum();
    let mut writer = table.writer(Box::new(io::sink()), MEMORY / 4)?;
    let mut store =
        TemporaryFile::in_folder(&std::env::temp_dir()).map_err(FilesError::Temporary)?;
    let order = FileOrder::shuffle(rows, 1);
    let summary = TableShuffle::new(MEMORY).run(&order, table, &mut store, &mut *writer, &())?;
    assert_eq!(summary.items, rows);
    writer.finish()
}

fn try_both(bytes: &[u8]) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let again = file.try_clone().expect("a descriptor");
    let _ = ParquetTable::open(file, MEMORY).and_then(|table| shuffle(&table));
    let _ = IpcTable::open(again, MEMORY).and_then(|table| shuffle(&table));
}

// Panics of the crates that read such files are caught and become errors, where libFuzzer's hook
// would take each for a finding. One that nobody catches still is one.
fuzz_target!(init: drop(std::panic::take_hook()), |bytes| try_both(bytes));
