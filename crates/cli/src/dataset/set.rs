//! [`Dataset`]: inputs joined, and their records in another order.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::codec::Compression;
use super::input::Input;
use super::kept::{Keep, Kept};
use super::lines::Ends;
use super::piece::Piece;
use super::reader::{Framed, Lines, Notes};
use super::records::{Form, Records};
use super::samples::Names;
use super::shards::{Shards, Sink, Writer, WrittenShard};
use super::text::Text;
use crate::files::gather::PER_ITEM;
use crate::files::items::FRAME;
use crate::files::watch::Watched;
use crate::files::{
    Count, FileShuffle, FilesError, Items, NamedError, Order, Parts, Pass, Store, Summary, Watch,
};
use crate::formats::{Codec, LONGEST_MARK};

/// The most bytes of a header.
pub(super) const LONGEST_HEADER: usize = 16 << 20;

/// Inputs, one after the other, and what their records are.
pub struct Dataset<'i> {
    pub(super) inputs: Vec<Described<'i>>,
    /// What is read by itself: inputs, or parts of them.
    pub(super) pieces: Vec<Piece>,
    pub(super) form: Form,
    pub(super) header: Vec<u8>,
    pub(super) memory: usize,
    /// How many threads the pool has in which the set was opened. The threads that read its inputs
    /// belong to no pool, and rayon would start its own if they asked it.
    threads: usize,
    /// The parts of the first sample that was found.
    names: Arc<OnceLock<Names>>,
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

/// What a data set has.
#[derive(Debug)]
pub struct Counted {
    pub(super) counts: Vec<Count>,
    /// The inputs that fit memory, as a shuffle reads them.
    pub(super) kept: Kept,
    pub(super) ends_added: u64,
    pub(super) left_out: u64,
    /// The parts of samples, if all have the same.
    pub(super) parts: Option<Vec<String>>,
}

impl Counted {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.counts.iter().map(|count| count.items).sum()
    }

    /// About how many bytes the records have.
    pub fn bytes(&self) -> u64 {
        self.counts.iter().map(|count| count.bytes).sum()
    }

    /// The number of last records of inputs that had no end, and get one.
    pub fn ends_added(&self) -> u64 {
        self.ends_added
    }

    /// The number of things that belong to no record and are left out: members of
    /// archives, such as folders.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What [`from_json`](Self::from_json) takes.
    pub fn to_json(&self) -> Value {
        let counts: Vec<_> = self.counts.iter().map(|count| (count.items, count.bytes)).collect();
        let Self { ends_added, left_out, parts, .. } = self;
        json!({"counts": counts, "ends_added": ends_added, "left_out": left_out, "parts": parts})
    }

    /// What [`to_json`](Self::to_json) has of so many inputs, if it can be understood.
    pub fn from_json(value: &Value, inputs: usize) -> Option<Self> {
        let count = |count: &Value| {
            let (items, bytes) = (count[0].as_u64()?, count[1].as_u64()?);
            Some(Count { items, bytes, is_terminated: true })
        };
        let counts: Vec<_> =
            value["counts"].as_array()?.iter().map(count).collect::<Option<_>>()?;
        let number = |name: &str| value[name].as_u64();
        let (ends_added, left_out) = (number("ends_added")?, number("left_out")?);
        let part = |part: &Value| Some(part.as_str()?.to_owned());
        let parts = match &value["parts"] {
            Value::Null => None,
            parts => Some(parts.as_array()?.iter().map(part).collect::<Option<_>>()?),
        };
        let is_of_inputs = counts.len() == inputs;
        is_of_inputs.then_some(Self { counts, kept: Kept::default(), ends_added, left_out, parts })
    }
}

/// What was written.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Written {
    /// The shards, in their order.
    pub shards: Vec<WrittenShard>,
    /// What the passes did.
    pub summary: Option<Summary>,
}

