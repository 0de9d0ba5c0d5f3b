//! [`Contender`]: a generator and the order in which its words are used.

use std::error::Error;

use bijective_shuffle::rng::{
    Fill, Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng,
    Streams, XorShift1024Weyl, Xorwow,
};
use rand_mt::Mt;

use crate::curand;
use crate::source::{Source, Started};

type Start = fn(u64) -> Started;

/// A generator in one order.
pub(crate) struct Contender {
    /// Its name on the command line and in the results.
    pub(crate) generator: &'static str,
    /// The order, likewise.
    pub(crate) order: &'static str,
    /// Starts it with a seed.
    pub(crate) start: Start,
    /// Whether it is run where no generators are named: this machine has what it needs, and it is
    /// not slow. Named it is run in any case, or says what is missing.
    pub(crate) by_default: fn() -> bool,
}

impl Contender {
    /// The generator and its order.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.generator, self.order)
    }
}

/// All of them, in the order of the paper's table 2.
pub(crate) fn all() -> &'static [Contender] {
    &CONTENDERS
}

/// The one with this name.
pub(crate) fn find(name: &str) -> Option<&'static Contender> {
    CONTENDERS.iter().find(|contender| contender.name() == name)
}

/// Those with one of these names, as the names come, or all that are run by default if there are no
/// names; of them those with this order.
pub(crate) fn matching(
    names: &[String],
    order: Option<&str>,
) -> Result<Vec<&'static Contender>, Box<dyn Error>> {
    let of_order = |contender: &&Contender| order.is_none_or(|order| contender.order == order);
    let mut chosen: Vec<&Contender> = Vec::new();
    for name in names {
        let is = |contender: &&Contender| contender.generator == name || contender.name() == *name;
        if !CONTENDERS.iter().any(|contender| is(&contender)) {
            return Err(format!("{name}: no such generator; `testu01 list` names them").into());
        }
        for contender in CONTENDERS.iter().filter(is).filter(of_order) {
            if !chosen.iter().any(|one| std::ptr::eq(*one, contender)) {
                chosen.push(contender);
            }
        }
    }
    if names.is_empty() {
        chosen = CONTENDERS.iter().filter(|one| (one.by_default)()).filter(of_order).collect();
    }
    if chosen.is_empty() { Err("no generator has this order".into()) } else { Ok(chosen) }
}

/// How many threads the paper's GPU program has, each with a word of a row: enough for an Ising
/// model of 1024 x 1024.
const THREADS: u64 = 1 << 18;

/// One generator, whose words are used in order.
struct Sequence<G>(G);

impl<G: Generator> Source for Sequence<G> {
    fn row(&self) -> usize {
        G::BLOCK
    }

    fn fill(&mut self, out: &mut [u32]) {
        self.0.fill_u32(out);
    }
}

/// Many streams, a block of each in turn: the order in which the threads of a GPU use them.
struct Rows<G>(Streams<G>);

impl<G: Generator> Source for Rows<G> {
    fn row(&self) -> usize {
        self.0.row_len()
    }

    fn fill(&mut self, out: &mut [u32]) {
        self.0.fill_u32(out);
    }
}

/// One thread of the threads that share a state: the first word of each block.
struct Lane<G>(G);

impl<G: Generator> Source for Lane<G> {
    fn row(&self) -> usize {
        1
    }

    fn fill(&mut self, out: &mut [u32]) {
        let mut block = vec![0; G::BLOCK];
        for word in out {
            self.0.fill_block(&mut block);
            *word = block[0];
        }
    }
}

/// The Mersenne Twister.
struct MersenneTwister(Mt);

impl Source for MersenneTwister {
    fn row(&self) -> usize {
        1
    }

    fn fill(&mut self, out: &mut [u32]) {
        for word in out {
            *word = self.0.next_u32();
        }
    }
}

/// Stream 0 of a seed.
fn sequence<G: Generator>(seed: u64) -> Started {
    Ok(Box::new(Sequence(G::new(seed, 0))))
}

/// Enough streams of a seed that a row has a word for each thread.
fn rows<G: Generator>(seed: u64) -> Started {
    Ok(Box::new(Rows::<G>(Streams::new(seed, 0..THREADS / G::BLOCK as u64)?)))
}

/// One lane of stream 0 of a seed.
fn lane<G: Generator>(seed: u64) -> Started {
    Ok(Box::new(Lane(G::new(seed, 0))))
}

/// Streams with a multiplier each.
fn multipliers(seed: u64) -> Started {
    Ok(Box::new(Rows(Streams::different(seed, THREADS as usize)?)))
}

/// A stream with a multiplier that is not near 2^32.
fn smaller(seed: u64) -> Started {
    Ok(Box::new(Sequence(Mwc::from_multiplier(3_036_999_759, seed, 0)?)))
}

