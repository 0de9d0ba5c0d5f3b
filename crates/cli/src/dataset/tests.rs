//! Data sets against a model: records of all kinds, compressed in all ways, in any memory, to any
//! number of shards, and back.

mod workers;

use std::io::{self, Cursor, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::files::{FileOrder, FilesError, NamedError, Summary};
use crate::formats::{Codec, Compression, MARK, masked_crc};

/// A file in memory.
#[derive(Clone, PartialEq)]
struct Held(String, Vec<u8>);

impl Input for Held {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn bytes(&self) -> u64 {
        self.1.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(Cursor::new(&self.1)))
    }

    fn open_at(&self, bytes: u64) -> io::Result<Option<Box<dyn Read + Send + '_>>> {
        Ok(Some(Box::new(&self.1[bytes as usize..])))
    }
}

/// Shards in memory.
#[derive(Default)]
struct Files(Vec<Held>);

impl ShardSink for Files {
    type File = Vec<u8>;

    fn create(&mut self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn commit(&mut self, file: Vec<u8>, shard: &WrittenShard) -> io::Result<()> {
        assert_eq!(file.len() as u64, shard.bytes);
        self.0.push(Held(shard.name.display().to_string(), file));
        Ok(())
    }
}

/// The order of so many records.
type Way<'w> = &'w dyn Fn(u64) -> FileOrder;

/// What is to be done with a data set.
struct Run<'w> {
    form: RecordForm,
    memory: usize,
    way: Way<'w>,
    shards: u64,
    compression: Compression,
}

impl Run<'_> {
    fn run(&self, files: &[Held]) -> Result<(Vec<Held>, CountedSet), FilesError> {
        let (found, counted, _) = self.written(files)?;
        Ok((found, counted))
    }

    fn written(&self, files: &[Held]) -> Result<(Vec<Held>, CountedSet, Summary), FilesError> {
        let inputs = files.iter().map(|file| Box::new(file.clone()) as Box<dyn Input>).collect();
        let set = Dataset::open(inputs, &self.form, self.memory)?;
        let counted = set.count(&())?;
        let order = (self.way)(counted.records());
        let places = order.places();
        let shards = Shards::even("part", "", places.end - places.start, self.shards);
        // In some of them what was read is given back.
        let in_memory = PathBuf::from("/dev/shm");
        let is_elsewhere = self.memory.is_multiple_of(3) && in_memory.is_dir();
        let folders = [if is_elsewhere { in_memory } else { std::env::temp_dir() }];
        let codec = if self.memory % 2 == 1 { BlockCodec::Zstd } else { BlockCodec::Plain };
        let mut store = TemporaryStore::in_folders(&folders, codec, set.held()).unwrap();
        let mut sink = Files::default();
        let (shards, compression) = (&shards, self.compression);
        let target = ShardTarget { shards, compression, sink: &mut sink };
        let written = set.shuffle(&counted, &order, &mut store, target, &())?;
        assert_eq!(written.shards.len() as u64, self.shards);
        let summary = written.summary.unwrap();
        assert_eq!(summary.items, shards.records());
        Ok((sink.0, counted, summary))
    }
}

fn decoded(file: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    Codec::of_start(file).decoder(file, 1).unwrap().read_to_end(&mut text).unwrap();
    text
}

/// Bytes of an alphabet.
fn word(rng: &mut StdRng, alphabet: &[u8], most: usize) -> Vec<u8> {
    (0..rng.random_range(0..=most)).map(|_| *alphabet.choose(rng).unwrap()).collect()
}

/// A line without its end.
fn line(rng: &mut StdRng, most: usize) -> Vec<u8> {
    word(rng, b"abcdefgh,\"\r ", most)
}

