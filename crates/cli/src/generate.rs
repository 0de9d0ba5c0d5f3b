//! [`write`]: the man page and the completions.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::{Arguments, Generated};

/// Writes what is asked for.
pub(crate) fn write(what: Generated, output: &mut impl Write) -> io::Result<()> {
    let mut command = Arguments::command();
    let shell = match what {
        Generated::Man => return clap_mangen::Man::new(command).render(output),
        Generated::Bash => Shell::Bash,
        Generated::Elvish => Shell::Elvish,
        Generated::Fish => Shell::Fish,
        Generated::PowerShell => Shell::PowerShell,
        Generated::Zsh => Shell::Zsh,
    };
    // It panics if it cannot write, so it writes to memory.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "bshuf", &mut text);
    output.write_all(&text)
}
