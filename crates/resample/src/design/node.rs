//! [`Node`]: a design's form, a tree whose leaves exchange rows and whose branches combine them.

use core::num::NonZeroU64;

use bijective_shuffle_engine::check::try_with_capacity;

use crate::Error;

/// The most levels of a tree, which are walked by recursion.
const MOST_DEPTH: u32 = 100;

/// The most numbers that the parts of a design take: each names a stream of a seed.
pub(super) const MOST_PARTS: u64 = 1 << 26;

/// A part of a design, on rows that are numbered from 0 within it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Node {
    pub(super) form: Form,
    pub(super) len: NonZeroU64,
    /// How many of a design's parts have a random stream: this one, if it has, and those below it.
    pub(super) parts: u64,
    depth: u32,
    pub(super) is_signed: bool,
    pub(super) has_identity: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Form {
    Fixed,
    Free,
    Derangement,
    /// The sizes of at least two groups.
    Groups(Box<[u64]>),
    /// Cyclic shifts, and with the mirror those of the reversed rows.
    Series {
        mirror: bool,
    },
    Grid {
        rows: u64,
        columns: u64,
        mirror: bool,
    },
    /// Row `j` of the first half may be exchanged with row `j` of the second half.
    Pairs,
    FlipEach(Box<Node>),
    FlipWhole(Box<Node>),
    Blocks(Box<[Node]>),
    /// Parts side by side, of which equal ones may be exchanged as wholes: the members of each
    /// class, by their numbers.
    Exchange(Box<[Node]>, Box<[Box<[u32]>]>),
    /// Whole plots, exchanged as `between` exchanges rows. If they are alike, all are arranged
    /// in the same way inside.
    Plots {
        between: Box<Node>,
        within: Box<Node>,
        alike: bool,
    },
    /// Row `j` of the part is row `rows[j]`.
    OnRows(Box<[u64]>, Box<Node>),
}

impl Node {
    pub(super) fn leaf(form: Form, len: u64) -> Result<Self, Error> {
        let has_identity = form != Form::Derangement;
        let parts = u64::from(form != Form::Fixed);
        Self::new(form, len, parts, 1, false, has_identity)
    }

    fn new(
        form: Form,
        len: u64,
        parts: u64,
        depth: u32,
        is_signed: bool,
        has_identity: bool,
    ) -> Result<Self, Error> {
        let len = NonZeroU64::new(len).ok_or(Error::NoRows)?;
        if len.get() >= 1 << 62 {
            return Err(Error::TooManyRows);
        }
        if depth > MOST_DEPTH {
            return Err(Error::TooDeep { most: MOST_DEPTH });
        }
        if parts > MOST_PARTS {
            return Err(Error::TooManyParts { most: MOST_PARTS });
        }
        Ok(Self { form, len, parts, depth, is_signed, has_identity })
    }

    /// Rows that stay where they are.
    pub(super) fn fixed(len: u64) -> Result<Self, Error> {
        Self::leaf(Form::Fixed, len)
    }

    /// A leaf with several arrangements, or rows that stay where they are.
    pub(super) fn leaf_of(form: Form, len: u64) -> Result<Self, Error> {
        if len == 1 { Self::fixed(1) } else { Self::leaf(form, len) }
    }

    pub(super) fn flipped(self, each: bool) -> Result<Self, Error> {
        if self.is_signed {
            return Err(Error::SignsTwice);
        }
        let (len, parts, depth) = (self.len.get(), self.parts, self.depth);
        let has_identity = self.has_identity;
        let form = if each || len == 1 { Form::FlipEach } else { Form::FlipWhole };
        Self::new(form(Box::new(self)), len, parts.saturating_add(1), depth + 1, true, has_identity)
    }

    /// Parts side by side.
    pub(super) fn blocks(mut parts: Vec<Self>) -> Result<Self, Error> {
        if parts.len() == 1 {
            return parts.pop().ok_or(Error::NoRows);
        }
        let is_fixed = parts.iter().all(|part| part.form == Form::Fixed);
        let len = total_len(&parts)?;
        if is_fixed { Self::fixed(len) } else { Self::side_by_side(parts, None) }
    }

