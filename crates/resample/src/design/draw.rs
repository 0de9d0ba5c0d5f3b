//! Arrangement `k` of a seed, drawn part by part: many arrangements at once, as rows of a matrix.

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::{FromSeed, KeyDomain, KeyStream, Permutation, Permutations, Seed, Word};
use bijective_shuffle_engine::bijection::rejected;
use bijective_shuffle_engine::check::{check_word, try_with_capacity};

use super::arrangement::Arrangement;
use super::count::shifts;
use super::node::{Form, MOST_PARTS, Node};
use crate::Error;

/// Orders of permutations are drawn as many at a time as have fewer items than this, because the
/// calling thread then draws them alone.
const ITEMS: usize = (1 << 14) - 1;

/// Where a part's rows are in the rows of a matrix of orders, and of one of signs.
struct PartRows<'a, N> {
    orders: &'a mut [N],
    /// As many as orders, or none where the design has no signs.
    signs: &'a mut [i8],
    /// The length of a row of the matrix.
    stride: usize,
    /// The part's first place in a row.
    at: usize,
    /// What is added to the part's own row numbers.
    base: u64,
}

impl<N: Word> PartRows<'_, N> {
    /// The rows of a part that begins `by` places later.
    fn part(&mut self, by: u64, base: u64) -> PartRows<'_, N> {
        let Self { orders, signs, stride, at, .. } = self;
        PartRows { orders, signs, stride: *stride, at: *at + by as usize, base }
    }

    fn set(&mut self, row: usize, place: usize, index: u64) {
        self.orders[row * self.stride + self.at + place] = N::wrap(self.base + index);
    }

    /// The places of a part in one row.
    fn order(&mut self, row: usize, len: usize) -> &mut [N] {
        &mut self.orders[row * self.stride + self.at..][..len]
    }

    /// The signs of a part in one row.
    fn sign(&mut self, row: usize, len: usize) -> &mut [i8] {
        &mut self.signs[row * self.stride + self.at..][..len]
    }
}

/// Arrangements of one seed, as many as there are rows.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    seed: Seed,
    first: u64,
    rows: usize,
    /// Whether the rows of each group are put in order.
    sorts_groups: bool,
}

/// Arrangement `k` of a seed.
pub(super) fn arrangement(node: &Node, k: u64, seed: Seed) -> Result<Arrangement, Error> {
    let len = check_rows::<u64>(node.len.get())?;
    let mut order = zeros(1, len)?;
    let mut signs = zeros(1, if node.is_signed { len } else { 0 })?;
    Drawn::new(seed, k, 1)?.all(node, &mut order, &mut signs)?;
    Ok(Arrangement { order, signs: node.is_signed.then_some(signs) })
}

impl Drawn {
    /// # Errors
    ///
    /// [`Error::BeyondLast`].
    pub(super) fn new(seed: Seed, first: u64, rows: usize) -> Result<Self, Error> {
        match first.checked_add(rows as u64) {
            Some(_) => Ok(Self { seed, first, rows, sorts_groups: true }),
            None => Err(Error::BeyondLast { first, count: rows as u64 }),
        }
    }

    /// The same, with the rows of each group as they are drawn.
    pub(super) fn without_sorting(self) -> Self {
        Self { sorts_groups: false, ..self }
    }

    /// Writes whole arrangements. The slices have the lengths of all rows.
    pub(super) fn all<N: Word>(
        &self,
        node: &Node,
        orders: &mut [N],
        signs: &mut [i8],
    ) -> Result<(), Error> {
        signs.fill(1);
        let stride = node.len.get() as usize;
        self.draw(node, 0, &mut PartRows { orders, signs, stride, at: 0, base: 0 })
    }

    /// The seed of a part: the design's own for part 0, and for others a child of it.
    fn seed(&self, part: u64) -> Seed {
        let seed = self.seed.with_epoch(0);
        // Numbers of parts are below MOST_PARTS, so they fit 32 bits.
        if part == 0 { seed } else { seed.child(KeyDomain::Resample((MOST_PARTS + part) as u32)) }
    }

