//! The library's families in WGSL.
//!
//! What is known of a bijection is its form: the family's name, the numbers on which its code
//! depends, its parts, and its parameters by their names. A test compares every family's values
//! with the CPU's.
//!
//! Loops over rounds are written out, because not every driver unrolls them, and bounds checks and
//! dynamic indexes would cost more than the rounds.

use core::fmt::Write as _;

use bijective_shuffle_core::bijection::BijectionView;

use crate::error::WgslError;

/// The texts of a bijection and of its inverse, which both define `forward`, and their keys.
///
/// # Errors
///
/// [`WgslError::NoSource`] of the first part that has none, and [`WgslError::DomainTooWide`] of the
/// first that is too wide.
pub(crate) fn translate(
    bijection: &BijectionView<'_>,
) -> Result<([String; 2], Vec<[u32; 4]>), WgslError> {
    let mut writer = Writer { keys: Vec::new(), text: String::new(), parts: 0 };
    let root = writer.part(bijection)?;
    let text = |direction| {
        format!("{}fn forward(x: u32) -> u32 {{ return bs_{direction}{root}(x); }}\n", writer.text)
    };
    Ok(([text("f"), text("i")], writer.keys))
}

/// Writes the functions `bs_f0`, `bs_i0`, `bs_f1`, .. of the parts of a bijection.
struct Writer {
    keys: Vec<[u32; 4]>,
    text: String,
    parts: usize,
}

/// The words of a parameter, as far as they fit 32 bits.
pub(crate) fn words(form: &BijectionView<'_>, name: &str) -> Option<Vec<u32>> {
    Some(form.words(name)?.map(|word| word as u32).collect())
}

/// The word of a parameter that has one.
fn word(form: &BijectionView<'_>, name: &str) -> Option<u32> {
    Some(form.words(name)?.next()? as u32)
}

/// The last point of a family that says its width itself. A combinator is as wide as its parts, or
/// narrower.
fn own_last(form: &BijectionView<'_>) -> Option<u64> {
    let of_bits = form.number("bits").map(|bits| u64::MAX.checked_shr(64 - bits).unwrap_or(0));
    of_bits.or_else(|| form.words("width.last")?.next())
}

/// The statements of `MulXorshift` and of its inverse, from the affine map of each round. They read
/// the domain's mask, the shifts and the bits that the first shift leaves in `w`, and those that
/// the second leaves in `o`. `x` has garbage above the domain's bits at the end.
pub(crate) fn chain(
    rounds: usize,
    forward: impl Fn(usize) -> String,
    inverse: impl Fn(usize) -> String,
) -> [Vec<String>; 2] {
    let xorshift = |round: usize| match round % 2 {
        0 => "x ^= (x >> w.y) & w.w;".to_owned(),
        _ => "x ^= (x >> w.z) & o;".to_owned(),
    };
    let there = (0..rounds).flat_map(|round| [forward(round), xorshift(round)]);
    let back = (0..rounds).rev().flat_map(|round| [xorshift(round), inverse(round)]);
    [[xorshift(1)].into_iter().chain(there).collect(), back.chain([xorshift(1)]).collect()]
}

/// The statements that take steps until `x` is at most `last`, or `outside` further ones.
pub(crate) fn walk(step: &str, last: &str, outside: &str) -> [String; 3] {
    let more = format!("for (var n = {outside}; x > {last} && n > 0u; n--) {{ x = {step}; }}");
    [format!("x = {step};"), more, "return x;".to_owned()]
}

