//! Evaluating in narrow words by what evaluates in wide ones, some points at a time.

use crate::word::Word;

/// The points that are evaluated at a time.
const POINTS: usize = 256;

/// A run of 32-bit words, from runs in another word.
pub(super) fn run_u32<N: Word>(first: N, out: &mut [u32], run: impl Fn(N, &mut [N])) {
    let mut wide = [N::ZERO; POINTS];
    let mut first = first;
    for out in out.chunks_mut(POINTS) {
        let wide = &mut wide[..out.len()];
        run(first, wide);
        for (narrow, value) in out.iter_mut().zip(&*wide) {
            *narrow = value.widen() as u32;
        }
        first = first.wrapping_add(N::wrap(out.len() as u64));
    }
}

/// A run of 16-bit words, from runs of 32-bit words.
pub(super) fn run_u16<N: Word>(first: N, out: &mut [u16], run: impl Fn(N, &mut [u32])) {
    let mut wide = [0; POINTS];
    let mut first = first;
    for out in out.chunks_mut(POINTS) {
        let wide = &mut wide[..out.len()];
        run(first, wide);
        for (narrow, &mut value) in out.iter_mut().zip(wide) {
            *narrow = value as u16;
        }
        first = first.wrapping_add(N::wrap(out.len() as u64));
    }
}

/// Any 32-bit points, by what replaces points in another word.
pub(super) fn each_u32<N: Word>(values: &mut [u32], each: impl Fn(&mut [N])) {
    let mut wide = [N::ZERO; POINTS];
    for values in values.chunks_mut(POINTS) {
        let wide = &mut wide[..values.len()];
        for (wide, &value) in wide.iter_mut().zip(&*values) {
            *wide = N::wrap(u64::from(value));
        }
        each(wide);
        for (value, wide) in values.iter_mut().zip(&*wide) {
            *value = wide.widen() as u32;
        }
    }
}
