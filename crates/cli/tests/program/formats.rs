//! Formats whose records are not lines: each is refused where it would be torn, and moved whole
//! where an option says what it is.

use std::fs;

use crate::folder::{Folder, numbered};
use crate::outside::statistic;
use crate::sets::{compressed, lines, names, shuffled};
use crate::workers::run_all;

/// The byte order mark of UTF-8.
pub(crate) const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The masked checksum of a TFRecord, bit by bit.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1));
    let crc = !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step));
    crc.rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes()
}

/// A record of a TFRecord file.
pub(crate) fn tfrecord(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [&length[..], &checksum(&length), bytes, &checksum(bytes)].concat()
}

#[test]
fn a_nul_among_the_first_bytes_is_refused_wherever_it_is_read() {
    let folder = Folder::new();
    let why = "is binary, as a NUL among its first bytes says, and has no lines of bytes: give -z, \
               --separator or --record if its records end otherwise, or --text if it is text";
    let mut text = numbered(4000);
    text[30_000] = 0;
    fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/a.jsonl", numbered(9));
    for (codec, name) in ["in/b", "in/b.gz", "in/b.zst", "in/b.lz4", "in/b.bz2"].iter().enumerate()
    {
        folder.write(name, compressed(codec, &text));
        let decompressed = if codec == 0 { "" } else { "decompressed, it " };
        for options in [
            &["in"][..],
            &[name],
            &["in/a.jsonl", name],
            &["--csv", "--uneven", "in"],
            &["--lines-per-record", "1", "in"],
            &["--record-start", "line", name],
            &["--header-lines", "1", name],
            &["--header-prefix", "#", name],
            &["--output-dir", "out", "in"],
            &["-n", "1", name],
            &["--output-dir", "out", "--worker", "0/1", "--stage", "count", "--seed", "1", "in"],
        ] {
            let complaint = folder.complaint(options, b"");
            assert_eq!(complaint, format!("bshuf: {name}: {decompressed}{why}"), "{options:?}");
            assert!(!folder.path("out/index.json").exists());
        }
        let complaint = folder.complaint(&[], &folder.read(name));
        assert_eq!(complaint, format!("bshuf: standard input: {decompressed}{why}"));
        // What says that records may have it is believed.
        let expected = shuffled(&lines(&text), 5);
        for options in [&["--text"][..], &["-a", "--lines-per-record", "1"]] {
            let output = folder.output(&[options, &["--seed", "5", name]].concat(), b"");
            assert!(output == expected, "{options:?}");
        }
        for options in [&["-z"][..], &["--separator", "\\n"]] {
            assert!(folder.output(&[options, &[name]].concat(), b"").len() >= text.len());
        }
        if codec == 0 {
            let size = text.len().to_string();
            assert!(folder.output(&["--record", &size, name], b"") == text);
            assert!(folder.complaint(&["-r", "-n", "3", name], b"").contains("is binary"));
            assert!(folder.output(&["-r", "-n", "3", "-a", name], b"").len() > 9);
        }
        fs::remove_file(folder.path(name)).unwrap();
        let _ = fs::remove_dir_all(folder.path("out"));
    }
    // One that comes late is not seen, as by `grep` where it reads a pipe.
    let text = [numbered(4000), b"\0\n".to_vec()].concat();
    assert_eq!(folder.output(&[], &text).len(), text.len());
    // Text is no other thing.
    for line in [&["--text", "--record", "2"][..], &["--text", "--tar"], &["-a", "--tfrecord"]] {
        assert_eq!(folder.run(line, b"ab").code, 1, "{line:?}");
    }
    folder.write("x.npy", b"");
    let complaint = folder.complaint(&["--text", "x.npy"], b"");
    assert_eq!(complaint, "bshuf: --text: arrays and tables are not text");
}