impl Writer {
    /// Writes the functions of a bijection behind those of its parts; returns its number.
    fn part(&mut self, form: &BijectionView<'_>) -> Result<usize, WgslError> {
        let parts: Result<Vec<usize>, _> = form.parts().map(|part| self.part(&part)).collect();
        let (family, parts) = (form.family(), parts?);
        if let Some(last) = own_last(form).filter(|&last| last > u32::MAX.into()) {
            return Err(WgslError::DomainTooWide { last });
        }
        let written = match (family.unwrap_or_default(), &parts[..]) {
            ("MulXorshift", []) => self.mul_xorshift(form),
            ("VariablePhilox", []) => self.variable_philox(form),
            ("Lcg", []) => self.lcg(form),
            ("Affine", []) => self.affine(form),
            ("Table", []) => self.table(form),
            ("Compose", [first, second]) => self.define(
                &format!("return bs_f{second}(bs_f{first}(x));"),
                &format!("return bs_i{first}(bs_i{second}(x));"),
            ),
            ("Inverse", [inner]) => {
                self.define(&format!("return bs_i{inner}(x);"), &format!("return bs_f{inner}(x);"))
            }
            ("RandomSign", &[inner]) => self.random_sign(form, inner),
            ("CycleWalk", &[inner]) => self.cycle_walk(form, inner),
            _ => None,
        };
        written.ok_or_else(|| WgslError::NoSource { family: family.map(str::to_owned) })
    }

    /// Adds a vector of keys; returns the expression that reads it.
    fn key(&mut self, key: [u32; 4]) -> String {
        self.keys.push(key);
        format!("bs_params.keys[{}]", self.keys.len() - 1)
    }

    /// Defines the functions of a part.
    fn define(&mut self, forward: &str, inverse: &str) -> Option<usize> {
        let part = self.parts;
        self.parts += 1;
        // Writing to a string cannot fail.
        for (direction, body) in [('f', forward), ('i', inverse)] {
            let _ = write!(self.text, "fn bs_{direction}{part}(x0: u32) -> u32 {{ var x = x0; ");
            let _ = writeln!(self.text, "{body} }}");
        }
        Some(part)
    }

    fn mul_xorshift(&mut self, form: &BijectionView<'_>) -> Option<usize> {
        let rounds = form.number("rounds")? as usize;
        let (shifts, below) = (words(form, "width.shifts")?, words(form, "width.below")?);
        let [multipliers, increments, undo, undo_increments] = [
            words(form, "multipliers")?,
            words(form, "increments")?,
            words(form, "undo")?,
            words(form, "undo_increments")?,
        ];
        let width = self.key([word(form, "width.last")?, shifts[0], shifts[1], below[0]]);
        let odd = self.key([below[1], 0, 0, 0]);
        let mut keys = Vec::new();
        for r in 0..rounds {
            keys.push(self.key([multipliers[r], increments[r], undo[r], undo_increments[r]]));
        }
        let [forward, inverse] = chain(
            rounds,
            |round| format!("x = x * {0}.x + {0}.y;", keys[round]),
            |round| format!("x = x * {0}.z + {0}.w;", keys[round]),
        );
        let body = |steps: Vec<String>| {
            format!("let w = {width}; let o = {odd}.x; {} return x & w.x;", steps.join(" "))
        };
        self.define(&body(forward), &body(inverse))
    }

    fn variable_philox(&mut self, form: &BijectionView<'_>) -> Option<usize> {
        let (bits, rounds) = (form.number("bits")?, form.number("rounds")? as usize);
        let first = self.keys.len();
        words(form, "keys")?.chunks(4).for_each(|keys| {
            self.key(core::array::from_fn(|k| keys.get(k).copied().unwrap_or(0)));
        });
        let key = |round: usize| {
            format!("bs_params.keys[{}].{}", first + round / 4, ["x", "y", "z", "w"][round % 4])
        };
        let (left, right) = (bits / 2, bits - bits / 2);
        let mask = |bits: u32| (1_u32 << bits) - 1;
        // A half has at most 16 bits, so that its product with the multiplier's low word can be put
        // together from two that fit 32 bits.
        let high = |half: &str| {
            format!(
                "(0xD2B74407u * {half} + ((0xB1CEu * {half} + ((0x6E93u * {half}) >> 16u)) >> 16u))"
            )
        };
        let odd = left != right;
        let mut forward = format!("var l = x >> {right}u; var r = x & {}u; ", mask(right));
        let mut inverse = forward.clone();
        for round in 0..rounds {
            let low = if odd {
                format!("((0xB1CE6E93u * l) << 1u) | ((r >> {left}u) & 1u)")
            } else {
                "0xB1CE6E93u * l".into()
            };
            let _ = write!(
                forward,
                "{{ let h = {}; let n = {low}; l = (h ^ {} ^ r) & {}u; r = n & {}u; }} ",
                high("l"),
                key(round),
                mask(left),
                mask(right),
            );
        }
        for round in (0..rounds).rev() {
            let (half, old) = if odd {
                ("(r >> 1u)", format!("(o & {}u) | ((r & 1u) << {left}u)", mask(left)))
            } else {
                ("r", "o".into())
            };
            let _ = write!(
                inverse,
                "{{ let p = ({half} * 0x212BDF9Bu) & {mask}u; let o = ({} ^ {} ^ l) & {mask}u; \
                 r = {old}; l = p; }} ",
                high("p"),
                key(round),
                mask = mask(left),
            );
        }
        let end = format!("return (l << {right}u) | r;");
        self.define(&(forward + &end), &(inverse + &end))
    }

