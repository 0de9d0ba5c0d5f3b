//! [`Progress`]: a line on the terminal while work is long.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner shows nothing.
const DELAY: Duration = Duration::from_millis(500);

/// The time from one drawing of the line to the next.
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error that says what is being done, as long as this value lives.
///
/// It is only shown on a terminal, and only from the first half second on.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Nothing is shown yet; if it is not wanted nothing ever is.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let bar = ProgressBar::hidden();
        if is_wanted && io::stderr().is_terminal() {
            let bar = bar.downgrade();
            thread::spawn(move || {
                thread::sleep(DELAY);
                // If all is done by now there is no bar any more.
                if let Some(bar) = bar.upgrade() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
        }
        Self { bar }
    }

    /// A phase of which nothing can be counted begins.
    pub(crate) fn start(&self, phase: &'static str) {
        self.begin(phase, "{spinner} {msg}", None);
    }

    /// A phase begins that handles so many bytes, if their number is known.
    pub(crate) fn start_bytes(&self, phase: &'static str, total: Option<u64>) {
        let template = match total {
            Some(_) => "{spinner} {msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}",
            None => "{spinner} {msg} {bytes}, {bytes_per_sec}",
        };
        self.begin(phase, template, total);
    }

    /// So many more bytes are handled.
    pub(crate) fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn begin(&self, phase: &'static str, template: &str, total: Option<u64>) {
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
