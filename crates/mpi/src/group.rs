//! [`Group`]: the calls of MPI, in safe form.

use core::ffi::{c_char, c_int, c_void};

use bytemuck::Pod;
use mpi::ffi;
use mpi::topology::Communicator;

use crate::error::MpiShuffleError;

/// The most items of a message, and the most before a message in a buffer: MPI counts them in
/// integers of C.
pub(crate) const MOST_ITEMS: u64 = c_int::MAX as u64;

/// The processes of a communicator. Its own duplicate of it keeps what it sends apart from what the
/// program sends meanwhile.
pub(crate) struct Group {
    communicator: ffi::MPI_Comm,
    rank: usize,
    ranks: usize,
}

/// The items that a rank sends, those for rank 0 first, and how many go to each rank.
pub(crate) struct Outgoing<'a, T> {
    pub(crate) items: &'a [T],
    pub(crate) counts: &'a [u64],
}

/// Where a rank receives items, those from rank 0 first, and how many come from each rank.
pub(crate) struct Incoming<'a, T> {
    pub(crate) places: &'a mut [T],
    pub(crate) counts: &'a [u64],
}

/// The part of a buffer that is one message.
struct MessagePart {
    /// Whom it goes to or comes from.
    rank: usize,
    /// Its first item in the buffer.
    first: usize,
    count: c_int,
}

/// What a rank sends or receives: items for or from rank 0, then those for or from rank 1, ...
struct RankParts<'a> {
    counts: &'a [u64],
    starts: Vec<usize>,
}

impl<'a> RankParts<'a> {
    /// The parts of a buffer of `items` items.
    ///
    /// # Panics
    ///
    /// If they are not that many.
    fn new(counts: &'a [u64], items: usize) -> Self {
        let mut end = 0_usize;
        let start = |&count: &u64| {
            let start = end;
            let count = usize::try_from(count).expect("as many as there are items");
            end = end.checked_add(count).expect("as many as there are items");
            start
        };
        let starts = counts.iter().map(start).collect();
        assert_eq!(end, items, "as many as there are items");
        Self { counts, starts }
    }

    /// A rank's part from item `done` on, of at most `most` items.
    fn message(&self, rank: usize, done: u64, most: u64) -> MessagePart {
        let left = self.counts[rank].saturating_sub(done).min(most);
        let first = if left == 0 { 0 } else { self.starts[rank] + done as usize };
        MessagePart { rank, first, count: left as c_int }
    }

    /// The numbers of items, and the first of each rank, as MPI wants them. The buffer must have no
    /// more than [`MOST_ITEMS`].
    fn as_ints(&self) -> (Vec<c_int>, Vec<c_int>) {
        let counts = self.counts.iter().map(|&count| count as c_int);
        (counts.collect(), self.starts.iter().map(|&start| start as c_int).collect())
    }
}

