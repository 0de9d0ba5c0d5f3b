//! [`InputJob`]: inputs to an output, in memory or not.

use std::io::{Read, Write};

use bijective_shuffle::{Permutation, Rows, Word, Workspace};
use bijective_shuffle_cli::files::{FileOrder, FileShuffle, FilesError, Items};

use crate::arguments::Arguments;
use crate::done::Done;
use crate::failure::{Failure, FailureContext};
use crate::gather::write_items;
use crate::inputs::{CHANGED, Inputs, Opening, too_long};
use crate::lines::{self, Divided, Lines, SizedRecords};
use crate::output::Output;
use crate::progress::Progress;
use crate::repeat;
use crate::selection::Selection;
use crate::temporary::Temporary;

/// What is to be done with the items of some inputs.
pub(crate) struct InputJob<'a> {
    pub(crate) selection: Selection,
    pub(crate) is_repeated: bool,
    /// The bytes that may be held.
    pub(crate) memory: usize,
    pub(crate) temporary: &'a Temporary,
    pub(crate) progress: &'a Progress,
    /// How many items there are, if it is known before they are read.
    pub(crate) expected: Option<u64>,
    /// What the records are, as far as the indexes of the folders say it.
    pub(crate) form: Option<bijective_shuffle_cli::dataset::RecordForm>,
}

/// What an item takes in memory, besides its bytes, in words: where it is, its number in the order,
/// and what the order is computed with.
const WORDS_PER_ITEM: usize = 3;

/// What is said of lines that are drawn in no order, and cannot be read in any.
const UNREPEATED: &str = "lines must fit memory to be repeated: raise --memory";

