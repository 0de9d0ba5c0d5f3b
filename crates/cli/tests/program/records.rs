//! Records of a fixed size, and NumPy arrays.

use bijective_shuffle::Permutation;

use crate::folder::Folder;
use crate::outside::statistic;

/// The records of a text in the order of a seed.
fn shuffled(text: &[u8], record: usize, seed: u64) -> Vec<u8> {
    let records: Vec<&[u8]> = text.chunks(record).collect();
    Permutation::new(records.len() as u64, seed).apply(&records).unwrap().concat()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|k| (k * k * 31 % 251) as u8).collect()
}

#[test]
fn records_are_shuffled_in_any_memory() {
    let folder = Folder::new();
    for record in [1, 3, 8, 24, 1000] {
        let text = bytes(1_200_000);
        folder.write("records", [b"HEADER!", &text[..]].concat());
        let size = record.to_string();
        let options =
            ["--seed", "2", "--record", &size, "--header-bytes", "7", "records", "--memory"];
        let whole = [b"HEADER!", &shuffled(&text, record, 2)[..]].concat();
        for memory in ["1M", "1G"] {
            let output = folder.output(&[&options[..], &[memory]].concat(), b"");
            assert!(output == whole, "{record} {memory}");
            folder.write("shuffled", &output);
            let undo =
                [&options[..4], &["--header-bytes", "7", "--undo", "shuffled", "--memory", memory]];
            assert!(folder.output(&undo.concat(), b"") == folder.read("records"));
            let head = folder.output(&[&options[..], &[memory, "-n", "5"]].concat(), b"");
            assert_eq!(head, whole[..7 + 5 * record]);
        }
    }
    assert_eq!(folder.output(&["--record", "2", "-r", "-n", "3"], b"ab"), b"ababab");
    assert_eq!(folder.output(&["--record", "2"], b""), b"");
}

#[test]
fn numbers_of_records_count_as_memory() {
    let folder = Folder::new();
    let text = bytes(300_000);
    folder.write("records", &text);
    // The bytes take a third of the memory, and the numbers of a part of so many bytes do not fit.
    let options = ["--seed", "2", "--record", "1", "--range", "7..299000", "records"];
    let outcome = folder.run(&[&options[..], &["--memory", "1M", "--stats"]].concat(), b"");
    assert!(outcome.stdout == shuffled(&text, 1, 2)[7..299_000]);
    assert!(statistic(&outcome.stderr, "buckets") > 0, "{}", outcome.stderr);
}

#[test]
fn files_of_broken_records_are_named() {
    let folder = Folder::new();
    folder.write("text", b"abcde");
    let complaint = folder.complaint(&["--record", "2", "--output", "new", "text"], b"");
    assert_eq!(complaint, "bshuf: text: 5 bytes are not whole records of 2");
    let complaint = folder.complaint(&["--record", "2", "--header-bytes", "9", "text"], b"");
    assert_eq!(complaint, "bshuf: text: it has 5 bytes, and no header of 9");
    for arguments in [&["--record", "0"][..], &["--header-bytes", "3"], &["--record", "2", "-z"]] {
        assert_eq!(folder.run(arguments, b"").code, 1);
    }
    assert_eq!(folder.names(), ["text"]);
}

/// An array as NumPy saves it: 32-bit numbers, and these numbers of rows and columns.
fn array(rows: usize, columns: usize) -> Vec<u8> {
    let text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut array = [b"\x93NUMPY\x01\0v\0", text.as_bytes()].concat();
    array.resize(127, b' ');
    array.push(b'\n');
    array
}

#[test]
fn arrays_keep_their_headers() {
    let folder = Folder::new();
    let (header, text) = (array(1000, 5), bytes(20_000));
    folder.write("x.npy", [&header[..], &text].concat());
    let whole = [&header[..], &shuffled(&text, 20, 4)].concat();
    let options = ["--seed", "4", "x.npy"];
    assert!(folder.output(&options, b"") == whole);
    // A part has another number of rows.
    let part = folder.output(&[&options[..], &["-n", "30"]].concat(), b"");
    assert_eq!(part, [&array(30, 5)[..], &whole[128..][..600]].concat());
    let drawn = folder.output(&[&options[..], &["-r", "-n", "1500"]].concat(), b"");
    assert!(drawn.starts_with(&array(1500, 5)));
    assert_eq!(drawn.len(), 128 + 1500 * 20);
    // And so have several.
    folder.write("y.npy", [&array(500, 5)[..], &text[..10_000]].concat());
    let both = folder.output(&["--seed", "4", "x.npy", "y.npy"], b"");
    let joined = [&text[..], &text[..10_000]].concat();
    assert!(both == [&array(1500, 5)[..], &shuffled(&joined, 20, 4)].concat());

    folder.write("z.npy", [&array(500, 4)[..], &text[..8000]].concat());
    let complaint = folder.complaint(&["x.npy", "z.npy"], b"");
    assert_eq!(complaint, "bshuf: z.npy: has rows of another kind than the first array");
    folder.write("short.npy", [&array(500, 5)[..], &text[..8000]].concat());
    let complaint = folder.complaint(&["short.npy"], b"");
    assert_eq!(complaint, "bshuf: short.npy: has 8000 bytes of data, which are not 500 rows of 20");
    folder.write("text.npy", b"one\ntwo\nthree\n");
    let complaint = folder.complaint(&["text.npy"], b"");
    assert_eq!(complaint, "bshuf: text.npy: is not a NumPy array");
    folder.write("text", b"one\n");
    let complaint = folder.complaint(&["x.npy", "text"], b"");
    assert_eq!(complaint, "bshuf: text: is not a NumPy array, but others are");
    let empty = |fields: &str| {
        format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': (0,), }}\n")
    };
    let empty = [b"\x93NUMPY\x01\0C\0", empty("('a', '<f4')").as_bytes()].concat();
    assert_eq!(empty.len(), 10 + usize::from(b'C'));
    folder.write("empty.npy", &empty);
    assert_eq!(folder.output(&["empty.npy"], b""), empty);
    assert_eq!(
        folder.complaint(&["-r", "x.npy"], b""),
        "bshuf: x.npy: an array cannot be endless: give --head-count"
    );
}

#[test]
fn an_input_without_a_byte_needs_no_header() {
    let folder = Folder::new();
    let options = ["--record", "4", "--header-bytes", "8", "--stats"];
    let outcome = folder.run(&options, b"");
    assert_eq!((outcome.code, outcome.stdout.len()), (0, 0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("\"empty_inputs\":1"), "{}", outcome.stderr);
    folder.write("empty", b"");
    folder.write("x", b"headhead1234");
    for options in [["empty", "x"], ["x", "empty"]] {
        let options = [&["--record", "4", "--header-bytes", "8"], &options[..]].concat();
        assert_eq!(folder.output(&options, b""), b"headhead1234");
    }
    let complaint = folder.complaint(&["--record", "4", "--header-bytes", "8"], b"headhea");
    assert_eq!(complaint, "bshuf: standard input: it has 7 bytes, and no header of 8");
}

#[cfg(not(feature = "tables"))]
#[test]
fn tables_need_their_feature() {
    let folder = Folder::new();
    folder.write("x.parquet", b"PAR1");
    let why = "Parquet and Arrow files need the feature `tables` of the program: cargo install \
               bijective-shuffle-cli --features tables";
    for options in [&["-o", "new", "x.parquet"][..], &["-n", "0", "x.parquet"]] {
        assert_eq!(folder.complaint(options, b""), format!("bshuf: x.parquet: {why}"));
    }
    assert_eq!(folder.names(), ["x.parquet"]);
}
