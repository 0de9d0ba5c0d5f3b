//! The laws that all back ends of the library keep, for this one. They are the repository's package
//! `tests/laws`, so no published package contains this file.
//!
//! Without a GPU the tests say that they were skipped, unless `BIJECTIVE_SHUFFLE_REQUIRE_WGPU=1` is
//! set. `cargo test --test conformance workspace::` runs all laws by one of the lines below.

#[macro_use]
extern crate bijective_shuffle_laws;

#[path = "../src/tests/gpu.rs"]
mod gpu;

use std::borrow::Cow;
use std::iter;

use bijective_shuffle::bijection::hooks::Hooked as _;
use bijective_shuffle::{Bijection, Error, Word};
use bijective_shuffle_wgpu::wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use bijective_shuffle_wgpu::wgpu::{self, BufferSlice, BufferUsages, CommandEncoder};
use bijective_shuffle_wgpu::{AsWgsl, Wgpu, WgpuError, WgpuWorkspace, WgslError, WgslSource};
use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::gpu::gpu;
use bijective_shuffle_laws::items::{Items, Table};
use bijective_shuffle_laws::under_test::{Answer, Direction, Given, Indices, UnderTest};

back_ends! {
    host: gpu().map(Host).map(OfHost);
    own_text: gpu().map(OwnText).map(OfHost);
    workspace: gpu().map(|gpu| Device { gpu, workspace: gpu.workspace() });
}

/// What the library's engines return. No law asks for more than a GPU has.
fn of_items(error: WgpuError) -> Error {
    match error {
        WgpuError::Shuffle(error) => error,
        other => panic!("{other}"),
    }
}

fn has_text(given: &Given) -> bool {
    WgslSource::from_bijection(given.bijection).is_ok()
}

/// The engine for host memory, by a bijection or by a text.
trait OnHost {
    fn gpu(&self) -> &Wgpu;

    fn serves(&self, given: &Given) -> bool;

    fn order<'a>(&self, given: &Given<'a>) -> impl AsWgsl + use<'a, Self>;

    fn write<N: Word>(&self, given: &Given, out: &mut [N]) -> Result<(), Error> {
        self.gpu().write_indexes(&self.order(given), out).map_err(of_items)
    }

    fn shuffle<T: Pod>(&self, given: &Given, items: &mut [T], to: Direction) -> Result<(), Error> {
        let order = self.order(given);
        let done = match to {
            Direction::Shuffle => self.gpu().shuffle(&order, items),
            Direction::Unshuffle => self.gpu().unshuffle(&order, items),
        };
        done.map_err(of_items)
    }

    fn copy<T: Pod>(&self, given: &Given, from: &[T], to: &mut Vec<T>) -> Result<(), Error> {
        *to = self.gpu().shuffled(&self.order(given), from).map_err(of_items)?;
        Ok(())
    }
}

/// What has the engine as a back end.
struct OfHost<H>(H);

impl<H: OnHost + Send> UnderTest for OfHost<H> {
    fn serves(&self, given: &Given) -> bool {
        self.0.serves(given)
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => self.0.write(given, out)))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, to: Direction) -> Answer {
        with_copies!(items.clone(), items, _unused, items => self.0.shuffle(given, items, to))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        to: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        if to == Direction::Unshuffle {
            return None;
        }
        let mut copy = source.clone();
        let done = with_copies!(source, &mut copy, from, to => self.0.copy(given, from, to))?;
        Some(done.map(|()| copy))
    }
}

/// [`Wgpu`].
struct Host(&'static Wgpu);

impl OnHost for Host {
    fn gpu(&self) -> &Wgpu {
        self.0
    }

    fn serves(&self, given: &Given) -> bool {
        has_text(given)
    }

    fn order<'a>(&self, given: &Given<'a>) -> impl AsWgsl + use<'a> {
        given.bijection
    }
}

/// [`Wgpu`], with a user's text that has a bijection's values in its parameters. Nobody vouches for
/// these, so this line is told all lies.
struct OwnText(&'static Wgpu);

/// The most points of a bijection whose values are parameters.
const MOST: u64 = 1 << 10;

impl OnHost for OwnText {
    fn gpu(&self) -> &Wgpu {
        self.0
    }

    fn serves(&self, given: &Given) -> bool {
        // The values of compositions would be looked up one by one, which takes minutes.
        given.bijection.last() < MOST && given.bijection.passes().is_none()
    }

    fn order<'a>(&self, given: &Given<'a>) -> impl AsWgsl + use<'a> {
        Values(given.bijection)
    }
}

/// A bijection as a text with its values.
struct Values<'a>(&'a dyn Bijection);

impl AsWgsl for Values<'_> {
    fn last_point(&self) -> u64 {
        self.0.last()
    }

    fn as_wgsl(&self) -> Result<Cow<'_, WgslSource>, WgslError> {
        let last = self.0.last();
        let value = |slot| u32::try_from(self.0.forward(slot)).unwrap_or(u32::MAX);
        // The text is the same for all lengths, and so is the number of parameters.
        let values = (0..=last).map(value).chain(iter::repeat(0)).take(MOST as usize);
        let text = "fn forward(x: u32) -> u32 { return param(x); }";
        Ok(Cow::Owned(WgslSource::new(last as u32, text, values)))
    }
}

/// [`WgpuWorkspace`], in the middle of buffers whose ends are watched.
struct Device {
    gpu: &'static Wgpu,
    workspace: WgpuWorkspace,
}

