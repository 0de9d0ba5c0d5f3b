//! Designs as text: the tree, with equal parts counted.

use core::fmt::{Display, Formatter, Result};

use super::node::{Form, Node};

/// The most numbers of a list that are shown.
const SHOWN: usize = 16;

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let len = self.len;
        let mirrored = |mirror: bool| if mirror { ", mirror" } else { "" };
        match &self.form {
            Form::Fixed => write!(f, "fixed({len})"),
            Form::Free => write!(f, "free({len})"),
            Form::Derangement => write!(f, "derangements({len})"),
            Form::Groups(sizes) => {
                f.write_str("groups(")?;
                list(sizes, f)?;
                f.write_str(")")
            }
            Form::Series { mirror } => write!(f, "series({len}{})", mirrored(*mirror)),
            Form::Grid { rows, columns, mirror } => {
                write!(f, "grid({rows} x {columns}{})", mirrored(*mirror))
            }
            Form::Pairs => write!(f, "pairs({})", len.get() / 2),
            Form::FlipEach(inner) if inner.form == Form::Fixed => write!(f, "signs({len})"),
            Form::FlipEach(inner) => write!(f, "{inner} with signs"),
            Form::FlipWhole(inner) => write!(f, "{inner} with one sign"),
            Form::Blocks(parts) => parts_of("blocks", parts, f),
            Form::Exchange(parts, _) => parts_of("exchange", parts, f),
            Form::Plots { between, within, alike } => {
                let alike = if *alike { ", alike" } else { "" };
                write!(f, "plots({between}, within {within}{alike})")
            }
            Form::OnRows(rows, inner) => {
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
