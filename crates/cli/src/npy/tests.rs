//! Headers as NumPy writes them, and others that it reads or does not.

use super::*;

/// What NumPy 2.4 writes: the version, the type and the shape, and the numbers of rows and of bytes
/// in each.
const WRITTEN: &[(u8, &[u8], &str, u64, u64)] = &[
    (1, b"'|b1'", "(3,)", 3, 1),
    (1, b"'>i4'", "(3,)", 3, 4),
    (1, b"'<f4'", "(3,)", 3, 4),
    (1, b"'<f16'", "(3,)", 3, 16),
    (1, b"'<c32'", "(3,)", 3, 32),
    (1, b"'|S7'", "(3,)", 3, 7),
    (1, b"'<U3'", "(3,)", 3, 12),
    (1, b"'|V5'", "(3,)", 3, 5),
    (1, b"'<M8[ns]'", "(3,)", 3, 8),
    (1, b"'<m8[25us]'", "(3,)", 3, 8),
    (1, b"'<M8'", "(3,)", 3, 8),
    (1, b"[('a', '<f4'), ('b', '|S3')]", "(3,)", 3, 7),
    (1, b"[('shape', '<f4'), ('descr', '|i1')]", "(3,)", 3, 5),
    (1, b"[('a|O', '<i2')]", "(3,)", 3, 2),
    (1, b"[(\"it's\", '<i2'), ('say \"x\"', '|i1')]", "(3,)", 3, 3),
    (1, b"[('back\\\\slash', '<i2'), ('brace}', '|u1'), ('comma, )', '|u1')]", "(3,)", 3, 4),
    (1, b"[('\xE9', '<f4'), ('\xFF', '|u1')]", "(3,)", 3, 5),
    (3, "[('назва', '<f4'), ('日本', '|i1')]".as_bytes(), "(3,)", 3, 5),
    (1, b"[(('title O', 'name'), '<f4')]", "(3,)", 3, 4),
    (1, b"[('in', [('x', '<f4'), ('y', '<f4', (2,))], (2, 3))]", "(3,)", 3, 72),
    (1, b"[('sub', '<i4', (2, 3)), ('one', '<i4', (2,))]", "(3,)", 3, 32),
    (1, b"[]", "(3,)", 3, 0),
    (1, b"[('empty', '<f4', (0,))]", "(3,)", 3, 0),
    (1, b"[('a', '|u1'), ('', '|V7'), ('b', '<f8')]", "(3,)", 3, 16),
    (1, b"[('', '|V4'), ('a', '<i2'), ('', '|V6'), ('b', '<i4'), ('', '|V4')]", "(3,)", 3, 20),
    (1, b"'<f4'", "(3, 4)", 3, 16),
    (1, b"'<f4'", "(3, 0, 5)", 3, 0),
    (1, b"'<f8'", "(0, 7)", 0, 56),
    (1, b"'|u1'", "(1000000, 1)", 1_000_000, 1),
];

/// Dictionaries that NumPy reads and no longer writes, if it ever did, of two elements of 4 bytes.
const READ: &[&str] = &[
    "{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}",
    "{'fortran_order': False, 'descr': '<f4', 'shape': (2,)}",
    r#"{"descr": "<f4", "fortran_order": False, "shape": (2,)}"#,
    "{'descr' : '<f4' , 'fortran_order' :False , 'shape':(2 ,) , }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }\n",
    "  {'descr':\t'<f4',\n'fortran_order': False, 'shape': (2,)}  \n",
    "{'descr': u'<f4', 'fortran_order': True, 'shape': (2,), }",
    "{'descr': ('<f4'), 'fortran_order': False, 'shape': (2, 1, 1), }",
    "{'descr': '=f4', 'fortran_order': True, 'shape': (2, 1,), }",
    "{'descr': 'f', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': 'float32', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': [(u'a', [('b', '<i2', 2)])], 'fortran_order': False, 'shape': (2,), }",
    "# one\n{'descr': '<f4', # two, }\n 'fortran_order': False, 'shape': (2,)} # three\n",
    "{'descr': '<i2, <u2', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': [('a', 'i2,u1'), ('b', 'u1')], 'fortran_order': False, 'shape': (2,), }",
];

