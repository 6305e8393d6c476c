//! Objects to read and write behind gix's two traits: loose files by gix, or the `git` program where permissions or
//! a foreign object directory make it the only correct writer.

use gix::objs::{Data, Find, Kind, Write};

use super::program::Git;

type GixResult<T> = gix::Result<T>;

/// Reads through gix; writes through gix or the program.
#[derive(Debug)]
pub(super) struct ObjectStore<'r> {
    gix: &'r gix::Repository,
    through_program: bool,
}

impl<'r> ObjectStore<'r> {
    pub(super) fn new(gix: &'r gix::Repository, through_program: bool) -> Self {
        Self { gix, through_program }
    }
}

impl Find for ObjectStore<'_> {
    fn try_find<'a>(&self, id: &gix::hash::oid, buffer: &'a mut Vec<u8>) -> GixResult<Option<Data<'a>>> {
        self.gix.objects.try_find(id, buffer)
    }
}

impl Write for ObjectStore<'_> {
    fn write_buf_with_known_id(&self, kind: Kind, from: &[u8], _id: gix::ObjectId) -> GixResult<gix::ObjectId> {
        self.write_stream(kind, from.len() as u64, &mut &from[..])
    }

    fn write_stream(&self, kind: Kind, size: u64, from: &mut dyn std::io::Read) -> GixResult<gix::ObjectId> {
        let mut bytes = Vec::with_capacity(size as usize);
        from.read_to_end(&mut bytes).map_err(to_gix)?;
        if !self.through_program {
            return self.gix.objects.write_buf(kind, &bytes);
        }
        let call = Git::new("hash-object").args(["-w", "--stdin", "-t"]).arg(kind.to_string());
        let printed = call.output_with_input(&bytes).map_err(to_gix)?;
        gix::ObjectId::from_hex(printed.trim_ascii()).map_err(to_gix)
    }

    fn write_stream_with_known_id(
        &self,
        kind: Kind,
        size: u64,
        from: &mut dyn std::io::Read,
        _id: gix::ObjectId,
    ) -> GixResult<gix::ObjectId> {
        self.write_stream(kind, size, from)
    }
}

fn to_gix(error: impl std::fmt::Display) -> gix::Error {
    gix::Error::from_error(std::io::Error::other(error.to_string()))
}