#[test]
fn binary_formats_are_known_by_their_first_bytes() {
    let folder = Folder::new();
    let none = "and has no lines of bytes";
    for (start, why) in [
        (&b"\x89PNG\r\n\x1A\nx"[..], "is a PNG image"),
        (b"\xFF\xD8\xFF\xDBx\n", "is a JPEG image"),
        (b"%PDF-1.7\n%x\n", "is a PDF document"),
        (b"\x80\x02]q\x01(K\x01K\x02e.", "is a pickle of Python"),
        (b"\x80\x05\x95\x0A.", "is a pickle of Python"),
        (b"(lp0\nI1\naI2\na.", "is a pickle of Python"),
        (b"ORC\n\x03\x01\x02\n", "is an ORC file"),
        (b"BAM\x01\n\n\n\n", "is a BAM file"),
        (b"Rar!\x1A\x07\x01\n", "is a RAR archive"),
        (b"\x78\x9C\x4B\x04\n", "is compressed by zlib"),
        (&tfrecord(b"\n\n"), "is a TFRecord file"),
    ] {
        for bytes in [start.to_vec(), compressed(1, start), compressed(2, start)] {
            folder.write("file", &bytes);
            for options in [&["file"][..], &["--csv", "file"], &["--separator", "\\n", "file"]] {
                let complaint = folder.complaint(options, b"");
                assert!(complaint.contains(&format!("{why}, {none}")), "{complaint}");
            }
            assert_eq!(folder.run(&["--text", "file"], b"").code, 0, "{why}");
        }
    }
    // What is compressed is never text.
    let complaint = folder.complaint(&["-a"], b"\x5D\0\0\x80\0\n");
    let why = "is compressed by lzma, and has no lines: try `lzma -dc FILE | bshuf`";
    assert_eq!(complaint, format!("bshuf: standard input: {why}"));
}

#[test]
fn tfrecords_are_moved_whole_and_verified() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    // The length of the first has the bytes that gzip begins with.
    let first = tfrecord(&vec![b'\n'; 0x08_8B1F]);
    let rest = (0..3000_usize).map(|k| tfrecord(&k.to_le_bytes().repeat(k % 40)));
    let records: Vec<Vec<u8>> = [first].into_iter().chain(rest).collect();
    for (k, part) in records.chunks(1100).enumerate() {
        let name = format!("in/x.tfrecord-{k:05}-of-00003");
        folder.write(&name, compressed(k, &part.concat()));
    }
    folder.write("in/x.tfrecord-00003-of-00003", b"");
    let run = ["--seed", "5", "--tfrecord", "in", "--memory"];
    for memory in ["16M", "1G"] {
        let output = folder.output(&[&run[..], &[memory]].concat(), b"");
        assert!(output == shuffled(&records, 5), "{memory}");
    }
    let run = ["--seed", "5", "--tfrecord", "in"];
    let shards = ["--output-dir", "one", "--shards", "4", "--compress", "zstd"];
    folder.output(&[&run[..], &shards].concat(), b"");
    assert_eq!(names(&folder, "one")[1], "one/part-00000-of-00004.tfrecord.zst");
    assert!(folder.output(&["--undo", "--compress", "none", "one"], b"") == records.concat());
    run_all(&folder, &[&run[..], &shards[2..]].concat(), 2);
    for name in names(&folder, "one") {
        assert!(folder.read(&name) == folder.read(&name.replace("one/", "out/")), "{name}");
    }
    let head = folder.output(&[&run[..], &["-n", "10"]].concat(), b"");
    assert!(shuffled(&records, 5).starts_with(&head) && !head.is_empty());
    // What is wrong with one is said with its number, and nothing is written.
    let damaged = |at: usize| {
        let mut text = records[1..9].concat();
        text[at] ^= 1;
        text
    };
    let before = |number: usize| records[1..number].concat().len();
    for (text, why) in [
        (damaged(before(8) + 30), "record 8 is damaged: the checksum of its bytes does not match"),
        (damaged(before(8) + 3), "record 8 is damaged: the checksum of its length does not match"),
        (damaged(0), "is not a TFRecord file: its first bytes are not a length with its checksum"),
        (
            records[1..9].concat()[..before(8) + 7].to_vec(),
            "record 8 is cut short within its length",
        ),
        (b"a line\nand another\n".to_vec(), "is not a TFRecord file: its first bytes are no"),
    ] {
        folder.write("out.tfrecord", b"old");
        folder.write("bad", text);
        let complaint = folder.complaint(&["--tfrecord", "-o", "out.tfrecord", "bad"], b"");
        assert!(complaint.starts_with(&format!("bshuf: bad: {why}")), "{complaint}");
        assert_eq!(folder.read("out.tfrecord"), b"old");
    }
    for other in [&["--header-lines", "1"][..], &["--csv"], &["-z"], &["-r"], &["--text"]] {
        let outcome = folder.run(&[&["--tfrecord"], other].concat(), b"");
        assert!(outcome.stderr.contains("cannot be used with"), "{other:?} {}", outcome.stderr);
    }
}

