//! Designs against brute force: every order and every choice of signs, tried against a definition
//! of what belongs to the design.

use std::collections::{BTreeSet, HashMap};

use bijective_shuffle::{KeyDomain, KeyStream, Permutations, Seed};
use num_bigint::BigUint;

use super::{Arrangement, Design};
use crate::Error;

/// A design as a definition of its arrangements.
#[derive(Clone, Debug)]
enum Shape {
    Fixed(usize),
    Free(usize),
    Derangements(usize),
    Groups(Vec<usize>),
    Series(usize, bool),
    Grid(usize, usize, bool),
    Pairs(usize),
    Signs(Box<Shape>),
    OneSign(Box<Shape>),
    Blocks(Vec<Shape>),
    Exchange(Vec<Shape>),
    Plots(Box<Shape>, Box<Shape>, bool),
    OnRows(Vec<usize>, Box<Shape>),
}
use Shape::{Blocks, Exchange, Fixed, Free, Grid, Groups, OnRows, OneSign, Pairs, Plots, Series};
use Shape::{Derangements, Signs};

impl Shape {
    fn len(&self) -> usize {
        match self {
            Fixed(len) | Free(len) | Derangements(len) | Series(len, _) => *len,
            Groups(sizes) => sizes.iter().sum(),
            Grid(rows, columns, _) => rows * columns,
            Pairs(pairs) => 2 * pairs,
            Signs(inner) | OneSign(inner) | OnRows(_, inner) => inner.len(),
            Blocks(parts) | Exchange(parts) => parts.iter().map(Self::len).sum(),
            Plots(between, within, _) => between.len() * within.len(),
        }
    }

    fn design(&self) -> Result<Design, Error> {
        let all = |parts: &[Self]| parts.iter().map(Self::design).collect::<Result<Vec<_>, _>>();
        match self {
            Fixed(len) => Design::fixed(*len as u64),
            Free(len) => Design::free(*len as u64),
            Derangements(len) => Design::derangements(*len as u64),
            Groups(sizes) => Design::groups(&words(sizes)),
            Series(len, mirror) => Design::series(*len as u64, *mirror),
            Grid(rows, columns, mirror) => Design::grid(*rows as u64, *columns as u64, *mirror),
            Pairs(pairs) => Design::pairs(*pairs as u64),
            Signs(inner) => inner.design()?.with_signs(),
            OneSign(inner) => inner.design()?.with_one_sign(),
            Blocks(parts) => Design::blocks(all(parts)?),
            Exchange(parts) => Design::exchange(all(parts)?),
            Plots(between, within, false) => Design::plots(between.design()?, within.design()?),
            Plots(between, within, true) => {
                Design::plots_alike(between.design()?, within.design()?)
            }
            OnRows(rows, inner) => inner.design()?.on_rows(&words(rows)),
        }
    }