fn mersenne_twister(seed: u64) -> Started {
    Ok(Box::new(MersenneTwister(Mt::new_with_key([seed as u32, (seed >> 32) as u32]))))
}

const fn contender(generator: &'static str, order: &'static str, start: Start) -> Contender {
    Contender { generator, order, start, by_default: || true }
}

/// cuRAND's, where its library is there, in its standard order.
const fn of_curand(order: &'static str, start: Start) -> Contender {
    Contender { generator: "curand", order, start, by_default: curand::is_there }
}

/// The first stream of cuRAND's order, which makes the words of all others in vain.
const fn stream_of_curand(order: &'static str, start: Start) -> Contender {
    Contender { generator: "curand", order, start, by_default: || false }
}

/// `sequence` is one generator; the words of `streams` are what [`THREADS`] threads use in turn.
static CONTENDERS: [Contender; 27] = [
    contender("lcg32", "sequence", sequence::<Lcg32>),
    contender("lcg32", "streams", rows::<Lcg32>),
    contender("lcg64", "sequence", sequence::<Lcg64>),
    contender("lcg64", "streams", rows::<Lcg64>),
    contender("mwc", "sequence", sequence::<Mwc>),
    contender("mwc", "streams", rows::<Mwc>),
    contender("mwc", "smaller", smaller),
    contender("mwc", "multipliers", multipliers),
    contender("fibonacci521", "sequence", sequence::<LaggedFibonacci521>),
    contender("fibonacci521", "streams", rows::<LaggedFibonacci521>),
    contender("fibonacci1279", "sequence", sequence::<LaggedFibonacci1279>),
    contender("fibonacci1279", "streams", rows::<LaggedFibonacci1279>),
    contender("xorwow", "sequence", sequence::<Xorwow>),
    contender("xorwow", "streams", rows::<Xorwow>),
    // The paper's single-thread order and its warp order.
    contender("xorshift", "lane", lane::<XorShift1024Weyl>),
    contender("xorshift", "warp", sequence::<XorShift1024Weyl>),
    contender("xorshift", "streams", rows::<XorShift1024Weyl>),
    contender("philox7", "sequence", sequence::<Philox4x32Rng<7>>),
    contender("philox7", "streams", rows::<Philox4x32Rng<7>>),
    contender("philox10", "sequence", sequence::<Philox4x32Rng>),
    contender("philox10", "streams", rows::<Philox4x32Rng>),
    contender("mt19937", "sequence", mersenne_twister),
    // 4096 streams, a word of each in turn.
    of_curand("xorwow", curand::on_the_cpu::<0>),
    stream_of_curand("xorwow-stream", curand::one_stream::<0, 1, 4096>),
    // 192 streams, 256 words of each in turn.
    of_curand("mtgp32", curand::on_the_cpu::<1>),
    stream_of_curand("mtgp32-stream", curand::one_stream::<1, 256, 49152>),
    of_curand("philox", curand::on_the_cpu::<2>),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Feed;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        // Without that whose start takes seconds.
        let quick = |contender: &&Contender| contender.order != "multipliers";
        for contender in all().iter().filter(quick).filter(|contender| (contender.by_default)()) {
            let words = |seed| {
                let mut feed = Feed::new((contender.start)(seed).unwrap());
                (0..8).map(|_| feed.next()).collect::<Vec<_>>()
            };
            let first = words(1);
            assert_eq!(first, words(1), "{}", contender.name());
            // The upper half counts as well.
            for other in [2, 1 | 1 << 32] {
                assert_ne!(first, words(other), "{}", contender.name());
            }
        }
    }

    #[test]
    fn names_are_generators_or_one_order_of_them() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let here = all().iter().filter(|contender| (contender.by_default)()).count();
        assert_eq!(matching(&[], None).unwrap().len(), here);
        assert_eq!(matching(&names("curand"), None).unwrap().len(), 5);
        assert_eq!(matching(&names("mt19937"), None).unwrap().len(), 1);
        assert_eq!(matching(&names("mt19937/sequence,mt19937"), None).unwrap().len(), 1);
        assert!(matching(&names("mt19937/streams"), None).is_err());
        let order: Vec<_> = matching(&names("xorwow,lcg32/streams"), None)
            .unwrap()
            .iter()
            .map(|c| c.name())
            .collect();
        assert_eq!(order, ["xorwow/sequence", "xorwow/streams", "lcg32/streams"]);
        assert!(
            matching(&[], Some("lane")).unwrap().iter().all(|contender| contender.order == "lane")
        );
        assert!(matching(&names("mt19937"), Some("streams")).is_err());
    }
}
