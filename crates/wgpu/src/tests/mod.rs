//! The tests need a GPU, for which Mesa's lavapipe, on the CPU, is enough. Where there is none they
//! say so and pass, unless `BIJECTIVE_SHUFFLE_REQUIRE_WGPU=1` is set.

mod errors;
mod fill;
mod gpu;
mod laws;
mod own;
mod shaders;
mod speed;

use bijective_shuffle::bijection::{
    Compose, CycleWalk, Inverse, Lcg, MulXorshift, RandomSign, Table, VariablePhilox,
};
use bijective_shuffle::{Bijection, FromSeed, affine::Affine};

pub(crate) use self::gpu::gpu;
use crate::Wgpu;

/// One bijection of every family that has a text, with at least so many points.
fn families(len: u64) -> Vec<(&'static str, Box<dyn Bijection>)> {
    let mul = || MulXorshift::<10>::from_seed(len, 7);
    let philox = || VariablePhilox::<24>::from_seed(len, 7);
    let mut families: Vec<(&'static str, Box<dyn Bijection>)> = vec![
        ("MulXorshift<10>", Box::new(mul())),
        ("MulXorshift<3>", Box::new(MulXorshift::<3>::from_seed(len, 7))),
        ("MulXorshift<0>", Box::new(MulXorshift::<0>::from_seed(len, 7))),
        ("VariablePhilox<24>", Box::new(philox())),
        ("VariablePhilox<7>", Box::new(VariablePhilox::<7>::from_seed(len, 7))),
        ("Lcg", Box::new(Lcg::from_seed(len, 7))),
        ("Affine", Box::new(Affine::from_seed(len, 7))),
        ("Inverse", Box::new(Inverse::new(philox()))),
        ("Compose", Box::new(Compose::new(mul(), philox()).expect("one domain"))),
        ("RandomSign", Box::new(RandomSign::<MulXorshift<10>>::from_seed(len, 7))),
        ("CycleWalk", Box::new(CycleWalk::<MulXorshift<10>>::from_seed(len, 7))),
    ];
    if len <= 256 {
        families.push(("Table", Box::new(Table::from_seed(len, 7))));
    }
    families
}