    /// Whether an order and signs belong to the design.
    fn has(&self, order: &[usize], signs: &[i8]) -> bool {
        let has_no_signs = || signs.iter().all(|&sign| sign == 1);
        let flat = vec![1; signs.len()];
        match self {
            Fixed(_) => has_no_signs() && order.iter().copied().eq(0..order.len()),
            Free(_) => has_no_signs(),
            Derangements(_) => {
                has_no_signs() && order.iter().enumerate().all(|(place, &row)| place != row)
            }
            Groups(sizes) => {
                let mut rest = order;
                let is_sorted = |size: &usize| {
                    let (group, others) = rest.split_at(*size);
                    rest = others;
                    group.is_sorted()
                };
                has_no_signs() && sizes.iter().all(is_sorted)
            }
            Series(len, mirror) => {
                let follows =
                    |step: usize| order.windows(2).all(|pair| (pair[0] + step) % len == pair[1]);
                has_no_signs() && (*len < 2 || follows(1) || *mirror && follows(len - 1))
            }
            Grid(rows, columns, mirror) => {
                let down: Vec<_> = (0..*rows).map(|row| order[row * columns] / columns).collect();
                let across: Vec<_> = (0..*columns).map(|column| order[column] % columns).collect();
                let cell = |(place, &row): (usize, &usize)| {
                    row == down[place / columns] * columns + across[place % columns]
                };
                has_no_signs()
                    && order.iter().enumerate().all(cell)
                    && Series(*rows, *mirror).has(&down, &vec![1; *rows])
                    && Series(*columns, *mirror).has(&across, &vec![1; *columns])
            }
            Pairs(pairs) => {
                let is_pair = |place: usize| {
                    let pair = [place, place + pairs];
                    let own = [order[place], order[place + pairs]];
                    own == pair || own == [pair[1], pair[0]]
                };
                has_no_signs() && (0..*pairs).all(is_pair)
            }
            Signs(inner) => inner.has(order, &flat),
            OneSign(inner) => signs.iter().all(|&sign| sign == signs[0]) && inner.has(order, &flat),
            Blocks(parts) => self.moved(parts, order, signs, |source, number| source == number),
            Exchange(parts) => {
                let designs: Vec<_> = parts.iter().map(|part| part.design().unwrap()).collect();
                self.moved(parts, order, signs, |source, number| designs[source] == designs[number])
            }
            Plots(between, within, alike) => {
                let (plots, size) = (between.len(), within.len());
                let parts = vec![(**within).clone(); plots];
                let sources: Vec<_> = order.chunks(size).map(|part| part[0] / size).collect();
                let local = |plot: usize| -> Vec<_> {
                    let rows = order[plot * size..][..size].iter().map(|row| row % size);
                    rows.zip(signs[plot * size..].iter()).collect()
                };
                self.moved(&parts, order, signs, |_, _| true)
                    && between.has(&sources, &vec![1; plots])
                    && (!alike || (1..plots).all(|plot| local(plot) == local(0)))
            }
            OnRows(rows, inner) => {
                let place = |row: usize| rows.iter().position(|&other| other == row).unwrap();
                let own: Vec<_> = rows.iter().map(|&row| place(order[row])).collect();
                let own_signs: Vec<_> = rows.iter().map(|&row| signs[row]).collect();
                inner.has(&own, &own_signs)
            }
        }
    }

    /// Whether each part's places hold the rows of one part, which may come there, and are
    /// arranged as it allows.
    fn moved(
        &self,
        parts: &[Self],
        order: &[usize],
        signs: &[i8],
        may: impl Fn(usize, usize) -> bool,
    ) -> bool {
        let starts: Vec<usize> = parts
            .iter()
            .scan(0, |end, part| {
                *end += part.len();
                Some(*end - part.len())
            })
            .collect();
        parts.iter().enumerate().all(|(number, part)| {
            let places = starts[number]..starts[number] + part.len();
            let order = &order[places.clone()];
            let first = *order.iter().min().unwrap();
            starts.iter().position(|&start| start == first).is_some_and(|source| {
                let own: Vec<_> = order.iter().map(|row| row - first).collect();
                may(source, number)
                    && own.iter().all(|&row| row < part.len())
                    && part.has(&own, &signs[places])
            })
        })
    }

    /// All arrangements that belong to the design, found by trying every one.
    fn brute_force(&self, is_signed: bool) -> BTreeSet<Arrangement> {
        let len = self.len();
        let mut found = BTreeSet::new();
        let mut order: Vec<usize> = (0..len).collect();
        loop {
            for choice in 0..1_u64 << if is_signed { len } else { 0 } {
                let signs: Vec<i8> = (0..len).map(|k| 1 - 2 * (choice >> k & 1) as i8).collect();
                if self.has(&order, &signs) {
                    let order = words(&order);
                    found.insert(Arrangement { order, signs: is_signed.then_some(signs) });
                }
            }
            // The next permutation in lexicographic order.
            let Some(k) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
                return found;
            };
            let other = order.iter().rposition(|&row| row > order[k]).unwrap();
            order.swap(k, other);
            order[k + 1..].reverse();
        }
    }

    /// Compares everything that a design says of its arrangements with brute force.
    fn check(&self) {
        let design = self.design().unwrap();
        let what = format!("{design} of {self:?}");
        let expected = self.brute_force(design.is_signed());
        let count = expected.len() as u64;
        assert_eq!(design.len(), self.len() as u64, "{what}");
        assert_eq!(design.count_u64(), Some(count), "{what}");
        assert_eq!(design.count(), BigUint::from(count), "{what}");
        assert!((design.ln_count() - (count as f64).ln()).abs() < 1e-9, "{what}");
        let mut all = design.all().unwrap().peekable();
        let first = all.peek().unwrap();
        assert_eq!(first.is_identity(), design.has_identity(), "{what}");
        let all: Vec<_> = all.collect();
        assert_eq!(all.len() as u64, count, "{what}");
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), expected, "{what}");
        assert_eq!(design.at_rank(count), Err(Error::NoSuchRank { rank: count, count }), "{what}");
        // Rows by themselves, and together in words of either width.
        let (len, rows) = (self.len(), 70);
        let signs = || vec![0; if design.is_signed() { rows * len } else { 0 }];
        let (mut narrow, mut wide) = (vec![0_u32; rows * len], vec![0_u64; rows * len]);
        let (mut narrow_signs, mut wide_signs) = (signs(), signs());
        design.write_rows(5, 42, &mut narrow, &mut narrow_signs).unwrap();
        design.write_rows(5, 42, &mut wide, &mut wide_signs).unwrap();
        assert!(narrow.iter().map(|&row| u64::from(row)).eq(wide.iter().copied()), "{what}");
        assert_eq!(narrow_signs, wide_signs);
        for (row, order) in wide.chunks(len).enumerate() {
            let signs = design.is_signed().then(|| wide_signs[row * len..][..len].to_vec());
            let arrangement = Arrangement { order: order.to_vec(), signs };
            assert!(expected.contains(&arrangement), "{what}: {arrangement:?}");
            if row % 23 == 0 {
                assert_eq!(design.get(5 + row as u64, 42).unwrap(), arrangement, "{what}");
            }
        }
        let identity = u64::from(design.has_identity());
        let asked = (count - identity).min(50);
        let distinct: Vec<_> = design.distinct(asked, 7).unwrap().collect();
        assert!(distinct.iter().all(|a| expected.contains(a) && !a.is_identity()), "{what}");
        assert_eq!(distinct.iter().collect::<BTreeSet<_>>().len() as u64, asked, "{what}");
        let (asked, available) = (count - identity + 1, count - identity);
        let error = design.distinct(asked, 7).unwrap_err();
        assert_eq!(error, Error::TooFewArrangements { asked, available }, "{what}");
    }
}

