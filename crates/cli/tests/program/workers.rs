//! Data sets that several workers shuffle, each in a process of its own.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
#[cfg(unix)]
use std::time::Instant;

use crate::folder::{Folder, Outcome, is_long, numbered, program};
use crate::outside::statistic;
use crate::sets::{compressed, lines, names};

const STAGES: [&str; 3] = ["count", "distribute", "collect"];

/// The arguments of a worker in a stage, which writes to the folder `out`.
fn arguments<'a>(options: &[&'a str], worker: &'a str, stage: &'a str) -> Vec<&'a str> {
    [options, &["--output-dir", "out", "--worker", worker, "--stage", stage]].concat()
}

/// Runs one worker after the other in each stage.
pub(crate) fn run_all(folder: &Folder, options: &[&str], workers: usize) {
    for stage in STAGES {
        for worker in 0..workers {
            let worker = format!("{worker}/{workers}");
            folder.output(&arguments(options, &worker, stage), b"");
        }
    }
}

/// Checks that two folders have the same files.
#[track_caller]
fn check_same(folder: &Folder, one: &str, other: &str) {
    let (ours, theirs) = (names(folder, one), names(folder, other));
    assert_eq!(ours.len(), theirs.len(), "{ours:?} {theirs:?}");
    for (own, other) in ours.iter().zip(&theirs) {
        assert_eq!(own.strip_prefix(one), other.strip_prefix(other.split('/').next().unwrap()));
        assert!(folder.read(own) == folder.read(other), "{own}");
    }
}

#[test]
fn workers_write_what_one_would() {
    let folder = Folder::new();
    let text = numbered(40_000);
    let text = &text[..text.len() - 1];
    fs::create_dir_all(folder.path("in")).unwrap();
    for (k, part) in lines(text).chunks(9_000).enumerate() {
        let name = format!("in/{k}.jsonl{}", ["", ".gz", ".zst", ".lz4", ".bz2"][k]);
        folder.write(&name, compressed(k, &part.concat()));
    }
    fs::create_dir_all(folder.path("tables")).unwrap();
    for k in 0..3 {
        let rows: String = (0..500).map(|row| format!("\"{k}\n{row}\",x\n")).collect();
        folder.write(&format!("tables/{k}.csv"), format!("one,other\n{rows}"));
    }
    for (options, workers) in [
        (&["in", "--shards", "7"][..], 1),
        (&["in", "--shards", "7", "--memory", "1M", "--compress", "zstd:1"], 2),
        (&["in", "--shards", "4", "--memory", "1M", "--temp-compress"], 4),
        (&["in", "--compress", "none", "--memory", "2M", "--epoch", "3"], 3),
        // Workers without inputs or shards.
        (&["in", "--shards", "2", "--memory", "1M"], 7),
        (&["in", "--split", "train=0.9,valid=rest,test=0", "--shards", "2"], 4),
        (&["in", "-n", "10%", "--shard-records", "1000"], 3),
        (&["in", "--range", "7..30000", "--memory", "1M", "--shards", "3"], 2),
        (&["in", "-n", "0", "--shards", "3"], 2),
        (&["tables", "--csv", "--header-lines", "1", "--shards", "5"], 2),
    ] {
        let options = [&["--seed", "5"], options].concat();
        folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
        run_all(&folder, &options, workers);
        check_same(&folder, "one", "out");
        // Every stage that comes later finds that all is done.
        for stage in STAGES {
            let again = arguments(&options, "0/9", stage);
            let outcome = folder.run(&[&again[..], &["--stats"]].concat(), b"");
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let shards = names(&folder, "out").len() - 1;
            assert_eq!(statistic(&outcome.stderr, "shards_kept"), shards as u64);
        }
        fs::remove_dir_all(folder.path("one")).unwrap();
        fs::rename(folder.path("out"), folder.path("before")).unwrap();
        if !options.contains(&"-n") && !options.contains(&"--range") {
            // Shards are put back, too, by the seed in their index.
            let undo = ["before", "--undo", "--shards", "3", "--memory", "1M"];
            folder.output(&[&undo[..], &["--output-dir", "one"]].concat(), b"");
            run_all(&folder, &undo, workers);
            check_same(&folder, "one", "out");
            fs::remove_dir_all(folder.path("one")).unwrap();
            fs::remove_dir_all(folder.path("out")).unwrap();
        }
        fs::remove_dir_all(folder.path("before")).unwrap();
    }
}

