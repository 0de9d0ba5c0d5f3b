//! Runs of several workers, which do not talk: what one leaves, the others find in the folder of
//! the shards, on a file system that all of them share.
//!
//! All workers get the same arguments except for their number. A run has three
//! [stages](WorkerStage), and what starts the workers keeps their order. A worker says what it
//! lacks, and does not wait.
//!
//! | stage | reads | leaves in `.bshuf-workers` |
//! | --- | --- | --- |
//! | count | its share of the inputs | `count-R-of-W.json`: what is asked for, the memory, and what the share has |
//! | distribute | all counts, and its share of the inputs | `bundle-R-of-W`: the share's records, bucket by bucket, as [`Bundle`] describes it |
//! | collect | all counts, and its buckets of all bundles | `shards-R-of-W`: a [journal](Journal) of its shards, which are in their places |
//!
//! Inputs are dealt by their sizes, whole or in pieces, and whole shards by their records. Each
//! file is there whole or not at all, except a journal, which is whole once it has all shards of
//! its worker. Each says what its run was asked for, and that is compared: the version, the seed,
//! the inputs with their sizes and times of change, and the options.
//!
//! A stage that is done again leaves what is whole as it is, and does the rest. Whichever workers
//! end last find that all journals are whole. They write the index, which is the same whichever
//! does it, and then remove `.bshuf-workers`. A stage that comes later finds the index, and has
//! nothing to do. One that is in the middle finds it in the end, and removes what it has written to
//! `.bshuf-workers` meanwhile; that folder is made only where there is no index.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bijective_shuffle_cli::dataset::{
    Bundle, CountedSet, KnownToWorkers, Shard, ShardIndex, ShardTarget, Shards, Written,
    WrittenShard,
};
use bijective_shuffle_cli::files::{FileOrder, FilesError};
use serde_json::{Value, json};

use super::folder::{self, ShardFolder, UNFINISHED_OF_WORKERS, WORKERS};
use super::folder_run::{index, planned};
use super::journal::{AskedRun, Journal, JournaledRun};
use super::opened::{Opened, explain};
use crate::arguments::{Arguments, WorkerStage};
use crate::done::{Done, SetDone};
use crate::failure::{Failure, FailureContext};
use crate::job::InputJob;
use crate::output::Output;
use crate::selection;

/// The most workers. Each opens a file of every other.
const MOST: u64 = 100_000;

/// How often a folder is removed that is never empty.
const TRIES: u32 = 10;

/// A worker in one of its stages.
struct Worker<'a> {
    rank: u64,
    ranks: u64,
    opened: &'a Opened<'a>,
    arguments: &'a Arguments,
    job: &'a InputJob<'a>,
    /// The folder of the shards.
    folder: &'a Path,
    asked: AskedRun,
}

/// What all workers know once all have counted.
struct WorkerPlan {
    counted: CountedSet,
    order: FileOrder,
    shards: Shards,
    run: JournaledRun,
    hash: String,
    /// The least memory of all.
    memory: usize,
}

/// Does a stage.
pub(super) fn run(
    selection::WorkerShard { rank, ranks }: selection::WorkerShard,
    stage: WorkerStage,
    opened: &Opened,
    folder: &Path,
    arguments: &Arguments,
    job: &InputJob,
) -> Result<Done, Failure> {
    if ranks > MOST {
        return Err(Failure::new("--worker", format!("there are at most {MOST}")));
    }
    if arguments.seed().is_none() && !arguments.undo {
        let why = "the workers do not communicate: give all of them the same --seed";
        return Err(Failure::new("--worker", why));
    }
    let asked = opened.asked(arguments, job);
    let worker = Worker { rank, ranks, opened, arguments, job, folder, asked };
    if let Some(done) = worker.complete()? {
        return Ok(done);
    }
    let done = match stage {
        WorkerStage::Count => worker.count(),
        WorkerStage::Distribute => worker.distribute(),
        WorkerStage::Collect => worker.collect(),
    };
    // What is missing may have been removed, because all is done. What was written after that goes.
    match (worker.complete()?, done) {
        (Some(complete), Err(_)) => Ok(complete),
        (_, done) => done,
    }
}

