//! [`CodecMembers`]: members of gzip, streams of bzip2 or frames of LZ4, one after the other.

use std::io::{self, BufRead, Read};

use super::row::{DecoderFault, Row};

/// The decoder of one member.
pub(super) trait CodecMember: Read {
    type File: BufRead;

    fn new(file: Self::File) -> Self;

    /// Whether a member behind another one may begin with this byte.
    fn may_begin(byte: u8) -> bool;

    /// The file behind the member.
    fn into_file(self) -> Self::File;
}

/// Members of a codec, one after the other.
pub(super) struct CodecMembers<M> {
    row: &'static Row,
    /// The one that is read. It is there between calls.
    member: Option<M>,
}

impl<M: CodecMember> CodecMembers<M> {
    pub(super) fn new(file: M::File, row: &'static Row) -> Self {
        Self { row, member: Some(M::new(file)) }
    }
}

impl<M: CodecMember> Read for CodecMembers<M> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let read = member.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            // The member has ended.
            let Some(mut file) = self.member.take().map(CodecMember::into_file) else { break };
            let next = loop {
                let start = file.fill_buf()?;
                let zeros =
                    start.iter().take_while(|&&byte| byte == 0 && self.row.skips_zeros).count();
                let next = start.get(zeros).copied();
                file.consume(zeros);
                if next.is_some() || zeros == 0 {
                    break next;
                }
            };
            match next {
                None => {}
                Some(byte) if M::may_begin(byte) => self.member = Some(M::new(file)),
                Some(_) => return Err(DecoderFault::Trailing.into()),
            }
        }
        Ok(0)
    }
}
