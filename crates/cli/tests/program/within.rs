//! The program within another one: its work stays among the threads that it is given.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::{env, io};

use bijective_shuffle_cli::program::{self, Host};
use rayon::ThreadPoolBuilder;

use crate::folder::{Folder, numbered};

const CHILD: &str = "BIJECTIVE_SHUFFLE_TEST_OF_THREADS";

struct Silent;

impl Host for Silent {
    fn begin(&self, _: &'static str, _: Option<u64>) {}

    fn advance(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A child that is forked has none of the threads of rayon's own pool, and waits for them for ever.
#[test]
fn no_thread_is_started_beside_the_pool_of_the_caller() {
    if env::var_os(CHILD).is_some() {
        return run_in_every_way();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "--nocapture"]).env(CHILD, "1");
    let output = child.arg("within::no_thread_is_started_beside_the_pool_of_the_caller").output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("ran in every way"), "the child did not run: {text}");
}

fn run_in_every_way() {
    let folder = Folder::new();
    env::set_current_dir(folder.path("")).unwrap();
    folder.write("text", numbered(200_000));
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let run = |arguments: &str| {
        let given = arguments.split(' ').chain(["--seed", "1"]).map(OsString::from);
        let done = pool.install(|| program::run(given, Arc::new(Silent)));
        done.unwrap_or_else(|failure| panic!("{arguments}: {failure}"));
    };
    run("-o in-memory text");
    run("-o on-disk --memory 1M text");
    run("-o undone --undo --memory 1M on-disk");
    run("-o records --record 10 text");
    run("-o drawn --repeat --head-count 100 text");
    {
        run("-o text.gz --compress gzip text");
        run("-o text.zst --compress zstd text");
        run("--output-dir shards --shards 3 --csv --memory 1M text.gz text.zst");
        run("--output-dir random --shards 3 --compress lz4 text text.gz");
    }
    #[cfg(feature = "tables")]
    {
        use crate::tables::{rows, write_ipc, write_parquet};
        write_parquet(&folder, "rows.parquet", &rows(0));
        write_ipc(&folder, "rows.arrow", &rows(0));
        run("-o new.parquet --memory 1M rows.parquet");
        run("-o new.arrow --memory 1M rows.arrow");
    }
    println!("ran in every way");
    // That works as long as nobody has asked for the threads of rayon's own pool.
    ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
}
