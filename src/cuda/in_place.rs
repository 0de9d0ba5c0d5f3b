//! The methods of [`CudaWorkspace`] that move an array within its own memory.

use cudarc::driver::DeviceRepr;

use super::runtime::array::DeviceArrayMut;
use super::runtime::in_use::writing;
use super::shuffle::in_place;
use super::shuffle::job::any_address;
use super::workspace::CudaWorkspace;
use crate::Error;
use crate::compact::{Direction, Order};

/// Moving an array within its own memory.
impl CudaWorkspace {
    /// Shuffles an array within its own memory: afterwards item `p[k]` is at place `k`.
    ///
    /// The order is that of [`shuffle_into`](Self::shuffle_into). Working memory takes at most 15 %
    /// of the array's, or 128 MiB if that is more; it is kept, as that of other calls. On an H200
    /// 2^29 items of 8 bytes take three times as long as from one array into another.
    ///
    /// Arrays of 128 MiB and more are moved with so little memory if NVRTC is there, on a GPU with
    /// at least 163 KiB of shared memory for a block, such as an A100, H100 or H200. The bijection
    /// has to be trusted, with fewer than eight points for each item. There may be up to 2^32 items
    /// of 4, 8 or 16 bytes, or 2^33 of 8 bytes where every slot survives. Most arrays of items of 1
    /// and 2 bytes are served too. In all other cases the items are copied to working memory in
    /// their new order, and back, so that it takes as much memory as the array.
    /// [`reserve_in_place`](Self::reserve_in_place) returns what it takes.
    ///
    /// # Errors
    ///
    /// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge), and otherwise as
    /// [`write_indexes`](Self::write_indexes). After an error the items are unchanged, except after
    /// a [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed) of a launch, after which
    /// they are unspecified.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let mut items = cuda.stream().alloc_zeros::<u64>(1 << 30)?; // 8 GiB
    /// let mut workspace = CudaWorkspace::new(&cuda);
    /// workspace.shuffle(42, &mut items)?;
    /// assert!(workspace.bytes() < (8 << 30) / 100 * 15);
    /// workspace.unshuffle(42, &mut items)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn shuffle<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_in_place(order.into(), items, Direction::Shuffle)
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_in_place(order.into(), items, Direction::Unshuffle)
    }

    /// As [`reserve`](Self::reserve), for moving `len` items of type T within their own memory.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle), except for errors that occur only when the
    /// kernels run.
    pub fn reserve_in_place<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        len: usize,
    ) -> Result<usize, Error> {
        if size_of::<T>() > 0 {
            let limits = self.executor.device.limits;
            let chosen = order.into().for_len(len as u64);
            let array = (any_address::<T>(), size_of::<T>());
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                let jobs = in_place::jobs(chosen.bijection(), len, array, direction)?;
                self.executor.reserve(&in_place::plan(&jobs, self.strategy, &limits)?)?;
            }
        }
        Ok(self.bytes())
    }

    fn move_in_place<T: DeviceRepr>(
        &mut self,
        order: Order,
        items: &mut impl DeviceArrayMut<T>,
        direction: Direction,
    ) -> Result<(), Error> {
        self.check_device(items.stream())?;
        let len = items.len();
        self.enter()?;
        let (address, _guard) = writing(items, &self.stream);
        self.executor.check_slices()?;
        let (chosen, array) = (order.for_len(len as u64), (address, size_of::<T>()));
        let jobs = in_place::jobs(chosen.bijection(), len, array, direction)?;
        // Items of size zero cannot be told apart, so they need not be moved.
        if len == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let plan = in_place::plan(&jobs, self.strategy, &self.executor.device.limits)?;
        // SAFETY: the slice belongs to the context and has the jobs' length. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it. The plan uses it and its working memory alone.
        unsafe { self.executor.execute(&plan) }
    }
}