impl Group {
    /// A duplicate of a communicator. All its ranks make one.
    ///
    /// # Errors
    ///
    /// [`MpiShuffleError::InterCommunicator`], and what MPI returns.
    pub(crate) fn new(communicator: &impl Communicator) -> Result<Self, MpiShuffleError> {
        let original = communicator.as_raw();
        let mut is_inter = 0;
        // SAFETY: the communicator is valid, and the flag lives through the call.
        let code = unsafe { ffi::MPI_Comm_test_inter(original, &mut is_inter) };
        check("MPI_Comm_test_inter", code)?;
        if is_inter != 0 {
            return Err(MpiShuffleError::InterCommunicator);
        }
        let mut duplicate = original;
        // SAFETY: the communicator is valid, and the handle is written to a variable.
        let code = unsafe { ffi::MPI_Comm_dup(original, &mut duplicate) };
        check("MPI_Comm_dup", code)?;
        let (rank, ranks) = (communicator.rank() as usize, communicator.size() as usize);
        // From here on it is freed when dropped.
        let group = Self { communicator: duplicate, rank, ranks };
        // SAFETY: a constant of the library.
        let returns = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: both handles are valid.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(duplicate, returns) };
        check("MPI_Comm_set_errhandler", code)?;
        Ok(group)
    }

    /// The handle of the duplicate.
    pub(crate) fn communicator(&self) -> ffi::MPI_Comm {
        self.communicator
    }

    /// This process.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes, at least one.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Whether all processes are on one machine, and so share its memory.
    pub(crate) fn shares_memory(&self) -> Result<bool, MpiShuffleError> {
        let mut shared = self.communicator;
        // SAFETY: a constant of the library.
        let info = unsafe { ffi::RSMPI_INFO_NULL };
        // SAFETY: this is a constant too.
        let kind = unsafe { ffi::RSMPI_COMM_TYPE_SHARED };
        // SAFETY: the communicator is valid, and the handle is written to a variable.
        let code =
            unsafe { ffi::MPI_Comm_split_type(self.communicator, kind, 0, info, &mut shared) };
        check("MPI_Comm_split_type", code)?;
        let mut size = 0;
        // SAFETY: the new communicator is valid, and the number is written to a variable.
        let code = unsafe { ffi::MPI_Comm_size(shared, &mut size) };
        // SAFETY: it was just made, and nothing uses it any more.
        unsafe { ffi::MPI_Comm_free(&mut shared) };
        check("MPI_Comm_size", code)?;
        Ok(size as usize == self.ranks)
    }

    /// Adds up the numbers that all ranks have at the same place.
    ///
    /// # Panics
    ///
    /// If there are more than [`MOST_ITEMS`], or not as many sums.
    pub(crate) fn sum(&self, numbers: &[u64], sums: &mut [u64]) -> Result<(), MpiShuffleError> {
        assert!(numbers.len() as u64 <= MOST_ITEMS);
        assert_eq!(numbers.len(), sums.len());
        // SAFETY: a constant of the library.
        let sum = unsafe { ffi::RSMPI_SUM };
        // SAFETY: both arrays have as many numbers of 64 bits, and they do not overlap.
        let code = unsafe {
            ffi::MPI_Allreduce(
                start(numbers),
                start_mut(sums),
                numbers.len() as c_int,
                numbers_of_64_bits(),
                sum,
                self.communicator,
            )
        };
        check("MPI_Allreduce", code)
    }

    /// Replaces numbers by the least that a rank has at the same place.
    pub(crate) fn reduce_min<const N: usize>(
        &self,
        numbers: &mut [u64; N],
    ) -> Result<(), MpiShuffleError> {
        // MPICH 4.0 compares unsigned numbers of 64 bits as if they were signed. So they are sent
        // as signed numbers in the same order.
        const SIGN: u64 = 1 << 63;
        let mine = numbers.map(|number| number ^ SIGN);
        // SAFETY: a constant of the library.
        let signed = unsafe { ffi::RSMPI_INT64_T };
        // SAFETY: a constant of the library.
        let min = unsafe { ffi::RSMPI_MIN };
        // SAFETY: both arrays have N numbers of 64 bits, and they do not overlap.
        let code = unsafe {
            ffi::MPI_Allreduce(
                mine.as_ptr().cast(),
                numbers.as_mut_ptr().cast(),
                N as c_int,
                signed,
                min,
                self.communicator,
            )
        };
        *numbers = numbers.map(|number| number ^ SIGN);
        check("MPI_Allreduce", code)
    }

    /// The numbers that all ranks have, those of rank 0 first.
    pub(crate) fn gather<const N: usize>(
        &self,
        mine: [u64; N],
    ) -> Result<Vec<[u64; N]>, MpiShuffleError> {
        let mut all = vec![[0; N]; self.ranks];
        // SAFETY: N numbers of 64 bits are sent, and there is room for as many of each rank.
        let code = unsafe {
            ffi::MPI_Allgather(
                mine.as_ptr().cast(),
                N as c_int,
                numbers_of_64_bits(),
                all.as_mut_ptr().cast(),
                N as c_int,
                numbers_of_64_bits(),
                self.communicator,
            )
        };
        check("MPI_Allgather", code)?;
        Ok(all)
    }

    /// The numbers that all ranks have, those of rank 0 first; `all` has room for them. A rank has
    /// `counts[rank]`.
    ///
    /// # Panics
    ///
    /// If the counts are wrong here, or there are more than [`MOST_ITEMS`].
    pub(crate) fn gather_parts(
        &self,
        mine: &[u64],
        counts: &[u64],
        all: &mut [u64],
    ) -> Result<(), MpiShuffleError> {
        assert!(all.len() as u64 <= MOST_ITEMS && counts.len() == self.ranks);
        assert_eq!(counts[self.rank], mine.len() as u64);
        let (counts, starts) = RankParts::new(counts, all.len()).as_ints();
        // SAFETY: the numbers that are sent are as many as is said; the places and counts of those
        // that are received lie within `all`.
        let code = unsafe {
            ffi::MPI_Allgatherv(
                start(mine),
                mine.len() as c_int,
                numbers_of_64_bits(),
                start_mut(all),
                counts.as_ptr(),
                starts.as_ptr(),
                numbers_of_64_bits(),
                self.communicator,
            )
        };
        check("MPI_Allgatherv", code)
    }

    /// Sends each rank its part of the numbers, of equally many for each, and receives as many from
    /// each.
    ///
    /// # Panics
    ///
    /// If there are not as many numbers for each rank, or more than [`MOST_ITEMS`], or not as many
    /// places.
    pub(crate) fn transpose(
        &self,
        numbers: &[u64],
        received: &mut [u64],
    ) -> Result<(), MpiShuffleError> {
        let of_each = numbers.len() / self.ranks;
        assert_eq!([numbers.len(), received.len()], [of_each * self.ranks; 2]);
        assert!(of_each as u64 <= MOST_ITEMS);
        // SAFETY: both buffers have as many numbers of 64 bits for each rank as is said.
        let code = unsafe {
            ffi::MPI_Alltoall(
                start(numbers),
                of_each as c_int,
                numbers_of_64_bits(),
                start_mut(received),
                of_each as c_int,
                numbers_of_64_bits(),
                self.communicator,
            )
        };
        check("MPI_Alltoall", code)
    }

    /// Replaces bytes by those of a rank.
    pub(crate) fn broadcast<const N: usize>(
        &self,
        rank: usize,
        bytes: &mut [u8; N],
    ) -> Result<(), MpiShuffleError> {
        // SAFETY: there are N bytes.
        let code = unsafe {
            ffi::MPI_Bcast(
                bytes.as_mut_ptr().cast(),
                N as c_int,
                single_bytes(),
                rank as c_int,
                self.communicator,
            )
        };
        check("MPI_Bcast", code)
    }

    /// Sends each rank its part of the items in one call. No rank's buffers may have more than
    /// [`MOST_ITEMS`].
    ///
    /// # Panics
    ///
    /// If the buffers here have more, or are not as large as their parts.
    pub(crate) fn exchange<T: Pod>(
        &self,
        outgoing: Outgoing<'_, T>,
        incoming: Incoming<'_, T>,
    ) -> Result<(), MpiShuffleError> {
        let (items, out) = (outgoing.items, incoming.places);
        assert!(items.len().max(out.len()) as u64 <= MOST_ITEMS);
        assert_eq!([outgoing.counts.len(), incoming.counts.len()], [self.ranks; 2]);
        let (send_counts, send_starts) = RankParts::new(outgoing.counts, items.len()).as_ints();
        let (counts, starts) = RankParts::new(incoming.counts, out.len()).as_ints();
        let item = ItemType::of::<T>()?;
        // SAFETY: the parts lie within the buffers, counted in items of the type. Any bytes are a
        // `T`, and if more arrive than is said, MPI writes no more than that.
        let code = unsafe {
            ffi::MPI_Alltoallv(
                start(items),
                send_counts.as_ptr(),
                send_starts.as_ptr(),
                item.0,
                start_mut(out),
                counts.as_ptr(),
                starts.as_ptr(),
                item.0,
                self.communicator,
            )
        };
        check("MPI_Alltoallv", code)
    }

    /// Sends each rank its part of the items, in messages of at most `most` items. A rank sends one
    /// message and receives one at a time. Buffers may have any number of items.
    ///
    /// In step `r` every rank sends to the one that is `r` after it. The number of messages
    /// between two ranks follows from the number of items, which both know; so the messages of a
    /// step have the same numbers on both sides, and no rank waits for one that is not sent.
    ///
    /// # Panics
    ///
    /// If the buffers are not as large as their parts.
    pub(crate) fn exchange_one_by_one<T: Pod>(
        &self,
        outgoing: Outgoing<'_, T>,
        incoming: Incoming<'_, T>,
        most: u64,
    ) -> Result<(), MpiShuffleError> {
        let (items, out) = (outgoing.items, incoming.places);
        let most = most.clamp(1, MOST_ITEMS);
        assert_eq!([outgoing.counts.len(), incoming.counts.len()], [self.ranks; 2]);
        let sent = RankParts::new(outgoing.counts, items.len());
        let received = RankParts::new(incoming.counts, out.len());
        let item = ItemType::of::<T>()?;
        for step in 0..self.ranks {
            let to = (self.rank + step) % self.ranks;
            let from = (self.rank + self.ranks - step) % self.ranks;
            let all = sent.counts[to].max(received.counts[from]);
            let mut done = 0;
            while done < all {
                let (sent, received) =
                    (sent.message(to, done, most), received.message(from, done, most));
                self.send_receive(&item, items, sent, out, received)?;
                done = done.saturating_add(most);
            }
        }
        Ok(())
    }

    /// Sends some items to a rank while it receives some from another; or only one of both, where
    /// there are none to send or to receive.
    fn send_receive<T: Pod>(
        &self,
        item: &ItemType,
        items: &[T],
        sent: MessagePart,
        out: &mut [T],
        received: MessagePart,
    ) -> Result<(), MpiShuffleError> {
        // SAFETY: a constant of the library.
        let nobody = unsafe { ffi::RSMPI_PROC_NULL };
        // SAFETY: a constant of the library.
        let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
        let whom = |part: &MessagePart| if part.count == 0 { nobody } else { part.rank as c_int };
        let items = &items[sent.first..][..sent.count as usize];
        let out = &mut out[received.first..][..received.count as usize];
        // SAFETY: the buffers have as many items of the type as is said. Any bytes are a `T`, and
        // if more arrive than is said, MPI writes no more than that.
        let code = unsafe {
            ffi::MPI_Sendrecv(
                start(items),
                sent.count,
                item.0,
                whom(&sent),
                0,
                start_mut(out),
                received.count,
                item.0,
                whom(&received),
                0,
                self.communicator,
                ignore,
            )
        };
        check("MPI_Sendrecv", code)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After the end of MPI there is nothing to free, and asking for it would abort the program.
        if !mpi::is_finalized() {
            // SAFETY: it is the duplicate that `new` made, and nothing uses it any more.
            unsafe { ffi::MPI_Comm_free(&mut self.communicator) };
        }
    }
}