impl InputJob<'_> {
    /// How inputs are opened, with lines that end so, if there are any, for a data set or not.
    pub(crate) fn opening<'a>(
        &'a self,
        arguments: &Arguments,
        delimiter: Option<u8>,
        is_set: bool,
    ) -> Opening<'a> {
        let items = Items::Lines { delimiter: arguments.delimiter() };
        let longest = FileShuffle::new(items, self.memory).longest_item();
        Opening {
            delimiter,
            decodes: !self.is_repeated,
            is_text: arguments.text,
            is_resumed: arguments.sets.resume || arguments.sets.worker.is_some(),
            // What comes through pipes may be held as long as it can also be shuffled there.
            memory: if is_set { self.memory / 4 } else { self.held() },
            longest: if self.is_repeated { self.memory } else { longest },
            temporary_folder: self.temporary.folder(),
            progress: self.progress,
        }
    }

    /// The most bytes of lines that are shuffled in memory.
    fn held(&self) -> usize {
        self.memory / 2
    }

    /// Writes arguments in their new order, each followed by a delimiter, whatever is in it.
    pub(crate) fn arguments<'a>(
        &self,
        arguments: impl Iterator<Item = &'a [u8]> + Clone,
        delimiter: u8,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let text: Vec<u8> =
            arguments.clone().flat_map(|argument| [argument, &[delimiter]].concat()).collect();
        let lengths = arguments.map(|argument| argument.len() + 1);
        self.inside::<u64>(&Lines::of_lengths(&text, lengths), output)
    }

    /// Writes the lines of the inputs in their new order. Each of them ends.
    pub(crate) fn lines(
        &self,
        mut inputs: Inputs,
        delimiter: u8,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let (items, ends_added) = (Items::Lines { delimiter }, inputs.ends_added());
        if inputs.bytes() > self.held() as u64 && !self.is_repeated {
            let done = self.outside(items, self.memory, || inputs.reader(), &inputs, output)?;
            return Ok(Done { ends_added, ..done });
        }
        if self.is_repeated && inputs.bytes() > self.memory as u64 {
            return Err(Failure::new(inputs.name(), UNREPEATED));
        }
        let text = inputs.take_lines(self.progress)?;
        self.progress.start("shuffling");
        // If every byte were a line, would they fit?
        let mut fits = words(text.len(), text.len()) <= self.memory;
        if !fits {
            fits = words(text.len(), lines::count(&text, delimiter)) <= self.memory;
        }
        if !fits && self.is_repeated {
            return Err(Failure::new(inputs.name(), UNREPEATED));
        }
        // No line number is above the length of the text, so one width does for both.
        let done = match u32::try_from(text.len()) {
            _ if !fits => {
                let held = if text.is_mapped() { 0 } else { text.len() };
                self.outside(items, self.memory - held, || &text[..], &inputs, output)
            }
            Ok(_) => self.inside::<u32>(&lines::split::<u32>(&text, delimiter), output),
            Err(_) => self.inside::<u64>(&lines::split::<u64>(&text, delimiter), output),
        }?;
        if text.is_mapped() {
            inputs.check()?;
        }
        Ok(Done { ends_added, ..done })
    }

    /// Writes the header that `header` gives for the number of records, and then the records of the
    /// inputs in their new order.
    pub(crate) fn records(
        &self,
        mut inputs: Inputs,
        record: usize,
        header: impl FnOnce(u64) -> Vec<u8>,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let bytes = inputs.bytes();
        if !bytes.is_multiple_of(record as u64) {
            let why = format!("{bytes} bytes are not whole records of {record}");
            return Err(Failure::new(inputs.name(), why));
        }
        let found = bytes / record as u64;
        let order = self.order(found)?;
        let header = header(self.items(&order));
        output.write_all(&header).map_err(|error| output.failure(&error))?;
        let mut done = self.records_behind_header(&mut inputs, record, order, output)?;
        done.bytes += header.len() as u64;
        Ok(done)
    }

    fn records_behind_header(
        &self,
        inputs: &mut Inputs,
        record: usize,
        order: FileOrder,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let bytes = inputs.bytes();
        let needed = if self.is_repeated {
            bytes
        } else if order.is_whole() {
            // They are moved through as much memory again, and some more.
            bytes.saturating_mul(3)
        } else {
            // For each record its number, and what the order is computed with.
            bytes.saturating_add(order.len().saturating_mul(16))
        };
        if needed > self.memory as u64 {
            if self.is_repeated {
                let why = "records must fit memory to be repeated: raise --memory";
                return Err(Failure::new(inputs.name(), why));
            }
            let items = Items::Records { bytes: record.try_into().context("record")? };
            return self.outside(items, self.memory, || inputs.reader(), inputs, output);
        }
        let mut text = inputs.take_text(self.progress)?;
        self.progress.start("shuffling");
        if self.is_repeated || !order.is_whole() {
            return self.inside::<u64>(&SizedRecords { text: &text, record }, output);
        }
        let found = order.len();
        move_records(&order, &mut text, record).context("cannot shuffle")?;
        self.progress.start_bytes("writing", Some(text.len() as u64));
        let written = text.chunks(1 << 20).try_for_each(|piece| {
            self.progress.advance(piece.len() as u64)?;
            output.write_all(piece)
        });
        written.and_then(|()| output.flush()).map_err(|error| output.failure(&error))?;
        Ok(Done { found, items: found, bytes: text.len() as u64, ..Done::default() })
    }

    pub(crate) fn order(&self, items: u64) -> Result<FileOrder, Failure> {
        self.checked_order(items).map_err(explain_order)
    }

    /// The order of this many items, if there should be that many.
    fn checked_order(&self, items: u64) -> Result<FileOrder, FilesError> {
        match self.expected {
            Some(order) if order != items => Err(FilesError::LengthMismatch { items, order }),
            _ => Ok(self.selection.order(items)?),
        }
    }

    /// How many items are written of those that have an order.
    pub(crate) fn items(&self, order: &FileOrder) -> u64 {
        let places = order.places();
        match (self.is_repeated, self.selection.head) {
            (true, Some(head)) => head.of(order.len()),
            _ => places.end - places.start,
        }
    }

    /// Writes items that are in memory.
    fn inside<W: Word>(&self, items: &impl Divided, output: &mut Output) -> Result<Done, Failure> {
        let found = items.count() as u64;
        if self.is_repeated {
            let seed = self.selection.seed;
            let head = self.selection.head.map(|head| head.of(found));
            return repeat::items(items, seed, head, output, self.progress);
        }
        let order = self.order(found)?;
        let indexes = order.indexes::<W>().context("cannot shuffle")?;
        let bytes = order.is_whole().then_some(items.bytes() as u64);
        self.progress.start_bytes("writing", bytes);
        let bytes = write_items(items, &indexes, output, self.progress)
            .and_then(|bytes| output.flush().map(|()| bytes))
            .map_err(|error| output.failure(&error))?;
        Ok(Done { found, items: indexes.len() as u64, bytes, ..Done::default() })
    }

    /// Writes items that do not fit memory. `open` reads all that the inputs have, from the start.
    fn outside<R: Read + Send>(
        &self,
        items: Items,
        memory: usize,
        open: impl Fn() -> R,
        inputs: &Inputs,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let shuffle = FileShuffle::new(items, memory);
        let mut done = || {
            let count = shuffle.count_read(&mut open(), inputs.bytes(), self.progress)?;
            let order = self.checked_order(count.items)?;
            let mut store = self.temporary.store().map_err(FilesError::Temporary)?;
            let (source, watch) = (&mut open(), self.progress);
            let summary = shuffle.run(&order, &count, source, &mut store, output, watch)?;
            let (items, bytes, found) = (summary.items, summary.bytes, count.items);
            Ok(Done { found, items, bytes, summary: Some(summary), ..Done::default() })
        };
        done().map_err(|error| explain(error, inputs, output))
    }
}