    /// Parts side by side, of which equal ones may be exchanged as wholes.
    pub(super) fn exchange(mut parts: Vec<Self>) -> Result<Self, Error> {
        let count = parts.len() as u64;
        if count > 1 && parts.iter().all(|part| *part == parts[0]) {
            let within = parts.pop().ok_or(Error::NoRows)?;
            return Self::plots(Self::leaf(Form::Free, count)?, within, false);
        }
        // Classes in the order of their first members, found by sorting the numbers of parts.
        let mut numbers = try_with_capacity(parts.len())?;
        numbers.extend(0..u32::try_from(count).map_err(|_| Error::TooManyRows)?);
        numbers.sort_by(|&a, &b| parts[a as usize].cmp(&parts[b as usize]).then(a.cmp(&b)));
        let is_equal = |a: &u32, b: &u32| parts[*a as usize] == parts[*b as usize];
        let mut classes: Vec<Box<[u32]>> = numbers.chunk_by(is_equal).map(Box::from).collect();
        if classes.len() == parts.len() {
            return Self::blocks(parts);
        }
        classes.sort_by_key(|class| class[0]);
        Self::side_by_side(parts, Some(classes.into()))
    }

    fn side_by_side(parts: Vec<Self>, classes: Option<Box<[Box<[u32]>]>>) -> Result<Self, Error> {
        let len = total_len(&parts)?;
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0) + 1;
        let own = classes.as_ref().map_or(0, |classes| classes.len() as u64);
        let drawn = parts.iter().fold(own, |sum, part| sum.saturating_add(part.parts));
        let is_signed = parts.iter().any(|part| part.is_signed);
        let has_identity = parts.iter().all(|part| part.has_identity);
        let parts = parts.into_boxed_slice();
        let form = match classes {
            None => Form::Blocks(parts),
            Some(classes) => Form::Exchange(parts, classes),
        };
        Self::new(form, len, drawn, depth, is_signed, has_identity)
    }

    pub(super) fn plots(between: Self, within: Self, alike: bool) -> Result<Self, Error> {
        if between.is_signed {
            return Err(Error::SignsBetween);
        }
        if within.len.get() == 1 && within.form == Form::Fixed {
            return Ok(between);
        }
        let plots = between.len.get();
        if plots == 1 {
            return Ok(within);
        }
        // What is alike in all plots is drawn once, and so is what stays as it is.
        let alike = alike && within.parts > 0;
        if between.form == Form::Fixed && within.form == Form::Fixed {
            let len = plots.checked_mul(within.len.get()).ok_or(Error::TooManyRows)?;
            return Self::fixed(len);
        }
        let len = plots.checked_mul(within.len.get()).ok_or(Error::TooManyRows)?;
        let copies = if alike { 1 } else { plots };
        let parts = within.parts.saturating_mul(copies).saturating_add(between.parts);
        let depth = between.depth.max(within.depth) + 1;
        let has_identity = between.has_identity && within.has_identity;
        let is_signed = within.is_signed;
        let (between, within) = (Box::new(between), Box::new(within));
        let form = Form::Plots { between, within, alike };
        Self::new(form, len, parts, depth, is_signed, has_identity)
    }

    /// The part on other rows, each of which is in the list once.
    pub(super) fn on_rows(self, rows: &[u64]) -> Result<Self, Error> {
        let len = self.len.get();
        if rows.len() as u64 != len {
            return Err(Error::NotRows { place: len.min(rows.len() as u64) });
        }
        let mut seen = try_with_capacity(rows.len())?;
        seen.resize(rows.len(), false);
        for (place, &row) in (0..).zip(rows) {
            let seen = usize::try_from(row).ok().and_then(|row| seen.get_mut(row));
            if seen.is_none_or(|seen| core::mem::replace(seen, true)) {
                return Err(Error::NotRows { place });
            }
        }
        if self.form == Form::Fixed || rows.iter().copied().eq(0..len) {
            return Ok(self);
        }
        let mut own = try_with_capacity(rows.len())?;
        own.extend_from_slice(rows);
        let (parts, depth) = (self.parts, self.depth + 1);
        let (is_signed, has_identity) = (self.is_signed, self.has_identity);
        let form = Form::OnRows(own.into_boxed_slice(), Box::new(self));
        Self::new(form, len, parts, depth, is_signed, has_identity)
    }

    /// How many numbers the part takes for itself, before those of the parts below it.
    pub(super) fn own_parts(&self) -> u64 {
        match &self.form {
            Form::Fixed | Form::Blocks(_) | Form::Plots { .. } | Form::OnRows(..) => 0,
            Form::Exchange(_, classes) => classes.len() as u64,
            _ => 1,
        }
    }
}

fn total_len(parts: &[Node]) -> Result<u64, Error> {
    let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.len.get()));
    sum.ok_or(Error::TooManyRows)
}