impl<'i> Dataset<'i> {
    /// Looks at the first bytes of all inputs, and at the header of the first.
    ///
    /// A shuffle takes about so much memory, and on top of it what codecs take, which is some tens
    /// of megabytes for each thread, unless a file was compressed in an unusual way, and one to two
    /// times its longest record for each thread that reads.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`], with a [`NamedError`] of an input; so it is for all methods.
    pub fn open(
        inputs: Vec<Box<dyn Input + 'i>>,
        form: &Form,
        memory: usize,
    ) -> Result<Self, FilesError> {
        let describe = |input: Box<dyn Input + 'i>| {
            let codec = undecoded_start(&*input).and_then(|start| {
                let codec = Codec::of_start(&start);
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
        let whole = |(number, one): (usize, &Described)| Piece::whole(number, one.input.bytes());
        let pieces = inputs.iter().enumerate().map(whole).collect();
        let (form, names) = (form.clone(), Arc::default());
        let (header, threads) = (Vec::new(), rayon::current_num_threads());
        let mut set = Self { inputs, pieces, form, header, memory, threads, names };
        if let Some(first) = set.inputs.first()
            && set.form.headers > 0
        {
            let text = set.text(&set.pieces[0], &());
            let header = text.and_then(|mut text| set.take_header(&mut text));
            (set.header, _) =
                header.map_err(|error| FilesError::Read(named(&*first.input, error)))?;
        }
        Ok(set)
    }

    /// How many inputs have each codec.
    pub fn codecs(&self) -> BTreeMap<Codec, u64> {
        let mut codecs = BTreeMap::new();
        for Described { codec, .. } in &self.inputs {
            *codecs.entry(*codec).or_default() += 1;
        }
        codecs
    }

    /// The codec of the first input, which the outputs get unless anything else is said.
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

    /// What is kept of the inputs and held of the store takes the other half.
    pub(super) fn shuffler(&self) -> FileShuffle {
        FileShuffle::new(self.items(), self.memory / 2)
    }

    /// How much of the store should be held in memory, beside what is kept of the inputs.
    pub fn held(&self, counted: &Counted) -> usize {
        (self.memory / 2).saturating_sub(counted.kept.bytes() + self.input_bytes())
    }

    /// How many bytes of the inputs are in memory anyway.
    fn input_bytes(&self) -> usize {
        self.inputs.iter().map(|one| one.input.held()).sum()
    }

    /// Counts the records of all inputs, which are read side by side.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::count_parts`]; among them is whatever is wrong with an input.
    pub fn count(&self, watch: &dyn Watch) -> Result<Counted, FilesError> {
        let all: Vec<usize> = (0..self.pieces.len()).collect();
        self.count_some(&all, (self.memory / 2).saturating_sub(self.input_bytes()), watch)
    }

    /// Counts the records of these pieces, and keeps as many of them as fit so much memory.
    pub(super) fn count_some(
        &self,
        pieces: &[usize],
        memory: usize,
        watch: &dyn Watch,
    ) -> Result<Counted, FilesError> {
        let size = |&piece: &usize| self.pieces[piece].bytes();
        watch.begin(Pass::Count, Some(pieces.iter().map(size).sum()));
        let notes = Notes::default();
        let reading = Reading {
            set: self,
            pieces: Some(pieces),
            kept: &Kept::default(),
            notes: &notes,
            watch,
        };
        let keep = Keep::new(pieces.iter().map(size), memory);
        let visit = |part, chunk| keep.push(part, chunk);
        let counts = self.shuffler().count_parts(&reading, pieces.len(), &visit)?;
        let (ends_added, left_out) = (notes.ends_added.into_inner(), notes.left_out.into_inner());
        let text = |part: &Vec<u8>| part.escape_ascii().to_string();
        let parts = self.names.get().map(|parts| parts.iter().map(text).collect());
        Ok(Counted { counts, kept: keep.finish(), ends_added, left_out, parts })
    }

    /// What was [counted](Self::count) before, if it can be understood. Should the inputs have
    /// other records or bytes now, a shuffle ends with [`FilesError::Changed`].
    pub fn recall(&self, counted: &Value) -> Option<Counted> {
        Counted::from_json(counted, self.pieces.len())
    }

    /// Writes the records in another order, or as many of them as the order has, to shards.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::run_parts`]. The shards that are complete by then stay.
    ///
    /// # Panics
    ///
    /// If the shards have another number of records than the order.
    pub fn shuffle<S: Sink>(
        &self,
        (counted, order): (&Counted, &Order),
        store: &mut impl Store,
        (shards, compression, sink): (&Shards, Compression, &mut S),
        watch: &dyn Watch,
    ) -> Result<Written, FilesError> {
        let places = order.places();
        assert_eq!(shards.records(), places.end - places.start, "a shard for each record");
        let mut writer = self.writer((shards, compression, sink));
        if let Some(texts) = self.in_memory(counted) {
            let summary = self.shuffler().gather(order, &texts, &mut writer, watch)?;
            let shards = writer.finish().map_err(FilesError::Write)?;
            return Ok(Written { shards, summary: Some(summary) });
        }
        let notes = Notes::default();
        // What is read again is what the progress of the pass is counted in.
        let (pieces, kept) = (None, &counted.kept);
        let reading = Reading { set: self, pieces, kept, notes: &notes, watch: &() };
        let parts = (&reading as &dyn Parts, counted.counts.as_slice());
        let summary = self.shuffler().run_parts(order, parts, store, &mut writer, watch)?;
        let shards = writer.finish().map_err(FilesError::Write)?;
        Ok(Written { shards, summary: Some(summary) })
    }

    /// All records, if they fit memory with what it takes to put them in order.
    fn in_memory<'c>(&self, counted: &'c Counted) -> Option<Vec<&'c [u8]>> {
        let places = usize::try_from(counted.records()).ok()?.checked_mul(PER_ITEM)?;
        let all = counted.kept.bytes().checked_add(self.input_bytes())?.checked_add(places)?;
        // A quarter is for what is compressed, and an eighth for the records on their way to it.
        (all <= self.memory / 8 * 5).then(|| counted.kept.whole(self.pieces.len()))?
    }

