//! Groups of GPUs beside one of them, and beside what PyTorch does on as many.

use std::error::Error;

use super::computed::Computed;
use super::markdown::{NOT_MEASURED, conditions_of, number, table};
use super::results::Results;
use crate::sheet::Sheet;

const ALONE: &str = "one GPU, Partitioned, default";
const GROUP: &str = "group, default";
const EXCHANGE: &str = "bare exchange by copies";
/// Ranks in threads, and in processes.
const RANKS: [&str; 2] = ["NCCL, default", "ranks, default"];

/// The rows of benches/peers/cuda/torch_group.py, on the GPUs of [`H200`].
const TORCH: &str = "gpu-group-torch";

/// The rows of other GPUs than those of `gpu-group`.
const H200: &str = "gpu-group-h200";

/// The rows of four of those.
const FOUR: &str = "gpu-group-four";

/// The rows of an array that no GPU of the group could hold alone.
const LONG: &str = "gpu-group-long";

/// The rows of changes that were not kept.
const TRIED: &str = "gpu-group-tried";

/// The same for the bits that passes sort by, in arrays as long as those of [`LONG`].
const PASSES: &str = "gpu-group-passes";

/// The rows of a revision whose first pass stored items in other GPUs' memory.
const STORES: &str = "gpu-group-stores";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let sheet = results.sheet("gpu-group")?;
    computed.block("gpu group", beside_one(&sheet)?);
    let h200 = results.sheet(H200)?;
    computed.block("gpu group h200", beside_one(&h200)?);
    computed.block("gpu group four", beside_one(&results.sheet(FOUR)?)?);
    computed.block("gpu group long", by_themselves(&results.sheet(LONG)?, 0)?);
    computed.block("gpu group passes", by_themselves(&results.sheet(PASSES)?, 0)?);
    computed.block("gpu group tried", by_themselves(&results.sheet(TRIED)?, 2)?);
    computed.block("gpu group stores", beside_one(&results.sheet(STORES)?)?);
    let torch = results.sheet_if_any(TORCH)?;
    let torch = torch.map_or(Ok(NOT_MEASURED.into()), |torch| beside_torch(&h200, &torch));
    computed.block("gpu group torch", torch.map_err(|why| format!("{TORCH}.csv: {why}"))?);
    Ok(())
}

/// Groups, and ranks that exchange by NCCL or by copies, beside one GPU.
fn beside_one(sheet: &Sheet) -> Result<String, String> {
    let all = groups(sheet)?;
    let were_measured = [0, 1].map(|way| all.iter().any(|row| row.ranks[way].is_some()));
    let rows = all.into_iter().map(|row| {
        let Group { of, way, alone, exchange, group, ranks } = row;
        let mut cells = Vec::from(of.cells());
        cells.extend([
            way.to_owned(),
            format!("{:.2}", alone * 1e3),
            format!("{:.2}", exchange * 1e3),
            format!("{:.2}", group * 1e3),
            format!("{:.1}", of.length as f64 / group / 1e9),
            format!("{:.2}", alone / group),
        ]);
        for (ranks, _) in ranks.into_iter().zip(were_measured).filter(|of| of.1) {
            let beside = |cell: f64| format!("{cell:.2}");
            cells.push(ranks.map_or(String::new(), |ranks| beside(ranks * 1e3)));
            cells.push(ranks.map_or(String::new(), |ranks| beside(group / ranks)));
        }
        cells
    });
    let rows: Vec<_> = rows.collect();
    let mut head = vec![
        "GPUs",
        "bytes an item",
        "items in all",
        "way",
        "one GPU with its share alone, ms",
        "bare exchange by copies, ms",
        "group, ms",
        "G items/s in all",
        "alone / group",
    ];
    let of_ranks =
        [["ranks by NCCL, ms", "group / NCCL"], ["ranks by copies, ms", "group / copies"]];
    let of_ranks = of_ranks.into_iter().zip(were_measured).filter(|of| of.1);
    head.extend(of_ranks.flat_map(|(columns, _)| columns));
    let origins = sheet.origins().into_iter().map(|origin| format!("* {origin}\n"));
    Ok(origins.collect::<String>() + "\n" + &table(&head, &rows))
}

