//! [`AffineRows`]: what `cuda/affine` measured on a GPU with items of one size.

use std::collections::BTreeSet;

use crate::sheet::Sheet;

/// Rows of one machine, for items of one size.
#[derive(Debug)]
pub(crate) struct AffineRows {
    rows: Vec<AffineRow>,
    /// Dates, revisions and the machine, for a caption.
    pub(crate) origin: String,
    /// The comments of the file.
    pub(crate) comments: Vec<String>,
}

/// What one kernel took for one map and length.
#[derive(Clone, PartialEq, Debug)]
struct AffineRow {
    machine: String,
    kernel: String,
    map: String,
    item_bytes: usize,
    log2_items: u32,
    seconds: f64,
}

impl AffineRows {
    /// Takes the rows of a file.
    ///
    /// # Errors
    ///
    /// If columns are missing, if a row has no size, length or time, if rows are of several
    /// machines or sizes of items, which cannot be compared, or if there is no row.
    pub(crate) fn new(sheet: &Sheet) -> Result<Self, String> {
        let column = |name| sheet.column(name);
        let places = [column("kernel")?, column("matrix")?, column("item")?, column("length")?];
        let (machine, milliseconds) = (column("machine")?, column("milliseconds")?);
        let row = |cells: &Vec<String>| {
            let [kernel, map, item, length] = places.map(|at| cells[at].as_str());
            let wrong = |text: &str, what: &str| format!("`{text}` is not {what}");
            let bytes = item.split(' ').next().and_then(|bytes| bytes.parse().ok());
            let log2 = length.strip_prefix("2^").and_then(|power| power.parse().ok());
            let time = cells[milliseconds].parse().ok().filter(|&t: &f64| t.is_finite() && t > 0.0);
            Ok(AffineRow {
                machine: cells[machine].clone(),
                kernel: kernel.into(),
                map: map.into(),
                item_bytes: bytes.ok_or_else(|| wrong(item, "a size"))?,
                log2_items: log2.ok_or_else(|| wrong(length, "a power of two"))?,
                seconds: time.ok_or_else(|| wrong(&cells[milliseconds], "a time"))? / 1e3,
            })
        };
        let rows: Result<Vec<_>, String> = sheet.rows.iter().map(row).collect();
        let (origin, comments) = (sheet.origins().join("; "), sheet.comments.clone());
        let all = Self { rows: rows?, origin, comments };
        all.one_of_a_kind("machine", |row| row.machine.clone())?;
        all.one_of_a_kind("size of items", |row| format!("{} bytes", row.item_bytes))?;
        Ok(all)
    }

    fn one_of_a_kind(&self, what: &str, of: impl Fn(&AffineRow) -> String) -> Result<(), String> {
        let kinds: BTreeSet<String> = self.rows.iter().map(of).collect();
        match kinds.len() {
            0 => Err("there are no rows".into()),
            1 => Ok(()),
            _ => Err(format!("the rows have more than one {what}: {kinds:?}")),
        }
    }

    /// The bytes of an item.
    pub(crate) fn item_bytes(&self) -> usize {
        self.rows[0].item_bytes
    }

    /// The logarithms of the lengths, ascending.
    pub(crate) fn lengths(&self) -> Vec<u32> {
        self.rows.iter().map(|row| row.log2_items).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The kernels that were measured with a map and length, in the order of the rows.
    pub(crate) fn kernels(&self, map: &str, log2_items: u32) -> Vec<&str> {
        let mut kernels: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.map == map && row.log2_items == log2_items) {
            if !kernels.contains(&row.kernel.as_str()) {
                kernels.push(&row.kernel);
            }
        }
        kernels
    }

    /// The median of the seconds that a kernel took: of several matrices of a kind, and of several
    /// runs.
    pub(crate) fn seconds(&self, kernel: &str, map: &str, log2_items: u32) -> Option<f64> {
        let same = |row: &&AffineRow| {
            row.kernel == kernel && row.map == map && row.log2_items == log2_items
        };
        let mut seconds: Vec<f64> = self.rows.iter().filter(same).map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        match seconds.len() {
            0 => None,
            len if len % 2 == 1 => Some(seconds[middle]),
            _ => Some((seconds[middle - 1] + seconds[middle]) / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "date,revision,machine,item,length,matrix,kernel,milliseconds,part_of_copy\n";

    fn rows(text: &str) -> Result<AffineRows, String> {
        AffineRows::new(&Sheet::parse(&(HEAD.to_owned() + text)).unwrap())
    }

    #[test]
    fn kernels_may_have_commas_and_matrices_of_a_kind_are_one() {
        let rows = rows(
            "# a comment\n\
             2026-01-02,0123abc,X,4 bytes,2^30,random BMMC,\"two, passes\",3,\n\
             2026-01-02,0123abc,X,4 bytes,2^30,random BMMC,\"two, passes\",1,\n\
             2026-01-03,0123abc,X,4 bytes,2^30,random BMMC,\"two, passes\",2,\n\
             2026-01-03,0123abc,X,4 bytes,2^29,random BMMC,other,2,\n",
        )
        .unwrap();
        assert_eq!(rows.comments, ["a comment"]);
        assert_eq!(rows.item_bytes(), 4);
        assert_eq!(rows.lengths(), [29, 30]);
        assert_eq!(rows.kernels("random BMMC", 30), ["two, passes"]);
        assert_eq!(rows.seconds("two, passes", "random BMMC", 30), Some(2e-3));
        assert_eq!(rows.seconds("two, passes", "random BMMC", 29), None);
        let origin = "2026-01-02, revision 0123abc, X; 2026-01-03, revision 0123abc, X";
        assert_eq!(rows.origin, origin);
    }

    #[test]
    fn what_cannot_be_compared_or_read_is_refused() {
        let one = "2026-01-02,0123abc,X,4 bytes,2^30,a,b,3,\n";
        for (text, why) in [
            ("", "there are no rows"),
            (&*format!("{one}{}", one.replace(",X,", ",Y,")), "more than one machine"),
            (&*format!("{one}{}", one.replace("4 b", "8 b")), "more than one size of items"),
            (&*one.replace("4 bytes", "items"), "`items` is not a size"),
            (&*one.replace("2^30", "30"), "`30` is not a power of two"),
            (&*one.replace(",3,", ",-1,"), "`-1` is not a time"),
            (&*one.replace(",3,", ",,"), "`` is not a time"),
        ] {
            let error = rows(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