fn words(numbers: &[usize]) -> Vec<u64> {
    numbers.iter().map(|&number| number as u64).collect()
}

/// Shapes of all kinds, from random words.
struct Shapes(KeyStream);

impl Shapes {
    fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// A list of at least one number above 0 with this sum.
    fn parts(&mut self, len: usize) -> Vec<usize> {
        let (mut parts, mut left) = (Vec::new(), len);
        while left > 0 {
            let part = 1 + self.below(left);
            parts.push(part);
            left -= part;
        }
        parts
    }

    /// A divisor of a length.
    fn divisor(&mut self, len: usize) -> usize {
        loop {
            let divisor = 1 + self.below(len);
            if len.is_multiple_of(divisor) {
                return divisor;
            }
        }
    }

    fn leaf(&mut self, len: usize) -> Shape {
        match self.below(8) {
            0 => Fixed(len),
            1 if len > 1 => Derangements(len),
            2 => Groups(self.parts(len)),
            3 => Series(len, self.flag()),
            4 => {
                let rows = self.divisor(len);
                Grid(rows, len / rows, self.flag())
            }
            5 if len.is_multiple_of(2) => Pairs(len / 2),
            _ => Free(len),
        }
    }

    /// A shape of a length with at most some levels.
    fn shape(&mut self, len: usize, depth: usize, may_sign: bool) -> Shape {
        if depth == 0 {
            return self.leaf(len);
        }
        match self.below(9) {
            0 | 1 => {
                let parts = self.parts(len);
                Blocks(parts.into_iter().map(|len| self.shape(len, depth - 1, may_sign)).collect())
            }
            2 | 3 => {
                // Often several parts of one shape.
                let size = 1 + self.below(len.div_ceil(2));
                let one = self.shape(size, depth - 1, may_sign);
                let mut parts = vec![one; len / size];
                if !len.is_multiple_of(size) {
                    let at = self.below(parts.len() + 1);
                    parts.insert(at, self.shape(len % size, depth - 1, may_sign));
                }
                Exchange(parts)
            }
            4 | 5 => {
                let plots = self.divisor(len);
                let between = self.shape(plots, depth - 1, false);
                let within = self.shape(len / plots, depth - 1, may_sign);
                Plots(Box::new(between), Box::new(within), self.flag())
            }
            6 => {
                let inner = Box::new(self.shape(len, depth - 1, may_sign));
                let mut rows: Vec<_> = (0..len).collect();
                for k in 1..len {
                    rows.swap(k, self.below(k + 1));
                }
                OnRows(rows, inner)
            }
            7 if may_sign => {
                let inner = Box::new(self.shape(len, depth - 1, false));
                if self.flag() { Signs(inner) } else { OneSign(inner) }
            }
            _ => self.leaf(len),
        }
    }
}

