//! [`Progress`]: a line on the terminal while work is long, or what a [`Host`] is told.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bijective_shuffle_cli::files::{ShufflePass, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner shows nothing, if nothing else is asked for.
pub(crate) const DELAY: Duration = Duration::from_millis(500);

/// The time from one drawing of the line to the next.
const TICK: Duration = Duration::from_millis(100);

/// A program that runs `bshuf` within itself: it is told the progress, and may end the run.
pub trait Host: Send + Sync {
    /// A phase begins, such as `pass 1 of 2`, over this number of bytes if it is known.
    fn begin(&self, phase: &'static str, bytes: Option<u64>);

    /// This many more bytes of the phase are done. Any thread may say so.
    ///
    /// # Errors
    ///
    /// One ends the run, which then leaves what it leaves after any other error: shards that are
    /// whole, and outputs as they were.
    fn advance(&self, bytes: u64) -> io::Result<()>;
}

/// A line on standard error that says what is being done, as long as this value lives.
///
/// It is only shown on a terminal. Within another program that one is told instead.
pub(crate) struct Progress {
    bar: ProgressBar,
    host: Option<Arc<dyn Host>>,
    /// Whether pass 1 has begun, and pass 2 has not.
    is_in_two: AtomicBool,
}

impl Progress {
    /// It is shown after a delay; if there is none, it never is.
    pub(crate) fn new(delay: Option<Duration>) -> Self {
        let bar = ProgressBar::hidden();
        if let Some(delay) = delay
            && io::stderr().is_terminal()
        {
            let bar = bar.downgrade();
            // Without the thread there is no line, which is no reason to fail.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(delay);
                // If all is done by now there is no bar any more.
                if let Some(bar) = bar.upgrade() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
        }
        Self { bar, host: None, is_in_two: AtomicBool::new(false) }
    }

    /// Within another program.
    pub(crate) fn for_host(host: Arc<dyn Host>) -> Self {
        Self { bar: ProgressBar::hidden(), host: Some(host), is_in_two: AtomicBool::new(false) }
    }

    /// Whether this is within another program.
    pub(crate) fn has_host(&self) -> bool {
        self.host.is_some()
    }

    /// A phase begins that counts nothing.
    pub(crate) fn start(&self, phase: &'static str) {
        self.begin(phase, "{spinner} {msg}", None);
    }

    /// A phase begins that handles this number of bytes, if it is known.
    pub(crate) fn start_bytes(&self, phase: &'static str, total: Option<u64>) {
        let template = match total {
            Some(_) => {
                "{spinner} {msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            None => "{spinner} {msg} {bytes}, {bytes_per_sec}",
        };
        self.begin(phase, template, total);
    }

    /// This many more bytes are handled. An error of the program that this is within ends the run.
    pub(crate) fn advance(&self, bytes: u64) -> io::Result<()> {
        if let Some(host) = &self.host {
            return host.advance(bytes);
        }
        self.bar.inc(bytes);
        Ok(())
    }

    fn begin(&self, phase: &'static str, template: &str, total: Option<u64>) {
        if let Some(host) = &self.host {
            return host.begin(phase, total);
        }
        self.bar.reset();
        match total {
            Some(bytes) => self.bar.set_length(bytes),
            None => self.bar.unset_length(),
        }
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        self.bar.set_style(style);
        self.bar.set_message(phase);
    }
}

impl Watch for Progress {
    fn begin(&self, pass: ShufflePass, bytes: Option<u64>) {
        let phase = match pass {
            ShufflePass::Count => "counting",
            ShufflePass::Distribute => "pass 1 of 2",
            _ if self.is_in_two.load(Ordering::Relaxed) => "pass 2 of 2",
            _ => "writing",
        };
        self.is_in_two.store(pass == ShufflePass::Distribute, Ordering::Relaxed);
        self.start_bytes(phase, bytes);
    }

    fn advance(&self, bytes: u64) -> io::Result<()> {
        Self::advance(self, bytes)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use indicatif::TermLike;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<&'static str>>);

    impl Host for Told {
        fn begin(&self, phase: &'static str, _: Option<u64>) {
            self.0.lock().unwrap().push(phase);
        }

        fn advance(&self, _: u64) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_second_pass_has_a_first_one() {
        let told = Arc::new(Told::default());
        let progress = Progress::for_host(told.clone());
        for pass in [
            ShufflePass::Place,
            ShufflePass::Count,
            ShufflePass::Distribute,
            ShufflePass::Place,
            ShufflePass::Place,
        ] {
            Watch::begin(&progress, pass, None);
        }
        let phases = ["writing", "counting", "pass 1 of 2", "pass 2 of 2", "writing"];
        assert_eq!(*told.0.lock().unwrap(), phases);
    }

    /// A terminal of 80 columns that keeps what is written.
    #[derive(Clone, Debug, Default)]
    struct Narrow(Arc<Mutex<String>>);

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_fits_80_columns() {
        let (progress, terminal) = (Progress::new(None), Narrow::default());
        progress.bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        Watch::begin(&progress, ShufflePass::Distribute, Some((1 << 40) - (1 << 29)));
        progress.bar.set_position((1 << 40) - (1 << 30));
        progress.bar.force_draw();
        let line = terminal.0.lock().unwrap().trim_end().to_owned();
        assert!(line.ends_with("left"), "{line}");
        assert!(line.contains("1023.00 GiB of 1023.50 GiB,"), "{line}");
        assert!(line.chars().count() <= 80, "{line}");
    }
}