    /// The random words of a part of so many rows in each arrangement.
    fn streams(&self, part: u64, domain: KeyDomain) -> impl Iterator<Item = KeyStream> + use<> {
        let (seed, first) = (self.seed(part), self.first);
        (0..self.rows as u64).map(move |row| seed.with_epoch(first + row).key_stream(domain))
    }

    /// Writes a part, whose first number is given.
    fn draw<N: Word>(
        &self,
        node: &Node,
        part: u64,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        let len = node.len.get() as usize;
        let inner_part = part + node.own_parts();
        match &node.form {
            Form::Fixed => self.fixed(len, out),
            Form::Free => return self.free(len, part, out),
            Form::Derangement => return self.derangements(len, part, out),
            Form::Groups(sizes) => {
                self.free(len, part, out)?;
                if self.sorts_groups {
                    return self.in_groups(sizes, len, out);
                }
            }
            Form::Series { mirror } => {
                self.indexed(
                    part,
                    len,
                    shifts(len as u64, *mirror),
                    |index, place| shifted(index, place, len as u64),
                    out,
                );
            }
            Form::Grid { rows, columns, mirror } => {
                let count = shifts(*rows, *mirror) * shifts(*columns, *mirror);
                let place = |index, place| grid(index, place, *rows, *columns, *mirror);
                self.indexed(part, len, count, place, out);
            }
            Form::Pairs => self.pairs(len, part, out),
            Form::FlipEach(inner) => {
                self.draw(inner, inner_part, out)?;
                self.flip(len, part, out);
            }
            Form::FlipWhole(inner) => {
                self.draw(inner, inner_part, out)?;
                for (row, mut words) in self.streams(part, KeyDomain::Exact(1)).enumerate() {
                    out.sign(row, len).fill(sign(words.next_u64() & 1));
                }
            }
            Form::Blocks(parts) => {
                let (mut at, mut part) = (0, inner_part);
                for node in parts {
                    let base = out.base + at;
                    self.draw(node, part, &mut out.part(at, base))?;
                    (at, part) = (at + node.len.get(), part + node.parts);
                }
            }
            Form::Exchange(parts, classes) => {
                return self.exchange(parts, classes, part, inner_part, out);
            }
            Form::Plots { between, within, alike } => {
                return self.plots(between, within, *alike, part, out);
            }
            Form::OnRows(rows, inner) => return self.on_rows(rows, inner, part, out),
        }
        Ok(())
    }

    fn fixed<N: Word>(&self, len: usize, out: &mut PartRows<'_, N>) {
        let base = out.base;
        for row in 0..self.rows {
            for (index, place) in (base..).zip(out.order(row, len)) {
                *place = N::wrap(index);
            }
        }
    }

    /// A permutation in each row.
    fn free<N: Word>(&self, len: usize, part: u64, out: &mut PartRows<'_, N>) -> Result<(), Error> {
        let orders = Permutations::new(u64::MAX, len as u64, self.seed(part));
        let at_once = match ITEMS / len {
            0 => 1,
            // Short rows are drawn 64 at a time.
            rows if rows > 64 => rows / 64 * 64,
            rows => rows,
        };
        if out.stride == len && out.base == 0 {
            let chunks = out.orders.chunks_mut(at_once * len).enumerate();
            return chunks
                .map(|(chunk, out)| (self.first + (chunk * at_once) as u64, out))
                .try_for_each(|(first, out)| Ok(orders.write_rows(first, out)?));
        }
        let mut drawn = zeros::<N>(at_once.min(self.rows), len)?;
        for first in (0..self.rows).step_by(at_once) {
            let rows = at_once.min(self.rows - first);
            let drawn = &mut drawn[..rows * len];
            orders.write_rows(self.first + first as u64, drawn)?;
            for (row, drawn) in (first..).zip(drawn.chunks_exact(len)) {
                let base = out.base;
                for (place, index) in out.order(row, len).iter_mut().zip(drawn) {
                    *place = N::wrap(base + index.widen());
                }
            }
        }
        Ok(())
    }

