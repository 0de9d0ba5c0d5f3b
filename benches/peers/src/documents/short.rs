//! The short tables of the pages for users: some columns and rows of the tables in `benches/notes`,
//! and single cells of any table, which sentences quote.

use super::computed::Computed;
use super::markdown::table;

/// A part of a table that has been computed.
struct Short {
    name: &'static str,
    /// The block with the whole table, and the number of the table in it.
    of: &'static str,
    number: usize,
    /// The columns, each with what it is called here.
    columns: &'static [(&'static str, &'static str)],
    /// Only rows that have one of these cells in this column.
    rows: &'static [(&'static str, &'static [&'static str])],
}

/// What contenders at all lengths are called in the short tables.
const CPU: &[(&str, &str)] = &[
    ("length", "length"),
    ("ours, default, auto", "`Workspace`"),
    ("rip_shuffle, parallel", "`rip_shuffle`, parallel"),
    ("Rao-Sandelius, memory kept", "Rao-Sandelius"),
    ("MergeShuffle", "MergeShuffle"),
    ("rand", "`rand`"),
    ("fastrand", "`fastrand`"),
    ("std::shuffle, SplitMix64", "`std::shuffle`"),
    ("gather", "gather"),
    ("memcpy", "`memcpy`"),
];

const CPU_LENGTHS: (&str, &[&str]) =
    ("length", &["2^8 + 1", "2^14 + 1", "2^20 + 1", "2^23 + 1", "2^26 + 1"]);

const GPU: &[(&str, &str)] = &[
    ("length", "length"),
    ("Auto, default", "`Auto`, default"),
    ("Auto, Philox-24", "`Auto`, cipher"),
    ("back, Partitioned, default", "undone, partitioned"),
    ("thrust::shuffle_copy (memory kept)", "Thrust, memory kept"),
    ("torch x[randperm]", "PyTorch"),
    ("cupy.random.permutation", "CuPy"),
    ("gather", "gather"),
    ("best of ours / gather", "best of ours / gather"),
    ("best of ours / thrust::shuffle_copy", "/ Thrust"),
    ("best of ours / torch x[randperm]", "/ PyTorch"),
];

const GPU_LENGTHS: (&str, &[&str]) =
    ("length", &["2^8 + 1", "2^14 + 1", "2^20 + 1", "2^26 + 1", "2^29 + 1"]);

const GROUP: &[(&str, &str)] = &[
    ("items in all", "items in all"),
    ("way", "way"),
    ("one GPU with its share alone, ms", "one GPU with its share alone, ms"),
    ("bare exchange by copies, ms", "bare exchange, ms"),
    ("group, ms", "`CudaGroup`, ms"),
    ("G items/s in all", "G items/s in all"),
    ("alone / group", "alone / group"),
    ("ranks by copies, ms", "`CudaExchange`, ms"),
];
const GROUP_ROWS: &[(&str, &[&str])] =
    &[("GPUs", &["2"]), ("bytes an item", &["8"]), ("items in all", &["134217730", "1073741826"])];

