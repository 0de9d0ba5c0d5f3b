//! The library's families in WGSL.
//!
//! What the host knows of a bijection is its source in CUDA C++: the name of its type, with all its
//! parts, and the words of its parameters. Both are part of the library's interface, so nothing
//! there has to know of WGSL. A test compares every family's values with the CPU's.
//!
//! Loops over rounds are written out, because not every driver unrolls them, and bounds checks and
//! dynamic indexes would cost more than the rounds.

use core::fmt::Write as _;

use bijective_shuffle_core::DeviceSource;

/// The texts of a bijection and of its inverse, which both define `forward`, and their keys; `None`
/// if there is no text for it.
pub(crate) fn translate(source: &DeviceSource) -> Option<([String; 2], Vec<[u32; 4]>)> {
    let words = source.params().chunks_exact(4);
    let words: Vec<u32> =
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let mut writer = Writer { words: &words, keys: Vec::new(), text: String::new(), parts: 0 };
    let mut name = source.type_name();
    let root = writer.part(&mut name)?;
    // Words that are left over are a sign that the name means something else.
    if !name.is_empty() || !writer.words.is_empty() {
        return None;
    }
    let text = |direction| {
        format!("{}fn forward(x: u32) -> u32 {{ return bs_{direction}{root}(x); }}\n", writer.text)
    };
    Some(([text("f"), text("i")], writer.keys))
}

/// Writes the functions `bs_f0`, `bs_i0`, `bs_f1`, .. of the parts of a bijection.
struct Writer<'a> {
    words: &'a [u32],
    keys: Vec<[u32; 4]>,
    text: String,
    parts: usize,
}

