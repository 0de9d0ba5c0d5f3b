//! [`FolderRun`]: a run that writes a folder of shards.

use std::fmt;
use std::path::Path;

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{RecordForm, ShardIndex, Shards, WrittenShard};
use bijective_shuffle_cli::files::FileOrder;
use serde_json::Value;

use super::folder::ShardFolder;
use super::journal::{AskedRun, JournaledRun};
use super::plan::ShardPlan;
use crate::arguments::Arguments;
use crate::failure::{Failure, FailureContext};
use crate::job::InputJob;
use crate::selection::Selection;

/// A run that writes a folder of shards.
pub(crate) struct FolderRun<'a> {
    pub(crate) folder: ShardFolder,
    arguments: &'a Arguments,
    /// What the records are, if their files do not say it.
    form: Option<RecordForm>,
    hash: String,
}

impl<'a> FolderRun<'a> {
    /// A run that begins, or is resumed. If no seed is given, it is that of the run before.
    pub(crate) fn open(
        path: &Path,
        arguments: &'a Arguments,
        job: &mut InputJob,
        form: Option<RecordForm>,
    ) -> Result<Self, Failure> {
        let folder = ShardFolder::open(path, arguments.sets.resume, job.temporary.folder())?;
        if let Some(seed) = folder.seed().context(path.display())? {
            job.selection.seed = seed_of(seed, arguments, path.display())?;
        }
        Ok(Self { folder, arguments, form, hash: String::new() })
    }

    /// Plans the shards, and looks which of them are there. Returns the order of the others'
    /// records, these shards, and those that are kept. The stamp is of the inputs, and so is what
    /// was counted.
    pub(crate) fn begin(
        &mut self,
        asked: (AskedRun, &str),
        found: (ShardPlan, Value),
        job: &InputJob,
    ) -> Result<(FileOrder, Shards, Vec<WrittenShard>), Failure> {
        let (order, shards, run) = planned(asked, found, self.arguments, job)?;
        self.hash = run.hash();
        let kept = self.folder.begin(&run, &shards)?;
        let places: u64 = kept.iter().map(|shard| shard.records).sum();
        let order = order.range(places..shards.records()).context("cannot shuffle")?;
        Ok((order, shards.skip(kept.len()), kept))
    }

    /// Writes the index, and returns the numbers of all records and bytes.
    pub(crate) fn finish(
        self,
        found: u64,
        kept: Vec<WrittenShard>,
        written: Vec<WrittenShard>,
        job: &InputJob,
    ) -> Result<(u64, u64), Failure> {
        let shards: Vec<_> = kept.into_iter().chain(written).collect();
        let sum = |number: fn(&WrittenShard) -> u64| shards.iter().map(number).sum();
        let sums = (sum(|shard| shard.records), sum(|shard| shard.bytes));
        self.folder.finish(&index((self.hash, self.form), (found, shards), job))?;
        Ok(sums)
    }
}

/// What is asked for, of inputs with a stamp, and shards whose names have this end. The options are
/// those of the format.
pub(crate) fn asked(
    (stamp, options): (String, String),
    extension: &str,
    arguments: &Arguments,
    job: &InputJob,
) -> AskedRun {
    let Selection { seed, is_undone, shard, range, head, .. } = job.selection;
    let rest = (extension, arguments.sets.division(), is_undone, shard, range, head);
    AskedRun { seed, stamp, options: format!("{options} {rest:?}") }
}

/// What follows once the records are counted: their order, the shards, and the run.
pub(super) fn planned(
    (asked, extension): (AskedRun, &str),
    (plan, counted): (ShardPlan, Value),
    arguments: &Arguments,
    job: &InputJob,
) -> Result<(FileOrder, Shards, JournaledRun), Failure> {
    let order = job.order(plan.found)?;
    let plan = ShardPlan { items: job.items(&order), ..plan };
    let shards = plan.shards(&arguments.sets, extension)?;
    let run = JournaledRun { asked, counted, shards: format!("{:?}", (&shards, order.places())) };
    Ok((order, shards, run))
}

/// The index of a run that found so many records.
pub(super) fn index(
    (run, form): (String, Option<RecordForm>),
    (records, shards): (u64, Vec<WrittenShard>),
    job: &InputJob,
) -> ShardIndex {
    let seed = job.selection.seed;
    ShardIndex {
        run,
        seed: seed.with_epoch(0).to_string(),
        epoch: seed.epoch(),
        form,
        records,
        is_undone: job.selection.is_undone,
        shards,
    }
}

/// The seed with which a folder was shuffled. If one is given, or an epoch, it has to be the same.
pub(super) fn seed_of(
    seed: Seed,
    arguments: &Arguments,
    folder: impl fmt::Display,
) -> Result<Seed, Failure> {
    let epoch = arguments.epoch.unwrap_or(seed.epoch());
    if arguments.seed().unwrap_or(seed.with_epoch(epoch)) == seed {
        return Ok(seed);
    }
    let why = format!("was shuffled with the seed {seed}, and another seed or epoch is given");
    Err(Failure::new(folder, why))
}
