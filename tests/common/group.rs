//! Arrays that are divided among the members of a group of GPUs, in memory whose ends are watched.

use bijective_shuffle::Error;
use bijective_shuffle::cuda::CudaGroup;
use bijective_shuffle::cuda::cudarc::driver::{CudaView, CudaViewMut, DeviceRepr};
use bijective_shuffle::prelude::*;

use bijective_shuffle_laws::{Numbers, short};

/// Items before and behind each run.
const GUARD: usize = 512;

/// Runs a movement from an array whose members have `from` items each to one whose members have
/// `to` items each, and gives back what is there, after a look at the guards of all runs.
pub(crate) fn guarded<T: DeviceRepr + Copy + PartialEq>(
    group: &mut CudaGroup,
    poison: T,
    source: &[T],
    [from, to]: [&[usize]; 2],
    run: impl FnOnce(&mut CudaGroup, &[CudaView<'_, T>], &mut [CudaViewMut<'_, T>]) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    let streams: Vec<_> = group.streams().cloned().collect();
    let padded = |items: &[T]| [&[poison; GUARD], items, &[poison; GUARD]].concat();
    let (mut sources, mut outs, mut rest) = (Vec::new(), Vec::new(), source);
    for ((stream, &from), &to) in streams.iter().zip(from).zip(to) {
        let (items, behind) = rest.split_at(from);
        rest = behind;
        sources.push(stream.clone_htod(&padded(items)).unwrap());
        outs.push(stream.clone_htod(&padded(&vec![poison; to])).unwrap());
    }
    let views: Vec<_> =
        sources.iter().zip(from).map(|(run, &len)| run.slice(GUARD..GUARD + len)).collect();
    let mut places: Vec<_> =
        outs.iter_mut().zip(to).map(|(run, &len)| run.slice_mut(GUARD..GUARD + len)).collect();
    let done = run(group, &views, &mut places);
    drop((views, places));
    let (mut all, mut kept) = (Vec::new(), Vec::new());
    for (member, stream) in streams.iter().enumerate() {
        let out = stream.clone_dtoh(&outs[member]).unwrap();
        let source = stream.clone_dtoh(&sources[member]).unwrap();
        stream.synchronize().unwrap();
        for (run, len) in [(&out, to[member]), (&source, from[member])] {
            let (before, behind) = (&run[..GUARD], &run[GUARD + len..]);
            assert!(before.iter().all(|&x| x == poison), "written before member {member}'s run");
            assert!(behind.iter().all(|&x| x == poison), "written behind member {member}'s run");
        }
        all.extend_from_slice(&out[GUARD..GUARD + to[member]]);
        kept.extend_from_slice(&source[GUARD..GUARD + from[member]]);
    }
    assert!(kept == source[..kept.len()], "the source was written");
    done.map(|()| all)
}

/// As many items for each of some members, as evenly as can be.
pub(crate) fn even(len: usize, members: usize) -> Vec<usize> {
    (0..members).map(|k| len * (k + 1) / members - len * k / members).collect()
}

/// Divisions of a length: even ones, all on one member, some members without any, and random ones.
pub(crate) fn divisions(len: usize, members: usize, numbers: &mut Numbers) -> Vec<Vec<usize>> {
    let on = |member: usize| {
        let mut all = vec![0; members];
        all[member] = len;
        all
    };
    let mut all = vec![even(len, members), on(0), on(members - 1), on(members / 2)];
    if short() {
        all.truncate(1);
    }
    for _ in 0..if short() { 1 } else { 2 } {
        let mut ends: Vec<usize> =
            (1..members).map(|_| numbers.below(len as u64 + 1) as usize).collect();
        ends.sort_unstable();
        ends.push(len);
        let mut first = 0;
        let random = ends.into_iter().map(|end| end - core::mem::replace(&mut first, end));
        all.push(random.collect());
    }
    all
}

/// Shuffles `len` words from each of some divisions to another, and back, and compares with the
/// order.
pub(crate) fn check(group: &mut CudaGroup, f: &dyn Bijection, order: &[u64], what: &str) {
    let members = group.streams().len();
    let mut numbers = Numbers(order.len() as u64);
    let divisions = divisions(order.len(), members, &mut numbers);
    let word = |index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let original: Vec<u64> = (0..order.len() as u64).map(word).collect();
    let shuffled: Vec<u64> = order.iter().map(|&index| word(index)).collect();
    for (k, from) in divisions.iter().enumerate() {
        // Each with itself would leave out that a division changes.
        let to = &divisions[numbers.below(divisions.len() as u64) as usize];
        let to = if k == 0 { from } else { to };
        let there = guarded(group, u64::MAX, &original, [from, to], |group, source, out| {
            group.shuffle_into(f, source, out)
        });
        assert!(there.unwrap() == shuffled, "{what}: {from:?} to {to:?}");
        let back = guarded(group, u64::MAX, &shuffled, [from, to], |group, source, out| {
            group.unshuffle_into(f, source, out)
        });
        assert!(back.unwrap() == original, "{what}: back, {from:?} to {to:?}");
    }
}