const ALL: &[Short] = &[
    Short {
        name: "short calls",
        of: "calls",
        number: 0,
        columns: &[
            ("machine", "machine"),
            ("length", "length"),
            ("first call, M/s", "first call, M/s"),
            ("later calls", "later calls"),
            ("`Workspace`", "`Workspace`"),
            ("`rip_shuffle`", "`rip_shuffle`"),
            ("first call / `rip_shuffle`", "first call / `rip_shuffle`"),
            ("later calls (2)", "later calls"),
            ("`Workspace` (2)", "`Workspace`"),
            ("peak beside the array, bytes an item", "peak beside the array, bytes an item"),
            ("with a `Workspace`", "with a `Workspace`"),
        ],
        rows: &[("length", &["2^18 + 1", "2^22 + 1", "2^26 + 1"])],
    },
    Short {
        name: "short cpu 2",
        of: "table-3 two cores",
        number: 0,
        columns: CPU,
        rows: &[CPU_LENGTHS],
    },
    Short { name: "short cpu 16", of: "table-3", number: 0, columns: CPU, rows: &[CPU_LENGTHS] },
    Short {
        name: "short evaluations",
        of: "evaluations",
        number: 0,
        columns: &[
            ("family", "family"),
            ("instructions", "instructions"),
            ("16", "16 bits"),
            ("24", "24 bits"),
            ("32", "32 bits"),
            ("64", "64 bits"),
        ],
        rows: &[("family", &["`Standard` (`MulXorshift<10>`)", "`VariablePhilox<24>`"])],
    },
    Short { name: "short gpu", of: "gpu", number: 2, columns: GPU, rows: &[GPU_LENGTHS] },
    Short {
        name: "short gpu in place",
        of: "gpu in place",
        number: 0,
        columns: &[
            ("bytes an item", "bytes an item"),
            ("length", "length"),
            ("in place", "in place"),
            ("undone", "undone"),
            ("into another array", "into another array"),
            ("in place / into another", "in place / into another"),
        ],
        rows: &[("length", &["2^20 + 1", "2^23 + 1", "2^26 + 1", "2^29 + 1"])],
    },
    Short {
        name: "short affine cpu",
        of: "affine cpu",
        number: 0,
        columns: &[
            ("items", "items"),
            ("map", "map"),
            ("part of a copy", "part of a copy"),
            ("G items/s", "G items/s"),
            ("over the naive loop", "over the naive loop"),
        ],
        rows: &[("items", &["2^20", "2^28"])],
    },
    Short {
        name: "short affine gpu",
        of: "affine gpu",
        number: 0,
        columns: &[
            ("items", "items"),
            ("bit reversal", "bit reversal"),
            ("random BPC", "random BPC"),
            ("random BMMC", "random BMMC"),
            ("item by item, BMMC", "item by item, BMMC"),
        ],
        rows: &[(
            "items",
            &["1 byte, 2^32", "4 bytes, 2^30", "8 bytes, 2^29", "16 bytes, 2^28", "12 bytes, 2^28"],
        )],
    },
    Short {
        name: "short mpi",
        of: "mpi",
        number: 0,
        columns: &[
            ("items", "items"),
            ("tags", "tags"),
            ("pack", "pack"),
            ("exchange", "exchange"),
            ("place", "place"),
            ("in all", "in all"),
            ("one process, two threads, kept workspace", "one process, two threads"),
            ("in all / one process", "in all / one process"),
        ],
        rows: &[("items", &["2^24 + 1", "2^27 + 1"])],
    },
    Short {
        name: "short loaders",
        of: "python-loaders",
        number: 0,
        columns: &[
            ("what", "what"),
            ("ours", "ours"),
            ("theirs", "theirs"),
            ("theirs / ours", "theirs / ours"),
        ],
        rows: &[(
            "what",
            &[
                "packed-by-megatron: an epoch",
                "lengths-of-transformers: an epoch",
                "lengths: the index",
                "stream: each item",
                "frame-of-pandas: shuffled",
                "frame-of-polars: shuffled",
                "weighted: each of 2^24 draws",
                "others-in-rust: each item of a stream, beside a plain buffer",
            ],
        )],
    },
    Short {
        name: "short fills",
        of: "gpu-rng",
        number: 0,
        columns: &[
            ("generator", "generator"),
            ("u32", "`u32`"),
            ("f32", "`f32`"),
            ("normal f32", "normal `f32`"),
            ("f64", "`f64`"),
            ("normal f64", "normal `f64`"),
            ("u32, of write only", "`u32`, of write only"),
        ],
        rows: &[(
            "generator",
            &[
                "write only",
                "Philox4x32-10",
                "Lcg64, 262144 streams",
                "Xorwow, 262144 streams",
                "XorShift1024Weyl, 32768 streams",
                "cuRAND PHILOX4_32_10",
                "cuRAND PHILOX4_32_10, dynamic",
                "cuRAND XORWOW, dynamic",
                "cuRAND MRG32K3A, dynamic",
                "cuRAND MT19937",
            ],
        )],
    },
    Short {
        name: "short group h200",
        of: "gpu group h200",
        number: 0,
        columns: GROUP,
        rows: GROUP_ROWS,
    },
    Short {
        name: "short group four",
        of: "gpu group four",
        number: 0,
        columns: GROUP,
        rows: &[("bytes an item", &["8"]), ("items in all", &["268435460", "2147483652"])],
    },
];

/// Adds the short tables.
pub(super) fn compute(computed: &mut Computed) -> Result<(), String> {
    for short in ALL {
        let text = of(short, computed).map_err(|why| format!("{}: {why}", short.name))?;
        computed.block(short.name, text);
    }
    Ok(())
}

fn of(short: &Short, computed: &Computed) -> Result<String, String> {
    let whole = computed.blocks.iter().find(|(name, _)| *name == short.of);
    let (_, whole) = whole.ok_or_else(|| format!("there is no block `{}`", short.of))?;
    // What need not be measured has no table.
    let Some(part) = parts(whole).into_iter().nth(short.number) else { return Ok(whole.clone()) };
    // Not every run has every contender.
    let columns = short.columns.iter();
    let columns = columns.filter_map(|(name, head)| Some((part.column(name).ok()?, *head)));
    let (chosen, head): (Vec<usize>, Vec<&str>) = columns.unzip();
    if chosen.len() < 2 {
        return Err("no column is left".into());
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    'rows: for row in &part.rows {
        for (column, cells) in short.rows {
            if !cells.contains(&row[part.column(column)?].as_str()) {
                continue 'rows;
            }
        }
        rows.push(chosen.iter().map(|&at| row[at].clone()).collect());
    }
    if rows.is_empty() {
        return Err("no row is left".into());
    }
    Ok(part.origins + "\n" + &table(&head, &rows))
}