/// The bytes before and behind an array, by which it is aligned.
const GUARD: usize = 256;

const POISON: u8 = 0xA5;

impl Device {
    /// A buffer with an array between guards.
    fn upload(&self, bytes: &[u8]) -> wgpu::Buffer {
        let mut contents = vec![POISON; GUARD];
        contents.extend_from_slice(bytes);
        contents.resize((GUARD + bytes.len()).next_multiple_of(4) + GUARD, POISON);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let descriptor = BufferInitDescriptor { label: None, contents: &contents, usage };
        self.gpu.device().create_buffer_init(&descriptor)
    }

    /// The array in a buffer, whose guards are as they were.
    fn download(&self, buffer: &wgpu::Buffer, bytes: &mut [u8]) {
        let device = self.gpu.device();
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: buffer.size(),
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        self.gpu.queue().submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, Result::unwrap);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let all = staging.slice(..).get_mapped_range().unwrap();
        let (before, rest) = all.split_at(GUARD);
        let (array, behind) = rest.split_at(bytes.len());
        assert!(before.iter().all(|&byte| byte == POISON), "written before the beginning");
        assert!(behind.iter().all(|&byte| byte == POISON), "written beyond the end");
        bytes.copy_from_slice(array);
    }

    /// Records and submits a call.
    fn run(
        &mut self,
        call: impl FnOnce(&mut WgpuWorkspace, &mut CommandEncoder) -> Result<(), WgpuError>,
    ) -> Result<(), Error> {
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        call(&mut self.workspace, &mut encoder).map_err(of_items)?;
        self.gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Moves arrays in place, each with the size of its items.
    fn move_arrays(
        &mut self,
        given: &Given,
        len: usize,
        arrays: &mut [(&mut [u8], usize)],
        to: Direction,
    ) -> Result<(), Error> {
        let buffers: Vec<_> = arrays.iter().map(|(bytes, _)| self.upload(bytes)).collect();
        let slices: Vec<_> =
            arrays.iter().zip(&buffers).map(|((_, size), b)| (array(b), *size as u32)).collect();
        let (order, len) = (given.bijection, len as u64);
        self.run(|workspace, encoder| match to {
            Direction::Shuffle => workspace.shuffle(encoder, &order, len, &slices),
            Direction::Unshuffle => workspace.unshuffle(encoder, &order, len, &slices),
        })?;
        for ((bytes, _), buffer) in arrays.iter_mut().zip(&buffers) {
            self.download(buffer, bytes);
        }
        Ok(())
    }

    fn copy<T: Pod>(
        &mut self,
        given: &Given,
        source: &[T],
        out: &mut [T],
        to: Direction,
    ) -> Result<(), Error> {
        let [from, into] = [source, &*out].map(|items| self.upload(cast_slice(items)));
        let (order, len, size) = (given.bijection, source.len() as u64, size_of::<T>() as u32);
        self.run(|workspace, encoder| {
            let (from, into) = (array(&from), array(&into));
            match to {
                Direction::Shuffle => {
                    workspace.shuffle_into(encoder, &order, len, size, from, into)
                }
                Direction::Unshuffle => {
                    workspace.unshuffle_into(encoder, &order, len, size, from, into)
                }
            }
        })?;
        let mut kept = source.to_vec();
        self.download(&from, cast_slice_mut(&mut kept));
        let [kept, before]: [&[u8]; 2] = [cast_slice(&kept), cast_slice(source)];
        assert!(kept == before, "the source was written");
        self.download(&into, cast_slice_mut(out));
        Ok(())
    }
}

/// An array with the guard behind it.
fn array(buffer: &wgpu::Buffer) -> BufferSlice<'_> {
    buffer.slice(GUARD as u64..)
}

impl UnderTest for Device {
    fn serves(&self, given: &Given) -> bool {
        has_text(given)
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        let Indices::Narrow(out) = out else { return None };
        let into = self.upload(cast_slice(out));
        let len = out.len() as u64;
        let done = self.run(|workspace, encoder| {
            workspace.write_indexes(encoder, &given.bijection, len, array(&into))
        });
        Some(done.map(|()| self.download(&into, cast_slice_mut(out))))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, to: Direction) -> Answer {
        with_copies!(items.clone(), items, unmoved, items => {
            let size = unmoved.first().map_or(1, size_of_val);
            self.move_arrays(given, unmoved.len(), &mut [(cast_slice_mut(items), size)], to)
        })
    }

    fn into(&mut self, given: &Given, source: &Items, out: &mut Items, to: Direction) -> Answer {
        with_copies!(source, out, source, out => {
            // A caller of the workspace gives one length.
            if source.len() != out.len() {
                return None;
            }
            self.copy(given, source, out, to)
        })
    }

    fn together(&mut self, given: &Given, table: &mut Table, to: Direction) -> Answer {
        let len = table.len();
        match table {
            Table::Eight(columns) => {
                let mut arrays = columns.each_mut().map(|bytes| (&mut bytes[..], 1));
                Some(self.move_arrays(given, len, &mut arrays, to))
            }
            Table::Nested(words, halves, _, bytes) => {
                let mut arrays =
                    [(cast_slice_mut(words), 8), (cast_slice_mut(halves), 4), (&mut bytes[..], 1)];
                Some(self.move_arrays(given, len, &mut arrays, to))
            }
            _ => None,
        }
    }
}