/// Shuffles records in memory, or puts them back.
fn move_records(
    order: &FileOrder,
    text: &mut [u8],
    record: usize,
) -> Result<(), bijective_shuffle::Error> {
    let permutation: &Permutation = order.permutation();
    let rows = Rows::new(text, record)?;
    let (mut workspace, bijection) = (Workspace::new(), permutation.bijection());
    if order.is_undone() {
        workspace.unshuffle_together(bijection, rows)
    } else {
        workspace.shuffle_together(bijection, rows)
    }
}

/// What lines take in memory.
fn words(bytes: usize, lines: usize) -> usize {
    let word = if u32::try_from(bytes).is_ok() { 4 } else { 8 };
    lines.saturating_mul(WORDS_PER_ITEM * word).saturating_add(bytes)
}

/// What is said of an error.
pub(crate) fn explain(error: FilesError, inputs: &Inputs, output: &Output) -> Failure {
    match error {
        FilesError::Write(error) => output.failure(&error),
        error => explain_input(error, inputs.name()),
    }
}

/// What is said of an error that is not one of the output, where the inputs have this name.
pub(crate) fn explain_input(error: FilesError, inputs: &str) -> Failure {
    match error {
        FilesError::Read(error) => Failure::named(inputs, &error),
        FilesError::Temporary(error) => Failure::new("temporary file", error),
        FilesError::Changed => Failure::new(inputs, CHANGED),
        FilesError::ItemTooLong { item, most } => Failure::new(inputs, too_long(item + 1, most)),
        FilesError::Thread(error) => Failure::new("threads cannot be started", error),
        error @ (FilesError::Shuffle(_) | FilesError::LengthMismatch { .. }) => {
            explain_order(error)
        }
        error => Failure::new(inputs, error),
    }
}

/// What is said where there is no order.
fn explain_order(error: FilesError) -> Failure {
    match error {
        FilesError::LengthMismatch { items, order } => {
            let why = format!(
                "the index says that the shards have {order} records, but {items} were found: \
                 they were changed, and must be written again"
            );
            Failure::new("index.json", why)
        }
        error => Failure::new("cannot shuffle", error),
    }
}
