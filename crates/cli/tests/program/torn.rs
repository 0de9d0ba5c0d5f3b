//! Data sets that could be torn, mixed or lost in silence, and are not.

use crate::folder::{Folder, numbered};
use crate::formats::{MARK, tfrecord};
use crate::sets::{compressed, lines, names, shuffled};

/// The header of a file of an archive of the oldest format.
fn header(name: &str, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_old();
    header.set_path(name).unwrap();
    header.set_size(bytes);
    header.set_cksum();
    header
}

pub(crate) fn entry(name: &str, contents: &[u8]) -> Vec<u8> {
    let padding = vec![0; contents.len().next_multiple_of(512) - contents.len()];
    [&header(name, contents.len() as u64).as_bytes()[..], contents, &padding].concat()
}

/// An archive of the oldest format, which has no mark, of so many samples.
fn archive(samples: usize) -> Vec<u8> {
    let entries = (0..samples).flat_map(|k| entry(&format!("{k}.txt"), b"a\nb\n"));
    entries.chain([0; 1024]).collect()
}

#[test]
fn frames_to_be_skipped_are_no_lines() {
    let folder = Folder::new();
    let text = numbered(1000);
    // As `pzstd` writes it: before each frame is one that has its size.
    let half = text.len() / 2;
    let frames = [&text[..half], &text[half..]].map(|part| {
        let frame = compressed(2, part);
        let size = (frame.len() as u32).to_le_bytes();
        [&b"\x50\x2A\x4D\x18\x04\0\0\0"[..], &size, &frame].concat()
    });
    folder.write("text", frames.concat());
    assert!(folder.output(&["--seed", "5", "text"], b"") == shuffled(&lines(&text), 5));
}

#[test]
fn archives_without_a_mark_are_archives() {
    let folder = Folder::new();
    // Folders are known by the ends of their names.
    folder.write("a", [&entry("d/", b"")[..], &archive(1)].concat());
    for options in [&["a"][..], &["--tar", "a"]] {
        assert!(folder.output(options, b"") == archive(1), "{options:?}");
    }
}

#[test]
fn every_input_is_looked_at_once_it_is_decoded() {
    let folder = Folder::new();
    folder.write("lines", numbered(9));
    folder.write("lines.gz", compressed(1, &numbered(9)));
    folder.write("empty", b"");
    folder.write("zeros.tar", [0; 10240]);
    folder.write("a.tar", archive(1));
    folder.write("b.tar.gz", compressed(1, &archive(1)));
    let wide: Vec<u8> = [&b"\xFF\xFE"[..], b"1\0\n\0"].concat();
    let tar = "is a tar archive: give --tar, and archives alone";
    for (name, contents, why) in [
        ("u.gz", compressed(1, &wide), "text in UTF-16"),
        ("g.gz", compressed(1, &compressed(1, b"1\n2\n")), "compressed by gzip"),
        ("x.bz2", compressed(4, b"\xFD7zXZ\0\0"), "compressed by xz"),
        ("n.zst", compressed(2, b"\x93NUMPY\x01\0"), "a NumPy array"),
        ("p.lz4", compressed(3, b"PAR1\x15\x04"), "a Parquet file"),
        ("l", b"\x02\x21\x4C\x18\0".to_vec(), "an LZ4 file of the legacy format"),
    ] {
        folder.write(name, contents);
        // Be it the first or another, and whatever the records are.
        for arguments in [
            &[name][..],
            &["lines", name],
            &["lines.gz", "empty", name],
            &["--header-lines", "1", name],
            &["--csv", "lines", name],
            &["--output-dir", "out", name],
        ] {
            let complaint = folder.complaint(arguments, b"");
            assert!(complaint.starts_with(&format!("bshuf: {name}: ")), "{complaint}");
            assert!(complaint.contains(why), "{complaint}");
        }
    }
    for first in ["lines", "lines.gz"] {
        assert_eq!(folder.complaint(&[first, "a.tar"], b""), format!("bshuf: a.tar: {tar}"));
        let complaint = folder.complaint(&[first, "b.tar.gz"], b"");
        assert_eq!(complaint, format!("bshuf: b.tar.gz: decompressed, it {tar}"));
    }
    let complaint = folder.complaint(&["b.tar.gz", "lines"], b"");
    assert_eq!(
        complaint,
        "bshuf: lines: is not a tar archive: shuffle it by itself, without --tar"
    );
    // An archive without files is one, and so is an empty file, as for `tar`.
    for first in ["zeros.tar", "empty"] {
        assert!(folder.output(&[first, "b.tar.gz"], b"") == archive(1), "{first}");
    }
}

