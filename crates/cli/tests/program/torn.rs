//! Data sets that could be torn, mixed or lost in silence, and are not.

use std::fs;

use crate::folder::{Folder, numbered};
use crate::sets::{compressed, lines, shuffled};

/// The header of a file of an archive of the oldest format.
fn header(name: &str, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_old();
    header.set_path(name).unwrap();
    header.set_size(bytes);
    header.set_cksum();
    header
}

fn entry(name: &str, contents: &[u8]) -> Vec<u8> {
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
    // An archive without files is one, and an empty file is none that is whole.
    assert!(folder.output(&["zeros.tar", "b.tar.gz"], b"") == archive(1));
    let complaint = folder.complaint(&["empty", "b.tar.gz"], b"");
    let why = "record 1 is missing, and so is the end of the archive: it is cut short";
    assert_eq!(complaint, format!("bshuf: empty: {why}"));
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
fn a_byte_order_mark_stays_in_front() {
    let folder = Folder::new();
    let (head, rows) = (b"\xEF\xBB\xBF\"a\nb\",c\n", numbered(50));
    folder.write("t.csv", [&head[..], &rows].concat());
    let csv = ["--seed", "3", "--csv", "t.csv"];
    let output = folder.output(&[&csv[..], &["--header-lines", "1"]].concat(), b"");
    assert!(output == [&head[..], &shuffled(&lines(&rows), 3)].concat());
    folder.write("t.csv.gz", compressed(1, &folder.read("t.csv")));
    for name in ["t.csv", "t.csv.gz"] {
        let complaint = folder.complaint(&["--csv", name], b"");
        assert!(complaint.contains("has a byte order mark, which has to stay"), "{complaint}");
    }
}