#[test]
fn leaves_of_up_to_nine_rows_are_those_of_brute_force() {
    for len in 1..=9 {
        let mut shapes = vec![Fixed(len), Free(len), Series(len, false), Series(len, true)];
        shapes.push(Groups(vec![len]));
        if len > 1 {
            shapes.push(Derangements(len));
            shapes.push(Groups(vec![1, len - 1]));
            shapes.push(Groups(vec![len.div_ceil(2), len / 2]));
        }
        if len > 3 {
            shapes.push(Groups(vec![len - 3, 2, 1]));
        }
        if len.is_multiple_of(2) {
            shapes.push(Pairs(len / 2));
        }
        if len < 6 {
            shapes.push(Signs(Box::new(Free(len))));
            shapes.push(OneSign(Box::new(Series(len, true))));
            shapes.push(Signs(Box::new(Fixed(len))));
        }
        for rows in (1..=len).filter(|&rows| len.is_multiple_of(rows)) {
            shapes.extend([false, true].map(|mirror| Grid(rows, len / rows, mirror)));
            for alike in [false, true] {
                let within = Series(len / rows, true);
                shapes.push(Plots(Box::new(Free(rows)), Box::new(within), alike));
            }
        }
        shapes.iter().for_each(Shape::check);
    }
}

#[test]
fn nested_designs_are_those_of_brute_force() {
    let mut shapes = Shapes(Seed::new(1).key_stream(KeyDomain::Exact(1)));
    let mut kinds = BTreeSet::new();
    for number in 0..500 {
        let may_sign = number % 3 == 0;
        let len = 1 + shapes.below(if may_sign { 5 } else { 7 });
        let shape = shapes.shape(len, 1 + number % 4, may_sign);
        shape.check();
        kinds.extend(shape.design().unwrap().to_string().split(['(', ' ']).map(String::from));
    }
    for kind in ["exchange", "plots", "blocks", "signs", "alike)", "rows", "grid", "pairs"] {
        assert!(kinds.contains(kind), "{kind}");
    }
}

#[test]
fn arrangements_are_equally_frequent() {
    frequencies(100_000);
}

#[test]
#[ignore = "takes a minute"]
fn arrangements_are_equally_frequent_in_a_million_rows() {
    frequencies(1_000_000);
}

