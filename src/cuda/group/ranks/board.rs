//! [`Board`]: memory that all ranks of one host see, in which they tell each other numbers.
//!
//! Kernels and copies cannot wait for those of another process by events. They wait for counters
//! here, which the devices write and read as the host does.

use std::ffi::c_void;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::mapped::Mapped;
use super::words::MOST;

/// The most ranks that a board has places for. No host has more GPUs that map each other's memory;
/// for each piece, a stream would wait for as many counters as the square of their number.
pub(super) const MOST_NEAR: usize = 16;

/// Where Linux keeps files in memory. No other system has ranks.
const FOLDER: &str = "/dev/shm";

/// A number that every counter of a call is below. Who waits for one compares as signed numbers.
const RELEASED: u64 = i64::MAX as u64;

/// What one rank writes, and all read. A new file has zeros.
#[repr(C, align(64))]
struct BoardEntry {
    /// How often it has told numbers, by the host or by its device.
    told: AtomicU64,
    /// How many turns of copies its device has made.
    sent: AtomicU64,
    /// How much of what came to it its device has sorted.
    sorted: AtomicU64,
    has_failed: AtomicU64,
    /// Whether it uses no memory of other ranks any more.
    has_left: AtomicU64,
    /// What it has told last, and the time before: a rank may tell more as soon as all have told
    /// as much, but some may not have read that yet.
    numbers: [[AtomicU64; MOST]; 2],
}

impl BoardEntry {
    fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire) != 0
    }
}

#[repr(C)]
struct Page {
    places: [BoardEntry; MOST_NEAR],
}

/// The counters of a rank that its device writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    Told,
    Sent,
    Sorted,
}

/// The memory, as one rank sees it.
#[derive(Debug)]
pub(super) struct Board {
    page: Mapped,
    rank: usize,
    ranks: usize,
    /// How often all have told numbers.
    turns: AtomicU64,
    /// The file, until all have opened it.
    file: Option<PathBuf>,
}

/// A number that no other process has, nor another call.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id()) | 1
}

fn path(folder: &Path, name: u64) -> PathBuf {
    folder.join(format!("bijective-shuffle-{name:016x}"))
}

impl Board {
    /// A new one of the first rank, by this name.
    pub(super) fn create(name: u64, ranks: usize) -> io::Result<Self> {
        Self::create_in(FOLDER.as_ref(), name, ranks)
    }

    /// The one that the first rank has made.
    pub(super) fn open(name: u64, rank: usize, ranks: usize) -> io::Result<Self> {
        Self::open_in(FOLDER.as_ref(), name, rank, ranks)
    }

