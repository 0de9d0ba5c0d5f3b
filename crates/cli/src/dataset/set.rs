//! [`Dataset`]: inputs joined, and their records in another order.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::csv::Csv;
use super::header::{Header, LONGEST_HEADER, invalid};
use super::input::Input;
use super::kept::{Keep, KeptInputs};
use super::lines::Ends;
use super::piece::InputPiece;
use super::reader::{DataLines, Framed, Notes};
use super::records::{RecordForm, Records};
use super::samples::PartNames;
use super::shards::{ShardSink, ShardTarget, ShardWriter, WrittenShard};
use super::text::{PendingText, Sought};
use crate::files::gather::PER_ITEM;
use crate::files::items::FRAME;
use crate::files::watch::Watched;
use crate::files::{
    FileOrder, FileShuffle, FilesError, ItemCount, Items, NamedError, ShufflePass, Sources, Store,
    Summary, Watch,
};
use crate::formats::{Codec, Explained, LOOKED_AT};

/// Inputs that are read as one, and the form of their records.
pub struct Dataset<'i> {
    pub(super) inputs: Vec<Described<'i>>,
    /// What is read by one thread at a time: inputs, or parts of them.
    pub(super) pieces: Vec<InputPiece>,
    pub(super) form: RecordForm,
    /// What stands before the first record of each input and output, and how many fields a row of
    /// CSV has. `first` is the input whose header it is, the first that has anything.
    pub(super) header: Header,
    first: usize,
    pub(super) memory: usize,
    /// How many threads the pool has in which the set was opened. The threads that read its inputs
    /// belong to no pool, and rayon would start its own if they asked it.
    threads: usize,
    /// The parts of the first sample that was found.
    names: Arc<OnceLock<PartNames>>,
}

impl std::fmt::Debug for Dataset<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dataset").field("form", &self.form).finish_non_exhaustive()
    }
}

pub(super) struct Described<'i> {
    pub(super) input: Box<dyn Input + 'i>,
    pub(super) codec: Codec,
}

/// The result of counting a [`Dataset`].
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CountedSet {
    pub(super) counts: Vec<ItemCount>,
    /// The records, if they fit memory with what it takes to put them in order.
    #[serde(skip)]
    pub(super) kept: Option<KeptInputs>,
    /// The number of last records of inputs that had no end, and get one.
    pub ends_added: u64,
    /// The number of things that belong to no record and are left out: members of archives, such as
    /// folders.
    pub left_out: u64,
    /// The number of inputs that have no bytes, once they are decoded, and so no record.
    pub empty: u64,
    /// The parts of samples, if all have the same.
    pub(super) parts: Option<Vec<String>>,
}

impl CountedSet {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.counts.iter().map(|count| count.items).sum()
    }

    /// About how many bytes the records have.
    pub fn bytes(&self) -> u64 {
        self.counts.iter().map(|count| count.bytes).sum()
    }

    /// The counts as JSON, for [`from_json`](Self::from_json).
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    /// Reads what [`to_json`](Self::to_json) returned for this many inputs; `None` if it cannot be
    /// understood.
    pub fn from_json(value: &Value, inputs: usize) -> Option<Self> {
        let counted = Self::deserialize(value).ok();
        counted.filter(|counted| counted.counts.len() == inputs)
    }
}

/// The result of writing shards.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Written {
    /// The shards, in their order.
    pub shards: Vec<WrittenShard>,
    /// A summary of the passes.
    pub summary: Option<Summary>,
}