impl Writer<'_> {
    /// Reads one type from the front of a name and writes its functions; returns its number.
    fn part(&mut self, name: &mut &str) -> Option<usize> {
        *name = name.strip_prefix("bijective_shuffle::")?;
        let end = name.find(['<', ',', '>']).unwrap_or(name.len());
        let (family, rest) = name.split_at(end);
        *name = rest;
        match family {
            "MulXorshift" => {
                let [word, rounds] = self.arguments(name)?;
                if word != "uint32_t" {
                    return None;
                }
                self.mul_xorshift(rounds.parse().ok()?)
            }
            "VariablePhilox" => {
                let [bits, rounds] = self.arguments(name)?;
                self.variable_philox(bits.parse().ok()?, rounds.parse().ok()?)
            }
            "Lcg" => {
                let [bits] = self.arguments(name)?;
                self.lcg(bits.parse().ok()?)
            }
            "Affine" => {
                let [bits] = self.arguments(name)?;
                self.affine(bits.parse().ok()?)
            }
            "Table" => self.table(),
            "Compose" => {
                *name = name.strip_prefix('<')?;
                let first = self.part(name)?;
                *name = name.strip_prefix(", ")?;
                let second = self.part(name)?;
                *name = name.strip_prefix('>')?;
                self.define(
                    &format!("return bs_f{second}(bs_f{first}(x));"),
                    &format!("return bs_i{first}(bs_i{second}(x));"),
                )
            }
            "Inverse" | "RandomSign" | "CycleWalk" => {
                *name = name.strip_prefix('<')?;
                let inner = self.part(name)?;
                *name = name.strip_prefix('>')?;
                match family {
                    "Inverse" => self.define(
                        &format!("return bs_i{inner}(x);"),
                        &format!("return bs_f{inner}(x);"),
                    ),
                    "RandomSign" => self.random_sign(inner),
                    _ => self.cycle_walk(inner),
                }
            }
            _ => None,
        }
    }

    /// Reads the arguments of a template that are no types of the library.
    fn arguments<'n, const COUNT: usize>(&self, name: &mut &'n str) -> Option<[&'n str; COUNT]> {
        let (arguments, rest) = name.strip_prefix('<')?.split_once('>')?;
        *name = rest;
        let arguments: Vec<&str> = arguments.split(", ").collect();
        arguments.try_into().ok()
    }

    /// Takes 64-bit words of the parameters, as far as they fit 32 bits.
    fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        let words = self.words.split_off(..2 * count)?;
        Some(words.chunks(2).map(|pair| pair[0]).collect())
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

    fn mul_xorshift(&mut self, rounds: usize) -> Option<usize> {
        let width = self.words.split_off(..6)?;
        let [last, shift_even, shift_odd, below_even, below_odd] =
            [width[0], width[2], width[3], width[4], width[5]];
        let unused = usize::from(rounds == 0);
        let [multipliers, increments, undo, undo_increments] = [
            self.take(rounds + unused)?,
            self.take(rounds + unused)?,
            self.take(rounds + unused)?,
            self.take(rounds + unused)?,
        ];
        let width = self.key([last, shift_even, shift_odd, below_even]);
        let odd = self.key([below_odd, 0, 0, 0]);
        let start = format!("let w = {width}; let o = {odd}.x; ");
        let xorshift = |round: usize| match round % 2 {
            0 => "x ^= (x >> w.y) & w.w; ",
            _ => "x ^= (x >> w.z) & o; ",
        };
        let (mut forward, mut inverse) = (start.clone() + xorshift(1), String::new());
        for round in 0..rounds {
            let key = [multipliers[round], increments[round], undo[round], undo_increments[round]];
            let key = self.key(key);
            let _ = write!(forward, "x = x * {key}.x + {key}.y; {}", xorshift(round));
            inverse = format!("{}x = x * {key}.z + {key}.w; {inverse}", xorshift(round));
        }
        let end = "return x & w.x;";
        self.define(&(forward + end), &(start + &inverse + xorshift(1) + end))
    }

    fn variable_philox(&mut self, bits: u32, rounds: usize) -> Option<usize> {
        if !(2..=32).contains(&bits) {
            return None;
        }
        let count = if rounds == 0 { 2 } else { rounds.next_multiple_of(2) };
        let round_keys = self.words.split_off(..count)?;
        let first = self.keys.len();
        round_keys.chunks(4).for_each(|keys| {
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

    fn lcg(&mut self, bits: u32) -> Option<usize> {
        let words = self.take(3)?;
        let mask = u32::MAX.checked_shr(32_u32.checked_sub(bits)?).unwrap_or(0);
        let key = self.key([words[0], words[1], words[2], 0]);
        self.define(
            &format!("return ({key}.x * x + {key}.y) & {mask}u;"),
            &format!("return ((x - {key}.y) * {key}.z) & {mask}u;"),
        )
    }

    fn affine(&mut self, bits: u32) -> Option<usize> {
        if bits > 32 {
            return None;
        }
        let count = (bits as usize).max(1);
        let columns = self.take(count + 1)?;
        let undo = self.take(count + 1)?;
        let offset = self.key([columns[count], undo[count], 0, 0]);
        let mut forward = format!("var v = {offset}.x; ");
        let mut inverse = format!("var v = {offset}.y; ");
        for bit in 0..bits as usize {
            let key = self.key([columns[bit], undo[bit], 0, 0]);
            let _ = write!(forward, "v ^= select(0u, {key}.x, ((x >> {bit}u) & 1u) != 0u); ");
            let _ = write!(inverse, "v ^= select(0u, {key}.y, ((x >> {bit}u) & 1u) != 0u); ");
        }
        self.define(&(forward + "return v;"), &(inverse + "return v;"))
    }

    fn table(&mut self) -> Option<usize> {
        let len = self.take(1)?[0];
        let bytes = self.words.split_off(..128)?;
        let first = self.keys.len();
        bytes.chunks(4).for_each(|words| {
            self.key(core::array::from_fn(|k| words[k]));
        });
        let len = self.key([len, 0, 0, 0]);
        let read = |first: usize| {
            format!(
                "x = select(0u, x, x < {len}.x); \
                 return (bs_params.keys[{first}u + (x >> 4u)][(x >> 2u) & 3u] >> (8u * (x & 3u))) & \
                 0xffu;"
            )
        };
        self.define(&read(first), &read(first + 16))
    }

    fn random_sign(&mut self, inner: usize) -> Option<usize> {
        let mask = self.take(1)?[0];
        let key = self.key([mask, 0, 0, 0]);
        let exchange = format!("x = select(x, x ^ {key}.x, x <= 1u); ");
        self.define(
            &format!("x = bs_f{inner}(x); {exchange} return x;"),
            &format!("{exchange} return bs_i{inner}(x);"),
        )
    }

    fn cycle_walk(&mut self, inner: usize) -> Option<usize> {
        let words = self.take(2)?;
        let key = self.key([words[0], words[1], 0, 0]);
        let walk = |step: &str| {
            format!(
                "x = {step}(x); for (var n = {key}.y; x > {key}.x && n > 0u; n--) {{ x = {step}(x); }} \
                 return x;"
            )
        };
        self.define(&walk(&format!("bs_f{inner}")), &walk(&format!("bs_i{inner}")))
    }
}
