//! What one rank of many does, in `benches/notes/distributed.md`.

use bijective_shuffle::exchange::items_of_round;

use super::computed::Computed;
use super::markdown::{self, NOT_MEASURED, conditions_of, number, range, table};
use super::results::Results;
use crate::exchange::COLUMNS;
use crate::sheet::Sheet;

/// How the names of the files begin: one for each machine and number of threads.
const FILES: &str = "exchange";

const HEAD: [&str; 9] = [
    "ranks",
    "items of each",
    "threads of each",
    "census",
    "plan",
    "pack",
    "place",
    "a shuffle in one process",
    "a copy",
];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let mut tables = Vec::new();
    // Nanoseconds of all steps, and of packing and placing, by the number of ranks.
    let mut steps: Vec<(String, f64, f64)> = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        let rows = rows(&sheet).map_err(|why| format!("{name}.csv: {why}"))?;
        for row in &rows {
            let step =
                |column: usize| row[column].parse::<f64>().map_err(|error| error.to_string());
            let moved = step(5)? + step(6)?;
            steps.push((row[0].clone(), step(4)? + moved, moved));
        }
        tables.push(conditions_of(&sheet) + &table(&HEAD, &rows));
    }
    computed.block("exchange", tables.join("\n"));
    let of_many = steps.iter().filter(|(ranks, ..)| ranks != "1");
    computed.text("exchange, pack and place", range(of_many.map(|(_, _, moved)| *moved), 1)?);
    let all = |ranks: &str| {
        let row = steps.iter().find(|(of, ..)| of == ranks);
        row.map(|(_, all, _)| *all).ok_or_else(|| format!("{ranks} ranks were not measured"))
    };
    computed.figure("exchange, 256 ranks over 8", all("256")? / all("8")?, 2)?;

    let scaling = results.sheet("weak-scaling")?;
    computed.block("weak scaling", weak_scaling(&scaling)?);
    computed.block("cluster", cluster(&scaling)?);
    computed.block("indexes", indexes(results.sheet_if_any("indexes")?.as_ref())?);
    let memory = results.sheet_if_any("mpi-memory")?;
    let as_they_are = |sheet: &Sheet| conditions_of(sheet) + &markdown::rows(sheet);
    computed.block("mpi memory", memory.as_ref().map_or(NOT_MEASURED.into(), as_they_are));
    let weak = results.sheet_if_any("mpi-weak")?;
    computed.block("mpi weak scaling", mpi_weak_scaling(weak.as_ref())?);
    let mpi = results.sheet("mpi-speed")?;
    computed.block("mpi", as_they_are(&mpi));
    let (column, tags) = (mpi.column("in all / one process")?, mpi.column("tags")?);
    for (has_tags, figure) in
        [("yes", "mpi, with tags over one process"), ("no", "mpi, without tags over one process")]
    {
        let rows = mpi.rows.iter().filter(|row| row[tags] == has_tags);
        let ratios = rows.map(|row| row[column].parse::<f64>());
        let ratios = ratios.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        computed.text(figure, range(ratios, 2)?);
    }
    Ok(())
}

/// The steps of an exchange, all of which a rank takes.
const STEPS: [&str; 4] = ["census_ns", "plan_ns", "pack_ns", "place_ns"];

/// What processes at the same time have measured: the nanoseconds of each one's steps together, and
/// of a copy.
struct Processes<'a> {
    number: &'a str,
    steps: Vec<f64>,
    copies: Vec<f64>,
}

/// The rows of each number of processes, in their order.
fn processes(sheet: &Sheet) -> Result<Vec<Processes<'_>>, String> {
    let number = |row: &[String], column: &str| {
        let cell = &row[sheet.column(column)?];
        cell.parse::<f64>().map_err(|_| format!("`{cell}` is no number"))
    };
    let column = sheet.column("processes")?;
    let mut all: Vec<Processes<'_>> = Vec::new();
    for row in &sheet.rows {
        let steps: f64 = STEPS.iter().map(|step| number(row, step)).sum::<Result<f64, String>>()?;
        if all.last().is_none_or(|last| last.number != row[column]) {
            all.push(Processes { number: &row[column], steps: Vec::new(), copies: Vec::new() });
        }
        let last = all.last_mut().expect("one was added");
        last.steps.push(steps);
        last.copies.push(number(row, "copy_ns")?);
    }
    Ok(all)
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// How much longer the steps take when more processes take them at the same time.
fn weak_scaling(sheet: &Sheet) -> Result<String, String> {
    let slowest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let all = processes(sheet)?;
    let first = all.first().ok_or("there are no rows")?;
    let (alone, copy) = (mean(&first.steps), mean(&first.copies));
    let rows: Vec<[String; 5]> = all
        .iter()
        .map(|Processes { number, steps, copies }| {
            [
                (*number).to_owned(),
                format!("{:.1}", mean(steps)),
                format!("{:.2}", alone / mean(steps)),
                format!("{:.2}", alone / slowest(steps)),
                format!("{:.2}", copy / mean(copies)),
            ]
        })
        .collect();
    let head = ["processes", "all steps", "rate of each", "of the slowest", "of a copy"];
    Ok(conditions_of(sheet) + &table(&head, &rows))
}