impl<'i> Dataset<'i> {
    /// Looks at the first bytes of all inputs, and at the header of the first that has any.
    ///
    /// A shuffle takes about `memory` bytes, and on top of it what codecs take, which is some tens
    /// of megabytes for each thread, unless a file was compressed in an unusual way, and one to two
    /// times its longest record for each thread that reads.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`], with a [`NamedError`] of an input; so it is for all methods.
    pub fn open(
        inputs: Vec<Box<dyn Input + 'i>>,
        form: &RecordForm,
        memory: usize,
    ) -> Result<Self, FilesError> {
        let describe = |input: Box<dyn Input + 'i>| {
            let codec = undecoded_start(&*input).and_then(|start| {
                let codec = Codec::of_file(Path::new(&input.name()), &start);
                // What is compressed is looked at when it is read.
                if codec == Codec::Plain {
                    form.check_start(&start).map_err(invalid)?;
                }
                Ok(codec)
            });
            let codec = codec.map_err(|error| FilesError::Read(named(&*input, error)))?;
            Ok::<_, FilesError>(Described { codec, input })
        };
        let inputs = inputs.into_iter().map(describe).collect::<Result<Vec<_>, _>>()?;
        let whole =
            |(number, one): (usize, &Described)| InputPiece::whole(number, one.input.bytes());
        let pieces = inputs.iter().enumerate().map(whole).collect();
        let (form, names) = (form.clone(), Arc::default());
        let (header, first) = (Header::default(), 0);
        let threads = rayon::current_num_threads();
        let mut set = Self { inputs, pieces, form, header, first, memory, threads, names };
        if set.form.has_text() {
            set.look_at_header()?;
        }
        Ok(set)
    }

    /// Takes the header from the first input that has anything, and the number of fields of a row
    /// from the first that has a record, if no line of the header says it.
    fn look_at_header(&mut self) -> Result<(), FilesError> {
        let mut has_header = false;
        for piece in &self.pieces {
            let header = self.text(piece, &()).and_then(|mut text| {
                let is_empty = text.is_empty();
                if is_empty { Ok(None) } else { self.first_header(&mut text).map(Some) }
            });
            let input = &*self.inputs[piece.input].input;
            let header = header.map_err(|error| FilesError::Read(named(input, error)))?;
            let Some(header) = header else { continue };
            if has_header {
                self.header.fields = header.fields;
            } else {
                (self.header, self.first, has_header) = (header, piece.input, true);
            }
            if self.header.fields.is_some() || self.rows_of_records().is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The CSV whose first record says how many fields all rows have.
    fn rows_of_records(&self) -> Option<Csv> {
        match self.form.records {
            Records::Csv(csv) if !csv.is_uneven && self.form.headers == 0 => Some(csv),
            _ => None,
        }
    }

    /// The codecs that inputs have, in the order of [`Codec::ALL`], and how many inputs have each.
    pub fn codecs(&self) -> Vec<(Codec, u64)> {
        let count = |codec| self.inputs.iter().filter(|input| input.codec == codec).count() as u64;
        let counts = Codec::ALL.iter().map(|&codec| (codec, count(codec)));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    /// The codec of the first input, which is the default for outputs.
    pub fn codec(&self) -> Codec {
        self.inputs.first().map_or(Codec::Plain, |first| first.codec)
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// How the records are stored.
    pub(super) fn items(&self) -> Items {
        match self.form.records {
            Records::Lines(delimiter) => Items::Lines { delimiter },
            _ => Items::Framed,
        }
    }

    /// The records, or what is held of the store, take the other half.
    pub(super) fn shuffler(&self) -> FileShuffle {
        FileShuffle::new(self.items(), self.memory / 2)
    }

    /// How much of the records, or of the store, should be held in memory.
    pub fn held(&self) -> usize {
        (self.memory / 2).saturating_sub(self.input_bytes())
    }

    /// How many bytes of the inputs are in memory anyway.
    fn input_bytes(&self) -> usize {
        self.inputs.iter().map(|one| one.input.held()).sum()
    }

    /// The numbers of all pieces.
    fn all(&self) -> Vec<usize> {
        (0..self.pieces.len()).collect()
    }

    /// Counts the records of all inputs, which are read side by side.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::count_sources`]; among them is whatever is wrong with an input.
    pub fn count(&self, watch: &dyn Watch) -> Result<CountedSet, FilesError> {
        let counted = self.count_some(&self.all(), self.held(), watch)?;
        let places = usize::try_from(counted.records()).ok();
        let places = places.and_then(|records| records.checked_mul(PER_ITEM));
        let fits = |kept: &KeptInputs| {
            let all = kept.bytes.checked_add(self.input_bytes())?.checked_add(places?)?;
            // A quarter is for what is compressed, and an eighth for records on their way to it.
            Some(all <= self.memory / 8 * 5)
        };
        let kept = counted.kept.filter(|kept| fits(kept) == Some(true));
        Ok(CountedSet { kept, ..counted })
    }

    /// Counts the records of these pieces, and keeps them if they fit this much memory.
    pub(super) fn count_some(
        &self,
        pieces: &[usize],
        memory: usize,
        watch: &dyn Watch,
    ) -> Result<CountedSet, FilesError> {
        let size = |&piece: &usize| self.pieces[piece].bytes();
        watch.begin(ShufflePass::Count, Some(pieces.iter().map(size).sum()));
        let notes = Notes::default();
        let reading = Reading { set: self, pieces, notes: &notes, watch };
        let keep = Keep::new(pieces.iter().map(size), memory);
        let visit = |piece, chunk| keep.push(piece, chunk);
        let counts = self.shuffler().count_sources(&reading, pieces.len(), &visit)?;
        let (ends_added, left_out) = (notes.ends_added.into_inner(), notes.left_out.into_inner());
        let empty = notes.empty.into_inner();
        let text = |part: &Vec<u8>| part.escape_ascii().to_string();
        let parts = self.names.get().map(|parts| parts.iter().map(text).collect());
        Ok(CountedSet { counts, kept: keep.finish(), ends_added, left_out, empty, parts })
    }

    /// Reads what was [counted](Self::count) before; `None` if it cannot be understood. Should the
    /// inputs have other records or bytes now, a shuffle ends with [`FilesError::Changed`].
    pub fn recall(&self, counted: &Value) -> Option<CountedSet> {
        CountedSet::from_json(counted, self.pieces.len())
    }

    /// Writes the records in another order, or as many of them as the order has, to shards.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::run_sources`]. The shards that are complete by then stay.
    ///
    /// # Panics
    ///
    /// If the shards have another number of records than the order.
    pub fn shuffle<S: ShardSink>(
        &self,
        counted: &CountedSet,
        order: &FileOrder,
        store: &mut impl Store,
        target: ShardTarget<S>,
        watch: &dyn Watch,
    ) -> Result<Written, FilesError> {
        let places = order.places();
        let records = target.shards.records();
        assert_eq!(records, places.end - places.start, "a shard for each record");
        let mut writer = self.writer(target);
        let summary = match &counted.kept {
            Some(kept) => self.shuffler().gather(order, &kept.chunks(), &mut writer, watch)?,
            None => {
                let pieces = self.all();
                let notes = Notes::default();
                // What is read again is what the progress of the pass is counted in.
                let reading = Reading { set: self, pieces: &pieces, notes: &notes, watch: &() };
                let counts = &counted.counts;
                self.shuffler().run_sources(order, &reading, counts, store, &mut writer, watch)?
            }
        };
        let shards = writer.finish().map_err(FilesError::Write)?;
        Ok(Written { shards, summary: Some(summary) })
    }

    pub(super) fn writer<'s, S: ShardSink>(
        &'s self,
        target: ShardTarget<'s, S>,
    ) -> ShardWriter<'s, S> {
        ShardWriter::new(target, &self.header.bytes, &self.form.records, self.memory / 4)
    }

    /// A piece, decoded, whose input begins as such records may.
    fn text<'a>(&'a self, piece: &InputPiece, watch: &'a dyn Watch) -> io::Result<PendingText<'a>> {
        let Described { input, codec } = &self.inputs[piece.input];
        if let Some(lines) = piece.lines(&**input, watch)? {
            return Ok(PendingText::new(lines));
        }
        // Inputs are read side by side. If they are few, each has threads for itself.
        let threads = self.threads / self.inputs.len();
        let mut text = PendingText::new(decoded(&**input, *codec, threads, watch)?);
        text.read_more()?;
        if text.is_empty() {
            return Ok(text);
        }
        let start = &text.rest()[..text.rest().len().min(LOOKED_AT)];
        self.form.check_start(start).map_err(|why| match codec {
            Codec::Plain => invalid(why),
            _ => invalid(format!("decompressed, it {why}")),
        })?;
        Ok(text)
    }

    /// The header of an input, and how many fields its first row has, if it has one.
    fn first_header(&self, text: &mut PendingText) -> io::Result<Header> {
        let mut header = Header::take(&self.form, text)?;
        if let Some(csv) = self.rows_of_records() {
            let most = self.longest_record().max(LONGEST_HEADER);
            let first = text.find(&mut *self.form.records.splits(), most, Sought::Record(1))?;
            header.fields = first.map(|(bytes, _)| csv.fields(&text.rest()[..bytes]));
        }
        Ok(header)
    }

    /// The most bytes of a record that has its length before it.
    fn longest_record(&self) -> usize {
        self.shuffler().longest_item().saturating_sub(FRAME)
    }

    /// The records of a piece, as the shuffle takes them.
    fn reader<'a>(
        &'a self,
        piece: &InputPiece,
        notes: &'a Notes,
        watch: &'a dyn Watch,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let mut text = self.text(piece, watch)?;
        if text.is_empty() {
            // A piece that is a part of an input has no line if all begin before it.
            notes.empty.fetch_add(u64::from(piece.is_whole()), Ordering::Relaxed);
            return Ok(Box::new(io::empty()));
        }
        let mut ends = Ends::default();
        if piece.is_start() && self.form.has_text() {
            let header = Header::take(&self.form, &mut text)?;
            header.check(&self.header, || self.inputs[self.first].input.name())?;
            ends = header.ends;
        }
        let (added, is_end) = (Vec::new(), false);
        if let Records::Lines(delimiter) = self.form.records {
            return Ok(Box::new(DataLines {
                text,
                delimiter,
                ends,
                notes,
                last: None,
                added,
                is_end,
            }));
        }
        let fields = self.header.fields.filter(|_| match self.form.records {
            Records::Csv(csv) => !csv.is_uneven,
            _ => false,
        });
        let splitter = self.form.records.splitter(&self.names, ends, fields);
        Ok(Box::new(Framed::new(text, splitter, notes, self.longest_record())))
    }
}