#[test]
fn a_long_file_of_lines_is_divided() {
    let folder = Folder::new();
    let line = |k: u32| format!("{k} {}\n", "text ".repeat(k as usize % 40));
    let text: String = (0..700_000).map(line).collect();
    assert!(text.len() > 2 * (32 << 20));
    folder.write("text", ["head\n", &text].concat());
    let options = ["--seed", "5", "--shards", "3", "--header-lines", "1", "text"];
    folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
    for stage in STAGES {
        for worker in ["0/2", "1/2"] {
            let line = [&arguments(&options, worker, stage)[..], &["--stats"]].concat();
            let outcome = folder.run(&line, b"");
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            // Each has its share of the only input.
            let lines = statistic(&outcome.stderr, "lines");
            assert!((100_000..600_000).contains(&lines), "{stage} {worker}: {lines}");
        }
    }
    check_same(&folder, "one", "out");
}

/// Waits for a worker, and starts it again if it was killed before its end.
fn finish(child: Child, is_killed: bool, again: impl Fn() -> Child) {
    let mut output = child.wait_with_output().unwrap();
    if is_killed && !output.status.success() {
        output = again().wait_with_output().unwrap();
    }
    assert!(output.status.success(), "{output:?}");
}

/// Whether a worker has left something of a stage that it is in the middle of.
fn is_begun(work: &Path, stage: &str, worker: usize) -> bool {
    let start = match stage {
        "count" => format!("count-{worker:05}"),
        "distribute" => format!(".bundle-{worker:05}"),
        _ => format!("shards-{worker:05}"),
    };
    let entries = fs::read_dir(work).into_iter().flatten().flatten();
    let mut begun = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    begun.any(|entry| stage == "count" || entry.metadata().is_ok_and(|found| found.len() > 0))
}