    pub(super) fn writer<'s, S: Sink>(
        &'s self,
        target: (&'s Shards, Compression, &'s mut S),
    ) -> Writer<'s, S> {
        Writer::new(target, &self.header, &self.form.records, self.memory / 4)
    }

    /// A piece, decoded, whose input begins as such records may.
    fn text<'a>(&'a self, piece: &Piece, watch: &'a dyn Watch) -> io::Result<Text<'a>> {
        let Described { input, codec } = &self.inputs[piece.input];
        if let Some(lines) = piece.lines(&**input, watch)? {
            return Ok(Text::new(lines));
        }
        // Inputs are read side by side. If they are few, each has threads for itself.
        let threads = self.threads / self.inputs.len();
        let mut text = Text::new(decoded(&**input, *codec, threads, watch)?);
        text.read_more()?;
        let start = &text.rest()[..text.rest().len().min(LONGEST_MARK)];
        self.form.check_start(start).map_err(|why| match codec {
            Codec::Plain => invalid(why),
            _ => invalid(format!("decompressed, it {why}")),
        })?;
        Ok(text)
    }

    /// Takes the header from the start of an input, and notes how its lines end.
    fn take_header(&self, text: &mut Text) -> io::Result<(Vec<u8>, Ends)> {
        let mut splitter = self.form.header_records().splits();
        let (mut header, mut ends) = (Vec::new(), Ends::default());
        for number in 1..=self.form.headers {
            let Some((bytes, end)) = text.find(&mut *splitter, LONGEST_HEADER, number)? else {
                let why =
                    format!("has {} lines and no header of {}", number - 1, self.form.headers);
                return Err(invalid(why));
            };
            header.extend_from_slice(&text.rest()[..bytes]);
            header.extend_from_slice(&end);
            ends.note(&header);
            text.advance(bytes);
        }
        Ok((header, ends))
    }

    /// The records of a piece, as the shuffle takes them.
    fn reader<'a>(
        &'a self,
        piece: &Piece,
        notes: &'a Notes,
        watch: &'a dyn Watch,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let mut text = self.text(piece, watch)?;
        let mut ends = Ends::default();
        if piece.is_start() {
            let header;
            (header, ends) = self.take_header(&mut text)?;
            if header != self.header {
                let first = self.inputs[0].input.name();
                let why = format!("has another header than {first}");
                return Err(invalid(why));
            }
        }
        let (added, is_end) = (Vec::new(), false);
        if let Records::Lines(delimiter) = self.form.records {
            return Ok(Box::new(Lines { text, delimiter, ends, notes, last: None, added, is_end }));
        }
        let splitter = self.form.records.splitter(&self.names, ends);
        // A record has its length before it.
        let most = self.shuffler().longest_item().saturating_sub(FRAME);
        Ok(Box::new(Framed::new(text, splitter, notes, most)))
    }
}

/// The first bytes of an input, decoded: as many as tell what it is, or all.
///
/// # Errors
///
/// [`FilesError::Read`], with a [`NamedError`] of the input.
pub fn start_of(input: &dyn Input) -> Result<Vec<u8>, FilesError> {
    let start = undecoded_start(input).and_then(|start| match Codec::of_start(&start) {
        Codec::Plain => Ok(start),
        codec => first_bytes(decoded(input, codec, 1, &())?),
    });
    start.map_err(|error| FilesError::Read(named(input, error)))
}

fn undecoded_start(input: &dyn Input) -> io::Result<Vec<u8>> {
    first_bytes(input.open()?)
}

fn first_bytes(file: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(LONGEST_MARK as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// An input, decoded by so many threads.
fn decoded<'a>(
    input: &'a dyn Input,
    codec: Codec,
    threads: usize,
    watch: &'a dyn Watch,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let file = Watched { reader: input.open()?, watch };
    codec.decoder(file, threads)
}

/// The error of an input that is not what it should be.
fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// The pieces of a data set, or what is kept of them.
pub(super) struct Reading<'d> {
    pub(super) set: &'d Dataset<'d>,
    /// Which of the pieces; all if it is not said.
    pub(super) pieces: Option<&'d [usize]>,
    pub(super) kept: &'d Kept,
    pub(super) notes: &'d Notes,
    pub(super) watch: &'d dyn Watch,
}

impl Parts for Reading<'_> {
    fn open(&self, part: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        if let Some(kept) = self.kept.reader(part) {
            return Ok(kept);
        }
        let piece = &self.set.pieces[self.pieces.map_or(part, |pieces| pieces[part])];
        let input = &*self.set.inputs[piece.input].input;
        let reader = self.set.reader(piece, self.notes, self.watch);
        let reader = reader.map_err(|error| named(input, error))?;
        Ok(Box::new(Named { input, reader }))
    }
}

/// The error of an input, which it names.
pub(super) fn named(input: &dyn Input, error: io::Error) -> io::Error {
    match NamedError::of(&error) {
        Some(_) => error,
        None => NamedError::io(input.name(), error),
    }
}

/// A reader whose errors name its input.
struct Named<'r> {
    input: &'r dyn Input,
    reader: Box<dyn Read + Send + 'r>,
}

impl Read for Named<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reader.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => named(self.input, error),
        })
    }
}