/// The first bytes of an input, decoded: as many as tell what it is, or all.
///
/// # Errors
///
/// [`FilesError::Read`], with a [`NamedError`] of the input.
pub fn start_of(input: &dyn Input) -> Result<Vec<u8>, FilesError> {
    let start = undecoded_start(input).and_then(|start| {
        match Codec::of_file(Path::new(&input.name()), &start) {
            Codec::Plain => Ok(start),
            codec => first_bytes(decoded(input, codec, 1, &())?),
        }
    });
    start.map_err(|error| FilesError::Read(named(input, error)))
}

fn undecoded_start(input: &dyn Input) -> io::Result<Vec<u8>> {
    first_bytes(input.open()?)
}

fn first_bytes(file: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(LOOKED_AT as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// An input, decoded by this many threads.
fn decoded<'a>(
    input: &'a dyn Input,
    codec: Codec,
    threads: usize,
    watch: &'a dyn Watch,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let file = Watched { reader: input.open()?, watch };
    codec.decoder(file, threads)
}

/// Some of the pieces of a data set.
pub(super) struct Reading<'d> {
    pub(super) set: &'d Dataset<'d>,
    /// Which.
    pub(super) pieces: &'d [usize],
    pub(super) notes: &'d Notes,
    pub(super) watch: &'d dyn Watch,
}

impl Sources for Reading<'_> {
    fn open(&self, number: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let piece = &self.set.pieces[self.pieces[number]];
        let input = &*self.set.inputs[piece.input].input;
        let reader = self.set.reader(piece, self.notes, self.watch);
        let reader = reader.map_err(|error| named(input, error))?;
        Ok(Box::new(Explained { reader, explain: move |error| named(input, error) }))
    }
}

/// The error of an input, which it names.
pub(super) fn named(input: &dyn Input, error: io::Error) -> io::Error {
    match NamedError::of(&error) {
        Some(_) => error,
        None => NamedError::io(input.name(), error),
    }
}