#[test]
fn sequences_of_fasta_and_headers_of_vcf_stay_whole() {
    let folder = Folder::new();
    let fasta: Vec<Vec<u8>> =
        (0..300).map(|k| format!(">{k} a>b\n{}", "ACGT\n".repeat(k % 7)).into_bytes()).collect();
    let text = fasta.concat();
    folder.write("a.fa", &text[..text.len() - 1]);
    for memory in ["1M", "1G"] {
        let run = ["--seed", "5", "--record-start", ">", "--memory", memory, "--stats", "a.fa"];
        let outcome = folder.run(&run, b"");
        assert!(outcome.stdout == shuffled(&fasta, 5));
        assert_eq!(statistic(&outcome.stderr, "line_ends_added"), 1);
    }
    // Headers have as many lines as they have, and are one and the same.
    for headers in [0, 1, 30] {
        let head = [b"##x\n".repeat(headers), b"#CHROM\tPOS\n".to_vec()].concat();
        for (k, part) in [b"1\t2\n", b"1\t3\n", b"2\t1\n"].iter().enumerate() {
            folder.write(&format!("{k}.vcf"), compressed(k, &[&head[..], *part].concat()));
        }
        let run = ["--seed", "5", "--header-prefix", "#", "0.vcf", "1.vcf", "2.vcf"];
        let expected = [&head[..], &shuffled(&lines(b"1\t2\n1\t3\n2\t1\n"), 5)].concat();
        assert_eq!(folder.output(&run, b""), expected);
        assert_eq!(folder.output(&["--undo", "--header-prefix", "#", "--seed", "5"], &expected), {
            [&head[..], b"1\t2\n1\t3\n2\t1\n"].concat()
        });
    }
    folder.write("3.vcf", b"##y\n#CHROM\tPOS\n3\t1\n");
    let complaint = folder.complaint(&["--header-prefix", "#", "0.vcf", "3.vcf"], b"");
    assert_eq!(complaint, "bshuf: 3.vcf: has another header than 0.vcf");
    // Comments, and then the header of a table.
    let both = ["--csv", "--header-prefix", "#", "--header-lines", "1", "--seed", "1"];
    let table = b"# a, \"comment\n# b\na,b\n1,2\n";
    assert_eq!(folder.output(&both, table), table);
    let archive = ["--tar", "--header-prefix", "#"];
    let complaint = folder.complaint(&archive, &[0; 1024]);
    assert_eq!(complaint, "bshuf: options of headers: samples of tar have no header");
}

#[test]
fn a_byte_order_mark_stays_in_front_everywhere() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    let text = numbered(500);
    let marked = [MARK, &text].concat();
    let expected = [MARK, &shuffled(&lines(&text), 3)].concat();
    for (codec, name) in ["in/a", "in/b.gz", "in/c.zst"].iter().enumerate() {
        folder.write(name, compressed(codec, &marked));
        for options in [
            &["--memory", "1M"][..],
            &["--memory", "1G"],
            &["--csv"],
            &["--lines-per-record", "1"],
            &["--separator", "\\n"],
            &["--record-start", "line"],
        ] {
            let run = [options, &["--seed", "3", name]].concat();
            assert!(folder.output(&run, b"") == expected, "{options:?} {name}");
            let back = folder.output(&[options, &["--seed", "3", "--undo"]].concat(), &expected);
            assert!(back == marked, "{options:?}");
        }
        assert!(folder.output(&["--seed", "3"], &folder.read(name)) == expected);
        assert!(folder.output(&["--seed", "3", "-n", "9", name], b"").starts_with(MARK));
    }
    // Once in each output, however many inputs and outputs there are.
    let all: Vec<_> = (0..3).flat_map(|_| lines(&text)).collect();
    let one = folder.output(&["--seed", "3", "--compress", "none", "in"], b"");
    assert!(one == [MARK, &shuffled(&all, 3)].concat());
    let run = ["--seed", "3", "in", "--shards", "4", "--compress", "none"];
    folder.output(&[&run[..], &["--output-dir", "shards"]].concat(), b"");
    let shards = names(&folder, "shards");
    let parts =
        shards[1..].iter().map(|name| folder.read(name).strip_prefix(MARK).unwrap().to_vec());
    assert!(parts.collect::<Vec<_>>().concat() == shuffled(&all, 3));
    assert!(folder.output(&["--undo", "shards"], b"") == [MARK, &all.concat()].concat());
    run_all(&folder, &run, 2);
    for name in shards {
        assert!(folder.read(&name) == folder.read(&name.replace("shards/", "out/")), "{name}");
    }
    // Where only some have it, or where it cannot stay, it is refused.
    folder.write("plain", &text);
    for options in [&[][..], &["--csv"], &["--output-dir", "new"]] {
        let complaint = folder.complaint(&[options, &["plain", "in/a"]].concat(), b"");
        let why = "begins with a byte order mark, and plain does not";
        assert_eq!(complaint, format!("bshuf: in/a: {why}"));
        let complaint = folder.complaint(&[options, &["in/b.gz", "plain"]].concat(), b"");
        let why = "begins without the byte order mark that in/b.gz has";
        assert_eq!(complaint, format!("bshuf: plain: {why}"));
    }
    let complaint = folder.complaint(&["-r", "-n", "3", "in/a"], b"");
    let why = "begins with a byte order mark, which would move with its first line: take it off, \
               as \
               by `tail -c +4`";
    assert_eq!(complaint, format!("bshuf: in/a: {why}"));
    assert_eq!(folder.complaint(&["-r", "-n", "3", "--text", "in/a"], b""), complaint);
    // A mark is one whatever else the text has.
    let binary = [MARK, b"\0\n1\n2\n"].concat();
    for options in [&["--text"][..], &["--text", "--lines-per-record", "1"]] {
        let output = folder.output(&[options, &["--seed", "3"]].concat(), &binary);
        assert_eq!(output, [MARK, &shuffled(&lines(b"\0\n1\n2\n"), 3)].concat());
    }
    // The header of a table stands behind it.
    let (head, rows) = (b"\xEF\xBB\xBF\"a\nb\"\n", numbered(50));
    let csv = ["--seed", "3", "--csv", "--header-lines", "1"];
    let output = folder.output(&csv, &[&head[..], &rows].concat());
    assert!(output == [&head[..], &shuffled(&lines(&rows), 3)].concat());
}

