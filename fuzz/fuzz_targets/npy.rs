//! Any bytes as the header of an array: it is refused, or only its number of rows changes.
#![no_main]

use bijective_shuffle_cli::npy::Npy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, u64, &[u8])| {
    let (rows, data, bytes) = input;
    let Ok(found) = Npy::read(&mut &bytes[..]) else { return };
    let header = &bytes[..found.bytes as usize];
    assert_eq!(found.with_rows(found.rows()), header);
    if let Ok(row) = found.row_bytes(data) {
        assert_eq!(row.checked_mul(found.rows()), Some(data));
    }
    // An array of no dimensions has no rows whose number could change.
    if found.row_bytes(data).is_ok() {
        let written = found.with_rows(rows);
        let again = Npy::read(&mut written.as_slice()).expect("it is a header");
        assert!(again.is_like(&found));
        assert_eq!((again.rows(), again.bytes), (rows, written.len() as u64));
    }
});
