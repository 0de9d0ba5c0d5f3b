//! [`NcclId`]: what the processes of one communicator have in common.

use core::fmt;

use super::library::{Nccl, SUCCESS, UniqueId};
use crate::Error;
use crate::error::GpuError;

/// What the processes that are to exchange data by NCCL have in common: 128 bytes by which they
/// find each other.
///
/// One process makes it, and passes it to the others by any means: MPI, a file, the store of
/// `torchrun`. It serves for one communicator; the next one takes another. The process that made it
/// has to run until all ranks have joined, since they meet at a port of its machine. To make one
/// takes NCCL 2.19 or later, and no GPU.
///
/// Anyone who has the bytes and reaches that port can join: pass them only to those who should.
///
/// Which network the processes meet in is NCCL's choice, and its variable `NCCL_SOCKET_IFNAME` that
/// of the user. The variable `BIJECTIVE_SHUFFLE_NCCL` names the library `libnccl.so.2` if the
/// system does not find it, and forbids it if it is `none`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::cuda::NcclId;
/// use bijective_shuffle::prelude::*;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // On rank 0:
/// let id = match NcclId::new() {
///     Ok(id) => id,
///     // No NCCL is an ordinary state.
///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
///     Err(error) => return Err(error.into()),
/// };
/// let bytes: [u8; 128] = id.to_bytes();
/// // On the other ranks, which have received the bytes:
/// assert_eq!(NcclId::from_bytes(bytes), id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NcclId {
    id: UniqueId,
}

impl NcclId {
    /// A new id, which no other call returns.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if there is no NCCL or only one that is too old,
    /// [`GpuError::NcclFailed`] if it fails, for instance because it finds no network.
    pub fn new() -> Result<Self, Error> {
        Self::made_by(Nccl::get().map_err(Error::no_cuda)?)
    }

    pub(super) fn made_by(nccl: &Nccl) -> Result<Self, Error> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: the function writes an id through the pointer, which points to a variable of that
        // size, and an id may have any bytes.
        match unsafe { (nccl.unique_id)(&mut id) } {
            SUCCESS => Ok(Self { id }),
            code => Err(GpuError::NcclFailed { code: code as u32, during: "make an id" }.into()),
        }
    }

    pub(super) fn as_raw(&self) -> UniqueId {
        self.id
    }

    /// The id as bytes, to be passed to the other ranks. The same on all machines.
    pub const fn to_bytes(self) -> [u8; 128] {
        self.id.0
    }

    /// The id that another rank has passed on. Bytes that are no id are noticed when a communicator
    /// is made of them, at the latest by its time limit.
    pub const fn from_bytes(bytes: [u8; 128]) -> Self {
        Self { id: UniqueId(bytes) }
    }
}

/// Without the bytes, since anyone who has them can join.
impl fmt::Debug for NcclId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclId").finish_non_exhaustive()
    }
}
