//! Groups of GPUs beside one of them.

use std::error::Error;

use super::{Computed, Results, table};
use crate::sheet::Sheet;

const ALONE: &str = "one GPU, Partitioned, default";
const GROUP: &str = "group, default";
const EXCHANGE: &str = "bare exchange by copies";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let sheet = results.sheet("gpu-group")?;
    let mut rows = Vec::new();
    for row in groups(&sheet)? {
        let Group { members, length, way, alone, exchange, group } = row;
        rows.push(vec![
            members.to_string(),
            length.to_string(),
            way.to_owned(),
            format!("{:.2}", alone * 1e3),
            format!("{:.2}", exchange * 1e3),
            format!("{:.2}", group * 1e3),
            format!("{:.1}", length as f64 / group / 1e9),
            format!("{:.2}", alone / group),
        ]);
    }
    let head = [
        "GPUs",
        "items of 8 bytes in all",
        "way",
        "one GPU with its share alone, ms",
        "bare exchange by copies, ms",
        "group, ms",
        "G items/s in all",
        "alone / group",
    ];
    let origins = sheet.origins().into_iter().map(|origin| format!("* {origin}\n"));
    computed.block("gpu group", origins.collect::<String>() + "\n" + &table(&head, &rows));
    Ok(())
}

/// The seconds of one shuffle of a group, and of what stands beside it.
struct Group {
    members: u64,
    length: u64,
    way: &'static str,
    /// One GPU with as many items as a member has.
    alone: f64,
    exchange: f64,
    group: f64,
}

fn groups(sheet: &Sheet) -> Result<Vec<Group>, String> {
    let [name, members, length, seconds] =
        ["name", "members", "length", "seconds"].map(|column| sheet.column(column));
    let (name, members, length, seconds) = (name?, members?, length?, seconds?);
    let number = |row: &[String], column: usize| {
        row[column].parse::<u64>().map_err(|error| format!("{}: {error}", row[column]))
    };
    let time_of = |what: &str, of: u64, items: u64| {
        let mut rows = sheet.rows.iter().filter(|row| row[name] == what);
        let row =
            rows.find(|row| number(row, members) == Ok(of) && number(row, length) == Ok(items));
        let row = row.ok_or_else(|| format!("{what}, {of} members, {items} items: no row"))?;
        row[seconds].parse::<f64>().map_err(|error| format!("{}: {error}", row[seconds]))
    };
    let mut groups = Vec::new();
    for row in sheet.rows.iter().filter(|row| row[name] == GROUP) {
        let (members, length) = (number(row, members)?, number(row, length)?);
        let exchange = time_of(EXCHANGE, members, length)?;
        for (way, prefix) in [("there", ""), ("back", "back, ")] {
            let alone = time_of(&format!("{prefix}{ALONE}"), members, length / members)?;
            let group = time_of(&format!("{prefix}{GROUP}"), members, length)?;
            groups.push(Group { members, length, way, alone, exchange, group });
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_beside_a_gpu_with_their_share() {
        let text = "date,revision,machine,name,members,devices,item_bytes,length,seconds\n\
                    2026-11-23,0123abc,m,\"one GPU, Partitioned, default\",2,2,8,4,1.0\n\
                    2026-11-23,0123abc,m,\"back, one GPU, Partitioned, default\",2,2,8,4,1.5\n\
                    2026-11-23,0123abc,m,bare exchange by copies,2,2,8,8,0.5\n\
                    2026-11-23,0123abc,m,\"group, default\",2,2,8,8,2.0\n\
                    2026-11-23,0123abc,m,\"back, group, default\",2,2,8,8,3.0\n";
        let rows = groups(&Sheet::parse(text).unwrap()).unwrap();
        let ratios: Vec<_> = rows.iter().map(|row| (row.way, row.alone / row.group)).collect();
        assert_eq!(ratios, [("there", 0.5), ("back", 0.5)]);
        let cut = text.rsplit_once("2026-11-23,0123abc,m,\"back, group").unwrap().0;
        assert!(groups(&Sheet::parse(cut).unwrap()).is_err());
    }
}
