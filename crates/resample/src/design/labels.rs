//! Designs from labels of rows: blocks, plots, and trees of blocks.

use std::collections::HashMap;
use std::hash::Hash;

use bijective_shuffle_engine::check::{try_reserve, try_with_capacity};

use super::node::{Form, Node};
use crate::Error;

/// Rows by their labels: a list for each, in the order in which labels first occur.
fn members<L: Eq + Hash>(labels: impl Iterator<Item = L>) -> Result<Vec<Vec<u64>>, Error> {
    let mut numbers = HashMap::new();
    let mut members: Vec<Vec<u64>> = Vec::new();
    for (label, row) in labels.zip(0..) {
        if numbers.len() == numbers.capacity() {
            let more = numbers.len().max(8);
            let bytes = (more as u64).saturating_mul(8);
            let lack = |_| bijective_shuffle::Error::OutOfMemory { bytes };
            numbers.try_reserve(more).map_err(lack)?;
        }
        let number = *numbers.entry(label).or_insert(members.len());
        if number == members.len() {
            try_reserve(&mut members, 1)?;
            members.push(Vec::new());
        }
        try_reserve(&mut members[number], 1)?;
        members[number].push(row);
    }
    Ok(members)
}

/// All rows of some lists, one after another.
fn concatenated(lists: &[Vec<u64>]) -> Result<Vec<u64>, Error> {
    let mut all = try_with_capacity(lists.iter().map(Vec::len).sum())?;
    lists.iter().for_each(|list| all.extend_from_slice(list));
    Ok(all)
}

/// Rows with equal labels may be exchanged.
pub(super) fn within<L: Eq + Hash>(labels: &[L]) -> Result<Node, Error> {
    let members = members(labels.iter())?;
    let mut parts = try_with_capacity(members.len())?;
    for rows in &members {
        parts.push(Node::leaf_of(Form::Free, rows.len() as u64)?);
    }
    Node::blocks(parts)?.on_rows(&concatenated(&members)?)
}

/// Whole plots, those of rows with equal labels.
pub(super) fn plots<L: Eq + Hash>(
    labels: &[L],
    between: Node,
    within: Node,
    alike: bool,
) -> Result<Node, Error> {
    let members = members(labels.iter())?;
    let expected = within.len.get();
    for (rows, plot) in members.iter().zip(0..) {
        let rows = rows.len() as u64;
        if rows != expected {
            return Err(Error::PlotSize { plot, rows, expected });
        }
    }
    let (plots, exchanged) = (members.len() as u64, between.len.get());
    if plots != exchanged {
        return Err(Error::PlotCount { plots, exchanged });
    }
    Node::plots(between, within, alike)?.on_rows(&concatenated(&members)?)
}

/// A tree of blocks, of which each level's labels tell whether the blocks below are exchanged.
pub(super) fn tree(labels: &[impl AsRef<[i64]>]) -> Result<Node, Error> {
    let levels = labels.first().ok_or(Error::NoRows)?.as_ref().len();
    if let Some(row) = labels.iter().position(|labels| labels.as_ref().len() != levels) {
        return Err(Error::TreeLevels { row: row as u64 });
    }
    let mut rows = try_with_capacity(labels.len())?;
    rows.extend(0..labels.len() as u64);
    let label = |row: u64, level: usize| labels[row as usize].as_ref()[level];
    // The whole is a block whose parts are not exchanged.
    let (node, rows) = block(&rows, -1, 0, levels, &label)?;
    node.on_rows(&rows)
}

/// A block of some rows, and its rows in the order of its parts.
fn block(
    rows: &[u64],
    own: i64,
    level: usize,
    levels: usize,
    label: &impl Fn(u64, usize) -> i64,
) -> Result<(Node, Vec<u64>), Error> {
    if level == levels || rows.len() == 1 {
        let mut own_rows = try_with_capacity(rows.len())?;
        own_rows.extend_from_slice(rows);
        let form = if own > 0 { Form::Free } else { Form::Fixed };
        return Ok((Node::leaf_of(form, rows.len() as u64)?, own_rows));
    }
    let members = members(rows.iter().map(|&row| label(row, level).unsigned_abs()))?;
    let mut parts = try_with_capacity(members.len())?;
    for places in members {
        let rows_of = places.iter().map(|&place| rows[place as usize]);
        let mut rows = try_with_capacity(places.len())?;
        rows.extend(rows_of);
        let own = label(rows[0], level);
        if let Some(&row) = rows.iter().find(|&&row| own == 0 || label(row, level) != own) {
            return Err(Error::TreeLabel { row, level: level as u64 });
        }
        parts.push(block(&rows, own, level + 1, levels, label)?);
    }
    // Blocks of one structure have their parts in one order, so that they are equal.
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (mut nodes, mut all) = (try_with_capacity(parts.len())?, Vec::new());
    for (node, mut rows) in parts {
        nodes.push(node);
        try_reserve(&mut all, rows.len())?;
        all.append(&mut rows);
    }
    Ok((if own > 0 { Node::exchange(nodes)? } else { Node::blocks(nodes)? }, all))
}