/// All rows, with nothing beside them.
fn by_themselves(sheet: &Sheet, digits: usize) -> Result<String, String> {
    let mut rows = Vec::new();
    for (name, of, seconds) in Rows::new(sheet)?.all()? {
        let [members, item_bytes, length] = of.cells();
        let speed = of.length as f64 / seconds / 1e9;
        let [ms, speed] = [number(seconds * 1e3, digits)?, number(speed, 1)?];
        rows.push([members, item_bytes, length, name.to_owned(), ms, speed]);
    }
    let head = ["GPUs", "bytes an item", "items in all", "", "ms", "G items/s in all"];
    Ok(conditions_of(sheet) + &table(&head, &rows))
}

/// What PyTorch takes, with that of a group at the same lengths.
fn beside_torch(ours: &Sheet, torch: &Sheet) -> Result<String, String> {
    let (ours, torch_rows) = (Rows::new(ours)?, Rows::new(torch)?);
    let mut rows = Vec::new();
    for (name, of, seconds) in torch_rows.all()? {
        let group = ours.seconds(GROUP, of).ok();
        let beside = |cell: fn(f64, f64) -> f64, digits| {
            group.map_or(Ok(String::new()), |group| number(cell(seconds, group), digits))
        };
        let [members, item_bytes, length] = of.cells();
        rows.push([
            members,
            item_bytes,
            length,
            name.to_owned(),
            number(seconds * 1e3, 2)?,
            beside(|_, group| group * 1e3, 2)?,
            beside(|torch, group| torch / group, 2)?,
        ]);
    }
    let head = ["GPUs", "bytes an item", "items in all", "", "ms", "group, ms", "/ group"];
    Ok(conditions_of(torch) + &table(&head, &rows))
}

/// What is shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    members: u64,
    item_bytes: u64,
    /// The items of all members.
    length: u64,
}

impl Of {
    /// The first cells of its row in a table.
    fn cells(&self) -> [String; 3] {
        [self.members, self.item_bytes, self.length].map(|number| number.to_string())
    }
}

/// The rows of a file, by what was measured.
struct Rows<'a> {
    sheet: &'a Sheet,
    /// The columns of the name, of the numbers in [`Of`], and of the seconds.
    columns: [usize; 5],
}

impl<'a> Rows<'a> {
    fn new(sheet: &'a Sheet) -> Result<Self, String> {
        let mut columns = [0; 5];
        let names = ["name", "members", "item_bytes", "length", "seconds"];
        for (place, name) in columns.iter_mut().zip(names) {
            *place = sheet.column(name)?;
        }
        Ok(Self { sheet, columns })
    }

    /// The name, what is shuffled, and the seconds, of each row.
    fn all(&self) -> Result<Vec<(&'a str, Of, f64)>, String> {
        let [name, members, item_bytes, length, seconds] = self.columns;
        let read = |row: &'a Vec<String>| {
            let number =
                |column: usize| row[column].parse::<u64>().map_err(|_| row[column].clone());
            let (members, item_bytes, length) =
                (number(members)?, number(item_bytes)?, number(length)?);
            let seconds = row[seconds].parse::<f64>().map_err(|_| row[seconds].clone())?;
            Ok((row[name].as_str(), Of { members, item_bytes, length }, seconds))
        };
        let rows = self.sheet.rows.iter().map(read).collect::<Result<_, String>>();
        rows.map_err(|cell| format!("`{cell}` is no number"))
    }

    fn seconds(&self, what: &str, of: Of) -> Result<f64, String> {
        let mut rows = self.all()?.into_iter().filter(|row| (row.0, row.1) == (what, of));
        rows.next().map(|row| row.2).ok_or_else(|| format!("{what}, {of:?}: no row"))
    }
}

/// The seconds of one shuffle of a group, and of what stands beside it.
struct Group {
    of: Of,
    way: &'static str,
    /// One GPU with as many items as a member has.
    alone: f64,
    exchange: f64,
    group: f64,
    /// Ranks that exchange by NCCL and by copies, if they were measured.
    ranks: [Option<f64>; 2],
}