/// A header of one of the versions with these bytes for its dictionary.
fn header(version: u8, text: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text);
    bytes
}

fn read(text: &str) -> Result<Npy, String> {
    Npy::read(&mut header(1, text.as_bytes()).as_slice()).map_err(|error| error.to_string())
}

/// A dictionary as NumPy writes it.
fn dictionary(descr: &[u8], shape: &str) -> Vec<u8> {
    let rest = format!(", 'fortran_order': False, 'shape': {shape}, }}");
    [b"{'descr': ", descr, rest.as_bytes()].concat()
}

#[test]
fn headers_of_numpy_are_read_and_changed_in_their_number_alone() {
    for &(version, descr, shape, rows, row_bytes) in WRITTEN {
        let text = dictionary(descr, shape);
        let found = Npy::read(&mut header(version, &text).as_slice()).unwrap();
        assert_eq!((found.rows(), found.row_bytes(rows * row_bytes)), (rows, Ok(row_bytes)));
        assert!(found.row_bytes(rows * row_bytes + 1).is_err());
        assert_eq!(found.bytes, header(version, &text).len() as u64);
        // The very same bytes for the same number, also without any padding.
        assert_eq!(found.with_rows(rows), header(version, &text));
        for other in [1, 7, 999_999, u64::MAX] {
            let written = found.with_rows(other);
            assert_eq!(written.len() % ALIGNMENT, 0);
            let prefix = if version == 1 { 10 } else { 12 };
            let changed = shape.replacen(&rows.to_string(), &other.to_string(), 1);
            let expected = [dictionary(descr, &changed), b"\n".to_vec()].concat();
            let end = written.strip_suffix(b"\n").unwrap().trim_ascii_end();
            assert_eq!([end, b"\n"].concat(), header_like(&written, prefix, &expected));
            let again = Npy::read(&mut written.as_slice()).unwrap();
            assert!(again.is_like(&found));
            assert_eq!((again.rows(), again.bytes), (other, written.len() as u64));
        }
    }
}

/// The first bytes of one header, and the dictionary of another.
fn header_like(written: &[u8], prefix: usize, text: &[u8]) -> Vec<u8> {
    [&written[..prefix], text].concat()
}

#[test]
fn headers_that_numpy_reads_are_read() {
    for text in READ {
        let found = read(text).unwrap();
        assert_eq!((found.rows(), found.row_bytes(8)), (2, Ok(4)), "{text}");
        let written = found.with_rows(12);
        let expected = text.replace("(2", "(12");
        assert!(written[10..].starts_with(expected.trim_end().as_bytes()), "{text}");
        assert_eq!(Npy::read(&mut written.as_slice()).unwrap().rows(), 12, "{text}");
    }
}

#[test]
fn digits_with_underscores_are_one_number() {
    let found = read("{'descr': '<f4', 'fortran_order': False, 'shape': (1_000, 1_0), }").unwrap();
    assert_eq!((found.rows(), found.row_bytes(40_000)), (1000, Ok(40)));
    let written = found.with_rows(7);
    let expected = b"{'descr': '<f4', 'fortran_order': False, 'shape': (7, 1_0), }";
    assert!(written[10..].starts_with(expected));
}

