//! Shuffles an array over ranks, each with a GPU, by NCCL: a whole program for launchers such as
//! `torchrun`, `mpirun` and `srun`. The chapter docs/gpu.md explains it.
//!
//! ```sh
//! cargo run --release --example cuda_ranks
//! ```
//!
//! The launcher sets `RANK`, `WORLD_SIZE` and `LOCAL_RANK`, as `torchrun` does, and `ID_FILE`, a
//! path that all hosts see. Each launch needs a new file. Without a launcher there is one rank.
//! Without a GPU or NCCL the program says what is missing.
//!
//! | launcher | command for four ranks on one host |
//! | --- | --- |
//! | PyTorch | `ID_FILE=$PWD/id.$$ torchrun --no-python --nproc-per-node 4 program` |
//! | Open MPI | `ID_FILE=$PWD/id.$$ mpirun -n 4 -x ID_FILE wrapper program` |
//! | Slurm | `ID_FILE=$PWD/id.$$ srun -n 4 wrapper program` |
//!
//! Here `wrapper` is a script that translates the launcher's variables. This one is for Open MPI;
//! for Slurm they are `SLURM_PROCID`, `SLURM_NTASKS` and `SLURM_LOCALID`. Where the launcher shows
//! each rank only its own GPU, `LOCAL_RANK` is 0 for all.
//!
//! ```sh
//! #!/bin/sh
//! RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE \
//!     LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK exec "$@"
//! ```

#[cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]
use ranks::main;

#[cfg(not(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows"))))]
fn main() {
    println!("CUDA has no driver for this system");
}

#[cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]
mod ranks {
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};
    use std::{env, fs, io, process, thread};

    use bijective_shuffle::Error;
    use bijective_shuffle::cuda::{Cuda, CudaExchange, NcclId};
    use bijective_shuffle::prelude::*;

    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    /// How long a rank waits for the others: the slowest one may be this much later.
    const LIMIT: Duration = Duration::from_secs(60);
    /// The items of each rank.
    const EACH: u64 = 1000;

    /// A number from the launcher. Without a launcher there is one rank.
    fn number(variable: &str, otherwise: usize) -> Result<usize> {
        env::var(variable).map_or(Ok(otherwise), |value| Ok(value.parse()?))
    }

    /// Makes the id on rank 0, and reads it on the others.
    fn id_of_all(rank: usize, file: &Path) -> Result<NcclId> {
        if rank == 0 {
            let id = NcclId::new()?;
            // A rename is atomic, so nobody reads half of the id.
            let unfinished = file.with_extension("unfinished");
            fs::write(&unfinished, id.to_bytes())?;
            fs::rename(&unfinished, file)?;
            return Ok(id);
        }
        let since = Instant::now();
        loop {
            match fs::read(file) {
                Ok(bytes) => return Ok(NcclId::from_bytes(bytes.as_slice().try_into()?)),
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && since.elapsed() < LIMIT =>
                {
                    thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn run() -> Result<()> {
        let (rank, ranks) = (number("RANK", 0)?, number("WORLD_SIZE", 1)?);
        let cuda = Cuda::on_device(number("LOCAL_RANK", 0)?)?;
        let file = env::var_os("ID_FILE").map(PathBuf::from);
        let file = file.unwrap_or_else(|| env::temp_dir().join(format!("id-{}", process::id())));
        let id = id_of_all(rank, &file)?;
        let mut exchange = CudaExchange::new(&cuda, &id, rank, ranks, LIMIT)?;
        if rank == 0 {
            // All ranks have joined, so all have read it.
            fs::remove_file(&file)?;
        }

        // This rank's run of the numbers from 0 on, and its run of their new order.
        let stream = exchange.stream().clone();
        let first = EACH * rank as u64;
        let source = stream.clone_htod(&(first..first + EACH).collect::<Vec<_>>())?;
        let mut out = stream.alloc_zeros::<u64>(EACH as usize)?;
        let len = EACH * ranks as u64;
        exchange.shuffle_into(42, &source, &mut out)?;
        exchange.synchronize()?;

        let items = stream.clone_dtoh(&out)?;
        stream.synchronize()?;
        let p = Permutation::new(len, 42);
        assert!(items.into_iter().eq(p.shard(rank as u64, ranks as u64)?));
        Ok(())
    }

    pub(crate) fn main() -> Result<()> {
        match run() {
            // No GPU, no driver or no NCCL: an ordinary state, not a panic.
            Err(error)
                if matches!(error.downcast_ref(), Some(Error::BackendUnavailable { .. })) =>
            {
                println!("skipped: {error}");
                Ok(())
            }
            done => done,
        }
    }
}
