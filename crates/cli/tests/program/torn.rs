//! Data sets that could be torn, mixed or lost in silence, and are not.

use std::fs;

use crate::folder::{Folder, numbered};
use crate::sets::{compressed, lines, shuffled};

/// A file of a tar archive of one folder.
fn entry(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_old();
    header.set_path(name).unwrap();
    header.set_size(contents.len() as u64);
    header.set_cksum();
    let padding = vec![0; contents.len().next_multiple_of(512) - contents.len()];
    [&header.as_bytes()[..], contents, &padding].concat()
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
    folder.write("a", archive(1));
    for options in [&["a"][..], &["--tar", "a"]] {
        assert!(folder.output(options, b"") == archive(1), "{options:?}");
    }
}
