//! What several workers do of a shuffle.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use super::*;

/// The data set as a worker opens it, with more memory than some others.
fn open(run: &Run, files: &[Held], worker: u64) -> Dataset<'static> {
    let inputs = files.iter().map(|file| Box::new(file.clone()) as Box<dyn Input>).collect();
    Dataset::open(inputs, &run.form, run.memory << (worker % 3)).unwrap()
}

/// What the shares of all workers have, who open the data set in this way.
fn counts<'s>(open: impl Fn(u64) -> Dataset<'s>, workers: u64) -> Vec<Value> {
    let count = |worker| {
        let set = open(worker);
        let counted = set.count_share(&set.share(worker, workers), &()).unwrap();
        assert!(counted.kept.as_ref().is_none_or(|kept| kept.bytes == 0));
        counted.to_json()
    };
    (0..workers).map(count).collect()
}

/// The shards that workers write.
pub(super) fn run(run: &Run, files: &[Held], workers: u64, codec: BlockCodec) -> Vec<Held> {
    let folder = tempfile::tempdir().unwrap();
    let path = |worker: u64| folder.path().join(format!("bundle {worker}"));
    // Long inputs are divided.
    let open = |worker| open(run, files, worker).divided(workers).unwrap();
    let all = counts(open, workers);
    let counted = open(0).join(&all).unwrap();
    let order = (run.way)(counted.records());
    let known =
        || KnownToWorkers { counted: &counted, order: &order, memory: run.memory, run: "run" };
    for worker in 0..workers {
        let set = open(worker);
        let inputs = set.share(worker, workers);
        assert!(Bundle::open(&path(worker), "run").unwrap().is_none());
        let summary = set.distribute(&inputs, known(), &path(worker), codec, &()).unwrap();
        let bundle = Bundle::open(&path(worker), "run").unwrap().unwrap();
        assert_eq!(bundle.records(), summary.items);
    }
    let places = order.places();
    let shards = Shards::even("part", "", places.end - places.start, run.shards);
    let mut sink = Files::default();
    let (mut first, mut place) = (0, 0);
    for worker in 0..workers {
        let set = open(worker);
        let bundles = (0..workers).map(|other| Bundle::open(&path(other), "run").unwrap().unwrap());
        // The last worker may have most of them.
        let last = (run.shards * (worker + 1) * (worker + 1) / (workers * workers)) as usize;
        let own = shards.range(first..last);
        let store = TemporaryStore::in_folders(&[std::env::temp_dir()], codec, 0).unwrap();
        let (shards, compression) = (&own, run.compression);
        let target = ShardTarget { shards, compression, sink: &mut sink };
        let written = set.collect(known(), bundles.collect(), place, store, target, &()).unwrap();
        let plain: u64 = written.shards.iter().map(|shard| shard.plain_bytes).sum();
        let summary = written.summary.unwrap();
        assert_eq!((written.shards.len(), summary.items), (last - first, own.records()));
        assert!(summary.bytes <= plain);
        (first, place) = (last, place + own.records());
    }
    sink.0
}

fn lines(files: &[&str]) -> Vec<Held> {
    let file = |(number, text): (usize, &&str)| Held(format!("f{number}"), text.as_bytes().into());
    files.iter().enumerate().map(file).collect()
}

/// A run whose records are lines, or something else.
fn plain(form: RecordForm) -> Run<'static> {
    let compression = Codec::Plain.into();
    Run { form, memory: 1 << 20, way: &|len| FileOrder::shuffle(len, 1), shards: 1, compression }
}

#[test]
fn each_input_is_dealt_once() {
    for inputs in 0..12_usize {
        let files: Vec<_> =
            (0..inputs).map(|k| Held(format!("{k}"), vec![b'\n'; k * k % 7 * 100])).collect();
        let set = open(&plain(RecordForm::lines()), &files, 0);
        for workers in [1, 2, 3, 7, 20, u64::MAX] {
            let shares: Vec<_> =
                (0..workers.min(20)).map(|worker| set.share(worker, workers)).collect();
            let mut all = shares.concat();
            all.sort();
            assert_eq!(all, (0..inputs).collect::<Vec<_>>(), "{inputs} {workers}");
            let load = |share: &Vec<usize>| share.iter().map(|&k| files[k].bytes()).sum::<u64>();
            let loads = shares.iter().map(load);
            // No two loads are further apart than the largest input.
            if workers <= 7 {
                let least = loads.clone().min().unwrap();
                assert!(loads.max().unwrap() <= least + 602, "{inputs} {workers}");
            }
        }
    }
}

#[test]
fn long_inputs_are_divided() {
    let text = (0..300).map(|k| format!("{k}\r\n")).collect::<String>();
    let (text, short) = (text.as_str(), "a\nb\n");
    let divided = |form: RecordForm, files: &[&str], workers| {
        let set = open(&plain(form), &lines(files), 0).divided(workers).unwrap();
        let counted = set.join(&counts(
            |worker| {
                open(&plain(set.form.clone()), &lines(files), worker).divided(workers).unwrap()
            },
            workers,
        ));
        (set.pieces.len(), set.undivided(&counted.unwrap()))
    };
    let whole = |form: RecordForm, files: &[&str]| {
        open(&plain(form), &lines(files), 0).count(&()).unwrap().to_json()
    };
    for (form, files, workers, pieces) in [
        (RecordForm::lines(), &[text, short][..], 1, 5),
        (RecordForm::lines(), &[text, short], 2, 9),
        (RecordForm { headers: 1, ..RecordForm::lines() }, &[text, text], 3, 14),
        // As much as makes a piece, at least.
        (RecordForm::lines(), &[text, short], 1000, 23),
        // How the last line ends depends on all others, and where a row begins on all before it.
        (RecordForm::lines(), &[&text[..text.len() - 2], short], 2, 2),
        (RecordForm::csv(b','), &[text, short], 2, 2),
    ] {
        let (found, counted) = divided(form.clone(), files, workers);
        assert_eq!((found, counted), (pieces, whole(form, files)), "{workers}");
    }
}