impl Worker<'_> {
    /// What is to be said if the index is there.
    fn complete(&self) -> Result<Option<Done>, Failure> {
        let found = ShardIndex::read(self.folder);
        let found = found.map_err(|error| Failure::named(self.folder.display(), &error))?;
        let Some(index) = found else { return Ok(None) };
        if !self.asked.is_of(&index.run) {
            let why = "has shards of a run with other inputs or other options: name another folder";
            return Err(Failure::new(self.folder.display(), why));
        }
        // The worker that wrote it may have been interrupted before it removed these files.
        self.remove()?;
        let shards = index.shards.len() as u64;
        let set = Some(SetDone { shards, kept: shards, ..self.opened.read() });
        let (items, bytes) =
            (index.shard_records(), index.shards.iter().map(|one| one.bytes).sum());
        let records = Some(self.opened.records());
        Ok(Some(Done { found: index.records, items, bytes, set, records, ..Done::default() }))
    }

    fn remove(&self) -> Result<(), Failure> {
        let work = self.folder.join(WORKERS);
        for _ in 0..TRIES {
            match fs::remove_dir_all(&work) {
                // A worker that is late writes to it. In the end it removes it.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).context(work.display());
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// What a worker leaves of one kind.
    fn path(&self, kind: &str, rank: u64, end: &str) -> PathBuf {
        self.folder.join(WORKERS).join(format!("{kind}-{rank:05}-of-{:05}{end}", self.ranks))
    }

    fn count_path(&self, rank: u64) -> PathBuf {
        self.path("count", rank, ".json")
    }

    fn bundle_path(&self, rank: u64) -> PathBuf {
        self.path("bundle", rank, "")
    }

    fn journal_path(&self, rank: u64) -> PathBuf {
        self.path("shards", rank, "")
    }

    /// What all workers have left. If some have not, they are named.
    fn all<T>(
        &self,
        stage: &str,
        read: impl Fn(u64) -> Result<Option<T>, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for rank in 0..self.ranks {
            match read(rank)? {
                Some(one) => found.push(one),
                None => missing.push(rank.to_string()),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let more = missing.len().saturating_sub(10);
        missing.truncate(10);
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let why = format!(
            "of {} workers these have not finished --stage {stage}: {}{others}",
            self.ranks,
            missing.join(", ")
        );
        Err(Failure::new(self.folder.display(), why))
    }

    fn share(&self) -> Vec<usize> {
        self.opened.set.share(self.rank, self.ranks)
    }

    fn failure(&self, error: FilesError) -> Failure {
        match error {
            FilesError::Temporary(error) => Failure::named(self.folder.display(), &error),
            error => explain(error, self.opened.inputs),
        }
    }

    /// What is done of a stage that writes no shards.
    fn done(&self, found: u64, bytes: u64) -> Done {
        let set = Some(self.opened.read());
        let records = Some(self.opened.records());
        Done { found, items: found, bytes, set, records, ..Done::default() }
    }

    /// The count of a worker, if it is there, and is of this run.
    fn counted(&self, rank: u64) -> Result<Option<Value>, Failure> {
        let path = self.count_path(rank);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.context(path.display())?,
        };
        let count: Value = serde_json::from_slice(&text).context(path.display())?;
        let own = self.asked.to_json();
        for (name, what) in [
            ("version", "by another version of bshuf"),
            ("seed", "with another seed"),
            ("epoch", "with another epoch"),
            ("inputs", "with other inputs, or inputs that have changed since"),
            ("options", "with other options"),
        ] {
            if count["asked"][name] != own[name] {
                let why = format!("was written {what}: give all workers and stages the same");
                return Err(Failure::new(path.display(), why));
            }
        }
        Ok(Some(count))
    }

    /// Refuses a folder in which a run has another number of workers: its shards have other names
    /// perhaps, and would stay.
    fn check_others(&self, work: &Path) -> Result<(), Failure> {
        let end = format!("-of-{:05}.json", self.ranks);
        for entry in fs::read_dir(work).context(work.display())? {
            let name = entry.context(work.display())?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("count-") && name.ends_with(".json") && !name.ends_with(&end) {
                let why = "was written by a run with another number of workers: go on with that, \
                           or name another folder";
                return Err(Failure::new(work.join(&*name).display(), why));
            }
        }
        Ok(())
    }

    fn count(&self) -> Result<Done, Failure> {
        let work = self.folder.join(WORKERS);
        fs::create_dir_all(self.folder).context(self.folder.display())?;
        let is_begun = || -> io::Result<bool> {
            let is_empty = folder::is_empty(self.folder)?;
            Ok(work.exists() || is_empty && Journal::of_folder(self.folder)?.is_none())
        };
        if !is_begun().context(self.folder.display())? {
            return Err(Failure::new(self.folder.display(), "is not empty: name a folder that is"));
        }
        fs::create_dir_all(&work).context(work.display())?;
        // Others may have finished since it was looked for.
        if let Some(done) = self.complete()? {
            return Ok(done);
        }
        self.check_others(&work)?;
        let share = self.share();
        let set = &self.opened.set;
        let known = self.counted(self.rank)?;
        let known = known.and_then(|count| CountedSet::from_json(&count["counted"], share.len()));
        let counted = match known {
            Some(counted) => counted,
            None => {
                let counted = set.count_share(&share, self.job.progress);
                let counted = counted.map_err(|error| self.failure(error))?;
                let count = json!({
                    "asked": self.asked.to_json(),
                    "memory": self.job.memory,
                    "counted": counted.to_json(),
                });
                let path = self.count_path(self.rank);
                folder::write(self.output(&path)?, &format!("{count}\n"), true)?;
                counted
            }
        };
        let done = self.done(counted.records(), counted.bytes());
        Ok(Done { ends_added: counted.ends_added, ..done })
    }

    fn plan(&self) -> Result<WorkerPlan, Failure> {
        let counts = self.all("count", |rank| self.counted(rank))?;
        let memory = counts.iter().filter_map(|count| count["memory"].as_u64()).min();
        let memory = memory.and_then(|bytes| usize::try_from(bytes).ok());
        let memory = memory.unwrap_or(self.job.memory);
        let shares: Vec<Value> = counts.into_iter().map(|count| count["counted"].clone()).collect();
        let counted = self.opened.set.join(&shares).map_err(|error| self.failure(error))?;
        // The index has a hash of this, and is the same as that of a run of one worker.
        let whole = self.opened.set.undivided(&counted);
        let (asked, plan) = (self.asked.clone(), self.opened.plan(&counted));
        let (order, shards, run) = planned(asked, plan, whole, self.arguments, self.job)?;
        let hash = run.hash();
        Ok(WorkerPlan { counted, order, shards, run, hash, memory })
    }

    /// The bundle of a worker, if it is there, and is of this run.
    fn bundle(&self, rank: u64, hash: &str) -> Result<Option<Bundle>, Failure> {
        let bundle = Bundle::open(&self.bundle_path(rank), hash);
        bundle.map_err(|error| self.failure(FilesError::Temporary(error)))
    }

    fn distribute(&self) -> Result<Done, Failure> {
        let plan = self.plan()?;
        if let Some(bundle) = self.bundle(self.rank, &plan.hash)? {
            return Ok(self.done(bundle.records(), 0));
        }
        let path = self.bundle_path(self.rank);
        let codec = self.job.temporary.codec;
        let (set, progress) = (&self.opened.set, self.job.progress);
        let summary = set.distribute(&self.share(), plan.known(), &path, codec, progress);
        let summary = summary.map_err(|error| self.failure(error))?;
        self.opened.inputs.check()?;
        let done = self.done(summary.items, summary.bytes);
        Ok(Done { summary: Some(summary), ..done })
    }

    fn collect(&self) -> Result<Done, Failure> {
        let plan = self.plan()?;
        let bundles = self.all("distribute", |rank| self.bundle(rank, &plan.hash))?;
        let (first, shards) = plan.division(self.ranks).swap_remove(self.rank as usize);
        let temporary = self.job.temporary;
        let journal = self.journal_path(self.rank);
        let mut folder = ShardFolder::of_worker(self.folder, journal, temporary.folder())?;
        let kept = folder.begin(&plan.run, &shards)?;
        let place = first + kept.iter().map(|shard| shard.records).sum::<u64>();
        let rest = shards.skip(kept.len());
        let mut written = Written::default();
        if !rest.list().is_empty() {
            let store = temporary.store_behind(0).context("temporary file")?;
            let compression = self.opened.compression;
            let target = ShardTarget { shards: &rest, compression, sink: &mut folder };
            let (set, progress) = (&self.opened.set, self.job.progress);
            let collected = set.collect(plan.known(), bundles, place, store, target, progress);
            written = collected.map_err(|error| self.failure(error))?;
        } else {
            // Some systems remove no file that is open.
            drop(bundles);
        }
        // The journal is closed before anyone looks at all of them.
        drop(folder);
        let done = self.opened.done(&plan.counted, &written, kept);
        self.finish(plan)?;
        Ok(done)
    }

    /// Writes the index if all shards are there, and removes what is not needed any more.
    fn finish(&self, plan: WorkerPlan) -> Result<(), Failure> {
        let mut all: Vec<WrittenShard> = Vec::new();
        for rank in 0..self.ranks {
            let path = self.journal_path(rank);
            let journal = Journal::read(&path).context(path.display())?;
            let journal = journal.filter(|journal| journal.run == plan.hash);
            all.extend(journal.into_iter().flat_map(|journal| journal.shards));
        }
        let shards = plan.shards.list();
        if all.len() != shards.len() || !all.iter().zip(shards).all(|(one, other)| one.is(other)) {
            return Ok(());
        }
        let form = Some(self.opened.form.clone());
        let index = index(plan.hash, form, plan.counted.records(), all, self.job);
        let path = self.folder.join(ShardIndex::FILE);
        folder::write(self.output(&path)?, &index.to_json(), true)?;
        self.remove()
    }

    /// A file that is there whole or not at all. What is left of it otherwise is removed with what
    /// else the workers leave.
    fn output(&self, path: &Path) -> Result<Output, Failure> {
        let unfinished = self.folder.join(UNFINISHED_OF_WORKERS);
        Output::open_by(path, Some(&unfinished), self.job.temporary.folder())
    }
}

impl WorkerPlan {
    fn known(&self) -> KnownToWorkers<'_> {
        let Self { counted, order, hash, memory, .. } = self;
        KnownToWorkers { counted, order, memory: *memory, run: hash }
    }

    /// The shards of each worker, which come one after the other, and the place of the first of
    /// their records.
    fn division(&self, ranks: u64) -> Vec<(u64, Shards)> {
        let shards = self.shards.list();
        // A shard goes where its middle is. One without records takes some time, too.
        let weight = |records: u64| 2 * (u128::from(records) + 1);
        let whole: u128 = shards.iter().map(|shard| weight(shard.records)).sum();
        let (mut number, mut before, mut place) = (0, 0, 0);
        let mut division = Vec::new();
        for rank in 0..ranks {
            let (first, first_place) = (number, place);
            while let Some(&Shard { records, .. }) = shards.get(number)
                && (before + weight(records) / 2) * u128::from(ranks) < whole * u128::from(rank + 1)
            {
                before += weight(records);
                place += records;
                number += 1;
            }
            division.push((first_place, self.shards.range(first..number)));
        }
        division
    }
}
