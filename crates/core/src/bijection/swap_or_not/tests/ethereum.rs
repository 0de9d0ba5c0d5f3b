//! The shuffle by which Ethereum chooses its committees, as its consensus specification defines it
//! (`compute_shuffled_index`): swap-or-not with reflections modulo `n` for keys and bits of
//! SHA-256. Its published vectors show that the plain form of the rounds, to which the family is
//! compared, is theirs.

use super::swap_or_not;

/// SHA-256 of a short message (FIPS 180-4).
fn sha256(message: &[u8]) -> [u8; 32] {
    // The first 32 bits of the fractions of the square and cube roots of the first primes.
    let primes = (2_u32..).filter(|&n| (2..n).all(|d| n % d != 0));
    let root = |prime: u32, power: u32| {
        // The largest whole number whose power is at most the prime times 2^(32 power).
        let (mut low, mut high) = (0_u128, 1 << 36);
        while high - low > 1 {
            let middle = (low + high) / 2;
            // As wide as a product of three such numbers is.
            let fits = match power {
                2 => middle * middle <= u128::from(prime) << 64,
                _ => middle * middle * middle <= u128::from(prime) << 96,
            };
            if fits { low = middle } else { high = middle }
        }
        low as u32
    };
    let primes: Vec<u32> = primes.take(64).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|&prime| root(prime, 2)).collect();
    let constants: Vec<u32> = primes.iter().map(|&prime| root(prime, 3)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> =
            block.as_chunks().0.iter().map(|&bytes| u32::from_be_bytes(bytes)).collect();
        for t in 16..64 {
            let (a, b) = (w[t - 15], w[t - 2]);
            let small_0 = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
            let small_1 = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
            let sum =
                [w[t - 16], small_0, w[t - 7], small_1].into_iter().fold(0, u32::wrapping_add);
            w.push(sum);
        }
        let mut v = state.clone();
        for (&constant, &word) in constants.iter().zip(&w) {
            let large_1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = v[4] & v[5] ^ !v[4] & v[6];
            let first =
                [v[7], large_1, choice, constant, word].into_iter().fold(0, u32::wrapping_add);
            let large_0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2];
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(large_0).wrapping_add(majority);
        }
        for (word, v) in state.iter_mut().zip(v) {
            *word = word.wrapping_add(v);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The place to which the shuffle of `n` validators moves a place, in `rounds` rounds.
fn compute_shuffled_index(place: u64, n: u64, seed: &[u8; 32], rounds: u8) -> u64 {
    let hashed = |round: u8, more: &[u8]| sha256(&[seed, &[round][..], more].concat());
    let partner = |round, place| {
        let pivot = u64::from_le_bytes(*hashed(round, &[]).first_chunk().unwrap()) % n;
        (pivot + n - place) % n
    };
    let bit = |round, [_, largest]: [u64; 2]| {
        let source = hashed(round, &((largest / 256) as u32).to_le_bytes());
        source[(largest % 256 / 8) as usize] >> (largest % 8) & 1 != 0
    };
    swap_or_not(place, 0..rounds, partner, bit)
}

/// A vector as the file has it that `ethereum/consensus-spec-tests` publishes: YAML, whose lines
/// are broken after column 80.
fn file(seed: &[u8; 32], mapping: &[u64]) -> String {
    let mut text = format!("seed: '0x{}'\ncount: {}\n", hex(seed), mapping.len());
    let mut line = String::from("mapping: [");
    for (place, value) in mapping.iter().enumerate() {
        if place > 0 {
            line += ",";
            if line.len() > 80 {
                text = text + &line + "\n";
                line = String::from("  ");
            } else {
                line += " ";
            }
        }
        line += &value.to_string();
    }
    text + &line + "]\n"
}

/// The vectors of the minimal preset, which has ten rounds, for one seed. That repository names its
/// files by their SHA-256 and their lengths.
#[test]
fn ethereums_vectors_are_met() {
    assert_eq!(
        hex(&sha256(b"abc")),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let mut seed = [0; 32];
    let words = [0x01b4_f6bd_5d6a_06a7, 0xb74a_8565_ceb4_f845, 0xafe0_ae96_a0ac_05cf];
    for (bytes, word) in seed.chunks_mut(8).zip(words.into_iter().chain([0x5e86_066b_f7b5_38ec])) {
        bytes.copy_from_slice(&u64::to_be_bytes(word));
    }
    let published = [
        (33, 219, "25c15ff06e2617ec209054567b2a437caa75fdd95a929c2fe3878168eb1d74d6"),
        (100, 494, "35150b1a1d6cbb2f6140c62c88efead6e82ed6bba11721df806b00c9ade8d1e5"),
        (1000, 5105, "e1fc84bd438e4235cec9d16385302c5c2e804ab6cd45ef27bfe2670c30745dd6"),
    ];
    for (count, length, digest) in published {
        let mapping: Vec<u64> =
            (0..count).map(|place| compute_shuffled_index(place, count, &seed, 10)).collect();
        let file = file(&seed, &mapping);
        assert_eq!(file.len(), length, "{count} places:\n{file}");
        assert_eq!(hex(&sha256(file.as_bytes())), digest, "{count} places:\n{file}");
    }
}