/// A table of a block, and what the block says before it about dates, revisions and machines.
struct Part {
    origins: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Part {
    /// The place of a column; of several with a name, `NAME (2)` is the second.
    fn column(&self, name: &str) -> Result<usize, String> {
        let (base, number) = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
            Some((base, number)) if number.parse::<usize>().is_ok() => {
                (base, number.parse().expect("a number"))
            }
            _ => (name, 1),
        };

        let same = (0..self.head.len()).filter(|&at| self.head[at] == base);
        let mut same = same.skip(number - 1);
        same.next().ok_or_else(|| format!("there is no column `{name}`"))
    }
}

/// The tables of a block.
fn parts(block: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut origins: Vec<String> = Vec::new();
    let mut open = false;
    for line in block.lines() {
        if let Some(cells) = cells(line) {
            if !open {
                let text = origins.iter().map(|line| format!("* {line}\n")).collect();
                parts.push(Part { origins: text, head: cells, rows: Vec::new() });
            } else if !cells.iter().all(|cell| cell == "---") {
                parts.last_mut().expect("one is open").rows.push(cells);
            }
            open = true;
        } else {
            open = false;
            let note = line.trim_start().strip_prefix("* ").unwrap_or_default();
            if note.contains(", revision ") && !origins.iter().any(|known| known == note) {
                origins.push(note.to_owned());
            }
        }
    }
    parts
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// What `BLOCK; ROW; COLUMN` names: a cell of the first table of a block that has such a row and
/// column. A row is named by its first cell, or by its first cells with ` / ` between them.
pub(super) fn cell(computed: &Computed, name: &str) -> Option<String> {
    let [block, row, column] = name.split("; ").collect::<Vec<_>>()[..] else { return None };
    let (_, text) = computed.blocks.iter().find(|(known, _)| *known == block)?;
    let begin: Vec<&str> = row.split(" / ").collect();
    parts(text).iter().find_map(|part| {
        let at = part.column(column).ok()?;
        let mut rows = part.rows.iter();
        let found = rows.find(|cells| cells.iter().zip(&begin).all(|(cell, part)| cell == part))?;
        Some(found[at].clone())
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::documents::compute as all;
    use crate::documents::results::{RESULTS, Results};

    const BLOCK: &str = "```console\na command\n```\n\n* a note\n* 2026-01-02, revision 0123abc, m\n\n\
        | items | way | ms | ms |\n| --- | --- | --- | --- |\n| 1 | there | 2.5 | 7 |\n\
        | 1 | back | 3 | |\n\ntext\n\n| items | s |\n| --- | --- |\n| 8 | 9 |\n";

    fn computed() -> Computed {
        let mut computed = Computed::default();
        computed.block("whole", BLOCK.into());
        computed
    }

    #[test]
    fn columns_and_rows_are_chosen_and_the_origin_is_kept() {
        let short = Short {
            name: "short",
            of: "whole",
            number: 0,
            columns: &[("way", "way"), ("ms (2)", "later, ms")],
            rows: &[("way", &["there"])],
        };
        let text = of(&short, &computed()).unwrap();
        let table = "| way | later, ms |\n| --- | --- |\n| there | 7 |\n";
        assert_eq!(text, format!("* 2026-01-02, revision 0123abc, m\n\n{table}"));
        for wrong in [
            Short { columns: &[("ns", "ns"), ("way", "way")], ..short },
            Short { rows: &[("way", &["no"])], ..short },
            Short { of: "other", ..short },
        ] {
            assert!(of(&wrong, &computed()).is_err());
        }
    }

    #[test]
    fn every_column_is_there() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let computed = all(&Results::new(root.join(RESULTS))).unwrap();
        for short in ALL {
            let of = |name| &computed.blocks.iter().find(|(known, _)| *known == name).unwrap().1;
            let part = &parts(of(short.of))[short.number];
            for (name, _) in short.columns {
                assert!(part.column(name).is_ok(), "{}: {name}", short.name);
            }
        }
    }

    #[test]
    fn a_sentence_quotes_a_cell() {
        let computed = computed();
        assert_eq!(cell(&computed, "whole; 1; ms").unwrap(), "2.5");
        assert_eq!(cell(&computed, "whole; 1 / back; ms").unwrap(), "3");
        assert_eq!(cell(&computed, "whole; 8; s").unwrap(), "9");
        for wrong in ["whole; 2; ms", "whole; 1; s", "other; 1; ms", "whole; 1", "whole"] {
            assert!(cell(&computed, wrong).is_none(), "{wrong}");
        }
    }
}
