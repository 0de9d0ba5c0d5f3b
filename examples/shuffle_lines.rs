//! Shuffles the lines of a file: `cargo run --example shuffle_lines -- README.md`. The program
//! `bshuf` (crates/cli) does this for files of any kind, with all that goes with it.

use bijective_shuffle::prelude::*;

fn main() -> std::io::Result<()> {
    let file = std::env::args_os().nth(1).unwrap_or("README.md".into());
    let text = std::fs::read_to_string(file)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.par_bijective_shuffle(42);
    println!("{}", lines.join("\n"));
    Ok(())
}
