//! Files that are damaged or lie: one line and exit code 1, within a limit on memory, or an output.

use std::process::Command;

use crate::folder::{Folder, program};
use crate::limits::{check, limited};

/// What the program may map. It would not be enough for a size from a file that is not checked.
const ADDRESSES: u64 = 1 << 30;

/// Numbers that look random, and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// A file in which some bytes are others, or are missing. Most changes are near the beginning or
/// the end, where formats have their metadata.
pub(crate) fn changed(file: &[u8], seed: u64) -> Vec<u8> {
    const SIZES: [u64; 6] = [0, 0x7F, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 40, u64::MAX];
    let mut numbers = Numbers(seed);
    let mut bytes = file.to_vec();
    for _ in 0..1 + numbers.below(4) {
        let near = bytes.len().min([300, 2000, usize::MAX][numbers.below(3)]);
        let offset = numbers.below(near);
        let at = if numbers.below(3) == 0 { offset } else { bytes.len() - 1 - offset };
        match numbers.below(6) {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.drain(at..(at + 8).min(bytes.len() - 1).max(at))),
            2 => bytes[at] ^= 1 << numbers.below(8),
            3 => bytes[at] = numbers.below(256) as u8,
            _ => {
                // A size that is too large, or a count that is too small.
                let size = SIZES[numbers.below(SIZES.len())].to_le_bytes();
                let width = [2, 4, 8][numbers.below(3)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&size[..width]);
            }
        }
    }
    bytes
}

/// Runs the program on a file that may be anything. It would be ended if it never did by itself.
#[track_caller]
fn run(folder: &Folder, name: &str) -> bool {
    let mut command = Command::new("timeout");
    command.args(["600"]).arg(program());
    command.args(["-q", "--seed", "1", "--memory", "4M", "-o", "new", name]);
    command.env("RAYON_NUM_THREADS", "2");
    check(&folder.finish(limited(libc::RLIMIT_AS, ADDRESSES, &mut command), b""), b"")
}

#[test]
fn changed_arrays_are_read_or_refused() {
    let folder = Folder::new();
    let header = "{'descr': [('a', '<f4', (2,)), ('b', '|S3')], 'fortran_order': False, \
                  'shape': (9,), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let file = [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), &[7; 99]].concat();
    let mut refused = 0;
    for seed in 0..40 {
        folder.write("x.npy", changed(&file, seed));
        refused += u32::from(!run(&folder, "x.npy"));
    }
    assert!(refused > 20, "{refused}");
}

#[cfg(feature = "tables")]
mod tables {
    use std::fs;
    use std::io;
    use std::path::Path;

    use arrow_array::RecordBatch;
    use bijective_shuffle_cli::files::{FileOrder, TemporaryFile};
    use bijective_shuffle_cli::tables::{
        IpcTable, ParquetTable, TableError, TableFile, TableShuffle, TableWriter,
    };

    use super::{changed, run};
    use crate::folder::{Folder, one_line};
    use crate::tables::{rows, write_ipc, write_parquet};

    /// A folder with two tables of some rows.
    fn folder_with_both() -> Folder {
        let (folder, rows) = (Folder::new(), rows(0).slice(0, 300));
        write_parquet(&folder, "rows.parquet", &rows);
        write_ipc(&folder, "rows.arrow", &rows);
        folder
    }

    #[test]
    fn changed_tables_are_read_or_refused_within_their_memory() {
        let folder = folder_with_both();
        for name in ["rows.parquet", "rows.arrow"] {
            let (file, mut refused) = (folder.read(name), 0);
            for seed in 0..40 {
                folder.write(name, changed(&file, seed));
                refused += u32::from(!run(&folder, name));
            }
            assert!(refused > 20, "{refused}");
        }
    }

    /// Takes rows, and forgets them.
    struct Nowhere;

    impl TableWriter for Nowhere {
        fn write(&mut self, _: &RecordBatch) -> Result<(), TableError> {
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), TableError> {
            Ok(())
        }
    }

    /// Shuffles a table.
    fn shuffle(folder: &Folder, table: &dyn TableFile) -> Result<(), TableError> {
        let order = FileOrder::shuffle(table.about().groups.iter().sum(), 1);
        let mut store = TemporaryFile::in_folder(&folder.path("")).unwrap();
        TableShuffle::new(4 << 20).run(&order, table, &mut store, &mut Nowhere, &())?;
        Ok(())
    }

    /// What reading and shuffling a file comes to. A panic of a reader would be one here.
    fn read(folder: &Folder, name: &str) -> Result<(), TableError> {
        let opened = fs::File::open(folder.path(name)).unwrap();
        if name.ends_with("parquet") {
            shuffle(folder, &ParquetTable::open(opened, 4 << 20)?)
        } else {
            shuffle(folder, &IpcTable::open(opened, 4 << 20)?)
        }
    }

    /// Writes a file that was sent in to a folder. The package, unpacked by itself, has none.
    #[track_caller]
    fn was_sent_in(folder: &Folder, name: &str) -> bool {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
        match fs::read(corpus.join(name)) {
            Ok(bytes) => folder.write(name, bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                println!("skipped: there is no {name}");
                return false;
            }
            Err(error) => panic!("{error}"),
        }
        true
    }

    /// The crate that reads this file panics.
    #[test]
    fn panics_of_a_reader_are_errors() {
        let folder = Folder::new();
        if was_sent_in(&folder, "panic-1.parquet") {
            let error = read(&folder, "panic-1.parquet").unwrap_err();
            let why = "is damaged: column start and length should not be negative";
            assert_eq!(error.to_string(), why);
        }
    }

    /// Many more files than the program is started for.
    #[test]
    fn readers_do_not_panic() {
        let folder = folder_with_both();
        for name in ["rows.parquet", "rows.arrow"] {
            let (file, mut refused) = (folder.read(name), 0);
            for seed in 100..600 {
                folder.write(name, changed(&file, seed));
                refused += u32::from(read(&folder, name).is_err());
            }
            assert!(refused > 250, "{name} {refused}");
        }
    }

    #[test]
    fn files_that_were_sent_in_are_refused_at_once() {
        let folder = Folder::new();
        for (name, why) in [
            ("panic-1.parquet", "is damaged: column start and length should not be negative"),
            (
                "null-2-31.arrow",
                "record batch 0, counted from 0, says that it has 2147483648 rows, and has 0 \
                 bytes for them",
            ),
        ] {
            if !was_sent_in(&folder, name) {
                continue;
            }
            assert!(!run(&folder, name));
            let outcome = folder.run(&["--memory", "64M", "-o", "new", name], b"");
            assert_eq!(one_line(&outcome.stderr), format!("bshuf: {name}: {why}"));
        }
    }
}