    fn lcg(&mut self, form: &BijectionView<'_>) -> Option<usize> {
        let mask = u32::MAX.checked_shr(32 - form.number("bits")?).unwrap_or(0);
        let [multiplier, increment] = [word(form, "multiplier")?, word(form, "increment")?];
        let key = self.key([multiplier, increment, word(form, "undo")?, 0]);
        self.define(
            &format!("return ({key}.x * x + {key}.y) & {mask}u;"),
            &format!("return ((x - {key}.y) * {key}.z) & {mask}u;"),
        )
    }

    fn affine(&mut self, form: &BijectionView<'_>) -> Option<usize> {
        let bits = form.number("bits")?;
        let (columns, undo) = (words(form, "columns")?, words(form, "undo")?);
        let offset = self.key([word(form, "offset")?, word(form, "undo_offset")?, 0, 0]);
        let mut forward = format!("var v = {offset}.x; ");
        let mut inverse = format!("var v = {offset}.y; ");
        for bit in 0..bits as usize {
            let key = self.key([columns[bit], undo[bit], 0, 0]);
            let _ = write!(forward, "v ^= select(0u, {key}.x, ((x >> {bit}u) & 1u) != 0u); ");
            let _ = write!(inverse, "v ^= select(0u, {key}.y, ((x >> {bit}u) & 1u) != 0u); ");
        }
        self.define(&(forward + "return v;"), &(inverse + "return v;"))
    }

    fn table(&mut self, form: &BijectionView<'_>) -> Option<usize> {
        let first = self.keys.len();
        for name in ["values", "slots"] {
            let bytes = words(form, name)?;
            let word = |word: &[u32]| word.iter().rev().fold(0, |all, byte| all << 8 | byte);
            let words: Vec<u32> = bytes.chunks(4).map(word).collect();
            words.chunks(4).for_each(|words| {
                self.key(core::array::from_fn(|k| words[k]));
            });
        }
        let len = self.key([word(form, "len")?, 0, 0, 0]);
        let read = |first: usize| {
            format!(
                "x = select(0u, x, x < {len}.x); \
                 return (bs_params.keys[{first}u + (x >> 4u)][(x >> 2u) & 3u] >> (8u * (x & 3u))) & \
                 0xffu;"
            )
        };
        self.define(&read(first), &read(first + 16))
    }

    fn random_sign(&mut self, form: &BijectionView<'_>, inner: usize) -> Option<usize> {
        let key = self.key([word(form, "mask")?, 0, 0, 0]);
        let exchange = format!("x = select(x, x ^ {key}.x, x <= 1u); ");
        self.define(
            &format!("x = bs_f{inner}(x); {exchange} return x;"),
            &format!("{exchange} return bs_i{inner}(x);"),
        )
    }

    fn cycle_walk(&mut self, form: &BijectionView<'_>, inner: usize) -> Option<usize> {
        let key = self.key([word(form, "last")?, word(form, "outside")?, 0, 0]);
        let walk = |name: char| {
            walk(&format!("bs_{name}{inner}(x)"), &format!("{key}.x"), &format!("{key}.y"))
                .join(" ")
        };
        self.define(&walk('f'), &walk('i'))
    }
}
