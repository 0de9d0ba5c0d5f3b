//! The arrangement of a rank: all arrangements are numbered, from the identity on.

use bijective_shuffle_engine::check::{try_with_capacity, try_with_capacity_u64};

use super::arrangement::Arrangement;
use super::count::{self, binomial, factorial, restricted};
use super::draw::{check_rows, grid, shifted, sign, zeros};
use super::node::{Form, Node};
use crate::Error;

/// An arrangement's orders and signs, and where a part's rows are in them.
struct PartPlaces<'a> {
    order: &'a mut [u64],
    /// As many as places, or none where the design has no signs.
    signs: &'a mut [i8],
    /// What is added to the part's own row numbers.
    base: u64,
}

impl PartPlaces<'_> {
    /// The rows of a part.
    fn part(&mut self, at: usize, len: usize, base: u64) -> PartPlaces<'_> {
        let signs = if self.signs.is_empty() { &mut [] } else { &mut self.signs[at..at + len] };
        PartPlaces { order: &mut self.order[at..at + len], signs, base }
    }

    fn fill(&mut self, index: impl Fn(u64) -> u64) {
        for (order, place) in self.order.iter_mut().zip(0..) {
            *order = self.base + index(place);
        }
    }
}

/// The arrangement of a rank.
///
/// # Errors
///
/// [`Error::TooManyArrangements`] and [`Error::NoSuchRank`].
pub(super) fn arrangement(node: &Node, rank: u64) -> Result<Arrangement, Error> {
    let count = count::narrow(node).ok_or(Error::TooManyArrangements)?;
    if rank >= count {
        return Err(Error::NoSuchRank { rank, count });
    }
    let len = check_rows::<u64>(node.len.get())?;
    let mut order = zeros(1, len)?;
    let mut signs = zeros(1, if node.is_signed { len } else { 0 })?;
    signs.fill(1);
    write(node, rank, &mut PartPlaces { order: &mut order, signs: &mut signs, base: 0 })?;
    Ok(Arrangement { order, signs: node.is_signed.then_some(signs) })
}

/// Writes the arrangement of a rank below the part's number of arrangements, which 64 bits hold.
/// Ranks of several parts are digits, those of the first part the most significant.
fn write(node: &Node, mut rank: u64, out: &mut PartPlaces<'_>) -> Result<(), Error> {
    let len = node.len.get();
    match &node.form {
        Form::Fixed => out.fill(|place| place),
        Form::Free => free(rank, out),
        Form::Derangement => derangement(rank, out),
        Form::Groups(sizes) => return groups(rank, sizes, out),
        Form::Series { .. } => out.fill(|place| shifted(rank, place, len)),
        Form::Grid { rows, columns, mirror } => {
            out.fill(|place| grid(rank, place, *rows, *columns, *mirror));
        }
        Form::Pairs => {
            let half = len / 2;
            out.fill(|place| {
                let bit = rank >> (half - 1 - place % half) & 1;
                if bit == 0 { place } else { (place + half) % len }
            });
        }
        Form::FlipEach(inner) => {
            let count = count(inner);
            write(inner, rank % count, out)?;
            for (place, out) in (0..).zip(&mut *out.signs) {
                *out = sign((rank / count) >> (len - 1 - place) & 1);
            }
        }
        Form::FlipWhole(inner) => {
            let count = count(inner);
            write(inner, rank % count, out)?;
            out.signs.fill(sign(rank / count));
        }
        Form::Blocks(parts) => {
            let mut end = out.order.len();
            for node in parts.iter().rev() {
                let (count, len) = (count(node), node.len.get() as usize);
                end -= len;
                let base = out.base + end as u64;
                write(node, rank % count, &mut out.part(end, len, base))?;
                rank /= count;
            }
        }
        Form::Exchange(parts, classes) => return exchange(rank, parts, classes, out),
        Form::Plots { between, within, alike } => {
            let (plots, size, count) = (between.len.get(), within.len.get(), count(within));
            for plot in (0..plots).rev() {
                let mut part = out.part((plot * size) as usize, size as usize, 0);
                write(within, rank % count, &mut part)?;
                if !alike || plot == 0 {
                    rank /= count;
                }
            }
            let mut order = room(plots)?;
            write(between, rank, &mut PartPlaces { order: &mut order, signs: &mut [], base: 0 })?;
            for (places, plot) in out.order.chunks_exact_mut(size as usize).zip(order) {
                places.iter_mut().for_each(|index| *index += out.base + plot * size);
            }
        }
        Form::OnRows(rows, inner) => {
            let mut order = room(len)?;
            let mut signs = try_with_capacity(out.signs.len())?;
            signs.resize(out.signs.len(), 1);
            write(inner, rank, &mut PartPlaces { order: &mut order, signs: &mut signs, base: 0 })?;
            for (&row, index) in rows.iter().zip(order) {
                out.order[row as usize] = out.base + rows[index as usize];
            }
            for (&row, sign) in rows.iter().zip(signs) {
                out.signs[row as usize] = sign;
            }
        }
    }
    Ok(())
}

