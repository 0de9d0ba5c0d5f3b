//! [`run`]: from the arguments to the jobs that they ask for.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bijective_shuffle_cli::formats::{Codec, other_packer_of_name};

use crate::arguments::Arguments;
use crate::arrays::{self, are_arrays};
use crate::done::Done;
use crate::failure::{Failure, FailureContext};
use crate::inputs::Inputs;
use crate::job::InputJob;
use crate::output::Output;
use crate::progress::{DELAY, Progress};
use crate::repeat::{self, Draws};
use crate::report::Report;
use crate::rows::{self, is_table};
use crate::selection::{self, Head, NumberRange};
use crate::sets;
use crate::{signals, threads};

/// Does everything that is asked for in a process of its own, and leaves it to the caller to report
/// how it went.
pub(crate) fn run(arguments: &Arguments) -> Result<Report, Failure> {
    threads::start()?;
    signals::end_aborts();
    check_backend(arguments)?;
    signals::install().context("signals")?;
    shuffle(arguments, Progress::new(delay(arguments)))
}

/// Checks that the order can be computed where it is to be.
pub(crate) fn check_backend(arguments: &Arguments) -> Result<(), Failure> {
    selection::check_backend(arguments.backend()).context("cannot shuffle")
}

/// Does everything that is asked for.
pub(crate) fn shuffle(arguments: &Arguments, progress: Progress) -> Result<Report, Failure> {
    let started = Instant::now();
    let temporary = arguments.temporary();
    let mut job = InputJob {
        selection: arguments.selection(),
        is_repeated: arguments.repeat,
        memory: arguments.memory(),
        temporary: &temporary,
        progress: &progress,
        expected: None,
        form: None,
    };
    let (inputs, done) = all(arguments, &mut job)?;
    let (elapsed, is_json, selection) = (started.elapsed(), arguments.stats, job.selection);
    Ok(Report { selection, inputs, done, elapsed, is_json })
}

/// Everything that is read to what is written. Returns the number of files, too.
fn all(arguments: &Arguments, job: &mut InputJob) -> Result<(usize, Done), Failure> {
    let is_read = !reads_nothing(arguments, job);
    let has_host = job.progress.has_host();
    let walked = if is_read { sets::files(arguments, has_host)? } else { sets::unread(arguments) };
    sets::take_index(&walked, arguments, job)?;
    let files = walked.files;
    // Standard input has no name.
    Ok((files.len().max(1), to_outputs(&files, arguments, job)?))
}

/// The items of files to one output, or to several.
fn to_outputs(
    files: &[PathBuf],
    arguments: &Arguments,
    job: &mut InputJob,
) -> Result<Done, Failure> {
    if arguments.together {
        return together(arguments, job);
    }
    if let Some(folder) = &arguments.sets.output_dir {
        if let Some(file) = files.iter().find(|path| arrays::is_array(path)) {
            return Err(Failure::new(file.display(), "an array is written to one file: give -o"));
        }
        if files.iter().any(|path| is_table(path)) {
            return Ok(rows::to_folder(files, folder, arguments, job)?.of("rows"));
        }
        return sets::to_folder(files, folder, arguments, job);
    }
    if let Some(output) = arguments.output() {
        check_name(files, output, arguments)?;
    }
    let mut output = Output::open(arguments.output(), job.temporary.folder())?;
    let done = to_output(files, arguments, job, &mut output)?;
    goes_on(job)?;
    output.commit()?;
    Ok(done)
}

/// Checks that the output is what its name says.
fn check_name(files: &[PathBuf], output: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let is_plain = arguments.repeat
        || arguments.echo
        || arguments.input_range.is_some()
        || arguments.record.is_some()
        || files.iter().any(|path| is_table(path) || arrays::is_array(path));
    let is_said = arguments.sets.compress.is_some();
    let kind = rows::kind_of(output);
    let is_other = files.is_empty() || files.iter().any(|file| rows::kind_of(file) != kind);
    let said = match (Codec::of_name(output), other_packer_of_name(output), kind) {
        (codec, _, _) if is_plain && codec != Codec::Plain => {
            format!("it is compressed by {codec}, but it would not be")
        }
        (_, Some(packer), _) if !is_said => format!(
            "it is compressed by {packer}, which is not written: pipe the output to that program"
        ),
        (_, _, Some(kind)) if is_other => {
            format!("it is {kind}, but it would be something else, as the inputs are")
        }
        _ => return Ok(()),
    };
    let why = format!("its name says that {said}: give another name");
    Err(Failure::new(output.display(), why))
}

/// After what time the progress is shown, if ever.
fn delay(arguments: &Arguments) -> Option<Duration> {
    // On a terminal that shows the lines themselves the two would be mixed up.
    let shows_lines = arguments.output().is_none() && io::stdout().is_terminal();
    match (arguments.progress, arguments.quiet || shows_lines) {
        (true, _) => Some(Duration::ZERO),
        (false, true) => None,
        (false, false) => Some(DELAY),
    }
}

/// Whether no input need be read: `-n 0` without a header, as in `shuf`.
fn reads_nothing(arguments: &Arguments, job: &InputJob) -> bool {
    let name = arguments.output().map_or_else(String::new, |path| path.display().to_string());
    arguments.sets.output_dir.is_none()
        && !sets::is_asked_for(arguments, job.form.as_ref(), &name)
        && job.selection.head.is_some_and(Head::is_none)
        && arguments.header_bytes == 0
}

