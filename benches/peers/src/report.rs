//! [`publish`]: prints a report, and writes it into the documents.

use std::error::Error;
use std::fs;
use std::path::Path;

use crate::arguments::Common;
use crate::machine;

/// The document with all the tables of the CPU, below the folder of the documents.
const DOCUMENT: &str = "results/cpu.md";

/// Prints a table with the conditions that it was measured under, and, if asked, puts both between the markers of this
/// name in the document.
pub(crate) fn publish(name: &str, table: &str, common: &Common) -> Result<(), Box<dyn Error>> {
    let text = format!("{}\n{table}", machine::conditions(common));
    publish_text(DOCUMENT, name, &text, common)
}

/// Prints a text, and, if asked, puts it between the markers of this name in a document.
pub(crate) fn publish_text(
    document: &str,
    name: &str,
    text: &str,
    common: &Common,
) -> Result<(), Box<dyn Error>> {
    println!("{text}");
    if common.write {
        write(&common.docs.join(document), name, text)?;
    }
    Ok(())
}

fn write(file: &Path, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let document = fs::read_to_string(file).map_err(|error| failed(&error))?;
    let document = replace(&document, name, text).map_err(|error| failed(&error))?;
    fs::write(file, document).map_err(|error| failed(&error))?;
    eprintln!("written to {}", file.display());
    Ok(())
}

/// A document with other text between the markers of a name.
fn replace(document: &str, name: &str, text: &str) -> Result<String, String> {
    let [begin, end] = ["begin", "end"].map(|side| format!("<!-- peers {name} {side} -->"));
    let missing = || format!("the lines `{begin}` and `{end}` are not there, in this order");
    let (before, rest) = document.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
        # Title\n\
        <!-- peers sizes begin -->\n<!-- peers sizes end -->\n\
        <!-- peers table begin -->\n\nold\n\n<!-- peers table end -->\nrest\n";

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let expected = DOCUMENT.replace("old", "new\ntext");
        assert_eq!(replace(DOCUMENT, "table", "new\ntext\n").unwrap(), expected);
        assert_eq!(replace(&expected, "table", "old").unwrap(), DOCUMENT);
    }

    #[test]
    fn missing_markers_are_an_error() {
        assert!(replace(DOCUMENT, "small", "text").unwrap_err().contains("peers small begin"));
        let reversed = "<!-- peers small end --> <!-- peers small begin -->";
        assert!(replace(reversed, "small", "text").is_err());
    }

    #[test]
    fn a_file_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cpu.md");
        assert!(write(&file, "table", "new").unwrap_err().to_string().contains("cpu.md"));
        fs::write(&file, DOCUMENT).unwrap();
        write(&file, "table", "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), DOCUMENT.replace("old", "new"));
    }
}