/// The number of arrangements of a part of a design whose number 64 bits hold.
fn count(node: &Node) -> u64 {
    count::narrow(node).expect("a part has no more arrangements than the whole")
}

fn room(len: u64) -> Result<Vec<u64>, Error> {
    let mut room = try_with_capacity_u64(len)?;
    room.resize(len as usize, 0);
    Ok(room)
}

/// Permutations in lexicographic order. There are at most 20 rows.
fn free(mut rank: u64, out: &mut PartPlaces<'_>) {
    let mut unused = u64::MAX;
    let mut left = out.order.len() as u64;
    for order in &mut *out.order {
        left -= 1;
        let ways = factorial(left).unwrap_or(1);
        let index = nth_bit(unused, rank / ways);
        rank %= ways;
        unused &= !(1 << index);
        *order = out.base + index;
    }
}

/// The place of a word's bit number `n` among those that are set.
fn nth_bit(word: u64, n: u64) -> u64 {
    let rest = (0..n).fold(word, |word, _| word & (word - 1));
    u64::from(rest.trailing_zeros())
}

/// Derangements in lexicographic order. There are at most 20 rows.
fn derangement(mut rank: u64, out: &mut PartPlaces<'_>) {
    let len = out.order.len() as u64;
    let mut unused = (1_u64 << len) - 1;
    for (order, place) in out.order.iter_mut().zip(0..) {
        let later = !0_u64 << (place + 1);
        for index in (0..len).filter(|&index| index != place) {
            if unused >> index & 1 == 0 {
                continue;
            }
            // The places that are left, and those whose own row is left too.
            let kept = (unused & !(1 << index) & later).count_ones();
            let ways = restricted(len - place - 1, kept.into());
            if rank < ways {
                unused &= !(1 << index);
                *order = out.base + index;
                break;
            }
            rank -= ways;
        }
    }
}

/// Which rows each group has, in lexicographic order of the first group's rows, then the next's.
fn groups(mut rank: u64, sizes: &[u64], out: &mut PartPlaces<'_>) -> Result<(), Error> {
    // The rows that no group has, in order.
    let mut left = room(out.order.len() as u64)?;
    left.iter_mut().zip(0..).for_each(|(row, index)| *row = index);
    let mut places = out.order.iter_mut();
    for (group, &size) in sizes.iter().enumerate() {
        let mut rest = left.len() as u64;
        let (mut ways, mut others) = (1, rest - size);
        for &size in &sizes[group + 1..] {
            ways *= binomial(others, size).unwrap_or(1);
            others -= size;
        }
        let mut chosen = rank / ways;
        rank %= ways;
        let mut missing = size;
        left.retain(|&row| {
            rest -= 1;
            if missing == 0 {
                return true;
            }
            // The sets that have this row come before those that do not.
            let with = binomial(rest, missing - 1).unwrap_or(u64::MAX);
            if chosen >= with {
                chosen -= with;
                return true;
            }
            missing -= 1;
            if let Some(place) = places.next() {
                *place = out.base + row;
            }
            false
        });
    }
    Ok(())
}

fn exchange(
    mut rank: u64,
    parts: &[Node],
    classes: &[Box<[u32]>],
    out: &mut PartPlaces<'_>,
) -> Result<(), Error> {
    let mut starts = try_with_capacity(parts.len())?;
    let mut end = 0;
    for node in parts {
        starts.push(end);
        end += node.len.get();
    }
    for (node, &start) in parts.iter().zip(&starts).rev() {
        let count = count(node);
        let len = node.len.get() as usize;
        write(node, rank % count, &mut out.part(start as usize, len, 0))?;
        rank /= count;
    }
    for class in classes.iter().rev() {
        let count = factorial(class.len() as u64).unwrap_or(1);
        let mut order = room(class.len() as u64)?;
        free(rank % count, &mut PartPlaces { order: &mut order, signs: &mut [], base: 0 });
        rank /= count;
        for (&place, index) in class.iter().zip(order) {
            let source = starts[class[index as usize] as usize];
            let len = parts[place as usize].len.get() as usize;
            let base = out.base;
            let part = out.part(starts[place as usize] as usize, len, 0);
            part.order.iter_mut().for_each(|row| *row += base + source);
        }
    }
    Ok(())
}