/// A file of a tar archive.
fn tar_entry(path: &str, contents: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(contents.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append_data(&mut header, path, contents).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    bytes
}

/// A record of a TFRecord file.
fn tfrecord(bytes: &[u8]) -> Vec<u8> {
    let (length, checksum) = ((bytes.len() as u64).to_le_bytes(), masked_crc(bytes));
    let own = masked_crc(&length).to_le_bytes();
    [&length[..], &own, bytes, &checksum.to_le_bytes()].concat()
}

fn record(rng: &mut StdRng, records: &Records, number: usize) -> Vec<u8> {
    let most = if rng.random_bool(0.02) { 4000 } else { 40 };
    match records {
        Records::Lines(0) => [word(rng, b"ab\n\r", most), b"\0".to_vec()].concat(),
        Records::Lines(delimiter) => [line(rng, most), vec![*delimiter]].concat(),
        Records::Groups(delimiter, lines) => {
            (0..lines.get()).flat_map(|_| [line(rng, most), vec![*delimiter]].concat()).collect()
        }
        Records::Fastq => {
            let bases = word(rng, b"ACGTN", most);
            let qualities: Vec<u8> = bases.iter().map(|_| rng.random_range(b'!'..=b'~')).collect();
            let end: &[u8] = if rng.random() { b"\r\n" } else { b"\n" };
            let name = format!("@{number}").into_bytes();
            [&name[..], end, &bases, end, b"+", end, &qualities, end].concat()
        }
        Records::Csv(Csv { delimiter, is_uneven, has_loose_quotes }) => {
            let field = |rng: &mut StdRng| {
                if rng.random() {
                    let text = word(rng, b"ab,\n\r", most).escape_ascii().to_string();
                    let inner = word(rng, b"ab,\n\r;", most);
                    let quotes = ["\"\"", ""].choose(rng).unwrap();
                    let all = [b"\"", text.as_bytes(), quotes.as_bytes(), &inner, b"\""];
                    all.concat()
                } else {
                    let inner: &[u8] = if *has_loose_quotes { b"\"abc " } else { b"abc " };
                    [&b"5"[..], &word(rng, inner, most)].concat()
                }
            };
            let count = if *is_uneven { rng.random_range(1..4) } else { 2 };
            let fields: Vec<_> = (0..count).map(|_| field(rng)).collect();
            let end: &[u8] = if rng.random() { b"\r\n" } else { b"\n" };
            [fields.join(delimiter), end.to_vec()].concat()
        }
        Records::Started(start) => {
            let end: &[u8] = if rng.random() { b"\r\n" } else { b"\n" };
            let lines = (0..rng.random_range(0..4)).map(|_| word(rng, b"ACGTN> ", most));
            let name = [&start[..], format!("{number} >").as_bytes()].concat();
            let line = |line: Vec<u8>| [b"A", &line[..], end].concat();
            [[&name[..], end].concat()].into_iter().chain(lines.map(line)).flatten().collect()
        }
        Records::TfRecord => {
            let bytes: Vec<u8> = (0..rng.random_range(0..=most)).map(|_| rng.random()).collect();
            tfrecord(&bytes)
        }
        Records::Separated(separator) => {
            // The separator does not come of what is before it.
            [word(rng, b"abc", most), separator.clone()].concat()
        }
        Records::Samples { .. } => {
            let folder =
                if rng.random() { "a/b.c/".repeat(rng.random_range(0..30)) } else { String::new() };
            let parts = ["jpg", "json", "seg.png"];
            let entry = |part: &&str| {
                let contents = vec![number as u8; number * 31 % 1500];
                tar_entry(&format!("{folder}{number:06}.{part}"), &contents)
            };
            parts.iter().flat_map(entry).collect()
        }
    }
}

fn any_records(rng: &mut StdRng) -> Records {
    match rng.random_range(0..10) {
        0 => Records::Lines(0),
        1 => Records::Groups(b'\n', NonZeroU32::new(rng.random_range(1..5)).unwrap()),
        2 => Records::Fastq,
        3 => Records::Csv(Csv {
            delimiter: *b",;".choose(rng).unwrap(),
            is_uneven: rng.random(),
            has_loose_quotes: rng.random(),
        }),
        4 => Records::Separated([&b"\n--\n"[..], b"x", b"ddd"].choose(rng).unwrap().to_vec()),
        5 => Records::Samples { are_uneven: rng.random() },
        6 => Records::Started([&b">"[..], b"From "].choose(rng).unwrap().to_vec()),
        7 => Records::TfRecord,
        _ => Records::Lines(b'\n'),
    }
}

/// A file of a header, records and what stands behind them, compressed in any number of frames.
fn file(rng: &mut StdRng, name: String, text: &[u8]) -> Held {
    let codec = *Codec::ALL.choose(rng).unwrap();
    let compression = Compression::from(codec);
    let (mut bytes, mut rest) = (Vec::new(), text);
    loop {
        let length = if rng.random() { rest.len() } else { rng.random_range(0..=rest.len()) };
        let (frame, others) = rest.split_at(length);
        bytes.extend(compression.compressed(frame).unwrap());
        rest = others;
        if rest.is_empty() {
            return Held(name, bytes);
        }
    }
}

/// Shuffles a random data set, and puts it back.
fn check(case: u64) {
    let mut rng = StdRng::seed_from_u64(case);
    let records = any_records(&mut rng);
    let is_text = !matches!(records, Records::Samples { .. } | Records::TfRecord);
    let mut lines = |most: u64| if is_text { rng.random_range(0..most) } else { 0 };
    let (headers, prefixed, marks) = (lines(5).saturating_sub(2), lines(3), lines(4) / 3);
    let header_prefixes = vec![b"##".to_vec(), b"#".to_vec()];
    let form = RecordForm { headers, header_prefixes, ..RecordForm::new(records.clone()) };
    let end: &[u8] = if records == Records::Lines(0) { b"\0" } else { b"\n" };
    let head = match &records {
        Records::Csv(csv) => vec![b'h', csv.delimiter, b'x'],
        _ => b"head".to_vec(),
    };
    let times = |line: &[u8], count: u64| [line, end].concat().repeat(count as usize);
    let header = [MARK.repeat(marks as usize), times(b"#,", prefixed), times(&head, headers)];
    let header = header.concat();
    let trailer = records.trailer();
    let (mut all, mut files, mut ends_added, mut empty) = (Vec::new(), Vec::new(), 0, 0);
    let most = *[3, 30, 30, 300, 300, 3000].choose(&mut rng).unwrap();
    for number in 0..rng.random_range(1..6) {
        let count = rng.random_range(0..=most);
        let own: Vec<_> =
            (0..count).map(|k| record(&mut rng, &records, number * 10_000 + k)).collect();
        let mut text = [&header[..], &own.concat(), trailer].concat();
        if own.is_empty() && rng.random() {
            text.clear();
        }
        empty += u64::from(text.is_empty());
        let end = own.last().filter(|_| is_text && rng.random());
        if let Some(end) = end {
            // The last record lacks its end; it gets that of the others.
            let lacking = match &records {
                Records::Separated(separator) => separator.len(),
                _ if end.ends_with(b"\r\n") => 0,
                _ if end.len() > 1 && end[end.len() - 2] != b'\n' => 1,
                _ => 0,
            };
            // Unless all other lines end as on Windows, which it does not.
            let plain = |lines: &mut dyn Iterator<Item = &[u8]>| {
                let mut lines = lines.peekable();
                lines.peek().is_none() || lines.any(|line| !line.ends_with(b"\r\n"))
            };
            let is_read_back = match &records {
                // What is left may be nothing.
                Records::Separated(separator) => end.len() > separator.len(),
                Records::Lines(0) => true,
                Records::Csv(_) if headers + prefixed > 0 => true,
                Records::Csv(_) => plain(&mut own[..own.len() - 1].iter().map(Vec::as_slice)),
                _ => {
                    let lines = text.split_inclusive(|&byte| byte == b'\n').collect::<Vec<_>>();
                    plain(&mut lines[..lines.len() - 1].iter().copied())
                }
            };
            if lacking > 0 && is_read_back {
                text.truncate(text.len() - lacking);
                ends_added += 1;
            }
        }
        files.push(file(&mut rng, format!("input {number}"), &text));
        all.extend(own);
    }
    let memory = *[1 << 20, (1 << 20) + 1, 1 << 23, 1 << 26].choose(&mut rng).unwrap();
    let seed: u64 = rng.random();
    let codec = *Codec::ALL.choose(&mut rng).unwrap();
    let (part, shards) = (rng.random_bool(0.3), rng.random_range(1..7));
    let (from, to) = (rng.random_range(0.0..0.5), rng.random_range(0.5..1.0));
    let way = |len: u64| {
        let at = |share: f64| if part { (len as f64 * share) as u64 } else { 0 };
        let end = if part { at(to) } else { len };
        FileOrder::shuffle(len, seed).range(at(from)..end).unwrap()
    };
    let run = Run { form: form.clone(), memory, way: &way, shards, compression: codec.into() };
    let (found, counted) = run.run(&files).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(counted.records(), all.len() as u64, "{case}");
    assert_eq!((counted.ends_added, counted.empty), (ends_added, empty), "{case} {records}");
    let header = if empty == files.len() as u64 { Vec::new() } else { header };
    let order = way(all.len() as u64).indexes::<u64>().unwrap();
    let expected: Vec<u8> = order.iter().flat_map(|&k| all[k as usize].clone()).collect();
    let body = |file: &Held| {
        let text = decoded(&file.1);
        let body = text.strip_prefix(&header[..]).unwrap().strip_suffix(trailer).unwrap();
        body.to_vec()
    };
    assert!(found.iter().flat_map(body).eq(expected), "{case} {records}");
    // Each worker's bundle is written through to the disk, which takes a while.
    if case.is_multiple_of(3) {
        let codec = if case % 7 < 3 { BlockCodec::Zstd } else { BlockCodec::Plain };
        let by_workers = workers::run(&run, &files, case / 3 % 4 + 1, codec);
        assert!(by_workers == found, "{case} {records}");
    }
    if !part {
        let back = |len| FileOrder::unshuffle(len, seed);
        let run = Run { form, memory, way: &back, shards: 1, compression: Codec::Plain.into() };
        let (back, _) = run.run(&found).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(body(&back[0]) == all.concat(), "{case} {records}");
    }
}

/// `BIJECTIVE_SHUFFLE_LONG=1 cargo test -p bijective-shuffle-cli --lib random_sets` takes minutes.
#[test]
fn random_sets_are_shuffled_and_put_back() {
    let long = std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some();
    (0..if long { 10_000 } else { 60 }).for_each(check);
}

/// Records that fit memory do not wait in a store, and come out as they do otherwise.
#[test]
fn memory_makes_no_difference_to_data_sets() {
    for case in 0..8 {
        let mut rng = StdRng::seed_from_u64(case);
        let records = any_records(&mut rng);
        let file = |number: usize| {
            let own = (0..3000).map(|k| record(&mut rng, &records, number * 10_000 + k));
            let text = [&own.collect::<Vec<_>>().concat()[..], records.trailer()].concat();
            file(&mut rng, format!("input {number}"), &text)
        };
        let files: Vec<_> = (0..3).map(file).collect();
        let shuffled = |len| FileOrder::shuffle(len, case);
        let part = |len| FileOrder::unshuffle(len, case).range(len / 3..len / 2).unwrap();
        let way: Way = if case % 2 == 0 { &shuffled } else { &part };
        let run = |memory| {
            let (form, compression) = (RecordForm::new(records.clone()), Codec::Lz4.into());
            Run { form, memory, way, shards: 5, compression }.written(&files).unwrap()
        };
        let (passes, _, by_passes) = run(1 << 19);
        assert!(by_passes.buckets > 0 && by_passes.temporary_bytes > 0, "{records}");
        let (memory, _, in_memory) = run(1 << 28);
        assert_eq!((in_memory.buckets, in_memory.temporary_bytes), (0, 0), "{records}");
        assert_eq!((in_memory.items, in_memory.bytes), (by_passes.items, by_passes.bytes));
        assert!(memory == passes, "{case} {records}");
    }
}

/// A few records are many times as long as the others.
#[test]
fn long_records_in_memory_are_written_in_small_rounds() {
    let lines: Vec<Vec<u8>> = (0..60_u8)
        .map(|k| [vec![k % 10 + b'a'; if k % 7 == 0 { 200_000 } else { 3 }], vec![b'\n']].concat())
        .collect();
    let way = |len| FileOrder::shuffle(len, 5);
    let compression = Codec::Plain.into();
    let run = Run { form: RecordForm::lines(), memory: 1 << 22, way: &way, shards: 3, compression };
    let (found, _, summary) = run.written(&[Held("f".to_owned(), lines.concat())]).unwrap();
    let order = way(60).indexes::<u64>().unwrap();
    let expected: Vec<u8> = order.into_iter().flat_map(|k| lines[k as usize].clone()).collect();
    assert!(found.into_iter().flat_map(|file| file.1).eq(expected));
    assert_eq!(summary.buckets, 0);
}

/// What is said of a file that cannot be shuffled.
#[track_caller]
fn complaint(form: RecordForm, texts: &[&[u8]]) -> String {
    let files: Vec<Held> =
        texts.iter().enumerate().map(|(k, text)| Held(format!("f{k}"), text.to_vec())).collect();
    let way = |len| FileOrder::shuffle(len, 1);
    let memory = 1 << 20;
    let run = Run { form, memory, way: &way, shards: 1, compression: Codec::Plain.into() };
    match run.run(&files) {
        Err(FilesError::Read(error)) => NamedError::of(&error).unwrap().to_string(),
        other => panic!("{:?}", other.map(|(files, _)| files.len())),
    }
}

#[test]
fn wrong_headers_and_lines_are_named() {
    let lines = || RecordForm { headers: 1, ..RecordForm::lines() };
    assert_eq!(complaint(lines(), &[b"a\n", b"b\n"]), "f1: has another header than f0");
    assert_eq!(complaint(lines(), &[b"a\n", b"a\r\nx\n"]), "f1: has another header than f0");
    assert_eq!(
        complaint(RecordForm { headers: 2, ..lines() }, &[b"", b"a\n"]),
        "f1: has 1 lines and no header of 2"
    );
    let marked = [MARK, b"a\n"].concat();
    let of_marks = |texts: &[&[u8]]| complaint(RecordForm::lines(), texts);
    assert_eq!(
        of_marks(&[b"", &marked, b"a\n"]),
        "f2: begins without the byte order mark that f1 has"
    );
    assert_eq!(of_marks(&[b"a\n", &marked]), "f1: begins with a byte order mark, and f0 does not");
    let long = [b"#", &vec![b'x'; (16 << 20) - 2][..], b"\n#\n"].concat();
    assert_eq!(
        complaint(
            RecordForm { header_prefixes: vec![b"#".to_vec()], ..RecordForm::lines() },
            &[&long]
        ),
        "f0: header line 2 has more than 0 bytes, with which the header is too long"
    );
    let four = || RecordForm::new(Records::Groups(b'\n', NonZeroU32::new(4).unwrap()));
    assert_eq!(
        complaint(four(), &[b"1\n2\n3\n4\n5\n6\n7"]),
        "f0: record 2 has 3 of its 4 lines: the input ends there"
    );
    let reads = |text: &[u8]| complaint(RecordForm::new(Records::Fastq), &[text]);
    assert_eq!(
        reads(b"@1\nAC\n+\n!!\n@2\nACG\n+\n!!\n"),
        "f0: record 2 is not a read of FASTQ: it has 3 bases and 2 qualities"
    );
    assert!(reads(b">1\nAC\n+\n!!\n").ends_with("its first line does not begin with @"));
    assert!(reads(b"@1\nAC\nAC\n!!\n").ends_with("its third line does not begin with +"));
    let long = [b"a\n", &[b'x'; 1 << 19][..], b"\n"].concat();
    assert_eq!(
        complaint(RecordForm::csv(b','), &[&long]),
        "f0: record 2 has more than 65532 bytes: raise --memory"
    );
    let fasta = RecordForm::new(Records::Started(b">".to_vec()));
    assert_eq!(
        complaint(fasta, &[b"AC\n>1\nAC\n"]),
        "f0: record 1 does not begin with `>`, as records here do"
    );
    let frame = Compression::from(Codec::Zstd).compressed(b"one\ntwo\n").unwrap();
    assert_eq!(
        complaint(RecordForm::lines(), &[&frame[..frame.len() - 1]]),
        "f0: is cut short: its zstd data do not end"
    );
}

#[test]
fn wrong_rows_of_csv_are_named() {
    let csv = |headers| RecordForm { headers, ..RecordForm::csv(b',') };
    let said = |texts: &[&[u8]]| complaint(csv(0), texts);
    let uneven = "give --uneven if that is as it should be, and --csv=DELIM if another byte than \
                  `,` separates fields";
    for (texts, why) in [
        (&[&b"a,b\n"[..], b"a,b\n\"c,\n"][..], "f1: record 2 has a quote that is not closed"),
        (&[b"a,b\n1,\"2\"3\n"], &format!("f0: record 2 {}", csv::BEHIND_A_QUOTE)),
        (&[b"a,b\n1,\"\\\"2\"\n"], &format!("f0: record 2 {}", csv::BEHIND_A_QUOTE)),
        (&[b"a,b\n1, \"2\n3\"\n"], &format!("f0: record 2 {}", csv::WITHIN_A_FIELD)),
        (&[b"a,b\n5\" pipe,2\n"], &format!("f0: record 2 {}", csv::WITHIN_A_FIELD)),
        (
            &[b"a,b\n1\n"],
            &format!("f0: record 2 has 1 field, and the first row has 2 fields: {uneven}"),
        ),
        (
            &[b"", b"a\n", b"1,2\n"],
            &format!("f2: record 1 has 2 fields, and the first row has 1 field: {uneven}"),
        ),
        (
            &[b"a,b\n\r\n"],
            &format!("f0: record 2 is an empty line, and the first row has 2 fields: {uneven}"),
        ),
    ] {
        assert_eq!(said(texts), *why);
    }
    // Inputs that have a header and no record say nothing of rows.
    let marked = RecordForm { header_prefixes: vec![b"#".to_vec()], ..csv(0) };
    for (form, start) in [(csv(0), &b"\xEF\xBB\xBF"[..]), (marked, b"#x\n")] {
        let texts = [start, b"", start, &[start, b"1,2\n1;2\n9\n"].concat()];
        let why = format!("f3: record 2 has 1 field, and the first row has 2 fields: {uneven}");
        assert_eq!(complaint(form, &texts), why);
    }
    // With another delimiter, a quote that opens a field is none that is loose.
    let loose = RecordForm::new(Records::Csv(Csv { has_loose_quotes: true, ..Csv::new(b',') }));
    let text = b"1;\"x\ny\";2\n";
    let why = "has a quote within a field, and the first row has 1 field: give --csv=DELIM if \
               another byte than `,` separates fields, and --uneven if none does";
    for headers in [0, 1] {
        let number = 1 + headers;
        let texts: &[&[u8]] = &[&[&b"a;b;c\n".repeat(headers as usize)[..], text].concat()];
        let why = format!("f0: record {} {why}", number - headers);
        assert_eq!(complaint(RecordForm { headers, ..loose.clone() }, texts), why);
    }
    assert_eq!(complaint(loose, &[b"a\n\"1\n2\"\n5\" pipe\n"]), format!("f0: record 3 {why}"));
    let returns = |count: &str| {
        format!(
            "{count} without a newline, which do not end a row: convert the input, as by `tr \
             '\\r' '\\n'`"
        )
    };
    // As the rows of old programs end: in all of the input, or in its first bytes if it is long.
    let long = b"1,2\r".repeat(1 << 20);
    for (text, count) in [
        (&b"a,b\r\"1\r\n\",2\r3,4\r"[..], "3 carriage returns"),
        (b"a,b\r\"1\",2", "1 carriage return"),
        (b"a,\"b\"\r\"1\",2\r\n", "1 carriage return"),
        (&long, "4096 carriage returns"),
    ] {
        assert_eq!(complaint(csv(1), &[text]), format!("f0: header line 1 has {}", returns(count)));
        assert_eq!(said(&[text]), format!("f0: record 1 has {}", returns(count)));
    }
    // What the options allow, and what needs none.
    let all = Csv { is_uneven: true, has_loose_quotes: true, ..Csv::new(b',') };
    let text = b"5\" pipe,1\n\n1,\"a\r\rb\"\r\n2,\"\"\"\",3\r";
    let rows = split(&Records::Csv(all), text, 1).unwrap();
    let expected = [&b"5\" pipe,1\n"[..], b"\n", b"1,\"a\r\rb\"\r\n", b"2,\"\"\"\",3\r\n"];
    assert_eq!(rows, expected);
}

#[test]
fn wrong_tfrecords_are_named() {
    let said = |text: &[u8]| complaint(RecordForm::new(Records::TfRecord), &[text]);
    let two = [tfrecord(b"one"), tfrecord(b"three")].concat();
    for end in (1..two.len()).filter(|&end| end != 19) {
        let number = if end < 19 { 1 } else { 2 };
        let why = said(&two[..end]);
        assert!(why.starts_with(&format!("f0: record {number} is cut short")), "{end}: {why}");
    }
    for at in 0..two.len() {
        let mut damaged = two.clone();
        damaged[at] ^= 0x20;
        let why = said(&damaged);
        let number = if at < 19 { 1 } else { 2 };
        let is_named = why.starts_with(&format!("f0: record {number} is damaged: the checksum"));
        let is_none = why.starts_with("f0: is not a TFRecord file");
        assert!(if at < 12 { is_none } else { is_named }, "{at}: {why}");
    }
    assert!(said(b"text of lines\n").starts_with("f0: is not a TFRecord file"));
    // A length as long as it can be is no reason to take memory.
    let length = ((1_u64 << 56) - 1).to_le_bytes();
    let head = [length.as_slice(), &masked_crc(&length).to_le_bytes(), b"x"].concat();
    let why = said(&head);
    assert_eq!(
        why,
        "f0: record 1 is cut short: 1 bytes follow its length, which is 72057594037927935"
    );
}

#[test]
fn wrong_samples_of_archives_are_named() {
    let even = || RecordForm::new(Records::Samples { are_uneven: false });
    let end = [0; 1024];
    let (jpg, json) = (tar_entry("a/1.jpg", b"x"), tar_entry("a/1.json", b"{}"));
    let (other, others) = (tar_entry("a/2.jpg", b"y"), tar_entry("a/2.json", b"[]"));
    let tar = |entries: &[&[u8]]| [&entries.concat()[..], &end].concat();
    let said = |entries: &[&[u8]]| complaint(even(), &[&tar(entries)]);
    assert_eq!(
        said(&[&jpg, &json, &other]),
        "f0: record 2 `a/2` has the parts jpg, and the first sample has jpg, json: give --uneven \
         if that is as it should be"
    );
    assert_eq!(
        said(&[&jpg, &other, &json, &others]),
        "f0: record 3 has the name of an earlier one, `a/1`"
    );
    assert_eq!(said(&[&jpg, &jpg]), "f0: record 1 has `a/1.jpg` twice");
    let cut =
        |bytes: usize| complaint(even(), &[&[&jpg[..], &json, &other, &others].concat()[..bytes]]);
    assert_eq!(cut(1300), "f0: record 1 is cut short within a header");
    assert_eq!(cut(1600), "f0: record 1 is cut short within `a/1.json`");
    let missing = "f0: record 3 is missing, and so is the end of the archive, two blocks of zeros";
    assert!(cut(4096).starts_with(missing) && cut(4096).contains("head -c 1024 /dev/zero"));
    let mut damaged = jpg.clone();
    damaged[3] ^= 1;
    assert!(said(&[&damaged]).ends_with("the checksum of its header does not match"));
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_path("a/3.jpg").unwrap();
    link.set_size(0);
    link.set_cksum();
    let link = link.as_bytes();
    assert_eq!(said(&[link]), "f0: record 1 has `a/3.jpg`, which is not a regular file");
    // What macOS writes beside files has a mark; others of such names are samples.
    assert_eq!(
        said(&[&jpg, &tar_entry("a/._1.jpg", b"x")]),
        "f0: record 2 `a/._1.jpg` has the parts nothing after a dot, and the first sample has \
         jpg: give --uneven if that is as it should be"
    );
    let about_all = said(&[&about_all(&[("comment", "x"), ("mtime", "1")]), &jpg]);
    assert!(about_all.ends_with("has a header for all files after it, which cannot be shuffled"));
}

/// A header for all files behind it.
fn about_all(values: &[(&str, &str)]) -> Vec<u8> {
    let line = |(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        // For lengths of two digits.
        format!("{}{rest}", rest.len() + 2)
    };
    let mut entry = tar_entry("x", values.iter().map(line).collect::<String>().as_bytes());
    let (header, _) = entry.split_first_chunk_mut::<512>().unwrap();
    header[156] = b'g';
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    let own: u32 = header[148..156].iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{:06o}\0 ", sum - own + 8 * 32).as_bytes());
    entry
}

#[test]
fn metadata_entries_of_archives_are_no_samples() {
    let mark = b"\0\x05\x16\x07 and more";
    let comment = about_all(&[("comment", "0123456789abcdef")]);
    let (jpg, json) = (tar_entry("a/1.jpg", b"x"), tar_entry("a/1.json", b"{}"));
    let (other, others) = (tar_entry("a/2.jpg", b"y"), tar_entry("a/2.json", b"[]"));
    let own = |name: &str| tar_entry(name, mark);
    let (first, second) = (own("a/._1.jpg"), own("a/._1.json"));
    let one = [&first[..], &jpg, &second, &json].concat();
    let two = [&other[..], &others].concat();
    // The one about a folder is not beside a sample.
    let tar = [&comment[..], &own("._a"), &one, &two, &own("a/._3.jpg"), &[0; 1024]].concat();
    let form = RecordForm::new(Records::Samples { are_uneven: false });
    for memory in [1 << 20, 64 << 20] {
        let way = |len| FileOrder::unshuffle(len, 1);
        let compression = Codec::Plain.into();
        let run = Run { form: form.clone(), memory, way: &way, shards: 1, compression };
        let shuffle = |len| FileOrder::shuffle(len, 1);
        let (shuffled, counted) = Run { way: &shuffle, form: form.clone(), ..run }
            .run(&[Held("f".to_owned(), tar.clone())])
            .unwrap();
        assert_eq!((counted.records(), counted.left_out), (2, 3));
        let (back, _) = run.run(&shuffled).unwrap();
        assert!(back[0].1 == [&one[..], &two, &[0; 1024]].concat());
    }
}

#[test]
fn folders_in_archives_are_left_out_and_counted() {
    let mut folder = tar::Header::new_gnu();
    folder.set_entry_type(tar::EntryType::Directory);
    folder.set_path("a/").unwrap();
    folder.set_size(0);
    folder.set_cksum();
    let (one, two) = (tar_entry("a/1.jpg", b"x"), tar_entry("a/2.jpg", b"y"));
    let tar = [&folder.as_bytes()[..], &one, &folder.as_bytes()[..], &two, &[0; 2048]].concat();
    let form = RecordForm::new(Records::Samples { are_uneven: false });
    let way = |len| FileOrder::unshuffle(len, 1);
    let compression = Codec::Plain.into();
    let run = Run { form, memory: 1 << 20, way: &way, shards: 1, compression };
    let shuffle = |len| FileOrder::shuffle(len, 1);
    let (shuffled, counted) = Run { way: &shuffle, form: run.form.clone(), ..run }
        .run(&[Held("f".to_owned(), tar)])
        .unwrap();
    assert_eq!((counted.records(), counted.left_out), (2, 2));
    let (back, _) = run.run(&shuffled).unwrap();
    assert!(back[0].1 == [&one[..], &two, &[0; 1024]].concat());
}

/// The records of a text, given to a splitter in pieces.
fn split(records: &Records, text: &[u8], step: usize) -> Result<Vec<Vec<u8>>, Broken> {
    let mut splitter = records.splits();
    let (mut at, mut end, mut found) = (0, 0, Vec::new());
    while at < text.len() {
        let is_end = end == text.len();
        match splitter.find(&text[at..end], is_end)? {
            Found::More => {
                assert!(!is_end);
                end = (end + step).min(text.len());
            }
            Found::Skip { bytes, .. } => at += bytes,
            Found::Record { bytes, end } => {
                found.push([&text[at..at + bytes], &end].concat());
                at += bytes;
            }
        }
    }
    splitter.finish()?;
    Ok(found)
}

#[test]
fn rows_of_csv_are_those_of_another_reader() {
    let (mut rng, mut accepted) = (StdRng::seed_from_u64(7), 0);
    for _ in 0..3000 {
        let text = word(&mut rng, b"aaa,\"\"\n\n\r", 30);
        let mut reader =
            csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
        let (mut expected, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let (mut out, mut ends) = ([0; 64], [0; 64]);
            let (result, read, ..) = reader.read_record(&text[at..], &mut out, &mut ends);
            at += read;
            if result == csv_core::ReadRecordResult::Record {
                expected.push(at);
            }
        }
        let loose = Csv { is_uneven: true, has_loose_quotes: true, ..Csv::new(b',') };
        for csv in [Csv::new(b','), loose] {
            let whole = split(&Records::Csv(csv), &text, 100);
            for step in [1, 3] {
                assert_eq!(split(&Records::Csv(csv), &text, step), whole);
            }
            // An empty line is a row of ours; a row that does not end is none of the other's yet.
            let Ok(rows) = whole else { continue };
            accepted += 1;
            let mut end = 0;
            let ends = rows.iter().filter_map(|row| {
                end += row.len();
                (row != b"\n" && end <= text.len()).then_some(end)
            });
            assert!(ends.eq(expected.iter().copied()), "{}", text.escape_ascii());
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn pieces_make_no_difference() {
    let mut rng = StdRng::seed_from_u64(8);
    for _ in 0..400 {
        let records = any_records(&mut rng);
        let count = rng.random_range(0..6);
        let all: Vec<_> = (0..count).map(|k| record(&mut rng, &records, k)).collect();
        let text = [&all.concat()[..], records.trailer()].concat();
        for step in [1, 7, 512, 1 << 20] {
            let found = split(&records, &text, step).unwrap();
            assert!(found == all, "{records} {step}");
        }
    }
}