#[test]
fn folders_with_a_size_are_refused() {
    let folder = Folder::new();
    let mut directory = header("a/", 4096);
    directory.set_entry_type(tar::EntryType::Directory);
    directory.set_cksum();
    let samples = [entry("a/1.txt", b"x"), entry("a/2.txt", b"y")].concat();
    for behind in [&[0; 1024][..], &[&samples[..], &[0; 1024]].concat()] {
        folder.write("a.tar", [&directory.as_bytes()[..], behind].concat());
        let complaint = folder.complaint(&["a.tar"], b"");
        assert_eq!(complaint, "bshuf: a.tar: record 1 has the folder `a/` with a size");
    }
}

#[test]
fn folders_are_read_as_they_were_written() {
    let folder = Folder::new();
    let header = b"h,x\n";
    let rows: Vec<_> = (0..80).map(|k| format!("\"{k}\n\",x\n").into_bytes()).collect();
    let reads: Vec<_> = (0..80).map(|k| format!("@{k}\nA\n+\n!\n").into_bytes()).collect();
    let fours: Vec<_> = (0..80).map(|k| format!("{k}\0\n\0").into_bytes()).collect();
    let nulls: Vec<_> = (0..80).map(|k| format!("{k}\n\0").into_bytes()).collect();
    let parts: Vec<_> = (0..80).map(|k| format!("{k}\n==").into_bytes()).collect();
    let semicolons: Vec<_> = (0..80).map(|k| format!("{k};\"\n\"\n").into_bytes()).collect();
    let uneven: Vec<_> =
        (0..80).map(|k| format!("5\"{}\n", ";".repeat(k % 3)).into_bytes()).collect();
    let fasta: Vec<_> = (0..80).map(|k| format!(">{k}\nAC>\nG\n").into_bytes()).collect();
    let mut tensors: Vec<_> = (0..80).map(|k| tfrecord(&vec![k; usize::from(k) * 9])).collect();
    tensors.swap(0, 40);
    let binary: Vec<_> = (0..80).map(|k| format!("{k}\0\n").into_bytes()).collect();
    let vcf = b"##a\n##b\n#c\n";
    let samples: Vec<_> = (0..80).map(|k| entry(&format!("{k}.{}", k % 2), b"a\n")).collect();
    let csv = [&["--csv", "--header-lines", "1"][..], &["--csv=;", "--header-lines", "1"]];
    let none = (&b""[..], &b""[..]);
    for (number, (options, (head, tail), records)) in [
        (csv[0], (&header[..], none.1), &rows),
        (csv[1], (b"a;b\n", none.1), &semicolons),
        (&["--csv=;", "--uneven", "--loose-quotes"], none, &uneven),
        (&["--csv=;", "--uneven", "--loose-quotes"], (MARK, none.1), &uneven),
        (&["--record-start", ">"], none, &fasta),
        (&["--tfrecord"], none, &tensors),
        (&["--header-prefix", "##", "--header-prefix", "#c"], (vcf, none.1), &lines(&numbered(80))),
        (&["--text"], (MARK, none.1), &binary),
        (&["--fastq"], none, &reads),
        (&["--lines-per-record", "2", "-z"], none, &fours),
        (&["-z"], none, &nulls),
        (&["--separator", "=="], none, &parts),
        (&["--uneven"], (none.0, &[0; 1024][..]), &samples),
        (&["--header-lines", "1"], (&header[..], none.1), &reads),
    ]
    .into_iter()
    .enumerate()
    {
        let text = [head, &records.concat(), tail].concat();
        folder.write("text", &text);
        let out = format!("out{number}");
        let split = ["--seed", "1", "--output-dir", &out, "--shards", "3", "text"];
        folder.output(&[options, &split].concat(), b"");
        // An option may be repeated, and none has to.
        for options in [&[][..], options] {
            let options = if options == ["--uneven"] { &[] } else { options };
            assert!(folder.output(&[options, &["--undo", &out]].concat(), b"") == text, "{out}");
        }
        // To a folder too, which says the same.
        let back = format!("back{number}");
        folder.output(&["--undo", &out, "--output-dir", &back, "--shards", "1"], b"");
        let name = names(&folder, &back).into_iter().find(|name| name.contains("part")).unwrap();
        assert!(folder.read(&name) == text, "{name}");
        // So it is where the records are shuffled again.
        let again = folder.output(&["--seed", "2", &back], b"");
        assert_eq!(again, folder.output(&[options, &["--seed", "2", "text"]].concat(), b""));
        for other in [&["--lines-per-record", "7"][..], &["--header-lines", "2"]] {
            let complaint = folder.complaint(&[other, &["--undo", &out]].concat(), b"");
            assert!(complaint.contains("leave out the options that say otherwise"), "{complaint}");
        }
        let complaint = folder.complaint(&["-r", "-n", "3", &out], b"");
        assert!(complaint.starts_with(&format!("bshuf: {out}: was written as ")), "{complaint}");
    }
    let complaint = folder.complaint(&["--undo", "--csv=;", "out0"], b"");
    let why = "rows of CSV with `,` after a header of 1 line: leave out the options that say";
    assert_eq!(complaint, format!("bshuf: out0: was written as {why} otherwise"));
    // Folders in folders have indexes too.
    std::fs::create_dir_all(folder.path("in")).unwrap();
    std::fs::rename(folder.path("back0"), folder.path("in/back0")).unwrap();
    let rows = ["--seed", "2", "--recursive"];
    let again = folder.output(&[&rows[..], &["in"]].concat(), b"");
    let shard = ["--csv", "--header-lines", "1", "in/back0/part-00000-of-00001.csv"];
    assert_eq!(again, folder.output(&[&rows[..], &shard].concat(), b""));
    let complaint = folder.complaint(&["out0", "out2"], b"");
    assert!(complaint.starts_with("bshuf: out2: has records of another kind"), "{complaint}");
    // Lines may be taken for other records when they are shuffled again.
    folder.write("text", numbered(8));
    folder.output(&["--seed", "1", "--output-dir", "lines", "text"], b"");
    folder.output(&["--csv", "lines"], b"");
    assert!(folder.output(&["-r", "-n", "3", "lines"], b"").len() >= 6);
}