/// The same with MPI, whose exchange is a part of it.
fn mpi_weak_scaling(sheet: Option<&Sheet>) -> Result<String, String> {
    let Some(sheet) = sheet else { return Ok(NOT_MEASURED.into()) };
    let mut places = [0; 8];
    let columns =
        ["ranks", "way", "pack", "exchange", "place", "in all", "bare MPI_Alltoallv", "items"];
    for (place, column) in places.iter_mut().zip(columns) {
        *place = sheet.column(column)?;
    }
    let [ranks, way, pack, exchange, place, in_all, bare, items] = places;
    let ms = |row: &[String], column: usize| {
        row[column].parse::<f64>().map_err(|_| format!("`{}` is no number", row[column]))
    };
    let mut rows = Vec::new();
    for row in &sheet.rows {
        let alone = sheet.rows.iter().find(|one| one[ranks] == "1" && one[way] == row[way]);
        let rate = ms(alone.ok_or("no row of one rank")?, in_all)? / ms(row, in_all)?;
        let cells = [ranks, items, way, pack, exchange, place, in_all, bare];
        let cells = cells.map(|column| row[column].clone());
        rows.push(cells.into_iter().chain([format!("{rate:.2}")]).collect::<Vec<_>>());
    }
    let head = ["ranks", "items", "way", "pack", "exchange", "place", "in all"];
    let head = head.into_iter().chain(["bare MPI_Alltoallv", "rate of each"]).collect::<Vec<_>>();
    Ok(conditions_of(sheet) + &table(&head, &rows))
}

/// What the model has for 2^40 items of 8 bytes on 1024 machines like the one whose cores were all
/// measured at the same time: one rank on each, with as many threads as cores.
fn cluster(sheet: &Sheet) -> Result<String, String> {
    const NODES: f64 = 1024.0;
    /// Bytes a second that a node sends, while it receives as many.
    const NETWORK: f64 = 25e9;
    /// Seconds for a message.
    const LATENCY: f64 = 2e-6;
    const ITEMS: f64 = (1_u64 << 40) as f64 / NODES;
    const BYTES: usize = 8;

    let all = processes(sheet)?;
    let most = all.last().ok_or("there are no rows")?;
    let cores: usize = most.number.parse().map_err(|_| "a number of processes")?;
    let computing = ITEMS * mean(&most.steps) * 1e-9 / cores as f64;
    let sending = ITEMS * BYTES as f64 / NETWORK;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build();
    let pool = pool.map_err(|error| error.to_string())?;
    let rows: Vec<[String; 7]> = [64_u64 << 20, 256 << 20, 1 << 30]
        .map(|memory| {
            let rounds = (ITEMS / pool.install(|| items_of_round(memory, BYTES)) as f64).ceil();
            let message = ITEMS * BYTES as f64 / (NODES * rounds);
            let latency = NODES * rounds * LATENCY;
            [
                (memory >> 20).to_string(),
                format!("{rounds}"),
                format!("{:.1}", message / 1e3),
                format!("{computing:.2}"),
                format!("{sending:.2}"),
                format!("{latency:.2}"),
                format!("{:.1}", computing + sending + latency),
            ]
        })
        .into();
    let head = [
        "working memory, MiB",
        "rounds",
        "a message, KB",
        "computing, s",
        "bytes, s",
        "messages, s",
        "in all, s",
    ];
    Ok(table(&head, &rows))
}

/// What all shares of a permutation's indexes would take, of which one has been made.
fn indexes(sheet: Option<&Sheet>) -> Result<String, String> {
    let Some(sheet) = sheet else { return Ok(NOT_MEASURED.into()) };
    let mut columns = [0; crate::indexes::COLUMNS.len()];
    for (place, column) in columns.iter_mut().zip(crate::indexes::COLUMNS) {
        *place = sheet.column(column)?;
    }
    let rows = sheet.rows.iter().map(|row| {
        let cells = columns.map(|column| row[column].clone());
        let value = |cell: &String| cell.parse::<f64>().map_err(|_| format!("`{cell}`"));
        let (items, ns) = (value(&cells[2])?, value(&cells[4])?);
        let [bits, ranks, _, processes, _] = cells;
        let rate = number(1e3 / ns, 0)?;
        Ok([format!("2^{bits}"), ranks, processes, rate, number(items * ns * 1e-6, 1)?])
    });
    let rows = rows.collect::<Result<Vec<_>, String>>()?;
    let head = [
        "indexes",
        "ranks",
        "processes at the same time",
        "M indexes/s of each",
        "all ranks at once, extrapolated, ms",
    ];
    Ok(conditions_of(sheet) + &table(&head, &rows))
}

fn rows(sheet: &Sheet) -> Result<Vec<[String; HEAD.len()]>, String> {
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = sheet.column(column)?;
    }
    let rows = sheet.rows.iter().map(|row| {
        let mut cells = places.map(|place| row[place].clone());
        for cell in &mut cells[3..] {
            let value = cell.parse().map_err(|_| format!("`{cell}` is no number"))?;
            *cell = number(value, 2)?;
        }
        Ok(cells)
    });
    rows.collect()
}
