//! The tests need a GPU, for which Mesa's lavapipe, on the CPU, is enough. Where there is none they
//! say so and pass, unless `BIJECTIVE_SHUFFLE_REQUIRE_WGPU=1` is set.

mod errors;
mod fill;
mod gpu;
mod laws;
mod own;
mod shaders;
mod speed;
mod walk;

use bijective_shuffle::bijection::{Compose, Inverse, MulXorshift, VariablePhilox};
use bijective_shuffle::{Bijection, FromSeed, affine::Affine};

pub(crate) use self::gpu::gpu;
use crate::{Wgpu, WgslSource};

/// One bijection of every family that has a text, with at least `len` points.
fn families(len: u64) -> Vec<(&'static str, Box<dyn Bijection>)> {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: u64) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let mul = || MulXorshift::<10>::from_seed(len, 7);
    let philox = || VariablePhilox::<24>::from_seed(len, 7);
    let mut all: Vec<(&'static str, Box<dyn Bijection>)> = vec![
        ("MulXorshift<3>", Box::new(MulXorshift::<3>::from_seed(len, 7))),
        ("MulXorshift<0>", Box::new(MulXorshift::<0>::from_seed(len, 7))),
        ("VariablePhilox<7>", Box::new(VariablePhilox::<7>::from_seed(len, 7))),
        ("Affine", Box::new(Affine::from_seed(len, 7))),
        ("Inverse", Box::new(Inverse::new(philox()))),
        ("Compose", Box::new(Compose::new(mul(), philox()).expect("one domain"))),
    ];
    for (name, draw) in bijective_shuffle_laws::families!(draw) {
        // A long table would take long to draw.
        if name == "Table" && len > 256 {
            continue;
        }
        let f = draw(len, 7);
        let has_text = WgslSource::from_bijection(&f).is_ok();
        assert_eq!(has_text, !["GridFeistel<12>", "SwapOrNot"].contains(&name), "{name}");
        if has_text {
            all.push((name, f));
        }
    }
    all
}