/// The MPI type of an item: as many bytes as it has, so that counts are counts of items.
pub(crate) struct ItemType(pub(crate) ffi::MPI_Datatype);

impl ItemType {
    /// The type of items that have at least one byte.
    fn of<T: Pod>() -> Result<Self, MpiShuffleError> {
        Self::of_bytes(size_of::<T>())
    }

    /// The type of items of this number of bytes, at least one.
    pub(crate) fn of_bytes(bytes: usize) -> Result<Self, MpiShuffleError> {
        let bytes = c_int::try_from(bytes).map_err(|_| MpiShuffleError::MpiFailed {
            call: "MPI_Type_contiguous",
            code: ffi::MPI_ERR_COUNT as i32,
            message: "an item has 2^31 bytes or more".into(),
        })?;
        let mut item = single_bytes();
        // SAFETY: the element type is valid, and the handle is written to a variable.
        let code = unsafe { ffi::MPI_Type_contiguous(bytes, single_bytes(), &mut item) };
        check("MPI_Type_contiguous", code)?;
        let mut item = Self(item);
        // SAFETY: the type was just made.
        let code = unsafe { ffi::MPI_Type_commit(&mut item.0) };
        check("MPI_Type_commit", code)?;
        Ok(item)
    }
}

impl Drop for ItemType {
    fn drop(&mut self) {
        // SAFETY: the type is the one that `of` made, and no call is using it.
        unsafe { ffi::MPI_Type_free(&mut self.0) };
    }
}

