//! Tests with a stand-in for NCCL, which need neither a GPU nor NCCL.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use super::fake::Fake;
use super::id::NcclId;
use super::library::{Nccl, Stream};
use super::link::{Link, LinkMessage};
use crate::Error;
use crate::error::{GpuError, Unavailable};

/// Longer than any test takes that does not wait for the end of it.
const LONG: Duration = Duration::from_secs(600);
/// So short that a test may wait for it.
const SHORT: Duration = Duration::from_millis(50);

fn join(fake: &Fake, limit: Duration) -> Result<Link, Error> {
    let nccl = fake.nccl();
    Link::new(nccl, &NcclId::made_by(nccl)?, 1, 3, limit)
}

fn message(peer: usize, address: u64, bytes: u64) -> LinkMessage {
    LinkMessage { peer, address, bytes }
}

/// A number that the stand-in writes down as the stream.
fn stream() -> Stream {
    ptr::without_provenance_mut(9)
}

fn exchange(link: &Link, sends: &[LinkMessage], receives: &[LinkMessage]) -> Result<(), Error> {
    // SAFETY: the stand-in uses neither the stream nor the memory.
    unsafe { link.exchange(stream(), sends, receives) }
}

fn all_gather(link: &Link, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
    // SAFETY: the stand-in uses neither the stream nor the memory.
    unsafe { link.all_gather(stream(), from, to, bytes) }
}

/// One message in each direction, whatever it contains.
fn exchange_any(link: &Link) -> Result<(), Error> {
    exchange(link, &[message(0, 64, 4)], &[message(2, 128, 4)])
}

