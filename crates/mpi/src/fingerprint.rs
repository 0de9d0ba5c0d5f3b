//! Hashes of what the ranks have to agree on.

use bijective_shuffle::bijection::hooks::EngineForm;
use bijective_shuffle::{Bijection, Permutation};

/// How many points of a bijection are evaluated for its hash.
const POINTS: u64 = 64;

/// A hash of a sequence of numbers. It only has to tell honest mistakes apart.
pub(crate) fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0x9e37_79b9_7f4a_7c15, |hash, number| {
        let mixed = (hash ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed ^ (mixed >> 32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53).rotate_left(29)
    })
}

/// A hash of a permutation's bijection and direction: its values at points all over the domain, and
/// whether they are vouched for, which decides how items travel. Points at equal distances would
/// have structure, as maps have.
pub(crate) fn of_permutation<B: Bijection>(p: &Permutation<B>) -> u64 {
    let form = EngineForm::of(p.bijection());
    let last = form.last();
    let point = |k: u64| {
        let mixed = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((u128::from(mixed ^ (mixed >> 32)) * (u128::from(last) + 1)) >> 64) as u64
    };
    let values = (0..POINTS).map(|k| form.forward(point(k)));
    let (back, trusted) = (u64::from(p.is_inverted()), u64::from(form.is_trusted()));
    hash([last, back, trusted].into_iter().chain(values))
}