/// Everything, or the items of these files, to one output.
fn to_output(
    files: &[PathBuf],
    arguments: &Arguments,
    job: &InputJob,
    output: &mut Output,
) -> Result<Done, Failure> {
    let delimiter = arguments.delimiter();
    if let Some(numbers) = arguments.input_range {
        return range(numbers, delimiter, job, output);
    }
    if arguments.echo {
        let lines = arguments.operands.iter().map(|argument| argument.as_encoded_bytes());
        return job.arguments(lines, delimiter, output);
    }
    if let Some(table) = files.iter().find(|path| is_table(path)) {
        if arguments.record.is_some() {
            let why = "a Parquet or Arrow file states what its rows are: leave out --record";
            return Err(Failure::new(table.display(), why));
        }
        arguments.check_for_rows()?;
        let done = rows::shuffle(files, arguments.blocks, job, output);
        return Ok(done?.of("rows"));
    }
    if arguments.blocks.is_some() {
        return Err(Failure::new("--blocks", "there is no Parquet or Arrow file"));
    }
    let are_arrays = are_arrays(files, arguments)?;
    if reads_nothing(arguments, job) && !are_arrays {
        return Ok(Done::default());
    }
    let has_records = arguments.record.is_some() || are_arrays;
    let is_set = sets::is_asked_for(arguments, job.form.as_ref(), output.name());
    let delimiter_of_lines = (!has_records && !is_set).then_some(delimiter);
    let mut inputs = Inputs::open(files, &job.opening(arguments, delimiter_of_lines, is_set))?;
    if let Some(record) = arguments.record {
        // An input without a byte has no record, and needs no header.
        let empty = inputs.empty();
        let of_header = |bytes| if bytes == 0 { 0 } else { arguments.header_bytes };
        let header = inputs.take_headers(|_, bytes, _| Ok(of_header(bytes)))?;
        let done = job.records(inputs, record.get(), |_| header, output)?;
        return Ok(Done { empty, ..done }.of("records"));
    }
    if are_arrays {
        return Ok(arrays::shuffle(inputs, job, output)?.of("rows"));
    }
    if is_set || inputs.are_encoded() {
        return sets::to_file(&inputs, arguments, job, output);
    }
    job.lines(inputs, delimiter, output)
}

/// The numbers of a range.
fn range(
    numbers: NumberRange,
    delimiter: u8,
    job: &InputJob,
    output: &mut Output,
) -> Result<Done, Failure> {
    let NumberRange { first, count } = numbers;
    let selection = job.selection;
    job.progress.start_bytes("writing", None);
    let written = if job.is_repeated {
        if count == 0 && selection.head.is_none_or(|head| !head.is_none()) {
            return Err(Failure::new("input", "there are no lines to repeat"));
        }
        let mut draws =
            Draws::new(selection.seed, count, selection.head.map(|head| head.of(count)));
        repeat::numbers(|| draws.batch(), first, delimiter, output, job.progress)
    } else {
        let order = selection.order(count).context("cannot shuffle")?;
        let mut indexes = order.permutation().range(order.places()).context("cannot shuffle")?;
        let batch = || indexes.by_ref().take(1 << 16).collect();
        repeat::numbers(batch, first, delimiter, output, job.progress)
    };
    let done = written.map_err(|error| output.failure(&error))?;
    Ok(Done { found: count, ..done })
}

/// Each file to one of its name in another folder, all in one order. Nothing is there before all
/// of it is.
fn together(arguments: &Arguments, job: &InputJob) -> Result<Done, Failure> {
    let folder = arguments.output().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Failure::new(folder.display(), "is not a folder"));
    }
    let files = arguments.files();
    let mut names = HashSet::new();
    let mut outputs = Vec::new();
    let mut sum = Done::default();
    let mut first: Option<(&PathBuf, u64)> = None;
    for file in &files {
        let Some(name) = file.file_name().filter(|name| *name != "-") else {
            return Err(Failure::new(file.display(), "has no name for its output"));
        };
        // Elsewhere the system takes upper and lower case alike.
        let is_alike = cfg!(any(windows, target_os = "macos"));
        let shown = name.to_string_lossy();
        let alike = if is_alike { shown.to_lowercase().into() } else { name.to_owned() };
        if !names.insert(alike) {
            return Err(Failure::new(file.display(), "another input has the same name"));
        }
        let path = folder.join(name);
        check_name(std::slice::from_ref(file), &path, arguments)?;
        let mut output = Output::open(Some(&path), job.temporary.folder())?;
        let done = to_output(std::slice::from_ref(file), arguments, job, &mut output)?;
        output.close()?;
        outputs.push(output);
        match first {
            Some((other, found)) if found != done.found => {
                let (records, other) = (done.records(), other.display());
                let why = format!("has {} {records}, and {other} has {found}", done.found);
                return Err(Failure::new(file.display(), why));
            }
            Some(_) => {}
            None => first = Some((file, done.found)),
        }
        sum.found = done.found;
        sum.items += done.items;
        sum.bytes += done.bytes;
        sum.ends_added += done.ends_added;
        sum.empty += done.empty;
        sum.rewritten.extend(done.rewritten);
        sum.summary = done.summary.or(sum.summary);
        sum.records = done.records;
    }
    goes_on(job)?;
    outputs.into_iter().try_for_each(Output::commit)?;
    Ok(sum)
}

/// The last place at which a run may be ended from outside with the outputs as they were.
fn goes_on(job: &InputJob) -> Result<(), Failure> {
    job.progress.advance(0).context("output")
}
