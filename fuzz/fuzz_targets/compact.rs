//! Any bijection, honest or not, any length: the engine gives what the reference gives, and loses
//! nothing.
#![no_main]

use arbitrary::Arbitrary;
use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{
    BlockShuffle, Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, Standard,
    VariablePhilox,
};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cpu, Serial};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    kind: Kind,
    bits: u8,
    len: u32,
    seed: u64,
    /// Slots whose values are replaced: a lie, unless it happens to be true.
    lies: Vec<(u16, u64)>,
}

#[derive(Arbitrary, Debug)]
enum Kind {
    Standard,
    Philox,
    Lcg,
    Walk,
    Composed,
    Chain,
    Grid,
    Blocks,
}

/// A bijection with some of its values replaced.
struct Tampered {
    inner: Box<dyn Bijection>,
    lies: Vec<(u16, u64)>,
}

impl Bijection for Tampered {
    fn last(&self) -> u64 {
        self.inner.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        match self.lies.iter().find(|lie| u64::from(lie.0) == slot) {
            Some(lie) => lie.1,
            None => self.inner.forward(slot),
        }
    }
    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(index)
    }
}

fuzz_target!(|input: Input| {
    let Input { kind, bits, len, seed, lies } = input;
    // Up to 2^14 points, beyond the threshold from which there are threads; mostly fewer, which is
    // faster.
    let bits = 2 + u32::from(bits % 13).min(u32::from(bits / 13));
    let points = 1_u64 << bits;
    let inner: Box<dyn Bijection> = match kind {
        Kind::Standard => Box::new(Standard::from_seed(points, seed)),
        Kind::Philox => Box::new(VariablePhilox::<24>::from_seed(points, seed)),
        Kind::Lcg => Box::new(Lcg::from_seed(points, seed)),
        Kind::Walk => {
            Box::new(CycleWalk::<VariablePhilox>::from_seed(points / 2 + seed % (points / 2), seed))
        }
        Kind::Chain => Box::new(MulXorshift::<10>::from_seed(points, seed)),
        Kind::Grid => {
            Box::new(GridFeistel::<12>::from_seed(points / 2 + seed % (points / 2), seed))
        }
        Kind::Blocks => {
            let (block, window) = (1 + seed % 97, 1 + seed % 5);
            Box::new(BlockShuffle::new(points - seed % 3, block, window, seed).expect("a shape"))
        }
        Kind::Composed => {
            let philox = VariablePhilox::<24>::from_seed(points, seed);
            let lcg = Lcg::from_seed(points, seed ^ 1);
            Box::new(Compose::new(lcg, Inverse::new(philox)).expect("one domain"))
        }
    };
    // Now and then longer than the domain, which is an error.
    let len = (u64::from(len) % (inner.last() + 3)) as usize;
    let f: Box<dyn Bijection> =
        if lies.is_empty() { inner } else { Box::new(Tampered { inner, lies }) };

    // Boxed, so that the address sanitizer sees what is lost or dropped twice.
    let original: Vec<Box<usize>> = (0..len).map(Box::new).collect();
    let (mut ours, mut reference) = (original.clone(), original.clone());
    let result = Cpu.shuffle(&f, &mut ours);
    let expected = Serial.shuffle(&f, &mut reference);
    assert_eq!(result.is_ok(), expected.is_ok(), "{result:?} {expected:?}");
    assert_eq!(ours, reference);
    if result.is_err() {
        assert_eq!(ours, original);
        return;
    }
    let p = Permutation::from_bijection(len as u64, &f).expect("it fits");
    assert!(p.iter().zip(&ours).all(|(index, item)| *item == original[index as usize]));
    Cpu.unshuffle(&f, &mut ours).expect("it was shuffled");
    assert_eq!(ours, original);
    // These lengths are moved directly unless somebody asks for more.
    for strategy in [Strategy::Partitioned, Strategy::InPlace] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        workspace.shuffle(&f, &mut ours).expect("it was shuffled");
        assert_eq!(ours, reference, "{strategy:?}");
        workspace.unshuffle(&f, &mut ours).expect("it was shuffled");
        assert_eq!(ours, original, "{strategy:?}");
    }
    Serial.unshuffle(&f, &mut reference).expect("it was shuffled");
    assert_eq!(reference, original);
});