#[test]
fn samples_of_all_workers_have_the_same_parts() {
    let tar = |parts: &[&str], bytes: usize| {
        let entries: Vec<_> =
            parts.iter().map(|part| tar_entry(&format!("1.{part}"), &vec![0; bytes])).collect();
        [entries.concat(), vec![0; 1024]].concat()
    };
    let files = [
        Held("zeros".to_owned(), vec![0; 1024]),
        Held("a".to_owned(), tar(&["jpg", "json"], 3000)),
        Held("b".to_owned(), tar(&["jpg"], 1)),
    ];
    let run = plain(RecordForm::new(Records::Samples { are_uneven: false }));
    let all = counts(|worker| open(&run, &files, worker), 3);
    let error = open(&run, &files, 0).join(&all).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b: has samples with the parts jpg, and those of a have jpg, json: give --uneven if that \
         is as it should be"
    );
    let run = plain(RecordForm::new(Records::Samples { are_uneven: true }));
    let all = counts(|worker| open(&run, &files, worker), 3);
    assert_eq!(open(&run, &files, 0).join(&all).unwrap().records(), 2);
}

#[test]
fn bundles_that_are_not_whole_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("bundle"), folder.path().join("other"));
    let many = "line\n".repeat(100_000);
    let (run, files) = (plain(RecordForm::lines()), lines(&["a\nb\n", &many]));
    let set = open(&run, &files, 0);
    let counted = set.join(&counts(|_| open(&run, &files, 0), 1)).unwrap();
    let order = FileOrder::shuffle(100_002, 1);
    let known = |memory| KnownToWorkers { counted: &counted, order: &order, memory, run: "run" };
    // What an interrupted worker has left goes, and what another has does not.
    fs::write(folder.path().join(".bundle-x"), b"").unwrap();
    fs::write(folder.path().join(".bundle1-x"), b"").unwrap();
    set.distribute(&[0, 1], known(run.memory), &path, BlockCodec::Plain, &()).unwrap();
    assert!(!folder.path().join(".bundle-x").exists());
    assert!(folder.path().join(".bundle1-x").exists());
    set.distribute(&[0], known(run.memory), &other, BlockCodec::Plain, &()).unwrap();

    let collect = |path: &Path, memory| {
        let bundles = vec![Bundle::open(path, "run").unwrap().unwrap()];
        let store =
            TemporaryStore::in_folders(&[std::env::temp_dir()], BlockCodec::Plain, 0).unwrap();
        let (shards, mut sink) = (Shards::single("all", 100_002), Files::default());
        let (shards, compression) = (&shards, Codec::Plain.into());
        let target = ShardTarget { shards, compression, sink: &mut sink };
        set.collect(known(memory), bundles, 0, store, target, &()).map(|_| sink.0)
    };
    assert_eq!(collect(&path, run.memory).unwrap()[0].1.len(), 500_004);
    assert!(matches!(collect(&other, run.memory), Err(FilesError::Changed)));
    let Err(FilesError::Temporary(error)) = collect(&path, 1 << 26) else { panic!("other memory") };
    let why = "has other buckets: its worker was told that others have more or less memory";
    assert_eq!(error.to_string(), format!("{}: {why}", path.display()));

    let said = |path: &Path| Bundle::open(path, "run").unwrap_err().to_string();
    let error = Bundle::open(&path, "another").unwrap_err().to_string();
    let why = "is of another run: remove it, and distribute its records again";
    assert_eq!(error, format!("{}: {why}", path.display()));
    let whole = fs::read(&path).unwrap();
    for length in (0..20).chain(whole.len() - 500..whole.len()) {
        fs::write(&other, &whole[..length]).unwrap();
        assert!(said(&other).starts_with(&format!("{}: ", other.display())), "{length}");
    }
    // One that has other records than it says.
    let first = u64::from_le_bytes(whole[whole.len() - 8..].try_into().unwrap()) as usize;
    let end = first + whole[first..].iter().position(|&byte| byte == b'\n').unwrap();
    let mut head: Value = serde_json::from_slice(&whole[first..end]).unwrap();
    for (bucket, more) in [(0, 1), (1, -1)] {
        head["items"][bucket] = (head["items"][bucket].as_i64().unwrap() + more).into();
    }
    let head = head.to_string();
    fs::write(&other, [&whole[..first], head.as_bytes(), &whole[end..]].concat()).unwrap();
    assert!(matches!(collect(&other, run.memory), Err(FilesError::Temporary(_))));
    // Inputs that have changed since they were counted.
    let more = open(&run, &lines(&["a\nb\nc\n", &many]), 0);
    File::create(&other).unwrap();
    let changed = more.distribute(&[0, 1], known(run.memory), &other, BlockCodec::Plain, &());
    assert!(matches!(changed, Err(FilesError::Changed)));
    assert_eq!(fs::read(&other).unwrap(), b"");
    let wrong = more.join(&[json!({"counts": [[1, 2]], "ends_added": 0, "left_out": 0})]);
    assert!(matches!(wrong, Err(FilesError::Changed)));
}