#[test]
fn workers_that_are_killed_go_on() {
    const WORKERS: usize = 4;
    let folder = Folder::new();
    let text = numbered(120_000);
    fs::create_dir_all(folder.path("in")).unwrap();
    for (k, part) in lines(&text).chunks(12_000).enumerate() {
        folder.write(&format!("in/{k}.zst"), compressed(2, &part.concat()));
    }
    let options =
        ["--seed", "5", "--shards", "12", "--compress", "zstd:12", "--memory", "4M", "in"];
    folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
    let rounds = if is_long() { 20 } else { 2 };
    for round in 0..rounds {
        for stage in STAGES {
            let start = |worker: usize| {
                let name = format!("{worker}/{WORKERS}");
                let mut command = Command::new(program());
                command.args(arguments(&options, &name, stage)).arg("--quiet");
                command.current_dir(folder.path("")).stdin(Stdio::null());
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let mut children: Vec<Child> = (0..WORKERS).map(start).collect();
            // One of them is killed in the middle, and another one at once.
            let killed = round % WORKERS;
            let work = folder.path("out/.bshuf-workers");
            while !is_begun(&work, stage, killed) && children[killed].try_wait().unwrap().is_none()
            {
                thread::yield_now();
            }
            let killed = [killed, (killed + 1) % WORKERS];
            killed.iter().for_each(|&worker| children[worker].kill().unwrap());
            for (worker, child) in children.into_iter().enumerate() {
                finish(child, killed.contains(&worker), || start(worker));
            }
        }
        check_same(&folder, "one", "out");
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

/// Each worker is stopped somewhere in a stage, while another process does its work and the rest of
/// the run, and then goes on.
#[cfg(unix)]
#[test]
fn a_late_worker_leaves_nothing_behind_a_finished_run() {
    let folder = Folder::new();
    folder.write("text", numbered(30_000));
    let options =
        ["--seed", "5", "--shards", "3", "--compress", "zstd:12", "--memory", "1M", "text"];
    folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
    let steps = if is_long() { 200 } else { 6 };
    for stage in STAGES {
        let run = |stage: &str| {
            for worker in ["0/2", "1/2"] {
                folder.output(&arguments(&options, worker, stage), b"");
            }
        };
        let mut takes = None;
        // The first one is not stopped.
        for step in (0..=steps).rev() {
            STAGES.into_iter().take_while(|&other| other != stage).for_each(run);
            let mut command = Command::new(program());
            command.args(arguments(&options, "0/2", stage)).arg("--quiet");
            command.current_dir(folder.path("")).stdin(Stdio::null());
            let begun = Instant::now();
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let Some(takes) = takes else {
                finish(child, false, || unreachable!());
                takes = Some(begun.elapsed());
                fs::remove_dir_all(folder.path("out")).unwrap();
                continue;
            };
            while begun.elapsed() < takes * step / steps {
                std::hint::spin_loop();
            }
            let id = child.id() as libc::pid_t;
            // SAFETY: nobody has waited for the process, so the number is still its own.
            unsafe { libc::kill(id, libc::SIGSTOP) };
            STAGES.into_iter().for_each(run);
            // SAFETY: nobody has waited for it yet.
            unsafe { libc::kill(id, libc::SIGCONT) };
            finish(child, false, || unreachable!());
            check_same(&folder, "one", "out");
            let left = fs::read_dir(folder.path("out")).unwrap().count();
            assert_eq!(left, 4, "{stage}, stopped at {step} of {steps}");
            fs::remove_dir_all(folder.path("out")).unwrap();
        }
    }
}

/// What is said of a run that fails.
#[track_caller]
fn complaint(folder: &Folder, options: &[&str], worker: &str, stage: &str) -> String {
    folder.complaint(&arguments(options, worker, stage), b"")
}

#[test]
fn workers_say_what_they_lack() {
    let folder = Folder::new();
    let text = numbered(1000);
    fs::create_dir_all(folder.path("in")).unwrap();
    for (k, part) in lines(&text).chunks(250).enumerate() {
        folder.write(&format!("in/{k}.txt"), part.concat());
    }
    let options = ["--seed", "5", "--shards", "4", "in"];
    folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
    let said = |worker, stage| complaint(&folder, &options, worker, stage);
    let lacks = |stage, workers| {
        format!("bshuf: out: of 3 workers these have not finished --stage {stage}: {workers}")
    };
    let done = |worker, stage| folder.output(&arguments(&options, worker, stage), b"");

    // A stage that comes too early.
    assert_eq!(said("0/3", "distribute"), lacks("count", "0, 1, 2"));
    assert_eq!(said("0/3", "collect"), lacks("count", "0, 1, 2"));
    assert!(!folder.path("out").exists());
    done("1/3", "count");
    assert_eq!(said("1/3", "distribute"), lacks("count", "0, 2"));
    done("0/3", "count");
    done("2/3", "count");
    done("0/3", "distribute");
    assert_eq!(said("0/3", "collect"), lacks("distribute", "1, 2"));

    // Another run.
    let count = "bshuf: out/.bshuf-workers/count-00000-of-00003.json: was written";
    let same = "give all workers and stages the same";
    for (other, what) in [
        (&["--seed", "6", "--shards", "4", "in"][..], "with another seed"),
        (&["--seed", "5", "--epoch", "1", "--shards", "4", "in"], "with another epoch"),
        (&["--seed", "5", "--shards", "5", "in"], "with other options"),
        (&["--seed", "5", "--shards", "4", "-n", "5", "in"], "with other options"),
        (&["--seed", "5", "--shards", "4", "--csv", "in"], "with other options"),
        (&["--seed", "5", "--shards", "4", "--compress", "zstd", "in"], "with other options"),
        (
            &["--seed", "5", "--shards", "4", "in/0.txt"],
            "with other inputs, or inputs that have changed since",
        ),
    ] {
        for stage in STAGES {
            let complaint = complaint(&folder, other, "0/3", stage);
            assert_eq!(complaint, format!("{count} {what}: {same}"), "{stage}");
        }
    }
    let two = complaint(&folder, &options, "0/2", "distribute");
    assert!(two.ends_with("of 2 workers these have not finished --stage count: 0, 1"), "{two}");
    let two = complaint(&folder, &options, "0/2", "count");
    assert!(two.contains("was written by a run with another number of workers"), "{two}");
    let many = complaint(&folder, &options, "0/99", "collect");
    assert!(many.ends_with(": 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 89 more"), "{many}");
    // A run of one worker does not get among them.
    for resume in [&[][..], &["--resume"]] {
        let alone = [&options[..], &["--output-dir", "out"], resume].concat();
        assert_eq!(folder.run(&alone, b"").code, 1);
    }
    // A change that shows in the time, and one that shows only when the records are read again.
    let path = folder.path("in/3.txt");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let torn = String::from_utf8(fs::read(&path).unwrap()).unwrap().replacen('7', "\n", 1);
    fs::write(&path, torn).unwrap();
    for stage in STAGES {
        let complaint = said("0/3", stage);
        let what = "with other inputs, or inputs that have changed since";
        assert_eq!(complaint, format!("{count} {what}: {same}"));
    }
    fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    assert_eq!(said("2/3", "distribute"), "bshuf: the inputs: changed while it was read");
}

#[test]
fn workers_are_refused_where_they_cannot_work() {
    let folder = Folder::new();
    folder.write("text", numbered(10));
    let run = |arguments: &[&str]| folder.run(arguments, b"1\n2\n");
    let one = |outcome: Outcome| (outcome.code, outcome.stdout.len());
    for wrong in [
        &["--worker", "2/2", "--stage", "count", "--output-dir", "out", "text"][..],
        &["--worker", "0/0", "--stage", "count", "--output-dir", "out", "text"],
        &["--worker", "0/2", "--stage", "sort", "--output-dir", "out", "text"],
    ] {
        assert_eq!(one(run(wrong)), (1, 0), "{wrong:?}");
    }
    let said = |options: &[&str], worker| complaint(&folder, options, worker, "count");
    assert_eq!(
        said(&["text"], "0/2"),
        "bshuf: --worker: the workers do not communicate: give all of them the same --seed"
    );
    let seed = ["--seed", "5", "text"];
    assert_eq!(said(&seed, "0/100001"), "bshuf: --worker: there are at most 100000");
    let of_a_pipe = said(&["--seed", "5"], "0/2");
    assert!(of_a_pipe.starts_with("bshuf: standard input: is a pipe, whose contents"));
    folder.write("a.npy", b"");
    let array = said(&["--seed", "5", "a.npy"], "0/2");
    assert_eq!(array, "bshuf: a.npy: an array is written to one file: give -o");
    folder.write("a.parquet", b"");
    let table = said(&["--seed", "5", "a.parquet"], "0/2");
    assert!(
        table.contains("rows of tables are shuffled by one worker") || table.contains("feature")
    );
    assert!(!folder.path("out").exists());

    fs::create_dir(folder.path("out")).unwrap();
    folder.write("out/file", b"x");
    assert_eq!(said(&seed, "0/2"), "bshuf: out: is not empty: name a folder that is");
    fs::remove_dir_all(folder.path("out")).unwrap();
    // The shards of another run, and those of a run of one worker that is not complete.
    folder.output(&["--seed", "6", "--output-dir", "out", "text"], b"");
    let why = "has shards of a run with other inputs or other options: name another folder";
    assert_eq!(said(&seed, "0/2"), format!("bshuf: out: {why}"));
    fs::remove_file(folder.path("out/index.json")).unwrap();
    assert_eq!(said(&seed, "0/2"), "bshuf: out: is not empty: name a folder that is");
}

#[test]
fn damaged_files_of_workers_are_named_or_made_again() {
    let folder = Folder::new();
    let text = numbered(1000);
    fs::create_dir_all(folder.path("in")).unwrap();
    for (k, part) in lines(&text).chunks(250).enumerate() {
        folder.write(&format!("in/{k}.txt"), part.concat());
    }
    let options = ["--seed", "5", "--shards", "6", "in"];
    folder.output(&[&options[..], &["--output-dir", "one"]].concat(), b"");
    let done = |worker, stage| folder.output(&arguments(&options, worker, stage), b"");
    let work = |name: &str| format!("out/.bshuf-workers/{name}");
    let said = |worker, stage, name: &str| {
        let complaint = complaint(&folder, &options, worker, stage);
        assert!(complaint.starts_with(&format!("bshuf: {}: ", work(name))), "{complaint}");
    };
    done("0/2", "count");
    done("1/2", "count");
    let count = "count-00001-of-00002.json";
    let whole = folder.read(&work(count));
    folder.write(&work(count), &whole[..whole.len() / 2]);
    said("0/2", "distribute", count);
    folder.write(&work(count), &whole);
    done("0/2", "distribute");
    done("1/2", "distribute");
    let bundle = "bundle-00000-of-00002";
    let whole = folder.read(&work(bundle));
    folder.write(&work(bundle), &whole[..whole.len() - 1]);
    said("1/2", "collect", bundle);
    folder.write(&work(bundle), &whole);
    // A stage that is done again leaves what is whole.
    done("0/2", "distribute");
    assert!(folder.read(&work(bundle)) == whole);

    done("0/2", "collect");
    assert!(!folder.path("out/index.json").exists());
    let shard = "out/part-00001-of-00006.txt";
    folder.write(shard, b"damaged");
    let again = [&arguments(&options, "0/2", "collect")[..], &["--stats"]].concat();
    let outcome = folder.run(&again, b"");
    assert_eq!((outcome.code, statistic(&outcome.stderr, "shards_kept")), (0, 1));
    assert_eq!(statistic(&outcome.stderr, "shards"), 3);
    done("1/2", "collect");
    check_same(&folder, "one", "out");
    // The worker that wrote the index was interrupted before it had removed everything.
    fs::create_dir(folder.path("out/.bshuf-workers")).unwrap();
    folder.write(&work(bundle), &whole);
    done("1/2", "collect");
    check_same(&folder, "one", "out");
}
