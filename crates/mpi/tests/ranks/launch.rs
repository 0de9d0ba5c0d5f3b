//! Starts this program as the ranks of an MPI program.

use std::process::Command;
use std::thread::available_parallelism;

/// The argument of a process that is a rank.
pub(crate) const RANK: &str = "--rank";

/// Runs the tests whose name contains a text on a number of ranks.
pub(crate) fn launch(ranks: usize, filter: &str) {
    let launcher = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".into());
    let cores = available_parallelism().map_or(1, usize::from);
    if ranks > cores.max(3) && !waits_politely(&launcher) {
        println!("skipped: {ranks} ranks, since ranks that wait would keep {cores} cores busy");
        return;
    }
    let program = std::env::current_exe().expect("the program that runs");
    let mut command = Command::new(&launcher);
    command.args(["-n", &ranks.to_string()]).arg(program).args([RANK, filter]);
    // Open MPI wants to be asked for more ranks than cores and for root, and ranks that wait should
    // leave the cores to the others. Other implementations need no permission.
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        // Ranks that wait for ever are a fault that must end.
        ("MPIEXEC_TIMEOUT", "1800"),
        ("RAYON_NUM_THREADS", "2"),
    ] {
        command.env(name, value);
    }
    let status = command.status().unwrap_or_else(|error| panic!("{launcher}: {error}"));
    assert!(status.success(), "{ranks} ranks: {status}");
}

/// Whether ranks that wait let others run on their core. Those of Open MPI can be told to; those of
/// MPICH 4.0 take minutes for a test if they are more than cores.
fn waits_politely(launcher: &str) -> bool {
    let version = Command::new(launcher).arg("--version").output();
    version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("Open"))
}