#[test]
fn arrays_are_alike_however_they_are_written() {
    let like = |one: &Npy, text: &str| one.is_like(&read(text).unwrap());
    let first =
        read("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4), }").unwrap();
    assert!(like(&first, r#"{"shape": (5L,4), "fortran_order":False, "descr":[("a","<f4")]}"#));
    assert!(!like(&first, "{'descr': [('b', '<f4')], 'fortran_order': False, 'shape': (3, 4), }"));
    assert!(!like(&first, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 5), }"));
    // One name, in Latin-1 and in UTF-8.
    let [latin, wide] = [(1, &b"[('\xE9', '<f4')]"[..]), (3, "[('é', '<f4')]".as_bytes())]
        .map(|(version, descr)| header(version, &dictionary(descr, "(3,)")));
    let [latin, wide] = [latin, wide].map(|bytes| Npy::read(&mut bytes.as_slice()).unwrap());
    assert!(latin.is_like(&wide));
}

#[test]
fn header_that_grows_too_long_gets_another_version() {
    let descr = format!("[('{}', '<f4')]", "\u{E9}".repeat(65_455));
    let text: Vec<u8> = descr.chars().map(|letter| letter as u8).collect();
    let found = Npy::read(&mut header(1, &dictionary(&text, "(1,)")).as_slice()).unwrap();
    for (rows, version) in [(1, 1), (u64::MAX, 2)] {
        let written = found.with_rows(rows);
        assert_eq!(written[6], version);
        let again = Npy::read(&mut written.as_slice()).unwrap();
        assert!(again.is_like(&found));
        assert_eq!((again.rows(), again.bytes), (rows, written.len() as u64));
    }
}

#[test]
fn headers_of_no_array_of_rows_are_refused() {
    for text in [
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': None, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (03,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1__0,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1_,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (_1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0x2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,) # }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3], }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } more",
        "{'descr': '<f4\\",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,), }",
        &"(".repeat(60_000),
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    let refused = |descr: &str, rest: &str| {
        let text = format!("{{'descr': {descr}, 'fortran_order': {rest}, }}");
        read(&text).unwrap().row_bytes(48).unwrap_err()
    };
    for descr in ["'|O'", "'O8'", "[('a', '<f4'), ('b', '|O')]", "[('a', [('b', 'O')], (2,))]"] {
        let why = refused(descr, "False, 'shape': (12,)");
        assert_eq!(why, "is a NumPy array of Python objects", "{descr}");
    }
    for (descr, rest, why) in [
        ("'<f4'", "False, 'shape': ()", "is a NumPy array without rows"),
        ("'<f4'", "True, 'shape': (3, 4)", "is a NumPy array in Fortran's order, by columns"),
        ("'<f4'", "False, 'shape': (3, 9999999999999999999)", TOO_LARGE),
        ("[('a', '<f4', (4294967296, 4294967296))]", "False, 'shape': (3,)", TOO_LARGE),
        ("'<f4'", "False, 'shape': (9,)", "has 48 bytes of data, which are not 9 rows of 4"),
        ("'i4,3f8'", "False, 'shape': (4,)", "has elements of type '3f8', whose size is not known"),
        ("'<é4'", "False, 'shape': (4,)", "has elements of type '<Ã©4', whose size is not known"),
        ("[1]", "False, 'shape': (4,)", NONSENSE),
        ("('<f4',)", "False, 'shape': (4,)", NONSENSE),
        ("[('a', '<f4', 'b')]", "False, 'shape': (4,)", NONSENSE),
    ] {
        assert_eq!(refused(descr, rest), why);
    }
    assert!(Npy::read(&mut b"one\ntwo\nthree\n".as_slice()).is_err());
    assert!(Npy::read(&mut b"\x93NUMPY\x01\0\xff\xff{".as_slice()).is_err());
    for version in [b"\x04\0", b"\x01\x01", b"\0\0"] {
        assert!(Npy::read(&mut [MAGIC, &version[..], b"\x01\0{"].concat().as_slice()).is_err());
    }
    // In UTF-8 not all bytes make a name.
    let broken = header(3, &dictionary(b"[('\xE9', '<f4')]", "(3,)"));
    assert!(Npy::read(&mut broken.as_slice()).is_err());
}
