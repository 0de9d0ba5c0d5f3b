//! All indexes of permutations that are longer than memory, in `docs/results/distributed.md`.

use super::computed::Computed;
use super::markdown::{NOT_MEASURED, conditions_of, number, table};
use super::results::Results;
use crate::gpu_indexes::{ALL, COLUMNS, INDEX};
use crate::sheet::Sheet;

const FILE: &str = "gpu-pieces";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let sheet = results.sheet_if_any(FILE)?;
    let text = sheet.map_or(Ok(NOT_MEASURED.into()), |sheet| {
        Ok::<_, String>(conditions_of(&sheet) + &rows(&sheet)?)
    });
    computed.block("gpu indexes", text.map_err(|why| format!("{FILE}.csv: {why}"))?);
    Ok(())
}

fn rows(sheet: &Sheet) -> Result<String, String> {
    let mut columns = [0; COLUMNS.len()];
    for (place, column) in columns.iter_mut().zip(COLUMNS) {
        *place = sheet.column(column)?;
    }
    let rows = sheet.rows.iter().map(|row| {
        let [name, _, length, seconds] = columns.map(|column| row[column].as_str());
        if !name.starts_with(ALL) && name != INDEX {
            return Err(format!("`{name}` is not known"));
        }
        let value = |cell: &str| cell.parse::<f64>().map_err(|_| format!("`{cell}`"));
        let (items, time) = (value(length)?, value(seconds)?);
        let rate = number(items / time / 1e9, 1)?;
        Ok([name.to_owned(), length.to_owned(), number(time, 1)?, rate])
    });
    let rows = rows.collect::<Result<Vec<_>, String>>()?;
    Ok(table(&["", "indexes", "s", "G/s"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_time_and_its_speed() {
        let head = "date,revision,machine,name,item_bytes,length,seconds\n2026-11-23,0123abc,m,";
        let row = |name: &str| format!("{head}\"{name}\",8,4000000000,2.0\n");
        let text = rows(&Sheet::parse(&row(&format!("{ALL}, compacted"))).unwrap()).unwrap();
        assert!(text.ends_with(&format!("| {ALL}, compacted | 4000000000 | 2.0 | 2.0 |\n")));
        assert!(rows(&Sheet::parse(&row(INDEX)).unwrap()).is_ok());
        assert!(rows(&Sheet::parse(&row("gather")).unwrap()).is_err());
    }
}
