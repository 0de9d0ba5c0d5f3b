//! [`write`]: the man page and the completions.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::{Arguments, GeneratedText};

/// Writes what is asked for.
pub(crate) fn write(what: GeneratedText, output: &mut impl Write) -> io::Result<()> {
    let mut command = Arguments::command();
    let shell = match what {
        GeneratedText::Man => return clap_mangen::Man::new(command).render(output),
        GeneratedText::Bash => Shell::Bash,
        GeneratedText::Elvish => Shell::Elvish,
        GeneratedText::Fish => Shell::Fish,
        GeneratedText::PowerShell => Shell::PowerShell,
        GeneratedText::Zsh => Shell::Zsh,
    };
    // It panics if it cannot write, so it writes to memory.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "bshuf", &mut text);
    output.write_all(&text)
}