fn gpu<T: std::fmt::Debug>(result: Result<T, Error>) -> GpuError {
    match result {
        Err(Error::Gpu(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn nccl_error<T: std::fmt::Debug>(result: Result<T, Error>) -> u32 {
    match gpu(result) {
        GpuError::NcclFailed { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

fn count(log: &[String], call: &str) -> usize {
    log.iter().filter(|line| *line == call).count()
}

/// What the stand-in has been told, once a line has come this many times. Where the limit is short,
/// a thread of the link's may be later than it.
fn log_with(fake: &Fake, line: &str, times: usize) -> Vec<String> {
    while count(&fake.log(), line) < times {
        thread::yield_now();
    }
    fake.log()
}

/// The path and the reason of the error for a library that is not NCCL.
fn refusal(result: Result<Nccl, Unavailable>) -> (String, String) {
    match result {
        Err(Unavailable::NcclNotLoaded { path, reason }) => (path, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_path_of_nccl_is_an_error() {
    let nothing = "/no-such-folder/libnccl.so.2";
    let (path, reason) = refusal(Nccl::by_setting(Some(nothing.into())));
    assert_eq!(path, nothing);
    let message = Unavailable::NcclNotLoaded { path, reason: reason.clone() }.to_string();
    for part in [nothing, &reason, "BIJECTIVE_SHUFFLE_NCCL"] {
        assert!(!part.is_empty() && message.contains(part), "{message}");
    }
}

#[test]
fn the_value_none_forbids_it() {
    assert_eq!(Nccl::by_setting(Some("none".into())).unwrap_err(), Unavailable::NoNccl);
}

#[test]
fn an_empty_value_counts_as_none_set() {
    // What that finds depends on the machine, but an empty path would not be loaded.
    let found = Nccl::by_setting(Some("".into()));
    assert!(!matches!(&found, Err(Unavailable::NcclNotLoaded { path, .. }) if path.is_empty()));
}

#[test]
fn missing_nccl_says_how_to_install_it() {
    let message = Error::no_cuda(Unavailable::NoNccl).to_string();
    for part in ["nvidia-nccl-cu12", "nvidia-nccl-cu13", "conda install", "apt install libnccl2"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(message.contains("BIJECTIVE_SHUFFLE_NCCL") && message.lines().count() == 1);
}

#[test]
fn other_libraries_are_refused_in_the_loaders_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libnccl.so.2");
    std::fs::write(&file, "no library").unwrap();
    let (path, reason) = refusal(Nccl::at(&file));
    assert_eq!(Path::new(&path), file);
    assert_ne!(reason, refusal(Nccl::at(&folder.path().join("none.so"))).1);
    // Any library of the system would do.
    let (_, reason) = refusal(Nccl::at(Path::new("libm.so.6")));
    assert!(reason.contains("ncclGetVersion"), "{reason}");
}

#[test]
fn a_library_without_a_function_is_refused_by_its_name() {
    let Some(fake) = Fake::without_send() else { return };
    let (_, reason) = refusal(Nccl::at(fake.path()));
    assert!(reason.contains("ncclSend"), "{reason}");
}

#[test]
fn an_old_version_is_refused_with_both_versions() {
    let Some(fake) = Fake::new() else { return };
    for (version, text) in [(21806, "2.18.6"), (2804, "2.8.4")] {
        fake.set("version", version);
        let error = Nccl::at(fake.path()).unwrap_err();
        let version = version as u32;
        assert_eq!(error, Unavailable::NcclTooOld { version, oldest: 21900 });
        let message = error.to_string();
        assert!(message.contains(text) && message.contains("2.19.0"), "{message}");
    }
    fake.set("version", 21903);
    assert!(format!("{:?}", Nccl::at(fake.path()).unwrap()).contains("21903"));
}

#[test]
fn an_id_keeps_its_bytes_to_itself() {
    let Some(fake) = Fake::new() else { return };
    let id = NcclId::made_by(fake.nccl()).unwrap();
    assert_eq!(id.to_bytes(), std::array::from_fn(|k| k as u8));
    assert_eq!(NcclId::from_bytes(id.to_bytes()), id);
    assert_eq!(format!("{id:?}"), "NcclId { .. }");
    fake.set("id", 2);
    assert_eq!(nccl_error(NcclId::made_by(fake.nccl())), 2);
}

#[test]
fn a_rank_joins_exchanges_gathers_and_leaves() {
    let Some(fake) = Fake::new() else { return };
    for setting in ["init_polls", "end_polls", "finalize_polls"] {
        fake.set(setting, 2000);
    }
    let link = join(&fake, LONG).unwrap();
    assert_eq!((link.rank(), link.ranks()), (1, 3));
    let sends = [message(2, 64, 5), message(1, 0, 0), message(0, 72, 1 << 40)];
    exchange(&link, &sends, &[message(0, 128, 7), message(2, 256, 0)]).unwrap();
    all_gather(&link, 512, 1024, 6).unwrap();
    link.check().unwrap();
    drop(link);
    let expected = [
        "init 1 of 3",
        "start",
        "send 5 of type 1, peer 2, at 64, stream 9",
        "send 1099511627776 of type 1, peer 0, at 72, stream 9",
        "receive 7 of type 1, peer 0, at 128, stream 9",
        "end",
        "gather 6 of type 1, from 512 to 1024, stream 9",
        "finalize",
        "destroy",
    ];
    assert_eq!(fake.log(), expected);
}

#[test]
fn without_bytes_there_is_no_call() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    exchange(&link, &[], &[]).unwrap();
    exchange(&link, &[message(0, 64, 0)], &[message(2, 64, 0)]).unwrap();
    all_gather(&link, 64, 64, 0).unwrap();
    assert_eq!(fake.log(), ["init 1 of 3"]);
}

#[test]
fn ranks_that_are_not_there_are_refused_before_anything_is_done() {
    let Some(fake) = Fake::new() else { return };
    let nccl = fake.nccl();
    let id = NcclId::made_by(nccl).unwrap();
    for (rank, ranks) in [(3, 3), (0, 0), (1, usize::MAX), (usize::MAX, usize::MAX)] {
        let error = Link::new(nccl, &id, rank, ranks, LONG).unwrap_err();
        assert_eq!(error, Error::NoSuchRank { rank: rank as u64, ranks: ranks as u64 });
    }
    let link = join(&fake, LONG).unwrap();
    let no_rank = Err(Error::NoSuchRank { rank: 3, ranks: 3 });
    let wrong = [message(0, 64, 8), message(3, 64, 8)];
    assert_eq!(exchange(&link, &wrong, &[]), no_rank);
    assert_eq!(exchange(&link, &[], &wrong), no_rank);
    assert_eq!(fake.log(), ["init 1 of 3"]);
    // Which is no reason to give up.
    exchange_any(&link).unwrap();
}

#[test]
fn a_rank_that_nobody_joins_gives_up_at_the_limit() {
    let Some(fake) = Fake::new() else { return };
    fake.set("init_polls", -1);
    let error = gpu(join(&fake, SHORT));
    let GpuError::TimedOut { own_rank: 1, after: SHORT, .. } = error else { panic!("{error:?}") };
    let message = error.to_string();
    assert!(message.starts_with("rank 1 could not join") && message.contains("50ms"), "{message}");
    assert_eq!(log_with(&fake, "abort", 1), ["init 1 of 3", "abort"]);
}

/// NCCL's thread may end long after the limit, and stores the handle once more then.
#[test]
fn late_joins_write_to_memory_of_their_own() {
    let Some(fake) = Fake::new() else { return };
    fake.set("init_polls", -1);
    assert!(matches!(gpu(join(&fake, SHORT)), GpuError::TimedOut { .. }));
    log_with(&fake, "abort", 1);
    // The frame of `Link::new` was below this one's, on the same stack.
    let frame = 0_u8;
    let below = (&raw const frame).addr().wrapping_sub(fake.end_init());
    assert!(below > 1 << 16, "{below} bytes below the frame of its caller");
}

#[test]
fn an_error_at_the_beginning_is_returned() {
    let Some(fake) = Fake::new() else { return };
    // Without a communicator, there is nothing to be aborted.
    fake.set("init", 5);
    assert_eq!(nccl_error(join(&fake, LONG)), 5);
    assert_eq!(fake.log(), ["init 1 of 3"]);
    // With one that fails in the background, there is.
    fake.set("init", 0);
    fake.set("init_polls", -1);
    fake.set("status", 2);
    assert_eq!(nccl_error(join(&fake, LONG)), 2);
    assert_eq!(fake.log(), ["init 1 of 3", "init 1 of 3", "abort"]);
}

#[test]
fn a_peer_that_dies_ends_the_wait_and_all_later_calls() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    exchange_any(&link).unwrap();
    let mut asked = 0;
    let waited = link.wait(|| {
        asked += 1;
        if asked == 3 {
            fake.set("status", 6);
        }
        Ok(false)
    });
    let error = gpu(waited.clone());
    assert!(matches!(error, GpuError::PeerLost { own_rank: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("new NcclId"), "{error}");
    let before = fake.log();
    assert_eq!(before.last().unwrap(), "abort");
    fake.set("status", 0);
    assert_eq!(link.wait(|| Ok(true)), waited);
    assert_eq!(link.check(), waited);
    assert_eq!(exchange_any(&link), waited);
    assert_eq!(exchange(&link, &[], &[]), waited);
    assert_eq!(all_gather(&link, 64, 128, 1), waited);
    drop(link);
    // Nothing was called after the abort, and the end came once.
    assert_eq!(fake.log(), before);
}

#[test]
fn an_error_after_the_last_kernel_is_still_one() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    let waited = link.wait(|| {
        fake.set("status", 3);
        Ok(true)
    });
    assert_eq!(nccl_error(waited), 3);
}

#[test]
fn a_stream_that_does_not_finish_is_waited_for_until_the_limit() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, SHORT).unwrap();
    let error = gpu(link.wait(|| Ok(false)));
    assert!(matches!(error, GpuError::TimedOut { own_rank: 1, after: SHORT, .. }), "{error:?}");
    drop(link);
    assert_eq!(log_with(&fake, "abort", 1), ["init 1 of 3", "abort"]);
}

#[test]
fn a_stream_that_fails_ends_the_communicator() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    let failed = || Err(GpuError::DriverFailed { code: 700, during: "wait for a stream" }.into());
    assert_eq!(link.wait(failed), failed().map(|_: bool| ()));
    assert_eq!(link.check(), failed().map(|_: bool| ()));
    assert_eq!(fake.log().last().unwrap(), "abort");
}

#[test]
fn a_wait_ends_when_the_stream_has_finished() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    let left = AtomicU32::new(1500);
    link.wait(|| Ok(left.fetch_sub(1, Ordering::Relaxed) == 1)).unwrap();
    assert_eq!(left.into_inner(), 0);
}

#[test]
fn a_group_that_fails_half_way_is_ended() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, LONG).unwrap();
    fake.set("fail_at", 2);
    fake.set("code", 4);
    // The error is that of the call, and not what is said of it at the end.
    fake.set("end", 5);
    let sends = [message(0, 64, 1), message(1, 64, 2), message(2, 64, 3)];
    let error = exchange(&link, &sends, &[message(0, 64, 4)]);
    assert_eq!(nccl_error(error), 4);
    let first = "send 1 of type 1, peer 0, at 64, stream 9";
    assert_eq!(fake.log(), ["init 1 of 3", "start", first, "end", "abort"]);
}

#[test]
fn a_group_that_cannot_begin_or_end_is_an_error() {
    for (setting, ends) in [("start", 0), ("end", 1)] {
        let Some(fake) = Fake::new() else { return };
        let link = join(&fake, LONG).unwrap();
        fake.set(setting, 1);
        assert_eq!(nccl_error(exchange_any(&link)), 1);
        let log = fake.log();
        assert_eq!((count(&log, "end"), count(&log, "abort")), (ends, 1), "{log:?}");
    }
}

#[test]
fn an_exchange_that_a_peer_does_not_make_ends_at_the_limit() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, SHORT).unwrap();
    fake.set("end_polls", -1);
    let error = exchange_any(&link);
    assert!(matches!(gpu(error.clone()), GpuError::TimedOut { .. }));
    assert_eq!(all_gather(&link, 64, 128, 8), error);
    assert_eq!(count(&log_with(&fake, "abort", 1), "abort"), 1);
}

#[test]
fn leaving_alone_aborts_the_communicator() {
    let Some(fake) = Fake::new() else { return };
    let link = join(&fake, SHORT).unwrap();
    fake.set("finalize_polls", -1);
    drop(link);
    assert_eq!(log_with(&fake, "abort", 1), ["init 1 of 3", "finalize", "abort"]);
}

#[test]
fn a_library_that_hangs_is_left_behind() {
    let Some(fake) = Fake::new() else { return };
    fake.set("destroy_hangs", 1);
    fake.set("abort_hangs", 1);
    // It returns at all: the limit is a lower bound of the time that it takes.
    drop(join(&fake, SHORT).unwrap());
    let link = join(&fake, SHORT).unwrap();
    let since = Instant::now();
    let waited = link.wait(|| Ok(false));
    assert!(since.elapsed() >= SHORT);
    assert!(matches!(gpu(waited), GpuError::TimedOut { .. }));
    drop(link);
    let log = log_with(&fake, "hangs", 2);
    assert_eq!((count(&log, "destroy"), count(&log, "abort")), (1, 1), "{log:?}");
    // The process must not end while the library's functions run.
    fake.set("destroy_hangs", 0);
    fake.set("abort_hangs", 0);
    log_with(&fake, "free", 2);
}

#[test]
fn threads_take_turns() {
    let Some(fake) = Fake::new() else { return };
    fake.set("end_polls", 10);
    let link = join(&fake, LONG).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| exchange_any(&link).unwrap()));
        }
    });
    // It may also be ended by another thread than that which has made it.
    thread::spawn(move || drop(link)).join().unwrap();
    let log = fake.log();
    assert_eq!((count(&log, "start"), count(&log, "end"), count(&log, "destroy")), (80, 80, 1));
}