/// Such as Spark writes for a partition without rows.
#[test]
fn empty_inputs_are_skipped_and_counted() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    for (name, contents) in [
        ("in/0.csv", b"".to_vec()),
        ("in/1.csv.gz", compressed(1, b"")),
        ("in/2.csv", b"a,b\n1,2\n".to_vec()),
        ("in/3.csv.zst", compressed(2, b"")),
        ("in/4.csv.bz2", compressed(4, b"a,b\n3,4\n")),
        ("in/5.csv", b"".to_vec()),
    ] {
        folder.write(name, contents);
    }
    let rows = lines(b"1,2\n3,4\n");
    let run = ["--seed", "1", "--csv", "--header-lines", "1", "--stats", "in"];
    let outcome = folder.run(&run, b"");
    assert_eq!(outcome.stdout, [b"a,b\n", &shuffled(&rows, 1)[..]].concat());
    assert_eq!(statistic(&outcome.stderr, "empty_inputs"), 4);
    assert_eq!((statistic(&outcome.stderr, "lines"), statistic(&outcome.stderr, "inputs")), (2, 6));
    let outcome = folder.run(&["--csv", "--header-lines", "1", "in"], b"");
    assert!(outcome.stderr.contains(", empty inputs skipped 4"), "{}", outcome.stderr);
    let shards = ["--seed", "1", "--csv", "--header-lines", "1", "in", "--shards", "2"];
    folder.output(&[&shards[..], &["--output-dir", "shards"]].concat(), b"");
    run_all(&folder, &shards, 3);
    for name in names(&folder, "shards") {
        assert!(folder.read(&name) == folder.read(&name.replace("shards/", "out/")), "{name}");
    }
    // None of them has anything.
    folder.write("empty", b"");
    for options in [&["--csv", "--header-lines", "1"][..], &["--tfrecord"], &["--fastq"]] {
        let outcome = folder.run(&[options, &["--stats", "empty", "in/5.csv"]].concat(), b"");
        assert_eq!((outcome.code, outcome.stdout.len()), (0, 0), "{options:?}");
        assert_eq!(statistic(&outcome.stderr, "empty_inputs"), 2);
    }
}

#[cfg(feature = "tables")]
#[test]
fn empty_tables_are_skipped_and_counted() {
    use crate::tables::{rows, write_ipc, write_parquet};

    let folder = Folder::new();
    let part = rows(0);
    for (kind, write) in [("parquet", write_parquet as fn(&Folder, &str, &_)), ("arrow", write_ipc)]
    {
        fs::create_dir(folder.path(kind)).unwrap();
        let name = |k: usize| format!("{kind}/{k}.{kind}");
        write(&folder, &name(1), &part);
        let alone = folder.output(&["--seed", "1", &name(1)], b"");
        folder.write(&name(0), b"");
        folder.write(&name(2), b"");
        let out = format!("out.{kind}");
        let outcome = folder.run(&["--seed", "1", "--stats", "-o", &out, kind], b"");
        assert_eq!((outcome.code, outcome.stderr.contains("\"empty_inputs\":2")), (0, true));
        assert!(folder.read(&out) == alone, "{kind}");
        let out = format!("out-{kind}");
        folder.output(&["--seed", "1", "--shards", "1", "--output-dir", &out, kind], b"");
        assert!(names(&folder, &out).len() == 2);
        let outcome = folder.run(&["-o", &format!("none.{kind}"), &name(0), &name(2)], b"");
        assert_eq!(outcome.code, 1, "{kind}: what the columns are is said by none");
    }
}
