//! [`FolderRun`]: a run that writes a folder of shards.

use std::fmt;
use std::path::Path;

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{RecordForm, ShardIndex, Shards, WrittenShard};
use bijective_shuffle_cli::files::FileOrder;
use serde_json::{Value, json};

use super::folder::ShardFolder;
use super::journal::{AskedRun, JournaledRun};
use super::plan::ShardPlan;
use crate::arguments::Arguments;
use crate::failure::{Failure, FailureContext};
use crate::job::InputJob;
use crate::memory::MemorySize;
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
    /// records, these shards, and those that are kept.
    pub(crate) fn begin(
        &mut self,
        asked: AskedRun,
        plan: ShardPlan,
        counted: Value,
        job: &InputJob,
    ) -> Result<(FileOrder, Shards, Vec<WrittenShard>), Failure> {
        let (order, shards, run) = planned(asked, plan, counted, self.arguments, job)?;
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
        self.folder.finish(&index(self.hash, self.form, found, shards, job))?;
        Ok(sums)
    }
}

/// What is asked for, of inputs with a stamp, and shards whose names have this end. `format` has
/// the options of the format.
///
/// A run is known again by the text of the options. It has names of its own, and not those of
/// types, which may change.
pub(crate) fn asked(
    stamp: String,
    format: Value,
    extension: &str,
    arguments: &Arguments,
    job: &InputJob,
) -> AskedRun {
    let sets = &arguments.sets;
    let Selection { seed, is_undone, shard, range, head, .. } = job.selection;
    let options = json!({
        "format": format,
        "extension": extension,
        "shards": sets.shards,
        "shard_bytes": sets.shard_bytes.map(MemorySize::bytes),
        "shard_records": sets.shard_records,
        "split": sets.split,
        "undone": is_undone,
        "shard": shard,
        "range": range,
        "head": head,
    });
    AskedRun { seed, stamp, extension: extension.to_owned(), options: options.to_string() }
}

/// What follows once the records are counted: their order, the shards, and the run.
pub(super) fn planned(
    asked: AskedRun,
    plan: ShardPlan,
    counted: Value,
    arguments: &Arguments,
    job: &InputJob,
) -> Result<(FileOrder, Shards, JournaledRun), Failure> {
    let order = job.order(plan.found)?;
    let plan = ShardPlan { items: job.items(&order), ..plan };
    let shards = plan.shards(&arguments.sets, &asked.extension)?;
    let text = serde_json::to_string(&(shards.list(), order.places())).context("shards")?;
    let run = JournaledRun { asked, counted, shards: text };
    Ok((order, shards, run))
}

/// The index of a run that found this number of records.
pub(super) fn index(
    run: String,
    form: Option<RecordForm>,
    records: u64,
    shards: Vec<WrittenShard>,
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::progress::Progress;
    use crate::sets::opened::options;

    /// These texts and hashes tell runs apart. After a change of them, every journal and bundle of
    /// an interrupted run is refused.
    #[test]
    fn a_run_is_known_by_the_same_text_for_ever() {
        let line = "bshuf --seed 7 --epoch 3 --shard 1/2 --range 5..90 --head 90% --head 60 \
                    --split a=0.5,b=20,c=rest --shard-bytes 1M";
        let arguments = Arguments::parse_from(line.split_whitespace());
        let (temporary, progress) = (arguments.temporary(), Progress::new(None));
        let job = InputJob {
            selection: arguments.selection(),
            is_repeated: false,
            memory: 1 << 20,
            temporary: &temporary,
            progress: &progress,
            expected: None,
            form: None,
        };
        let form = RecordForm { headers: 1, ..RecordForm::csv(b';') };
        let format = options(&form, "zst:19".parse().unwrap());
        let asked = asked("stamp".to_owned(), format, "csv.zst", &arguments, &job);
        assert_eq!(
            asked.options,
            "{\"extension\":\"csv.zst\",\"format\":{\"compression\":\"zstd:19\",\"form\":\
             {\"header_lines\":1,\"header_prefixes\":[],\"of\":{\"delimiter\":59,\
             \"loose_quotes\":false,\"uneven\":false},\"records\":\"csv\",\"text\":false}},\
             \"head\":{\"count\":60,\"share\":{\"units\":900000000000000000}},\
             \"range\":{\"end\":90,\"start\":5},\"shard\":{\"rank\":1,\"ranks\":2},\
             \"shard_bytes\":1048576,\"shard_records\":null,\"shards\":null,\
             \"split\":[[\"a\",{\"share\":{\"units\":500000000000000000}}],\
             [\"b\",{\"count\":20}],[\"c\",\"rest\"]],\"undone\":false}"
        );
        assert_eq!(
            asked.to_json(),
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "seed": "7",
                "epoch": 3,
                "inputs": "e0afcdbf6ad4adf566c572d7f7c34d4dfb85e5122bba750d6a3a5842f915d39b",
                "options": "312312c12dc177ff14c5fb3e5277351b86111c9da6f29982a2e0e1e414be3627",
            })
        );
        let plan = ShardPlan { items: 0, found: 500, bytes: 40_000_000, inputs: 1 };
        let counted = json!({"counts": [[500, 40_000_000]]});
        let (_, _, run) = planned(asked, plan, counted, &arguments, &job).unwrap();
        let first = r#"[[{"name":"a/part-00000-of-00003.csv.zst","records":10},{"name":"#;
        assert!(run.shards.starts_with(first), "{}", run.shards);
        assert!(run.shards.ends_with(r#","records":10}],{"start":255,"end":315}]"#));
        // The other half depends on the version.
        let hash = run.hash();
        let (_, found) = hash.split_once('-').unwrap();
        assert_eq!(found, "920f0302e11fe8cfd50ae21edf796eb247ae4e7b91c5d36065602631d3978b31");
    }
}