/// Where buffers begin that have nothing in them. An empty slice may begin anywhere, also at
/// address 1, which is what Open MPI calls `MPI_IN_PLACE`; and other implementations refuse to send
/// from where they receive.
static NOTHING: [u8; 2] = [0; 2];

/// Where a buffer begins that is sent.
fn start<T>(items: &[T]) -> *const c_void {
    if items.is_empty() { (&raw const NOTHING[0]).cast() } else { items.as_ptr().cast() }
}

/// Where a buffer begins that is written to. Nothing is, if it is empty.
fn start_mut<T>(items: &mut [T]) -> *mut c_void {
    if items.is_empty() {
        (&raw const NOTHING[1]).cast_mut().cast()
    } else {
        items.as_mut_ptr().cast()
    }
}

/// The MPI type of `u64`.
fn numbers_of_64_bits() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT64_T }
}

/// The MPI type of `u8`.
fn single_bytes() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// The error that a call of MPI returned, if it did.
pub(crate) fn check(call: &'static str, code: c_int) -> Result<(), MpiShuffleError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0 as c_char; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: the text has the room that the standard demands.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    let bytes: Vec<u8> = text[..length].iter().map(|&byte| byte as u8).collect();
    Err(MpiShuffleError::MpiFailed {
        call,
        code,
        message: String::from_utf8_lossy(&bytes).into_owned(),
    })
}