#[test]
fn records_are_as_many_as_the_index_says() {
    let folder = Folder::new();
    folder.write("text", b"a\nb\nc\nd\n");
    folder.output(&["--seed", "1", "--output-dir", "out", "--shards", "1", "text"], b"");
    folder.write("out/part-00000-of-00001.txt", b"a\nb\nc d\n");
    let why = "the index says that the shards have 4 records, but 3 were found: they were changed, \
               and must be written again";
    for options in [&["--undo"][..], &["--seed", "3"], &["--undo", "-o", "x.gz"]] {
        let complaint = folder.complaint(&[options, &["out"]].concat(), b"");
        assert_eq!(complaint, format!("bshuf: index.json: {why}"));
    }
}

#[test]
fn another_epoch_than_that_of_a_folder_is_refused() {
    let folder = Folder::new();
    folder.write("text", numbered(100));
    let run = ["--output-dir", "out", "--shards", "2", "--resume", "text"];
    folder.output(&[&run[..], &["--seed", "5", "--epoch", "3"]].concat(), b"");
    for same in [&[][..], &["--epoch", "3"], &["--seed", "5@3"]] {
        assert!(folder.output(&[same, &["--undo", "out"]].concat(), b"") == numbered(100));
        folder.output(&[same, &run].concat(), b"");
    }
    let why = "was shuffled with the seed 5@3, and another seed or epoch is given";
    for other in [&["--epoch", "2"][..], &["--seed", "5"], &["--seed", "6@3"]] {
        for arguments in [&["--undo", "out"][..], &run] {
            let complaint = folder.complaint(&[other, arguments].concat(), b"");
            assert_eq!(complaint, format!("bshuf: out: {why}"));
        }
    }
}