    /// The first permutation of a row's words that leaves nothing in place.
    fn derangements<N: Word>(
        &self,
        len: usize,
        part: u64,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        let mut drawn = zeros::<N>(1, len)?;
        let domain = Standard::key_domain(len as u64);
        for (row, mut words) in self.streams(part, domain).enumerate() {
            loop {
                let f = Standard::from_words(len as u64, &mut words);
                Permutation::from_bijection(len as u64, f)?.write_indexes(&mut drawn)?;
                if (0..).zip(&drawn).all(|(place, index)| index.widen() != place) {
                    break;
                }
            }
            for (place, index) in drawn.iter().enumerate() {
                out.set(row, place, index.widen());
            }
        }
        Ok(())
    }

    /// Puts each group of a permutation into the order of its rows.
    fn in_groups<N: Word>(
        &self,
        sizes: &[u64],
        len: usize,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        let mut group_of = zeros::<u32>(1, len)?;
        let mut ends = try_with_capacity(sizes.len())?;
        let base = out.base;
        for row in 0..self.rows {
            let order = out.order(row, len);
            ends.clear();
            let mut at = 0;
            for (group, &size) in (0..).zip(sizes) {
                ends.push(at);
                for index in &order[at..at + size as usize] {
                    group_of[(index.widen() - base) as usize] = group;
                }
                at += size as usize;
            }
            for (index, &group) in (base..).zip(&group_of) {
                let end = &mut ends[group as usize];
                order[*end] = N::wrap(index);
                *end += 1;
            }
        }
        Ok(())
    }

    /// One of `count` arrangements that have a formula, in each row.
    fn indexed<N: Word>(
        &self,
        part: u64,
        len: usize,
        count: u64,
        index: impl Fn(u64, u64) -> u64,
        out: &mut PartRows<'_, N>,
    ) {
        for (row, mut words) in self.streams(part, KeyDomain::Exact(len as u64)).enumerate() {
            let number = below(&mut words, count);
            for place in 0..len {
                out.set(row, place, index(number, place as u64));
            }
        }
    }

    fn pairs<N: Word>(&self, len: usize, part: u64, out: &mut PartRows<'_, N>) {
        let half = len / 2;
        for (row, words) in self.streams(part, KeyDomain::Exact(half as u64)).enumerate() {
            for (place, bit) in bits(words).take(half).enumerate() {
                let (first, second) =
                    if bit == 0 { (place, place + half) } else { (place + half, place) };
                out.set(row, place, first as u64);
                out.set(row, place + half, second as u64);
            }
        }
    }

    fn flip<N: Word>(&self, len: usize, part: u64, out: &mut PartRows<'_, N>) {
        for (row, words) in self.streams(part, KeyDomain::Exact(len as u64)).enumerate() {
            for (place, bit) in out.sign(row, len).iter_mut().zip(bits(words)) {
                *place = sign(bit);
            }
        }
    }

    fn exchange<N: Word>(
        &self,
        parts: &[Node],
        classes: &[Box<[u32]>],
        part: u64,
        mut inner_part: u64,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        // Where each part begins, and in each row where what comes to its place begins.
        let mut starts = try_with_capacity(parts.len())?;
        let mut at = 0;
        for node in parts {
            starts.push(at);
            at += node.len.get();
        }
        let mut sources = zeros::<u64>(self.rows, parts.len())?;
        for (class, part) in classes.iter().zip(part..) {
            let mut order = zeros::<u32>(self.rows, class.len())?;
            let mut rows = PartRows {
                orders: &mut order,
                signs: &mut [],
                stride: class.len(),
                at: 0,
                base: 0,
            };
            self.free(class.len(), part, &mut rows)?;
            for row in 0..self.rows {
                for (&place, &index) in class.iter().zip(&order[row * class.len()..]) {
                    let source = starts[class[index as usize] as usize];
                    sources[row * parts.len() + place as usize] = source;
                }
            }
        }
        for (number, node) in parts.iter().enumerate() {
            self.draw(node, inner_part, &mut out.part(starts[number], 0))?;
            inner_part += node.parts;
            let base = out.base;
            let mut moved = out.part(starts[number], 0);
            for row in 0..self.rows {
                let base = base + sources[row * parts.len() + number];
                for index in moved.order(row, node.len.get() as usize) {
                    *index = N::wrap(index.widen() + base);
                }
            }
        }
        Ok(())
    }

