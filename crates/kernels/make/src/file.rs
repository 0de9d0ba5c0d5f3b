//! The files of the crate `bijective-shuffle-kernels`, whose format is described there.

use std::io::{self, Write};

use bijective_shuffle::cuda::make_kernels::Promised;
use lzma_rust2::{Lzma2Options, Lzma2Writer};

/// A file with the images of kernels, which are in the order of their groups.
pub(crate) fn file(
    kernels: &[Promised],
    images: &[Vec<u8>],
    is: ImageContent,
) -> io::Result<Vec<u8>> {
    let (mut groups, mut table, mut streams) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for group in kernels.chunk_by(|a, b| a.group == b.group) {
        let mut bytes = Vec::new();
        for (kernel, image) in group.iter().zip(&images[start..]) {
            table.push((kernel.key, groups.len(), bytes.len(), image.len()));
            bytes.extend_from_slice(image);
        }
        start += group.len();
        let stream = compressed(&bytes, is)?;
        groups.push((stream.len(), bytes.len()));
        streams.extend_from_slice(&stream);
    }
    table.sort_unstable();
    let mut file = Vec::new();
    put(&mut file, groups.len())?;
    put(&mut file, table.len())?;
    for (compressed, bytes) in groups {
        put(&mut file, compressed)?;
        put(&mut file, bytes)?;
    }
    for (key, group, start, len) in table {
        file.extend_from_slice(&key.to_le_bytes());
        put(&mut file, group)?;
        put(&mut file, start)?;
        put(&mut file, len)?;
    }
    file.extend_from_slice(&streams);
    Ok(file)
}

fn put(file: &mut Vec<u8>, number: usize) -> io::Result<()> {
    let word = u32::try_from(number).map_err(|_| io::ErrorKind::FileTooLarge)?;
    file.extend_from_slice(&word.to_le_bytes());
    Ok(())
}

/// What images consist of, by which they are compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageContent {
    /// Instructions of 16 bytes.
    Machine,
    Text,
}

/// A stream of LZMA2.
fn compressed(bytes: &[u8], is: ImageContent) -> io::Result<Vec<u8>> {
    let mut options = Lzma2Options::with_preset(9);
    let lzma = &mut options.lzma_options;
    // How much of the byte before, and of the place within 16 bytes, a byte depends on.
    (lzma.lc, lzma.lp, lzma.pb) = if is == ImageContent::Machine { (0, 4, 4) } else { (4, 0, 0) };
    lzma.nice_len = 273;
    lzma.depth_limit = 1000;
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    writer.write_all(bytes)?;
    writer.finish()
}
