//! The tasks of a crew's jobs, and who takes which.
//!
//! ```text
//! leader                                   any member
//! open: write job, count, undone           take: for share, one's own first:
//!       share[..] = its tasks   (release)        lower share[..], if not 0    (acquire)
//!       round += 1              (release)        read job and count
//! take and do tasks                        do the task
//! wait for undone == 0          (acquire)  undone -= tasks done              (release)
//! ```
//!
//! The job's description is written while nobody has a task, and read only by members that have
//! one: taking a task acquires all that the leader wrote before it, and the leader opens no other
//! job before all tasks are done. A member that is late, and looks at shares while the next job is
//! being opened, takes a task of that job.

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The tasks of one job after the other. A J describes each job.
pub(super) struct Tasks<J> {
    /// How many jobs have been opened, or [`CLOSED`].
    round: AtomicUsize,
    job: AtomicPtr<J>,
    /// The number of tasks in the job.
    count: AtomicUsize,
    /// The number of tasks that are not done yet.
    undone: AtomicUsize,
    /// One for each member.
    shares: Box<[TaskShare]>,
}

/// There will be no more jobs.
const CLOSED: usize = usize::MAX;

/// Neighbouring tasks, which one member takes before others: what it has touched in one job is in
/// its core's cache in the next. Here is how many nobody has taken yet, the last ones.
#[repr(align(64))]
struct TaskShare(AtomicUsize);

impl<J> Tasks<J> {
    /// No tasks, for this many members.
    pub(super) fn new(members: usize) -> Self {
        let [round, count, undone] = [(); 3].map(|()| AtomicUsize::new(0));
        let job = AtomicPtr::new(core::ptr::null_mut());
        let shares = (0..members).map(|_| TaskShare(AtomicUsize::new(0))).collect();
        Self { round, job, count, undone, shares }
    }

    pub(super) fn members(&self) -> usize {
        self.shares.len()
    }

    /// Opens a job of `count` tasks. Those of the job before have to be done.
    pub(super) fn open(&self, count: usize, job: *mut J) {
        self.job.store(job, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        self.undone.store(count, Ordering::Relaxed);
        for (number, share) in self.shares.iter().enumerate() {
            let tasks = self.start(number + 1, count) - self.start(number, count);
            share.0.store(tasks, Ordering::Release);
        }
        self.round.fetch_add(1, Ordering::Release);
    }

    /// Says that there will be no more jobs.
    pub(super) fn close(&self) {
        self.round.store(CLOSED, Ordering::Release);
    }

    /// How many jobs have been opened; `None` if there will be no more.
    pub(super) fn round(&self) -> Option<usize> {
        // Who sees a job sees its shares.
        Some(self.round.load(Ordering::Acquire)).filter(|&round| round != CLOSED)
    }

    /// Takes a task for a member: its number, and the job. It is the member's until
    /// [`have_done`](Self::have_done).
    pub(super) fn take(&self, member: usize) -> Option<(usize, *mut J)> {
        let members = self.members();
        (0..members).map(|others| (member + others) % members).find_map(|share| {
            let less = |left: usize| left.checked_sub(1);
            let left = &self.shares[share].0;
            let left = left.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).ok()?;
            let end = self.start(share + 1, self.count.load(Ordering::Relaxed));
            Some((end - left, self.job.load(Ordering::Relaxed)))
        })
    }

    /// Says that this many tasks are done, which one member has taken.
    pub(super) fn have_done(&self, tasks: usize) {
        // Who has none may be late, and is not to touch what the next job is being opened with.
        if tasks > 0 {
            self.undone.fetch_sub(tasks, Ordering::Release);
        }
    }

    /// Whether all tasks are done.
    pub(super) fn are_done(&self) -> bool {
        self.undone.load(Ordering::Acquire) == 0
    }

    /// The number of the first task of a share.
    fn start(&self, share: usize, count: usize) -> usize {
        share * count / self.members()
    }
}
