//! Computes many blocks of Philox4x32 at once, of one stream or of several.

use bijective_shuffle_engine::philox4x32::lanes::{Counters, LOW, round, uncounted};
use bijective_shuffle_engine::philox4x32::{MULTIPLIERS, Philox4x32, WEYL};
use bijective_shuffle_engine::words::halves;

/// The largest number of rounds supported in lanes.
pub(super) const MOST_ROUNDS: usize = 16;

/// The two key words of each round.
#[inline(always)]
fn round_keys(key: u64) -> [[u64; 2]; MOST_ROUNDS] {
    let mut keys = [[0; 2]; MOST_ROUNDS];
    let [mut left, mut right] = halves(key);
    for words in &mut keys {
        *words = [u64::from(left), u64::from(right)];
        left = left.wrapping_add(WEYL[0]);
        right = right.wrapping_add(WEYL[1]);
    }
    keys
}

/// Writes blocks of one stream, from `first` on; block numbers wrap around.
#[inline(always)]
pub(super) fn fill_stream<const LANES: usize, const ROUNDS: usize>(
    key: u64,
    stream: u64,
    mut first: u64,
    out: &mut [[u32; 4]],
) {
    let keys = round_keys(key);
    let (whole, rest) = out.as_chunks_mut::<LANES>();
    for blocks in whole {
        blocks_of_stream::<LANES, ROUNDS>(&keys, stream, first, blocks);
        first = first.wrapping_add(LANES as u64);
    }
    // Few blocks are not worth computing all lanes.
    if rest.len() > LANES / 8 {
        let mut blocks = [[0; 4]; LANES];
        blocks_of_stream::<LANES, ROUNDS>(&keys, stream, first, &mut blocks);
        rest.copy_from_slice(&blocks[..rest.len()]);
    } else {
        for block in rest {
            *block = block_at::<ROUNDS>(key, stream, first);
            first = first.wrapping_add(1);
        }
    }
}

/// One block of a stream.
#[inline(always)]
pub(super) const fn block_at<const ROUNDS: usize>(key: u64, stream: u64, block: u64) -> [u32; 4] {
    let ([a, b], [c, d]) = (halves(block), halves(stream));
    Philox4x32::<ROUNDS>::new(halves(key)).block([a, b, c, d])
}

/// Computes blocks whose counters differ only in the first word, except where that wraps around.
#[inline(always)]
fn blocks_of_stream<const LANES: usize, const ROUNDS: usize>(
    keys: &[[u64; 2]; MOST_ROUNDS],
    stream: u64,
    first: u64,
    out: &mut [[u32; 4]; LANES],
) {
    const { assert!(2 <= ROUNDS && ROUNDS <= MOST_ROUNDS, "2 to 16 rounds") };
    let ([low, high], [stream_low, stream_high]) = (halves(first), halves(stream));
    if low > u32::MAX - LANES as u32 {
        let key = keys[0][0] | keys[0][1] << 32;
        for (block, k) in out.iter_mut().zip(0..) {
            *block = block_at::<ROUNDS>(key, stream, first.wrapping_add(k));
        }
        return;
    }
    // In the first two rounds, what is the same in all lanes is computed once.
    let right = u64::from(stream_low) * u64::from(MULTIPLIERS[1]);
    let left = (right >> 32 ^ u64::from(high) ^ keys[0][0]) & LOW;
    let left = left * u64::from(MULTIPLIERS[0]);
    let third = u64::from(stream_high) ^ keys[0][1];
    let first_key = right & LOW ^ keys[1][0];
    let third_key = left >> 32 ^ keys[1][1];
    let mut x = [[0; LANES]; 4];
    let [a, b, c, d] = &mut x;
    for lane in 0..LANES {
        let left_of_first = (u64::from(low) + lane as u64) * u64::from(MULTIPLIERS[0]);
        let right = ((left_of_first >> 32 ^ third) & LOW) * u64::from(MULTIPLIERS[1]);
        a[lane] = right >> 32 ^ first_key;
        b[lane] = right;
        c[lane] = left_of_first ^ third_key;
        d[lane] = left;
    }
    for &[left_key, right_key] in &keys[2..uncounted(ROUNDS)] {
        round(&mut x, |_| left_key, |_| right_key);
    }
    pack(&x, out);
}

/// Puts the words of each lane together.
#[inline(always)]
fn pack<const LANES: usize>([a, b, c, d]: &Counters<LANES>, out: &mut [[u32; 4]; LANES]) {
    let mut pairs = [[0; LANES]; 2];
    for lane in 0..LANES {
        pairs[0][lane] = a[lane] & LOW | b[lane] << 32;
        pairs[1][lane] = c[lane] & LOW | d[lane] << 32;
    }
    for lane in 0..LANES {
        let ([a, b], [c, d]) = (halves(pairs[0][lane]), halves(pairs[1][lane]));
        out[lane] = [a, b, c, d];
    }
}

/// The next block of each lane, given each lane's key, stream and block number.
#[inline(always)]
pub(super) fn blocks_of_streams<const LANES: usize, const ROUNDS: usize>(
    columns: &mut [[u64; LANES]; 3],
    out: &mut [[u32; 4]; LANES],
) {
    let [keys, streams, next] = columns;
    let mut x = [*next, [0; LANES], *streams, [0; LANES]];
    let mut round_keys = [*keys, [0; LANES]];
    for lane in 0..LANES {
        x[1][lane] = next[lane] >> 32;
        x[3][lane] = streams[lane] >> 32;
        round_keys[1][lane] = keys[lane] >> 32;
        next[lane] = next[lane].wrapping_add(1);
    }
    for _ in 0..uncounted(ROUNDS) {
        round(&mut x, |lane| round_keys[0][lane], |lane| round_keys[1][lane]);
        for (keys, weyl) in round_keys.iter_mut().zip(WEYL) {
            for key in keys {
                *key = key.wrapping_add(u64::from(weyl));
            }
        }
    }
    pack(&x, out);
}