    fn plots<N: Word>(
        &self,
        between: &Node,
        within: &Node,
        alike: bool,
        part: u64,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        let (plots, size) = (between.len.get() as usize, within.len.get());
        let mut order = zeros::<N>(self.rows, plots)?;
        let mut rows =
            PartRows { orders: &mut order, signs: &mut [], stride: plots, at: 0, base: 0 };
        self.draw(between, part, &mut rows)?;
        let first = part + between.parts;
        for plot in 0..plots as u64 {
            let part = first + if alike { 0 } else { plot * within.parts };
            self.draw(within, part, &mut out.part(plot * size, 0))?;
        }
        let base = out.base;
        for row in 0..self.rows {
            let plots = order[row * plots..][..plots].iter();
            let places =
                out.order(row, plots.len() * size as usize).chunks_exact_mut(size as usize);
            for (places, plot) in places.zip(plots) {
                let base = base + plot.widen() * size;
                for index in places {
                    *index = N::wrap(index.widen() + base);
                }
            }
        }
        Ok(())
    }

    fn on_rows<N: Word>(
        &self,
        rows: &[u64],
        inner: &Node,
        part: u64,
        out: &mut PartRows<'_, N>,
    ) -> Result<(), Error> {
        let len = rows.len();
        let mut orders = zeros::<N>(self.rows, len)?;
        let mut signs = zeros::<i8>(if inner.is_signed { self.rows } else { 0 }, len)?;
        signs.fill(1);
        let mut own =
            PartRows { orders: &mut orders, signs: &mut signs, stride: len, at: 0, base: 0 };
        self.draw(inner, part, &mut own)?;
        let base = out.base;
        for (row, order) in orders.chunks_exact(len).enumerate() {
            let places = out.order(row, len);
            for (&place, index) in rows.iter().zip(order) {
                places[place as usize] = N::wrap(base + rows[index.widen() as usize]);
            }
        }
        for (row, signs) in signs.chunks_exact(len).enumerate() {
            let places = out.sign(row, len);
            for (&place, &sign) in rows.iter().zip(signs) {
                places[place as usize] = sign;
            }
        }
        Ok(())
    }
}

/// The row at a place of a series after one of its shifts, and beyond those a mirrored one.
pub(super) fn shifted(index: u64, place: u64, len: u64) -> u64 {
    if index < len { (place + index) % len } else { len - 1 - (place + index - len) % len }
}

/// The row at a place of a grid, whose rows of cells lie one after another.
pub(super) fn grid(index: u64, place: u64, rows: u64, columns: u64, mirror: bool) -> u64 {
    let across = shifts(columns, mirror);
    shifted(index / across, place / columns, rows) * columns
        + shifted(index % across, place % columns, columns)
}

/// The sign that a bit stands for.
pub(super) fn sign(bit: u64) -> i8 {
    1 - 2 * bit as i8
}

/// The bits of a stream's 64-bit words, the lowest first.
fn bits(mut words: KeyStream) -> impl Iterator<Item = u64> {
    let mut word = 0;
    (0_u32..).map(move |bit| {
        if bit % 64 == 0 {
            word = words.next_u64();
        }
        word >> (bit % 64) & 1
    })
}

/// A number below `count`, each equally likely: Lemire, *Fast random integer generation in an
/// interval*, 2019.
fn below(words: &mut KeyStream, count: u64) -> u64 {
    loop {
        let product = u128::from(words.next_u64()) * u128::from(count);
        if product as u64 >= rejected(count) {
            return (product >> 64) as u64;
        }
    }
}

/// A matrix of zeros.
pub(super) fn zeros<T: Clone + Default>(rows: usize, len: usize) -> Result<Vec<T>, Error> {
    let items = rows.saturating_mul(len);
    let mut zeros = try_with_capacity(items)?;
    zeros.resize(items, T::default());
    Ok(zeros)
}

/// Checks that a word holds the rows of a design.
pub(super) fn check_rows<N: Word>(len: u64) -> Result<usize, Error> {
    let bytes = len.saturating_mul(8);
    let len = usize::try_from(len).map_err(|_| bijective_shuffle::Error::OutOfMemory { bytes })?;
    check_word::<N>(len)?;
    Ok(len)
}
