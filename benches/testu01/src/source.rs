//! [`Source`]: where words come from; [`Feed`]: hands them out one by one.

use std::error::Error;
use std::fmt;

/// A generator in some order: a sequence of words without end.
pub(crate) trait Source {
    /// How many words come at once: of a fill of a multiple of them, nothing is dropped.
    fn row(&self) -> usize;

    /// Fills with the next words; as many as a multiple of [`Source::row`].
    fn fill(&mut self, out: &mut [u32]);
}

/// A source that was started, or why there is none.
pub(crate) type Started = Result<Box<dyn Source>, Box<dyn Error>>;

/// How many words are made at once, at least: 64 KiB, which stay in the second cache.
const BUFFER: usize = 1 << 14;

/// The words of a source, one by one.
pub(crate) struct Feed {
    source: Box<dyn Source>,
    words: Vec<u32>,
    used: usize,
}

impl Feed {
    /// The words of this source.
    pub(crate) fn new(source: Box<dyn Source>) -> Self {
        let words = vec![0; BUFFER.next_multiple_of(source.row())];
        Self { source, used: words.len(), words }
    }

    /// The next word.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.used == self.words.len() {
            self.refill();
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    #[cold]
    fn refill(&mut self) {
        self.source.fill(&mut self.words);
        self.used = 0;
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("used", &self.used).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts, some words at once.
    struct Counter {
        next: u32,
        row: usize,
    }

    impl Source for Counter {
        fn row(&self) -> usize {
            self.row
        }

        fn fill(&mut self, out: &mut [u32]) {
            assert_eq!(out.len() % self.row, 0);
            for word in out {
                *word = self.next;
                self.next += 1;
            }
        }
    }

    #[test]
    fn no_word_is_lost_between_two_fills() {
        for row in [1, 5, BUFFER - 1, BUFFER + 1] {
            let mut feed = Feed::new(Box::new(Counter { next: 0, row }));
            for expected in 0..4 * BUFFER as u32 {
                assert_eq!(feed.next(), expected, "row of {row}");
            }
        }
    }
}
