//! Designs as text: the tree, with equal parts counted.

use core::fmt::{Display, Formatter, Result};

use super::node::{Kind, Node};

/// The most numbers of a list that are shown.
const SHOWN: usize = 16;

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let len = self.len;
        let mirrored = |mirror: bool| if mirror { ", mirror" } else { "" };
        match &self.kind {
            Kind::Fixed => write!(f, "fixed({len})"),
            Kind::Free => write!(f, "free({len})"),
            Kind::Derangement => write!(f, "derangements({len})"),
            Kind::Groups(sizes) => {
                f.write_str("groups(")?;
                list(sizes, f)?;
                f.write_str(")")
            }
            Kind::Series { mirror } => write!(f, "series({len}{})", mirrored(*mirror)),
            Kind::Grid { rows, columns, mirror } => {
                write!(f, "grid({rows} x {columns}{})", mirrored(*mirror))
            }
            Kind::Pairs => write!(f, "pairs({})", len.get() / 2),
            Kind::FlipEach(inner) if inner.kind == Kind::Fixed => write!(f, "signs({len})"),
            Kind::FlipEach(inner) => write!(f, "{inner} with signs"),
            Kind::FlipWhole(inner) => write!(f, "{inner} with one sign"),
            Kind::Blocks(parts) => parts_of("blocks", parts, f),
            Kind::Exchange(parts, _) => parts_of("exchange", parts, f),
            Kind::Plots { between, within, alike } => {
                let alike = if *alike { ", alike" } else { "" };
                write!(f, "plots({between}, within {within}{alike})")
            }
            Kind::OnRows(rows, inner) => {
                write!(f, "{inner} on rows [")?;
                list(rows, f)?;
                f.write_str("]")
            }
        }
    }
}

fn parts_of(name: &str, parts: &[Node], f: &mut Formatter<'_>) -> Result {
    write!(f, "{name}(")?;
    for (number, run) in parts.chunk_by(|a, b| a == b).enumerate() {
        if number > 0 {
            f.write_str(", ")?;
        }
        if number == SHOWN {
            f.write_str("..")?;
            break;
        }
        if run.len() > 1 {
            write!(f, "{} x ", run.len())?;
        }
        write!(f, "{}", run[0])?;
    }
    f.write_str(")")
}

fn list(numbers: &[u64], f: &mut Formatter<'_>) -> Result {
    for (at, number) in numbers.iter().take(SHOWN).enumerate() {
        write!(f, "{}{number}", if at > 0 { ", " } else { "" })?;
    }
    f.write_str(if numbers.len() > SHOWN { ", .." } else { "" })
}