/// Another run must not go on with what another pipe had, and it is refused before it is read.
#[cfg(unix)]
#[test]
fn pipes_are_not_resumed() {
    use std::fs::File;
    use std::process::Command;

    use crate::folder::program;

    let folder = Folder::new();
    let why = "is a pipe, whose contents --resume and --worker cannot verify: write it to a file \
               first, or leave the options out";
    let run = ["--seed", "1", "--output-dir", "out", "--shards", "2"];
    folder.output(&run, b"10\n11\n12\n");
    std::fs::remove_file(folder.path("out/part-00001-of-00002.txt")).unwrap();
    let complaint = folder.complaint(&[&run[..], &["--resume"]].concat(), b"20\n21\n22\n");
    assert_eq!(complaint, format!("bshuf: standard input: {why}"));
    let first = folder.path("first");
    assert!(Command::new("mkfifo").arg(&first).status().unwrap().success());
    let writer = std::thread::spawn(move || File::create(first).map(drop));
    let other = ["--output-dir", "other", "--resume", "first"];
    assert_eq!(folder.complaint(&other, b""), format!("bshuf: first: {why}"));
    writer.join().unwrap().unwrap();
    assert!(!folder.path("other").exists());
    // A file is welcome, even if it is empty or comes as standard input.
    folder.write("text", b"1\n2\n");
    folder.write("empty", b"");
    for _ in 0..2 {
        let mut shell = Command::new(program());
        shell.args(["--output-dir", "other", "--resume", "empty", "-", "--quiet"]);
        shell.current_dir(folder.path("")).stdin(File::open(folder.path("text")).unwrap());
        assert!(shell.status().unwrap().success());
    }
}

#[test]
fn names_of_outputs_are_true() {
    let folder = Folder::new();
    folder.write("text", numbered(8));
    folder.write("a.npy", b"");
    let why = "its name says that it is compressed by gzip, but it would not be: give another \
               name";
    for arguments in [
        &["-e", "a", "b"][..],
        &["-i", "1-9"],
        &["-r", "-n", "3", "text"],
        &["--record", "2", "text"],
        &["a.npy"],
    ] {
        let complaint = folder.complaint(&[arguments, &["-o", "x.gz"]].concat(), b"");
        assert_eq!(complaint, format!("bshuf: x.gz: {why}"), "{arguments:?}");
    }
    folder.write("b.tgz", compressed(1, &archive(9)));
    folder.output(&["-o", "c.tgz", "b.tgz"], b"");
    assert!(folder.read("c.tgz").starts_with(b"\x1F\x8B"));
    folder.output(&["--output-dir", "out", "b.tgz"], b"");
    assert_eq!(names(&folder, "out")[1], "out/part-00000-of-00001.tar.gz");
}

#[test]
fn folders_are_as_they_were_where_nothing_is_written() {
    let folder = Folder::new();
    folder.write("text", numbered(8));
    folder.write("torn.csv", b"\"1\n");
    let why = |count: u64| {
        format!("bshuf: shards: there would be {count}, but 1000000 are the most: ask for fewer")
    };
    for (options, complaint) in [
        (&["--shards", "18446744073709551615", "text"][..], why(u64::MAX)),
        (&["--shards", "500001", "--split", "a=50%,b=rest", "text"], why(1_000_002)),
        (&["--csv", "torn.csv"], "bshuf: torn.csv: record 1 has a quote that is not closed".into()),
    ] {
        let found = folder.complaint(&[&["--output-dir", "out"], options].concat(), b"");
        assert_eq!(found, complaint);
        assert!(!folder.path("out").exists(), "{options:?}");
    }
    let outcome = folder.run(&["--output-dir", "out", "--split", "index.json=rest"], b"1\n");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("`index.json` cannot be the name of a folder"));
    // One that was there stays.
    std::fs::create_dir(folder.path("out")).unwrap();
    folder.complaint(&["--output-dir", "out", "--csv", "torn.csv"], b"");
    assert!(folder.path("out").exists());
}

#[test]
fn data_that_need_more_memory_are_not_called_damaged() {
    let folder = Folder::new();
    // A frame with a window of 2 GiB, of one block of two bytes as they are.
    folder.write("text.zst", b"\x28\xB5\x2F\xFD\0\xA8\x11\0\x001\n");
    let why = "need a window of more than 128 MiB: try `zstd -dc --long=31 FILE | bshuf`";
    let complaint = folder.complaint(&["text.zst"], b"");
    assert_eq!(complaint, format!("bshuf: text.zst: its zstd data {why}"));
}

/// Members of gzip that say that they are blocks, as by `bgzip`, and the block that ends them.
fn blocks(texts: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let block = |text: &&[u8]| {
        let extra = b"XY\x01\0zBC\x02\0\x1B\0".to_vec();
        let level = flate2::Compression::default();
        let mut encoder = flate2::GzBuilder::new().extra(extra).write(Vec::new(), level);
        std::io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    };
    // As the specification of SAM has it.
    let end = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
    assert_eq!(end.len(), 28);
    (texts.iter().map(block).collect(), end.to_vec())
}