/// Checks how often each arrangement comes up in so many rows.
fn frequencies(total: usize) {
    let free = |len| Box::new(Free(len));
    let shapes = [
        Free(5),
        Derangements(5),
        Groups(vec![3, 4]),
        Groups(vec![1, 2, 3]),
        Series(7, false),
        Series(6, true),
        Grid(3, 4, true),
        Pairs(6),
        Signs(free(3)),
        OneSign(Box::new(Series(5, false))),
        Blocks(vec![Free(3), Series(4, false), Pairs(2)]),
        Exchange(vec![Free(2), Free(2), Series(3, false), Free(2)]),
        Plots(free(3), free(2), false),
        Plots(free(3), Box::new(Series(4, true)), true),
        Plots(Box::new(Groups(vec![2, 2])), Box::new(OneSign(Box::new(Fixed(2)))), false),
        Plots(free(2), Box::new(Plots(free(2), free(2), false)), false),
    ];
    for shape in shapes {
        let design = shape.design().unwrap();
        let (len, mut counts) = (shape.len(), HashMap::new());
        let rows = 1000;
        let mut orders = vec![0_u32; rows * len];
        let mut signs = vec![0; if design.is_signed() { rows * len } else { 0 }];
        for first in (0..total).step_by(rows) {
            design.write_rows(first as u64, 2026, &mut orders, &mut signs).unwrap();
            for row in 0..rows {
                // An arrangement of few rows, in four bits for each.
                let signs = signs.get(row * len..(row + 1) * len).unwrap_or(&[]).iter();
                let key = orders[row * len..][..len]
                    .iter()
                    .fold(0_u64, |key, &row| key << 4 | u64::from(row));
                let key = signs.fold(key, |key, &sign| key << 1 | u64::from(sign < 0));
                *counts.entry(key).or_insert(0_u64) += 1;
            }
        }
        let count = design.count_u64().unwrap();
        assert_eq!(counts.len() as u64, count, "{design}");
        let expected = total as f64 / count as f64;
        let sigma = (expected * (1.0 - 1.0 / count as f64)).sqrt();
        for &found in counts.values() {
            assert!(
                (found as f64 - expected).abs() < 5.0 * sigma,
                "{design}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn free_rows_are_those_of_permutations() {
    for len in [1, 2, 7, 256, 257, 3000, 20_000] {
        let design = Design::free(len).unwrap();
        let permutations = Permutations::new(1 << 40, len, 42);
        for first in [0, 1 << 33] {
            let rows = 1 + 20_000 / len as usize;
            let mut drawn = vec![0_u32; rows * len as usize];
            let mut expected = drawn.clone();
            design.write_rows(first, Seed::new(42).with_epoch(9), &mut drawn, &mut []).unwrap();
            permutations.write_rows(first, &mut expected).unwrap();
            assert!(drawn == expected, "{len} rows from {first} on");
        }
    }
}

#[test]
fn parts_have_independent_streams() {
    // If two blocks of one length had one stream, their orders would be equal in every row.
    let design = Design::within(&[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]).unwrap();
    let equal = (0..10_000).filter(|&k| {
        let arrangement = design.get(k, 3).unwrap();
        let (one, other) = arrangement.order().split_at(6);
        one.iter().zip(other).all(|(a, b)| a + 6 == *b)
    });
    // One in 720 by chance: 14 on average.
    assert!((1..40).contains(&equal.count()));
    // Seeds in a row must not have the arrangements of each other.
    let rows = |seed: u64| (0..50).map(move |k| Design::pairs(40).unwrap().get(k, seed).unwrap());
    let all: BTreeSet<_> = (0..20).flat_map(rows).collect();
    assert_eq!(all.len(), 1000);
}

#[test]
fn long_designs_hold_what_short_ones_do() {
    let shapes = [
        Free(1000),
        Derangements(700),
        Groups(vec![300, 500, 1]),
        Series(100_000, true),
        Grid(300, 200, true),
        Pairs(4000),
        Signs(Box::new(Free(600))),
        Plots(Box::new(Free(300)), Box::new(Free(7)), false),
        Plots(Box::new(Series(5, false)), Box::new(Free(400)), true),
        Blocks(vec![Free(300), Groups(vec![200, 100]), Series(9, true)]),
        Exchange(vec![Free(300), Series(9, true), Free(300), Signs(Box::new(Free(3)))]),
    ];
    for shape in shapes {
        let design = shape.design().unwrap();
        for k in [0, 1, 1 << 50] {
            let arrangement = design.get(k, 42).unwrap();
            let order: Vec<_> = arrangement.order().iter().map(|&row| row as usize).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..shape.len()), "{design}");
            let flat = vec![1; order.len()];
            assert!(shape.has(&order, arrangement.signs().unwrap_or(&flat)), "{design}");
            assert_ne!(design.get(k + 1, 42).unwrap(), arrangement, "{design}");
        }
        let digits = design.count().to_string();
        let decimal = design.ln_count() / std::f64::consts::LN_10;
        assert!((decimal - (digits.len() - 1) as f64).abs() <= 1.0, "{design}: {decimal}");
        if design.count_u64().is_none() {
            assert_eq!(design.all().unwrap_err(), Error::TooManyArrangements);
            let distinct: Vec<_> = design.distinct(20, 42).unwrap().collect();
            let drawn: Vec<_> = (0..20).map(|k| design.get(k, 42).unwrap()).collect();
            assert_eq!(distinct, drawn, "{design}");
        }
    }
}

#[test]
fn designs_that_are_not_possible_are_errors() {
    let free = |len| Design::free(len).unwrap();
    assert_eq!(Design::free(0), Err(Error::NoRows));
    assert_eq!(Design::groups(&[3, 0]), Err(Error::NoRows));
    assert_eq!(Design::groups(&[]), Err(Error::NoRows));
    assert_eq!(Design::blocks([]), Err(Error::NoRows));
    assert_eq!(Design::exchange([]), Err(Error::NoRows));
    assert_eq!(Design::within::<u8>(&[]), Err(Error::NoRows));
    assert_eq!(Design::tree(&[[0; 0]; 0]), Err(Error::NoRows));
    assert_eq!(Design::derangements(1), Err(Error::NoDerangement));
    assert_eq!(Design::free(1 << 62), Err(Error::TooManyRows));
    assert_eq!(Design::grid(1 << 40, 1 << 40, true), Err(Error::TooManyRows));
    assert_eq!(Design::pairs(u64::MAX), Err(Error::TooManyRows));
    assert_eq!(Design::groups(&[u64::MAX, 2]), Err(Error::TooManyRows));
    assert_eq!(Design::plots(free(1 << 40), free(1 << 40)), Err(Error::TooManyRows));
    let many = Design::plots(free(1 << 30), free(2));
    assert_eq!(many, Err(Error::TooManyParts { most: 1 << 26 }));
    let signs = || Design::signs(4).unwrap();
    assert_eq!(signs().with_one_sign(), Err(Error::SignsTwice));
    assert_eq!(Design::plots(signs(), free(2)), Err(Error::SignsBetween));
    let sizes = Design::plots_of(&[0, 1, 0, 1, 1], free(2), free(2));
    assert_eq!(sizes, Err(Error::PlotSize { plot: 1, rows: 3, expected: 2 }));
    let count = Design::plots_of(&[0, 1, 0, 1], free(3), free(2));
    assert_eq!(count, Err(Error::PlotCount { plots: 2, exchanged: 3 }));
    assert_eq!(free(3).on_rows(&[0, 1, 1]), Err(Error::NotRows { place: 2 }));
    assert_eq!(free(3).on_rows(&[0, 3, 1]), Err(Error::NotRows { place: 1 }));
    assert_eq!(free(3).on_rows(&[0, 1]), Err(Error::NotRows { place: 2 }));
    let ragged = Design::tree(&[vec![1, 2], vec![1]]);
    assert_eq!(ragged, Err(Error::TreeLevels { row: 1 }));
    let mixed = Design::tree(&[[1, 1], [1, -1]]);
    assert_eq!(mixed, Err(Error::TreeLabel { row: 1, level: 1 }));
    assert_eq!(Design::tree(&[[0], [0]]), Err(Error::TreeLabel { row: 0, level: 0 }));
    let deep =
        (0..200).try_fold(free(1), |design, _| Design::blocks([design, Design::series(2, false)?]));
    assert_eq!(deep, Err(Error::TooDeep { most: 100 }));
    let slice = free(3).write_rows(0, 1, &mut [0_u32; 4], &mut []);
    assert_eq!(slice, Err(Error::SliceLength { expected: 6, actual: 4 }));
    let slice = free(3).write_rows(0, 1, &mut [0_u32; 3], &mut [0; 3]);
    assert_eq!(slice, Err(Error::SliceLength { expected: 0, actual: 3 }));
    let last = free(3).get(u64::MAX, 1);
    assert_eq!(last, Err(Error::BeyondLast { first: u64::MAX, count: 1 }));
    assert!(free(3).get(u64::MAX - 1, 1).is_ok());
    assert!(matches!(free(1 << 60).get(0, 1), Err(Error::Shuffle(_))));
    assert!(matches!(
        free(1 << 33).write_rows(0, 1, &mut [0_u32; 0], &mut []),
        Err(Error::Shuffle(_))
    ));
}

#[test]
fn simplest_forms_are_equal() {
    let free = |len| Design::free(len).unwrap();
    let equal = [
        (Design::blocks([free(4)]), Ok(free(4))),
        (Design::plots(free(4), free(1)), Ok(free(4))),
        (Design::plots(free(1), free(4)), Ok(free(4))),
        (Design::exchange([free(2), free(2)]), Design::plots(free(2), free(2))),
        (Design::exchange([free(2), free(3)]), Design::blocks([free(2), free(3)])),
        (Design::within(&[7, 7, 8]), Design::blocks([free(2), free(1)])),
        (Design::series(2, true), Design::series(2, false)),
        (Design::grid(1, 5, true), Design::series(5, true)),
        (Design::tree(&[[1], [1], [1]]), Ok(free(3))),
        (Design::tree(&[[-1], [-1]]), Design::fixed(2)),
        (
            Design::tree(&[[1, -1], [1, -1], [1, -2], [1, -2]]),
            Design::plots(free(2), Design::fixed(2).unwrap()),
        ),
    ];
    for (one, other) in equal {
        assert_eq!(one, other);
    }
    assert_ne!(Design::series(5, true), Design::series(5, false));
    // Families whose parts come in another order have one structure.
    let families = [[1, 1, -1], [1, 1, -1], [1, 1, 2], [1, 2, 3], [1, 2, -4], [1, 2, -4]];
    let design = Design::tree(&families).unwrap();
    assert_eq!(design.count_u64(), Some(2), "{design}");
}
