//! Data sets: folders, compressed files, records of other kinds, and shards.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use bijective_shuffle::Permutation;

use crate::folder::{Folder, is_long, numbered, program};
use crate::outside::statistic;

pub(crate) const CODECS: [&str; 5] = ["none", "gzip", "zstd", "lz4", "bzip2"];

pub(crate) const ENDS: [&str; 5] = ["", ".gz", ".zst", ".lz4", ".bz2"];

/// Bytes as a compressed file, by the number of a codec.
pub(crate) fn compressed(codec: usize, bytes: &[u8]) -> Vec<u8> {
    match codec {
        0 => bytes.to_vec(),
        1 => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        2 => zstd::encode_all(bytes, 0).unwrap(),
        3 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => {
            let level = bzip2::Compression::default();
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

/// Items in the order of a seed.
pub(crate) fn shuffled(items: &[Vec<u8>], seed: u64) -> Vec<u8> {
    Permutation::new(items.len() as u64, seed).apply(items).unwrap().concat()
}

pub(crate) fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The files below a folder, in the order of their names.
pub(crate) fn names(folder: &Folder, below: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(path) = folders.pop() {
        for entry in fs::read_dir(folder.path(&path)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{path}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() { folders.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    found
}

/// What the shards of a folder have, in the order of its index.
fn joined(folder: &Folder, shards: &str) -> Vec<u8> {
    let index: serde_json::Value =
        serde_json::from_slice(&folder.read(&format!("{shards}/index.json"))).unwrap();
    let names = index["shards"].as_array().unwrap().iter().map(|shard| shard["name"].as_str());
    let read = |name: Option<&str>| {
        let path = format!("{shards}/{}", name.unwrap());
        // In the order of the lines as they are.
        let seed = ["--range", "0..0", "--seed", "1", path.as_str()];
        assert_eq!(folder.output(&seed, b""), b"");
        decoded(&folder.read(&path))
    };
    names.flat_map(read).collect()
}

fn decoded(file: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    match file {
        [0x1F, 0x8B, ..] => {
            std::io::copy(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
        }
        [0x28, 0xB5, ..] => text = zstd::decode_all(file).unwrap(),
        [0x04, 0x22, ..] => {
            std::io::copy(&mut lz4_flex::frame::FrameDecoder::new(file), &mut text).unwrap();
        }
        [b'B', b'Z', ..] => {
            std::io::copy(&mut bzip2::read::MultiBzDecoder::new(file), &mut text).unwrap();
        }
        _ => text = file.to_vec(),
    }
    text
}

#[test]
fn compressed_inputs_are_decoded() {
    let folder = Folder::new();
    let text = numbered(30_000);
    let expected = shuffled(&lines(&text), 5);
    let half = text.len() / 2 + 3;
    for (codec, name) in CODECS.iter().enumerate().skip(1) {
        // Two members or frames, cut within a line.
        let both = [compressed(codec, &text[..half]), compressed(codec, &text[half..])].concat();
        folder.write("text", &both);
        for memory in ["1M", "1G"] {
            let options = ["--seed", "5", "--memory", memory, "--quiet"];
            let output = folder.output(&[&options[..], &["text"]].concat(), b"");
            assert!(output == expected, "{codec} {memory}");
            assert!(folder.output(&options, &both) == expected, "{codec} {memory}");
        }
        let outcome = folder.run(&["--seed", "5", "text"], b"");
        let said = format!("inputs 1 (1 {name}), outputs 1");
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
        // Nothing of what is cut short is taken for all there is.
        folder.write("cut", &both[..both.len() - 9]);
        folder.write("out", b"old");
        let complaint = folder.complaint(&["-o", "out", "cut"], b"");
        assert!(complaint.starts_with("bshuf: cut: "), "{complaint}");
        assert!(complaint.contains("cut short") || complaint.contains("damaged"), "{complaint}");
        assert_eq!(folder.read("out"), b"old");
        let complaint = folder.complaint(&["-r", "-n", "3", "text"], b"");
        assert!(complaint.contains("is compressed by"), "{complaint}");
    }
    folder.write("a", &text[..half]);
    folder.write("b", compressed(2, &text[half..]));
    let complete = [&text[..half], b"\n", &text[half..]].concat();
    let outcome = folder.run(&["--seed", "5", "--stats", "a", "b"], b"");
    assert!(outcome.stdout == shuffled(&lines(&complete), 5));
    assert_eq!(statistic(&outcome.stderr, "line_ends_added"), 1);
}

#[test]
fn outputs_are_compressed_by_their_names_and_read_by_other_programs() {
    let folder = Folder::new();
    let text = numbered(5000);
    folder.write("text", &text);
    let expected = shuffled(&lines(&text), 5);
    for codec in 0..CODECS.len() {
        let name = format!("new{}", ENDS[codec]);
        folder.output(&["--seed", "5", "-o", &name, "text"], b"");
        assert!(decoded(&folder.read(&name)) == expected, "{name}");
        assert_eq!(folder.read(&name) == expected, codec == 0);
        let piped = folder.output(&["--seed", "5", "--compress", CODECS[codec]], &text);
        assert!(piped == folder.read(&name));
        if codec > 0 {
            let mut command = Command::new(CODECS[codec]);
            let output = command.arg("-dc").stdin(fs::File::open(folder.path(&name)).unwrap());
            match output.output() {
                Ok(output) => assert!(output.stdout == expected, "{output:?}"),
                Err(_) => println!("skipped: there is no {}", CODECS[codec]),
            }
        }
    }
    folder.output(&["--seed", "5", "--compress", "none", "-o", "plain.gz", "text"], b"");
    assert!(folder.read("plain.gz") == expected);
    let fast = folder.output(&["--seed", "5", "--compress", "zstd:1", "text"], b"");
    let small = folder.output(&["--seed", "5", "--compress", "zstd:19", "text"], b"");
    assert!(small.len() < fast.len());
    // An output may be the input.
    folder.output(&["--seed", "5", "-o", "new.gz", "new.gz"], b"");
    assert!(decoded(&folder.read("new.gz")) == shuffled(&lines(&expected), 5));
}

/// A folder of four files, each compressed in its own way, and what they have.
fn mixed(folder: &Folder) -> Vec<u8> {
    let text = numbered(9000);
    fs::create_dir_all(folder.path("in/more")).unwrap();
    let name = |k: usize| format!("in/{}{k}.txt{}", if k == 3 { "more/" } else { "" }, ENDS[k]);
    for (k, part) in lines(&text).chunks(2250).enumerate() {
        folder.write(&name(k), compressed(k, &part.concat()));
    }
    folder.write("in/_SUCCESS", b"x");
    text
}

#[test]
fn folders_and_lists_are_read() {
    let folder = Folder::new();
    let text = mixed(&folder);
    let expected = shuffled(&lines(&text), 5);
    let complaint = folder.complaint(&["in"], b"");
    assert_eq!(complaint, "bshuf: in/more: is a folder in a folder: give --recursive");
    assert!(folder.output(&["--seed", "5", "--recursive", "in"], b"") == expected);
    let list = "in/0.txt\0in/1.txt.gz\0in/2.txt.zst\0in/more/3.txt.lz4";
    folder.write("list", list);
    assert!(folder.output(&["--seed", "5", "--files0-from", "list"], b"") == expected);
    assert!(folder.output(&["--seed", "5", "--files0-from", "-"], list.as_bytes()) == expected);
    let complaint = folder.complaint(&["--files0-from", "-"], b"");
    assert_eq!(complaint, "bshuf: -: names no files");
    let complaint = folder.complaint(&["--files0-from", "-"], b"a\0\0b");
    assert_eq!(complaint, "bshuf: -: has an empty name");
    assert_eq!(folder.run(&["--files0-from", "list", "text"], b"").code, 1);
    fs::create_dir(folder.path("empty")).unwrap();
    let complaint = folder.complaint(&["empty"], b"");
    assert_eq!(complaint, "bshuf: empty: is a folder without files to read");
    let two = ["--temp", "empty", "--temp", ".", "--temp-compress", "--memory", "1M"];
    let seed = ["--seed", "5", "--recursive", "in"];
    assert!(folder.output(&[&seed[..], &two].concat(), b"") == expected);
    assert_eq!(names(&folder, "empty"), Vec::<String>::new());
}

#[test]
fn shares_of_all_are_written() {
    let folder = Folder::new();
    let text = numbered(1000);
    let whole = folder.output(&["--seed", "5"], &text);
    let head = |count: usize| lines(&whole)[..count].concat();
    for (share, count) in [("1%", 10), ("0.19%", 1), ("100%", 1000), ("0%", 0)] {
        assert_eq!(folder.output(&["--seed", "5", "-n", share], &text), head(count), "{share}");
    }
    assert_eq!(folder.output(&["--seed", "5", "-n", "1%", "-n", "3"], &text), head(3));
    let drawn = folder.output(&["--seed", "5", "-r", "-n", "50%"], &text);
    assert_eq!(lines(&drawn).len(), 500);
    assert_eq!(
        folder.output(&["-i", "1-1000", "-n", "2%"], b"").split(|&b| b == b'\n').count(),
        21
    );
    for share in ["101%", "%", "-1%"] {
        assert_eq!(folder.run(&["-n", share], &text).code, 1);
    }
}

#[test]
fn headers_are_kept_once() {
    let folder = Folder::new();
    let rows = |from: usize| -> Vec<Vec<u8>> {
        (from..from + 300)
            .map(|k| format!("{k},\"said\r\n\"\"{k}\"\"\"\r\n").into_bytes())
            .collect()
    };
    let (first, second) = (rows(0), rows(300));
    let header = b"number,\"what is\nsaid\"\r\n";
    folder.write("a.csv", [&header[..], &first.concat()].concat());
    let open = [&header[..], &second.concat()].concat();
    folder.write("b.csv.gz", compressed(1, &open[..open.len() - 2]));
    let all = [first, second].concat();
    let options = ["--seed", "5", "--csv", "--header-lines", "1"];
    let expected = [&header[..], &shuffled(&all, 5)].concat();
    for memory in ["1M", "1G"] {
        let memory = ["--memory", memory, "a.csv", "b.csv.gz"];
        assert!(folder.output(&[&options[..], &memory].concat(), b"") == expected);
    }
    let shards = ["--output-dir", "out", "--shards", "3", "a.csv", "b.csv.gz"];
    folder.output(&[&options[..], &shards].concat(), b"");
    let shards = names(&folder, "out");
    assert_eq!(shards[1..], ["0", "1", "2"].map(|k| format!("out/part-0000{k}-of-00003.csv")));
    let bodies = shards[1..]
        .iter()
        .flat_map(|name| folder.read(name).strip_prefix(&header[..]).unwrap().to_vec());
    assert!(bodies.eq(expected[header.len()..].iter().copied()));
    let undone = folder.output(&["--undo", "--csv", "--header-lines", "1", "out"], b"");
    assert!(undone == [&header[..], &all.concat()].concat());

    folder.write("c.csv", b"other\r\n1\r\n");
    folder.write("new", b"old");
    let wrong = [&options[..], &["-o", "new", "a.csv", "c.csv"]].concat();
    let complaint = folder.complaint(&wrong, b"");
    assert_eq!(complaint, "bshuf: c.csv: has another header than a.csv");
    folder.write("d.csv", [&header[..], b"\"torn\r\n"].concat());
    let wrong = [&options[..], &["-o", "new", "a.csv", "d.csv"]].concat();
    let complaint = folder.complaint(&wrong, b"");
    assert_eq!(complaint, "bshuf: d.csv: record 1 has a quote that is not closed");
    assert_eq!(folder.read("new"), b"old");
}

#[test]
fn records_of_all_kinds_are_shuffled_and_put_back() {
    let folder = Folder::new();
    let many = |record: &dyn Fn(usize) -> String| -> Vec<Vec<u8>> {
        (0..500).map(|k| record(k).into_bytes()).collect()
    };
    for (options, records) in [
        (&["--fastq"][..], many(&|k| format!("@{k}\n{}\n+\n{}\n", "A".repeat(k), "!".repeat(k)))),
        (&["--lines-per-record", "3"], many(&|k| format!("{k}\n\nx\n"))),
        (&["--lines-per-record", "2", "-z"], many(&|k| format!("{k}\n\0x\0"))),
        (&["--separator", r"\n--\x2d\n"], many(&|k| format!("{k}\n--\n\n---\n"))),
        (&["--csv=;"], many(&|k| format!("\"a;\n{k}\";2\n"))),
        (&["--csv=\\t"], many(&|k| format!("{k}\t\"a\n\"\n"))),
    ] {
        let text = records.concat();
        folder.write("in", &text);
        let arguments = [options, &["--seed", "5", "--memory", "4M"]].concat();
        let output = folder.output(&[&arguments[..], &["in"]].concat(), b"");
        assert!(output == shuffled(&records, 5), "{options:?}");
        assert!(folder.output(&arguments, &text) == output, "{options:?}");
        let undone = folder.output(&[&arguments[..], &["--undo"]].concat(), &output);
        assert!(undone == text, "{options:?}");
    }
    let complaint = folder.complaint(&["--fastq"], b"@1\nAC\n+\n!!\n@2\nAC\n+\n!\n");
    let why = "record 2 is not a read of FASTQ: it has 2 bases and 1 qualities";
    assert_eq!(complaint, format!("bshuf: standard input: {why}"));
    let complaint = folder.complaint(&["--lines-per-record", "4"], b"1\n2\n3\n4\n5\n");
    let why = "record 2 has 1 of its 4 lines: the input ends there";
    assert_eq!(complaint, format!("bshuf: standard input: {why}"));
    for wrong in [
        &["--fastq", "--csv"][..],
        &["--csv", "--record", "3"],
        &["--csv=ab"],
        &["--separator", ""],
        &["--separator", r"\q"],
        &["--lines-per-record", "0"],
        &["--csv", "-r", "-n", "3"],
        &["--compress", "xz"],
        &["--shards", "3"],
        &["--output-dir", "x", "--shards", "3", "--shard-records", "4"],
        &["--output-dir", "x", "-o", "y"],
        &["--output-dir", "x", "--split", "a=0.5"],
        &["--resume"],
    ] {
        assert_eq!(folder.run(wrong, b"1\n2\n").code, 1, "{wrong:?}");
    }
}

#[test]
fn samples_of_archives_stay_together() {
    let folder = Folder::new();
    let entry = |name: String, contents: &[u8]| {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        header.set_mode(0o640);
        header.set_mtime(7);
        header.set_cksum();
        builder.append_data(&mut header, name, contents).unwrap();
        let mut bytes = builder.into_inner().unwrap();
        bytes.truncate(bytes.len() - 1024);
        bytes
    };
    let long = "folder/".repeat(20);
    let samples: Vec<Vec<u8>> = (0..200)
        .map(|k| {
            let parts = ["jpg", "json"]
                .map(|part| entry(format!("{long}{k:04}.{part}"), &vec![k as u8; 37 * k]));
            parts.concat()
        })
        .collect();
    let end = [0; 1024];
    let tar = |samples: &[Vec<u8>]| [&samples.concat()[..], &end].concat();
    folder.write("a.tar", tar(&samples[..120]));
    folder.write("b.tar.gz", compressed(1, &tar(&samples[120..])));
    let expected = shuffled(&samples, 5);
    let output = folder.output(&["--seed", "5", "a.tar", "b.tar.gz"], b"");
    assert!(output == [&expected[..], &end].concat());
    for memory in ["4M", "1G"] {
        let _ = fs::remove_dir_all(folder.path("out"));
        let shards = ["--output-dir", "out", "--shards", "3", "--memory", memory];
        folder.output(&[&["--seed", "5", "a.tar", "b.tar.gz"], &shards[..]].concat(), b"");
        let shards = names(&folder, "out");
        assert_eq!(shards[1], "out/part-00000-of-00003.tar");
        let body = |name: &String| folder.read(name).strip_suffix(&end).unwrap().to_vec();
        assert!(shards[1..].iter().flat_map(body).eq(expected.iter().copied()));
        if let Ok(output) = Command::new("tar").arg("tf").arg(folder.path(&shards[1])).output() {
            assert!(output.status.success(), "{output:?}");
            assert_eq!(output.stdout.split(|&byte| byte == b'\n').count() - 1, 2 * 66);
        }
        assert!(folder.output(&["--undo", "out"], b"") == tar(&samples));
    }
    folder.write("c.tar", tar(&[samples[0].clone(), samples[1][..samples[1].len() / 2].to_vec()]));
    let complaint = folder.complaint(&["c.tar"], b"");
    assert!(complaint.starts_with("bshuf: c.tar: record "), "{complaint}");
    folder.write("d.tar", tar(&[samples[0].clone(), entry("x.jpg".to_owned(), b"x")]));
    let complaint = folder.complaint(&["d.tar"], b"");
    assert!(complaint.contains("has the parts jpg, and the first sample has jpg, json"));
    assert!(folder.output(&["--uneven", "d.tar"], b"").len() > 1024);
    assert_eq!(
        folder.complaint(&["--text", "a.tar"], b""),
        "bshuf: --text: the inputs have samples of tar, which are not text"
    );
    assert_eq!(
        folder.complaint(&["--csv", "a.tar"], b""),
        "bshuf: a.tar: is a tar archive: give --tar, and archives alone"
    );
    assert_eq!(
        folder.complaint(&["--tar"], b"text\n"),
        "bshuf: standard input: is not a tar archive: shuffle it by itself, without --tar"
    );
}

#[test]
fn shards_may_be_uneven_where_their_index_says_what_they_are() {
    let folder = Folder::new();
    let sample = |name: &str| crate::torn::entry(name, b"x");
    let archive = |names: &[&str]| {
        let samples = names.iter().map(|name| sample(name)).collect::<Vec<_>>().concat();
        [samples, vec![0; 1024]].concat()
    };
    let names = ["1.a", "1.b", "2.a", "2.b", "3.a", "4.b"];
    for (options, even, other) in [
        (&["--csv"][..], b"1,2\n3,4\n".to_vec(), b"1,2\n345\n".to_vec()),
        (&["--tar"], archive(&names[..4]), archive(&["1.a", "1.b", "2.a", "2.c"])),
    ] {
        let _ = fs::remove_dir_all(folder.path("out"));
        let shards = ["--seed", "1", "--output-dir", "out", "--shards", "1", "in"];
        folder.write("in", &even);
        folder.output(&[options, &shards].concat(), b"");
        let shard = fs::read_dir(folder.path("out")).unwrap();
        let shard = shard.map(|entry| entry.unwrap().path());
        let shard = shard.into_iter().find(|path| !path.ends_with("index.json")).unwrap();
        fs::write(shard, &other).unwrap();
        let complaint = folder.complaint(&["out"], b"");
        assert!(complaint.contains("give --uneven if that is as it should be"), "{complaint}");
        let output = folder.output(&["--uneven", "out"], b"");
        assert_eq!(output.len(), other.len(), "{options:?}");
    }
}

#[test]
fn shards_joined_are_the_single_output() {
    let folder = Folder::new();
    let text = mixed(&folder);
    let input = ["--seed", "5", "--recursive", "in"];
    let expected = shuffled(&lines(&text), 5);
    let mut number = 0;
    for (options, shards) in [
        (&["--shards", "7"][..], 7),
        (&["--shards", "7", "--memory", "1M", "--compress", "lz4"], 7),
        (&["--shard-records", "2000", "--compress", "zstd:1"], 5),
        (&["--shard-bytes", "1M"], 1),
        (&["--compress", "bzip2"], 4),
        (&["--split", "train=0.9,valid=0.05,test=0.05", "--shards", "2"], 6),
        (&["--split", "b=rest,a=100", "--compress", "gzip"], 4),
    ] {
        number += 1;
        let out = format!("out{number}");
        folder.output(&[&input[..], options, &["--output-dir", &out]].concat(), b"");
        assert!(joined(&folder, &out) == expected, "{options:?}");
        assert_eq!(names(&folder, &out).len(), shards + 1, "{options:?}");
        assert!(folder.output(&["--undo", &out], b"") == text, "{options:?}");
        assert!(folder.output(&["--undo", "--seed", "5", &out], b"") == text, "{options:?}");
    }
    let head = ["--output-dir", "head", "-n", "10%", "--shards", "2"];
    folder.output(&[&input[..], &head].concat(), b"");
    assert!(joined(&folder, "head") == lines(&expected)[..900].concat());
    let complaint = folder.complaint(&["--undo", "head"], b"");
    assert_eq!(complaint, "bshuf: head: has only a part of the records, which cannot be restored");
}

#[test]
fn folders_of_shards_say_what_they_are() {
    let folder = Folder::new();
    let text = numbered(1000);
    folder.write("text", &text);
    let run = ["--seed", "5", "--output-dir", "out", "--shards", "3", "text"];
    folder.output(&run, b"");
    assert_eq!(folder.complaint(&run, b""), {
        let why = "has shards of a run: give --resume to go on with it, or name another folder";
        format!("bshuf: out: {why}")
    });
    assert_eq!(
        folder.complaint(&["--undo", "--seed", "6", "out"], b""),
        "bshuf: out: was shuffled with the seed 5, and another seed or epoch is given"
    );
    // There is no seed to be found.
    let outcome = folder.run(&["--undo", "text"], b"");
    assert_eq!((outcome.code, outcome.stdout.len()), (1, 0));
    assert!(outcome.stderr.contains("'--undo' needs '--seed <SEED>'"), "{}", outcome.stderr);
    fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/text", &text);
    let missing = "bshuf: --undo: there is no index with a seed: give --seed";
    assert_eq!(folder.complaint(&["--undo", "in"], b""), missing);
    // A list may name such a folder as well, or none.
    assert!(folder.output(&["--undo", "--files0-from", "-"], b"out\0") == text);
    assert_eq!(folder.complaint(&["--undo", "--files0-from", "-"], b"text"), missing);
}

/// Runs until a number of shards is journalled, or to the end, and kills the run.
fn killed_after(folder: &Folder, arguments: &[&str], shards: usize) {
    let mut command = Command::new(program());
    command.args(arguments).arg("--quiet").current_dir(folder.path(""));
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let journal = folder.path("out/.bshuf-journal");
    loop {
        let lines = fs::read(&journal).map_or(0, |text| text.split(|&b| b == b'\n').count());
        if lines > shards + 1 || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::yield_now();
    }
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn runs_that_were_killed_go_on() {
    let folder = Folder::new();
    // The last line has no end, which is said however often the run goes on.
    let text = numbered(60_000);
    let text = &text[..text.len() - 1];
    let parts: Vec<Vec<u8>> = lines(text).chunks(20_000).map(<[Vec<u8>]>::concat).collect();
    for (k, part) in parts.iter().enumerate() {
        folder.write(&format!("{k}.zst"), compressed(2, part));
    }
    let options =
        ["--seed", "5", "--shards", "12", "--compress", "zstd:17", "0.zst", "1.zst", "2.zst"];
    let whole = [&options[..], &["--output-dir", "whole"]].concat();
    folder.output(&whole, b"");
    let resumed = [&options[..], &["--output-dir", "out", "--resume"]].concat();
    let rounds = if is_long() { 20 } else { 3 };
    for round in 0..rounds {
        let _ = fs::remove_dir_all(folder.path("out"));
        // Killed again and again, a little later each time.
        for shards in [round % 5, round % 5 + 3, 9] {
            // What one run has in memory waits in a store in the next, or the other way round.
            let memory = if (round + shards) % 2 == 0 { "1M" } else { "1G" };
            killed_after(&folder, &[&resumed[..], &["--memory", memory]].concat(), shards);
        }
        // A shard that was damaged meanwhile is written again.
        let first = folder.path("out/part-00000-of-00012.txt.zst");
        if first.exists() && round % 2 == 1 {
            fs::write(first, b"damaged").unwrap();
        }
        let outcome = folder.run(&[&resumed[..], &["--stats"]].concat(), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(statistic(&outcome.stderr, "line_ends_added"), 1);
        assert_eq!(names(&folder, "out").len(), 13);
        for name in names(&folder, "whole") {
            let other = name.replace("whole/", "out/");
            assert!(folder.read(&name) == folder.read(&other), "{round} {name}");
        }
    }
    // Complete runs are checked, and left as they are.
    let outcome = folder.run(&[&resumed[..], &["--stats"]].concat(), b"");
    assert_eq!((outcome.code, statistic(&outcome.stderr, "shards_kept")), (0, 12));
    for other in [
        &["--seed", "5", "--shards", "11", "--compress", "zstd:17"][..],
        &["--seed", "5", "--shards", "12", "--compress", "zstd:16"],
        &["--seed", "5", "--shards", "12", "--compress", "zstd:17", "-n", "5"],
    ] {
        let inputs = ["0.zst", "1.zst", "2.zst", "--output-dir", "out", "--resume"];
        let complaint = folder.complaint(&[other, &inputs].concat(), b"");
        let why = "has shards of a run with other inputs or other options: name another folder";
        assert_eq!(complaint, format!("bshuf: out: {why}"), "{other:?}");
    }
    fs::create_dir(folder.path("other")).unwrap();
    // What a run leaves that was killed before it wrote its journal.
    folder.write("other/.bshufabcd", b"x");
    folder.output(&["--output-dir", "other", "--resume", "0.zst"], b"");
    fs::remove_dir_all(folder.path("other")).unwrap();
    fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/file", b"x");
    assert_eq!(
        folder.complaint(&["--output-dir", "other", "--resume", "0.zst"], b""),
        "bshuf: other: has files, and none of them is of a run to resume"
    );
    assert!(Path::new(&folder.path("other/file")).exists());
}

/// Stops a run while it writes to its folder; `None` if it came to its end before.
#[cfg(unix)]
fn stopped(folder: &Folder, arguments: &[&str]) -> Option<std::process::Child> {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder.path("")).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let is_writing = || folder.path("out/.bshuf-journal").exists();
    while !is_writing() {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::yield_now();
    }
    let (id, mut status) = (child.id() as libc::pid_t, 0);
    // SAFETY: nobody has waited for the process, so the number is still its own.
    unsafe { libc::kill(id, libc::SIGSTOP) };
    // SAFETY: the status is a number of this function, which is written.
    unsafe { libc::waitpid(id, &raw mut status, libc::WUNTRACED) };
    if libc::WIFSTOPPED(status) {
        if is_writing() {
            return Some(child);
        }
        child.kill().unwrap();
    }
    // It may have been waited for above.
    let _ = child.wait();
    None
}

#[cfg(unix)]
#[test]
fn two_runs_at_once_do_not_write_to_one_folder() {
    let folder = Folder::new();
    let options = ["--seed", "5", "--shards", "4", "--compress", "zstd:19", "text"];
    let options = [&options[..], &["--output-dir", "out", "--resume"]].concat();
    let mut lines = 50_000;
    let mut child = loop {
        folder.write("text", numbered(lines));
        if let Some(child) = stopped(&folder, &options) {
            break child;
        }
        fs::remove_dir_all(folder.path("out")).unwrap();
        lines *= 2;
    };
    let complaint = folder.complaint(&options, b"");
    let why = "another run writes to it now: wait for its end, or name another folder";
    assert_eq!(complaint, format!("bshuf: out: {why}"));
    // One that was killed is in nobody's way.
    child.kill().unwrap();
    child.wait().unwrap();
    folder.output(&options, b"");
    assert_eq!(names(&folder, "out").len(), 5);
}

#[test]
fn shards_are_not_written_among_the_inputs() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/below")).unwrap();
    folder.write("in/below/text", numbered(10));
    for (input, output) in [
        ("in", "in/out"),
        ("in", "in/a/b"),
        ("in", "in"),
        (".", "out"),
        ("in/below", "./in/below/../below/x"),
    ] {
        let line = ["--recursive", "--output-dir", output, input];
        assert_eq!(
            folder.complaint(&line, b""),
            format!(
                "bshuf: {output}: is in the folder {input}, which is read: name one outside of it"
            )
        );
    }
    folder.output(&["--output-dir", "in/out", "in/below"], b"");
    assert_eq!(folder.names(), ["in"]);
}

#[test]
fn reports_name_what_was_shuffled() {
    let folder = Folder::new();
    folder.write("text", b"a,b\nc,d\n");
    folder.write("reads", b"@r\nAC\n+\n!!\n");
    for (line, said) in [
        (&["text"][..], "lines 2, bytes 8, "),
        (&["--csv", "--header-lines", "1", "text"], "rows of CSV 1, bytes 8, "),
        (&["--lines-per-record", "2", "text"], "groups of 2 lines 1, bytes 8, "),
        (&["--fastq", "reads"], "reads of FASTQ 1, bytes 11, "),
        (&["--record", "4", "text"], "records 2, bytes 8, "),
        (&["-e", "x"], "lines 1, bytes 2, "),
    ] {
        let outcome = folder.run(line, b"");
        assert!(outcome.stderr.starts_with(said), "{line:?}: {}", outcome.stderr);
        let outcome = folder.run(&[&["--stats"], line].concat(), b"");
        let (records, _) = said.split_once(|letter: char| letter.is_ascii_digit()).unwrap();
        let records = match line[0] {
            "--lines-per-record" => "groups of 2 lines",
            _ => records.trim_end(),
        };
        let named = format!("\"records\":\"{records}\"");
        assert!(outcome.stderr.contains(&named), "{line:?}: {}", outcome.stderr);
    }
}

#[test]
fn undo_reads_the_shards_of_the_index() {
    let folder = Folder::new();
    let text = numbered(1000);
    folder.write("text", &text);
    folder.output(&["--seed", "5", "--output-dir", "out", "--shards", "3", "text"], b"");
    let shard = "out/part-00001-of-00003.txt";
    let second = folder.read(shard);
    fs::remove_file(folder.path(shard)).unwrap();
    assert_eq!(
        folder.complaint(&["--undo", "out"], b""),
        format!("bshuf: {shard}: is missing, and is a shard of the folder's index")
    );
    folder.write(shard, &second[1..]);
    assert_eq!(
        folder.complaint(&["--undo", "out"], b""),
        format!("bshuf: {shard}: has another size than in the folder's index")
    );
    folder.write(shard, &second);
    folder.write("out/other", b"x");
    assert_eq!(
        folder.complaint(&["out"], b""),
        "bshuf: out/other: is not a shard of the folder's index, index.json: remove one of them"
    );
    fs::remove_file(folder.path("out/other")).unwrap();
    assert!(folder.output(&["--undo", "out"], b"") == text);
}

#[test]
fn parallel_files_may_be_compressed() {
    let folder = Folder::new();
    let read = |k: usize, end: usize| format!("@{k}/{end}\nAC\n+\n!!\n").into_bytes();
    let reads = |end| (0..300).map(|k| read(k, end)).collect::<Vec<_>>();
    folder.write("r1.fq.gz", compressed(1, &reads(1).concat()));
    folder.write("r2.fq.gz", compressed(1, &reads(2).concat()));
    fs::create_dir(folder.path("out")).unwrap();
    let options = ["--seed", "5", "--fastq", "--together", "-o", "out", "r1.fq.gz", "r2.fq.gz"];
    folder.output(&options, b"");
    for end in [1, 2] {
        let found = folder.read(&format!("out/r{end}.fq.gz"));
        assert!(found.starts_with(b"\x1F\x8B"));
        assert!(decoded(&found) == shuffled(&reads(end), 5));
    }
    folder.write("r2.fq.gz", compressed(1, &reads(2)[1..].concat()));
    let complaint = folder.complaint(&options, b"");
    assert_eq!(complaint, "bshuf: r2.fq.gz: has 299 reads of FASTQ, and r1.fq.gz has 300");
}

/// What a thread has given back is there for the others: no thread has memory of its own. And what
/// stays in memory until it is written takes no more than was asked for.
#[cfg(target_os = "linux")]
#[test]
fn little_memory_is_enough_for_all_threads() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    let text = numbered(400_000);
    for number in 0..8 {
        folder.write(&format!("in/{number}.zst"), compressed(2, &text));
    }
    let records = 8 * 400_000 * 24;
    let enough = (8 * text.len() + records) / 5 * 8 / (1 << 20) + 8;
    for (memory, most, is_in_memory) in [(16, 20, false), (enough, enough + 4, true)] {
        let mut command = Command::new(program());
        let memory = format!("{memory}M");
        command.args(["--stats", "--memory", &memory, "--compress", "none", "in"]);
        let mut child = folder.spawn(command.env("RAYON_NUM_THREADS", "1"));
        let mut stdout = child.stdout.take().unwrap();
        // What is left is more than a pipe holds, so that the program is still there.
        let mut output = vec![0; 8 * text.len() - (1 << 20)];
        stdout.read_exact(&mut output).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        stdout.read_to_end(&mut output).unwrap();
        let outcome = child.wait_with_output().unwrap();
        assert!(outcome.status.success());
        let said = String::from_utf8(outcome.stderr).unwrap();
        assert!(said.contains(&format!("\"in_memory\":{is_in_memory},")), "{said}");
        assert_eq!(statistic(&said, "temporary_bytes") == 0, is_in_memory);
        assert_eq!(output.len(), 8 * text.len());
        let kib = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        // The system has the program itself in memory, too.
        let peak = kib("VmHWM:") - kib("RssFile:");
        assert!(peak < most << 10, "{memory}: {peak} KiB");
    }
}