    fn create_in(folder: &Path, name: u64, ranks: usize) -> io::Result<Self> {
        let file = path(folder, name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(&file)?;
        // With memory for all of it, since a store to a page that there is no memory for is fatal.
        let filled = opened.write_all(&[0; size_of::<Page>()]);
        let mapped = filled.and_then(|()| Mapped::new(&opened, size_of::<Page>()));
        let page = mapped.inspect_err(|_| drop(std::fs::remove_file(&file)))?;
        Ok(Self { page, rank: 0, ranks, turns: AtomicU64::new(0), file: Some(file) })
    }

    fn open_in(folder: &Path, name: u64, rank: usize, ranks: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path(folder, name))?;
        if file.metadata()?.len() != size_of::<Page>() as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            page: Mapped::new(&file, size_of::<Page>())?,
            rank,
            ranks,
            turns: AtomicU64::new(0),
            file: None,
        })
    }

    /// Removes the file, which nobody needs to open any more.
    pub(super) fn hide(&mut self) {
        if let Some(file) = self.file.take() {
            // What is left behind is a page.
            let _ = std::fs::remove_file(file);
        }
    }

    /// The memory: where it is, and how many bytes.
    pub(super) fn memory(&self) -> (*mut c_void, usize) {
        (self.page.start(), self.page.bytes())
    }

    /// Where a rank's counter is in the memory.
    pub(super) fn offset(rank: usize, counter: Counter) -> u64 {
        let counter = match counter {
            Counter::Told => offset_of!(BoardEntry, told),
            Counter::Sent => offset_of!(BoardEntry, sent),
            Counter::Sorted => offset_of!(BoardEntry, sorted),
        };
        (rank * size_of::<BoardEntry>() + counter) as u64
    }

    fn places(&self) -> &[BoardEntry] {
        // SAFETY: the memory is there until the drop, with the size of a `Page`, as has been
        // checked, and aligned as pages of memory are. Any bytes are numbers, which all processes
        // and devices read and write as such.
        &unsafe { &*self.page.start().cast::<Page>() }.places[..self.ranks]
    }

    fn numbers(&self, rank: usize, turn: u64) -> &[AtomicU64; MOST] {
        &self.places()[rank].numbers[(turn % 2) as usize]
    }

    /// Tells this rank's numbers.
    pub(super) fn tell(&self, numbers: &[u64]) {
        let turn = self.turn();
        for (place, &number) in self.numbers(self.rank, turn).iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
        self.places()[self.rank].told.store(turn, Ordering::Release);
    }

    /// Begins to tell numbers that the device writes: where their zeros are in the memory, and what
    /// it writes to the counter [`Told`](Counter::Told) after them.
    pub(super) fn begin_to_tell(&self) -> (u64, u64) {
        let turn = self.turn();
        let numbers = self.numbers(self.rank, turn);
        numbers.iter().for_each(|number| number.store(0, Ordering::Release));
        ((&raw const *numbers).addr() as u64 - self.page.start().addr() as u64, turn)
    }

    fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether all ranks have told as often as this one. `None` if that will never be so.
    pub(super) fn have_told(&self) -> Option<bool> {
        let turn = self.turns.load(Ordering::Relaxed);
        // Asked first: who has failed or left tells nothing afterwards.
        let is_over = self.has_failed() || self.places().iter().any(BoardEntry::has_left);
        match self.places().iter().all(|place| place.told.load(Ordering::Acquire) >= turn) {
            false if is_over => None,
            have_told => Some(have_told),
        }
    }

    /// This many numbers of each rank, once all ranks have written theirs.
    pub(super) fn read(&self, number: usize) -> Vec<Vec<u64>> {
        let turn = self.turns.load(Ordering::Relaxed);
        let of_rank = |rank| {
            let numbers = self.numbers(rank, turn)[..number].iter();
            numbers.map(|number| number.load(Ordering::Relaxed)).collect()
        };
        (0..self.ranks).map(of_rank).collect()
    }

    /// Ends the communication on all ranks.
    pub(super) fn fail(&self) {
        self.places()[self.rank].has_failed.store(1, Ordering::Release);
        self.release();
    }

    /// Whether a rank has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.places().iter().any(|place| place.has_failed.load(Ordering::Acquire) != 0)
    }

    /// Ends what devices wait for. A rank that has not failed yet may still write lower numbers
    /// afterwards, so it takes as many calls as there is something that waits.
    pub(super) fn release(&self) {
        for place in self.places() {
            place.sent.store(RELEASED, Ordering::Release);
            place.sorted.store(RELEASED, Ordering::Release);
        }
    }

    /// Says that this rank uses no memory of others any more.
    pub(super) fn leave(&self) {
        self.places()[self.rank].has_left.store(1, Ordering::Release);
    }

    /// Whether no rank uses another's memory any more.
    pub(super) fn have_left(&self) -> bool {
        self.places().iter().all(BoardEntry::has_left)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.hide();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::thread;

    use super::*;

    /// The boards of some ranks in a folder of their own.
    fn boards(ranks: usize) -> Vec<Board> {
        let folder = tempfile::tempdir().unwrap();
        let name = random();
        let mut boards = vec![Board::create_in(folder.path(), name, ranks).unwrap()];
        let others = (1..ranks).map(|rank| Board::open_in(folder.path(), name, rank, ranks));
        boards.extend(others.map(Result::unwrap));
        boards[0].hide();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        boards
    }

    fn wait(board: &Board) -> Option<()> {
        while !board.have_told()? {
            thread::yield_now();
        }
        Some(())
    }

    #[test]
    fn every_rank_gets_what_all_have_told() {
        for ranks in [1, 2, 5, MOST_NEAR] {
            let boards = boards(ranks);
            thread::scope(|scope| {
                for board in &boards {
                    scope.spawn(move || {
                        for turn in 0..500_u64 {
                            let number = turn as usize % (MOST + 1);
                            let told = |rank: usize| {
                                (0..number as u64).map(move |k| turn << 32 | (rank as u64) << 8 | k)
                            };
                            board.tell(&told(board.rank).collect::<Vec<_>>());
                            wait(board).unwrap();
                            let expected = (0..ranks).map(|rank| told(rank).collect::<Vec<_>>());
                            assert!(board.read(number).into_iter().eq(expected));
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn numbers_told_by_the_device_are_behind_zeros() {
        let boards = boards(2);
        for board in &boards {
            board.tell(&[7; MOST]);
        }
        for board in &boards {
            board.tell(&[8; MOST]);
        }
        for (rank, board) in boards.iter().enumerate() {
            let (at, turn) = board.begin_to_tell();
            assert_eq!(turn, 3);
            assert_eq!(board.have_told(), Some(false));
            // What a device writes: one byte of a number, and then the counter.
            let page: *mut u8 = board.memory().0.cast();
            let number = page.wrapping_add(at as usize + 8);
            // SAFETY: the byte is in the page, and nobody else writes it now.
            unsafe { *number = 5 };
            let place = &board.places()[rank];
            let counters = [
                (Counter::Told, &place.told),
                (Counter::Sent, &place.sent),
                (Counter::Sorted, &place.sorted),
            ];
            for (counter, at) in counters {
                let offset = Board::offset(rank, counter) as usize;
                assert_eq!(page.addr() + offset, (&raw const *at).addr());
            }
            place.told.store(turn, Ordering::Release);
        }
        for board in &boards {
            assert_eq!(board.have_told(), Some(true));
            assert_eq!(board.read(3), [[0, 5, 0], [0, 5, 0]]);
        }
    }

    #[test]
    fn a_rank_that_fails_ends_every_wait() {
        let boards = boards(3);
        thread::scope(|scope| {
            let waits = [0, 2].map(|rank| {
                let board = &boards[rank];
                scope.spawn(move || {
                    board.tell(&[1]);
                    wait(board)
                })
            });
            boards[1].fail();
            assert_eq!(waits.map(|wait| wait.join().unwrap()), [None, None]);
        });
        // Devices go on too, whatever they wait for.
        for place in boards[2].places() {
            assert_eq!(place.sent.load(Ordering::Relaxed), RELEASED);
            assert_eq!(place.sorted.load(Ordering::Relaxed), RELEASED);
        }
        // What was told in time is still read.
        let boards = self::boards(2);
        boards.iter().for_each(|board| board.tell(&[4]));
        boards[1].fail();
        assert_eq!(boards[0].have_told(), Some(true));
        assert_eq!(boards[0].read(1), [[4], [4]]);
    }

    #[test]
    fn a_board_is_left_when_its_last_rank_leaves() {
        let boards = boards(3);
        for board in &boards {
            assert!(!boards[0].have_left());
            board.leave();
        }
        assert!(boards.iter().all(Board::have_left));
        // Nobody waits for what they would have told.
        boards[0].tell(&[1]);
        assert_eq!(boards[0].have_told(), None);
    }

    #[test]
    fn missing_and_foreign_files_are_no_boards() {
        let folder = tempfile::tempdir().unwrap();
        let name = random();
        assert!(Board::open_in(folder.path(), name, 1, 2).is_err());
        assert!(Board::create_in(&folder.path().join("none"), name, 2).is_err());
        std::fs::write(path(folder.path(), name), "short").unwrap();
        assert!(Board::open_in(folder.path(), name, 1, 2).is_err());
        // Nor is a file overwritten.
        assert!(Board::create_in(folder.path(), name, 2).is_err());
        assert_eq!(std::fs::read(path(folder.path(), name)).unwrap(), b"short");
        // Without others that open it, the file goes with the board.
        let other = random();
        drop(Board::create_in(folder.path(), other, 2).unwrap());
        assert!(!path(folder.path(), other).exists());
    }
}