fn groups(sheet: &Sheet) -> Result<Vec<Group>, String> {
    let rows = Rows::new(sheet)?;
    let mut groups = Vec::new();
    for (_, of, _) in rows.all()?.into_iter().filter(|(name, ..)| *name == GROUP) {
        let exchange = rows.seconds(EXCHANGE, of)?;
        let share = Of { length: of.length / of.members, ..of };
        for (way, prefix) in [("there", ""), ("back", "back, ")] {
            let alone = rows.seconds(&format!("{prefix}{ALONE}"), share)?;
            let group = rows.seconds(&format!("{prefix}{GROUP}"), of)?;
            let ranks = RANKS.map(|ranks| rows.seconds(&format!("{prefix}{ranks}"), of).ok());
            groups.push(Group { of, way, alone, exchange, group, ranks });
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "date,revision,machine,name,members,devices,item_bytes,length,seconds";

    fn sheet(rows: &[&str]) -> Sheet {
        let rows = rows.iter().map(|row| format!("2026-11-23,0123abc,m,{row}\n"));
        Sheet::parse(&format!("{HEAD}\n{}", rows.collect::<String>())).unwrap()
    }

    #[test]
    fn groups_stand_beside_a_gpu_with_their_share() {
        let rows = [
            "\"one GPU, Partitioned, default\",2,2,8,4,1.0",
            "\"back, one GPU, Partitioned, default\",2,2,8,4,1.5",
            "bare exchange by copies,2,2,8,8,0.5",
            "\"group, default\",2,2,8,8,2.0",
            "\"back, group, default\",2,2,8,8,3.0",
        ];
        let groups_of = groups(&sheet(&rows)).unwrap();
        let ratios: Vec<_> = groups_of.iter().map(|row| (row.way, row.alone / row.group)).collect();
        assert_eq!(ratios, [("there", 0.5), ("back", 0.5)]);
        assert!(groups(&sheet(&rows[..4])).is_err());
        // Items of another size are not those of these rows.
        let others = rows.map(|row| row.replace(",2,2,8,", ",2,2,4,"));
        let mixed: Vec<&str> = rows[..4].iter().copied().chain([&*others[4]]).collect();
        assert!(groups(&sheet(&mixed)).is_err());
        let both: Vec<&str> = rows.into_iter().chain(others.iter().map(|row| &**row)).collect();
        assert_eq!(groups(&sheet(&both)).unwrap().len(), 4);
    }

    #[test]
    fn ranks_stand_beside_a_group_where_they_were_measured() {
        let rows = [
            "\"one GPU, Partitioned, default\",2,2,8,4,1e-3",
            "\"back, one GPU, Partitioned, default\",2,2,8,4,1e-3",
            "bare exchange by copies,2,2,8,8,5e-4",
            "\"group, default\",2,2,8,8,2e-3",
            "\"back, group, default\",2,2,8,8,2e-3",
            "\"NCCL, default\",2,2,8,8,2.5e-3",
        ];
        let text = beside_one(&sheet(&rows)).unwrap();
        assert!(
            text.contains("| there | 1.00 | 0.50 | 2.00 | 0.0 | 0.50 | 2.50 | 0.80 |"),
            "{text}"
        );
        assert!(text.contains("| back | 1.00 | 0.50 | 2.00 | 0.0 | 0.50 | | |"), "{text}");
        assert!(!beside_one(&sheet(&rows[..5])).unwrap().contains("NCCL"));
        let both: Vec<&str> = rows.into_iter().chain(["\"ranks, default\",2,2,8,8,2e-3"]).collect();
        let text = beside_one(&sheet(&both)).unwrap();
        assert!(text.contains("| 0.50 | 2.50 | 0.80 | 2.00 | 1.00 |"), "{text}");
        assert!(text.contains("| 0.50 | | | | |"), "{text}");
    }

    #[test]
    fn a_group_stands_beside_pytorch_where_both_were_measured() {
        let ours = sheet(&["\"group, default\",2,2,8,8,2e-3"]);
        let torch = sheet(&["torch,2,2,8,8,5e-3", "torch,2,2,4,8,1e-3"]);
        let text = beside_torch(&ours, &torch).unwrap();
        assert!(text.contains("| 2 | 8 | 8 | torch | 5.00 | 2.00 | 2.50 |"), "{text}");
        assert!(text.contains("| 2 | 4 | 8 | torch | 1.00 | | |"), "{text}");
        let wrong = sheet(&["torch,two,2,8,8,5e-3"]);
        assert!(beside_torch(&ours, &wrong).is_err());
    }
}
