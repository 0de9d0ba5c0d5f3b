//! Chapter 10: the sampler.

use bijective_shuffle::{Sampler, SamplerBuilder, SamplerState, Tail};

use super::case::Case;

/// A builder with a case's items, seed and orders.
fn builder(case: &Case) -> SamplerBuilder {
    let builder = Sampler::builder(case.length(), case.seed());
    match case.text("order") {
        "shuffled" => builder,
        "sequential" => builder.sequential(),
        "blocks" => builder.blocks(case.word("block"), case.word("window")),
        other => panic!("an unknown order: {other}"),
    }
}

/// A sampler with a case's ranks, too.
fn sampler(case: &Case) -> Sampler {
    let tail = match case.text("tail") {
        "short" => Tail::Short,
        "pad" => Tail::Pad,
        "fill" => Tail::Fill,
        "drop" => Tail::Drop,
        other => panic!("an unknown tail: {other}"),
    };
    let builder = builder(case).rank(case.count("rank"), case.count("ranks"));
    builder.batch(case.count("batch")).tail(tail).build().unwrap()
}

pub(super) fn epochs(case: &Case) {
    let mut sampler = sampler(case);
    sampler.set_epoch(case.word("epoch")).unwrap();
    let batches: Result<Vec<_>, _> = sampler.batches().collect();
    assert_eq!(batches.unwrap(), case.lists("batches"), "{}", case.what);
    assert_eq!(sampler.steps() as usize, case.lists("batches").len(), "{}", case.what);
    assert_eq!(sampler.consumed(), case.word("consumed"), "{}", case.what);
}

pub(super) fn resumes(case: &Case) {
    let mut sampler = sampler(case);
    let state: SamplerState = case.text("text").parse().unwrap();
    sampler.resume(&state).unwrap();
    assert_eq!(sampler.state().to_string(), case.text("text"), "{}", case.what);
    assert_eq!(sampler.steps_remaining(), case.count("steps_remaining"), "{}", case.what);
    let mut batch = Vec::new();
    assert!(sampler.next_batch(&mut batch).unwrap(), "{}", case.what);
    assert_eq!(batch, case.counts("taken"), "{}", case.what);
    assert_eq!(sampler.state().to_string(), case.text("after"), "{}", case.what);
}

pub(super) fn refused_states(case: &Case) {
    let mut sampler = builder(case).build().unwrap();
    let state = case.text("text").parse::<SamplerState>();
    let resumed = state.and_then(|state| sampler.resume(&state));
    assert!(resumed.is_err(), "{}", case.what);
}
