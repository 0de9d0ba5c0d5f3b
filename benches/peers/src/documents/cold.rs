//! What a first call costs, in `docs/results/cpu.md`.

use std::error::Error;

use super::{Computed, NOT_MEASURED, Results, conditions_of};
use crate::cold::Rows;
use crate::sheet::Sheet;

/// How the names of the files begin: one for each machine, number of threads, and kind of pages.
const FILES: &str = "cpu-cold";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let mut tables = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        tables.push(table(&sheet).map_err(|why| format!("{name}.csv: {why}"))?);
    }
    let text = if tables.is_empty() { NOT_MEASURED.into() } else { tables.join("\n") };
    computed.block("cold", text);
    Ok(())
}

/// What a file says about itself, and its rows.
fn table(sheet: &Sheet) -> Result<String, String> {
    Ok(conditions_of(sheet) + &Rows::read(sheet)?.markdown())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEAD: &str = "# $ a command\n\
        date,revision,machine,name,item,item_bytes,length,threads,pages,first_items_per_second,\
        later_items_per_second,peak_bytes_per_item,first_page_faults,later_page_faults\n";

    fn computed(files: &[(&str, &str)]) -> Result<Computed, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        for (file, row) in files {
            let text = format!("{HEAD}2026-01-02,0123abc,made up,{row}\n");
            fs::write(folder.path().join(file), text)?;
        }
        let results = Results::new(folder.path().into());
        let mut computed = Computed::default();
        compute(&results, &mut computed)?;
        results.all_were_read()?;
        Ok(computed)
    }

    #[test]
    fn every_file_gets_its_table() {
        let files = [
            ("cpu-cold.csv", "fastrand,u64,8,257,2,4 KiB,1e6,2e6,0,0,0"),
            ("cpu-cold-huge.csv", "fastrand,u64,8,257,2,huge,3e6,4e6,-,-,-"),
        ];
        let computed = computed(&files).unwrap();
        let [(name, text)] = &computed.blocks[..] else { panic!("{computed:?}") };
        assert_eq!(*name, "cold");
        assert_eq!(text.matches("```console\na command\n```").count(), 2);
        assert!(text.contains("* 2026-01-02, revision 0123abc, made up\n"));
        for line in [
            "\n| `u64` | 2^8 + 1 | fastrand | 1.0 | 2.0 | - | - | 0.0 | 0 | 0 |\n",
            "\n| `u64` | 2^8 + 1 | fastrand | 3.0 | 4.0 | - | - | - | - | - |\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn there_need_be_no_rows_but_no_wrong_ones() {
        assert_eq!(computed(&[]).unwrap().blocks, [("cold", NOT_MEASURED.to_owned())]);
        let wrong = [("cpu-cold.csv", "fastrand,u64,8,257,2,4 KiB,0,2e6,0,0,0")];
        assert!(computed(&wrong).unwrap_err().to_string().contains("cpu-cold.csv: row 1"));
    }
}
