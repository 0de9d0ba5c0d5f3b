//! [`Sheet`]: a CSV file with results, as they are kept in `benches/results`.

/// The first columns of every file: what a reader needs to know about each row.
pub(crate) const ORIGIN: [&str; 3] = ["date", "revision", "machine"];

/// Comment lines, a line with the columns' names, and rows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sheet {
    /// Without their `#`. One that begins with `$ ` is a command.
    pub(crate) comments: Vec<String>,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Reads text: as many cells in every row as there are columns, and an origin in each.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut sheet = Self { comments: Vec::new(), head: Vec::new(), rows: Vec::new() };
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if let Some(comment) = line.strip_prefix('#') {
                sheet.comments.push(comment.trim().to_owned());
            } else if !line.is_empty() {
                sheet.add(line).map_err(|why| format!("line {number}: {why}"))?;
            }
        }
        if sheet.head.is_empty() { Err("there are no columns".into()) } else { Ok(sheet) }
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let cells = cells(line)?;
        if self.head.is_empty() {
            if !cells.iter().map(String::as_str).take(ORIGIN.len()).eq(ORIGIN) {
                return Err(format!("the columns do not begin with {}", ORIGIN.join(",")));
            }
            self.head = cells;
            return Ok(());
        }
        if cells.len() != self.head.len() {
            return Err(format!("{} cells for {} columns", cells.len(), self.head.len()));
        }
        is_origin(&cells)?;
        if let Some(cell) = cells.iter().find(|cell| cell.contains('|')) {
            return Err(format!("`{cell}` cannot be in a table"));
        }
        self.rows.push(cells);
        Ok(())
    }
}

/// A line of a file, with quotes where they are needed.
pub(crate) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| {
        if cell.contains([',', '"']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.to_owned()
        }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// The cells of a line.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut characters) = (false, line.chars().peekable());
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells.last_mut().expect("one at least").push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one at least").push(c),
        }
    }
    if quoted { Err("a quote does not end".into()) } else { Ok(cells) }
}

/// Whether a row says when, of which revision, and on what it was measured.
fn is_origin(cells: &[String]) -> Result<(), String> {
    let (date, revision, machine) = (&cells[0], &cells[1], &cells[2]);
    let digits = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = date.split('-');
    let is_date = [4, 2, 2].iter().all(|&len| parts.next().is_some_and(|part| digits(part, len)));
    if !is_date || parts.next().is_some() {
        return Err(format!("`{date}` is no date"));
    }
    let hex = revision.strip_suffix("-dirty").unwrap_or(revision);
    if hex.len() < 7 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("`{revision}` is no revision"));
    }
    if machine.is_empty() { Err("no machine".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_are_read() {
        let text = "# $ a command\n# a comment\ndate,revision,machine,name\n\
                    2026-01-02,0123abc,\"a, b\",\"says \"\"x\"\"\"\n\n2026-01-02,0123abc-dirty,c,\n";
        let sheet = Sheet::parse(text).unwrap();
        assert_eq!(sheet.comments, ["$ a command", "a comment"]);
        assert_eq!(sheet.rows[0], ["2026-01-02", "0123abc", "a, b", "says \"x\""]);
        let row = line(sheet.rows[0].iter().map(String::as_str));
        assert_eq!(cells(&row).unwrap(), sheet.rows[0]);
    }

    #[test]
    fn rows_without_an_origin_are_errors() {
        for row in [
            "2026-01-02,0123abc,x",
            "2026-01-02,0123abc,,x",
            "2026-01-02,unknown,m,x",
            "2026-01-02,0123,m,x",
            "today,0123abc,m,x",
            "2026-1-2,0123abc,m,x",
            "2026-01-02,0123abc,m,x,y",
            "2026-01-02,0123abc,m,a|b",
            "2026-01-02,0123abc,m,\"x",
        ] {
            let error = Sheet::parse(&format!("date,revision,machine,name\n{row}")).unwrap_err();
            assert!(error.starts_with("line 2: "), "{row}: {error}");
        }
        assert!(Sheet::parse("name,item_bytes,length,seconds\n").is_err());
        assert!(Sheet::parse("# nothing\n").is_err());
    }
}