#[test]
fn files_of_bgzip_that_are_cut_between_blocks_are_errors() {
    let folder = Folder::new();
    // Also a file that several threads read, in pieces.
    let noise: Vec<u8> = (0..700_000_u64)
        .map(|k| (k * k).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 45)
        .flat_map(|k| format!("{k}\n").into_bytes())
        .collect();
    let noise = &noise[..noise.iter().rposition(|&byte| byte == b'\n').unwrap() + 1];
    for text in [&numbered(40)[..], noise] {
        let half = text.len() / 2;
        let (members, end) = blocks(&[&text[..half], &text[half..]]);
        let whole = [&members.concat()[..], &end].concat();
        let expected = sorted(text);
        let same = |file: &[u8]| sorted(&folder.output(&["--seed", "1"], file)) == expected;
        assert!(same(&whole));
        // Zeros that fill up blocks, and a file of blocks behind another.
        for zeros in [1, 27, 28, 600_000] {
            assert!(same(&[&whole[..], &vec![0; zeros]].concat()), "{zeros}");
        }
        assert!(same(&[&members[0][..], &end, &members[1], &end].concat()));
        assert_eq!(folder.output(&["-q"], &end), b"");
        // Other members do not say where they end.
        assert!(same(&[compressed(1, &text[..half]), compressed(1, &text[half..])].concat()));
        for cut in [members.concat(), members[0].clone(), whole[..whole.len() - 10].to_vec()] {
            folder.write("x.gz", &cut);
            for (options, name) in [(&["-"][..], "standard input"), (&["x.gz"], "x.gz")] {
                let complaint = folder.complaint(options, &cut);
                let why = "is cut short: it has blocks of bgzip, and lacks the empty one that ends \
                           them: if nothing is missing, try `gzip -dc FILE | bshuf`";
                assert_eq!(complaint, format!("bshuf: {name}: {why}"));
            }
        }
    }
}

fn sorted(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> =
        text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort();
    lines
}

#[test]
fn files_that_are_cut_within_their_marks_are_errors() {
    let folder = Folder::new();
    assert_eq!(compressed(4, b"a\n")[4..10], *b"1AY&SY");
    let ends = ["gz", "zst", "lz4", "bz2"];
    for codec in 1..=4 {
        let file = compressed(codec, b"a\n");
        let end = ends[codec - 1];
        for bytes in 1..file.len() {
            let start = &file[..bytes];
            // Only bzip2 has more than four characters that a text may have.
            let is_text = start.is_ascii() && start.iter().all(|&byte| byte >= b' ');
            let is_text = is_text && bytes <= 4;
            folder.write("x", start);
            let named = format!("x.{end}");
            folder.write(&named, start);
            for (options, name) in
                [(&["-"][..], "standard input"), (&["x"], "x"), (&[&named], &named)]
            {
                for more in [&[][..], &["--csv"], &["--text"]] {
                    let options = [more, options].concat();
                    let outcome = folder.run(&options, start);
                    let is_said = outcome.stderr.starts_with(&format!("bshuf: {name}: "));
                    let is_cut = outcome.code == 1 && is_said && outcome.stdout.is_empty();
                    assert_eq!(
                        is_cut,
                        !is_text || name == named,
                        "{codec} {bytes} {options:?} {outcome:?}"
                    );
                    if bytes < 4 && is_cut {
                        assert!(outcome.stderr.contains("is cut short"), "{}", outcome.stderr);
                    }
                }
            }
        }
    }
    // A text that has more is one, whatever its name is, and so is one that has nothing else.
    for text in ["BZh91AY&S is the mark\n", "BZh9\n", "(\n", "P*M\n", "B", "BZ", "(", "P*M"] {
        assert_eq!(folder.output(&["-"], text.as_bytes()), format!("{}\n", text.trim()).as_bytes());
        if text.ends_with('\n') {
            folder.write("x.bz2", text);
            assert_eq!(folder.output(&["x.bz2"], b""), text.as_bytes());
        }
    }
    // Those that are not read are named.
    for (start, program) in [(&b"\xFD7z"[..], "xz"), (b"\x89LZ", "lzop"), (b"\x5D\0", "lzma")] {
        let complaint = folder.complaint(&["-"], start);
        assert!(complaint.contains(&format!("is compressed by {program}, ")), "{complaint}");
    }
    assert_eq!(folder.output(&["--separator", "\\xFD"], b"\xFD"), b"\xFD");
}
