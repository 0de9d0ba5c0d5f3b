//! [`Replacement`]: a new file that takes the place of another, or is the first of its name.

#[cfg(unix)]
use std::fs::OpenOptions;
use std::fs::{self, File};
#[cfg(unix)]
use std::io::Seek;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::files::{PRIVATE, named_file_in};
use crate::signals::Unfinished;

/// How the names begin that files have meanwhile.
const PREFIX: &str = ".bshuf";

/// A new file that takes the target's name once all is written.
///
/// Where the system can, it has no name until then, and nothing is left of it however the program
/// ends. Elsewhere it has one, and dropping it deletes it.
pub(super) struct Replacement {
    target: PathBuf,
    /// Whether there was no such file.
    #[cfg_attr(not(unix), expect(dead_code))]
    is_first: bool,
    /// `None` if it is closed.
    file: Option<File>,
    /// The name that it has meanwhile, and the folder for such names.
    name: Option<(TempPath, Unfinished)>,
    folder: PathBuf,
}

impl Replacement {
    /// A file that is not there yet. If it has another name meanwhile, that is in this folder,
    /// which is made when it is needed, or next to the target.
    pub(super) fn of_nothing(target: PathBuf, folder: Option<&Path>) -> io::Result<Self> {
        // As for any new file; the umask still takes bits away.
        create(target, folder, 0o666, true)
    }

    /// A file that is like another one in all but what is in it.
    ///
    /// # Errors
    ///
    /// Why there can be none.
    pub(super) fn of_file(target: PathBuf, folder: Option<&Path>, old: &File) -> io::Result<Self> {
        #[cfg(unix)]
        {
            // Private, until it has the owner and the mode of the other.
            let replacement = create(target, folder, PRIVATE, false)?;
            if let Some(file) = &replacement.file {
                unix::check_replaceable(file, old, folder_of(&replacement.target))?;
                unix::make_alike(file, old)?;
            }
            Ok(replacement)
        }
        #[cfg(not(unix))]
        {
            let replacement = create(target, folder, PRIVATE, false)?;
            if let Some(file) = &replacement.file {
                file.set_permissions(old.metadata()?.permissions())?;
            }
            Ok(replacement)
        }
    }

    /// Closes the file, which gets a name, if it has none.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.take()
            && self.name.is_none()
        {
            self.name = Some(name(&file, &self.folder, &self.target)?);
        }
        Ok(())
    }

    /// Waits until what was written is kept.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_all)
    }

    /// Gives the file the target's name.
    pub(super) fn commit(mut self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let (Some(file), None, true) = (&self.file, &self.name, self.is_first)
            && unix::link(file, &self.target).is_ok()
        {
            return Ok(());
        }
        let result = self.rename();
        #[cfg(unix)]
        let result = result.or_else(|error| match error.kind() {
            // The folder for other names is gone, because other workers have finished the run.
            ErrorKind::NotFound if self.folder != folder_of(&self.target) => Err(error),
            _ => self.copy(error),
        });
        result
    }

    fn rename(&mut self) -> io::Result<()> {
        if let (Some(file), None) = (&self.file, &self.name) {
            self.name = Some(name(file, &self.folder, &self.target)?);
        }
        let Some((path, unfinished)) = self.name.take() else { return Ok(()) };
        path.persist(&self.target).map_err(|failed| {
            self.name = Some((failed.path, unfinished));
            failed.error
        })
    }

    /// Writes the target where it is, as it could not be replaced. All is written, and not to be
    /// lost for the sake of a name.
    #[cfg(unix)]
    fn copy(self, error: io::Error) -> io::Result<()> {
        let target = OpenOptions::new().write(true).create(self.is_first).open(&self.target);
        let Ok(mut target) = target else { return Err(error) };
        let mut file = match (self.file, &self.name) {
            (Some(file), _) => file,
            (None, Some((path, _))) => File::open(path)?,
            (None, None) => return Err(error),
        };
        file.rewind()?;
        let bytes = file.metadata()?.len();
        super::in_place::overwrite(&mut target, &mut file, bytes)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().ok_or(ErrorKind::NotConnected)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The folder of a file. It is on the same file system, where renaming is all or nothing.
fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Creates a file on the file system of the target.
fn create(
    target: PathBuf,
    folder: Option<&Path>,
    mode: u32,
    is_first: bool,
) -> io::Result<Replacement> {
    let folder = folder.unwrap_or_else(|| folder_of(&target)).to_owned();
    #[cfg(target_os = "linux")]
    if let Some(file) = unix::unnamed(folder_of(&target), mode)? {
        return Ok(Replacement { target, is_first, file: Some(file), name: None, folder });
    }
    let (file, unfinished) = Unfinished::create(|| {
        in_folder(&folder, &target, || named_file_in(&folder, PREFIX, mode))
    })?;
    let (file, path) = file.into_parts();
    let (file, name) = (Some(file), Some((path, unfinished)));
    Ok(Replacement { target, is_first, file, name, folder })
}

/// Makes a file in a folder, and the folder if it is not there and not that of the target.
fn in_folder<T>(folder: &Path, target: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    make().or_else(|error| match error.kind() {
        ErrorKind::NotFound if folder != folder_of(target) => {
            let made = fs::create_dir(folder).or_else(|error| match error.kind() {
                // Another process has made it meanwhile.
                ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            });
            made.and_then(|()| make()).map_err(|_| error)
        }
        _ => Err(error),
    })
}

/// Names a file that has no name.
#[cfg(target_os = "linux")]
fn name(file: &File, folder: &Path, target: &Path) -> io::Result<(TempPath, Unfinished)> {
    let link = |path: &Path| unix::link(file, path);
    let named = || {
        in_folder(folder, target, || tempfile::Builder::new().prefix(PREFIX).make_in(folder, link))
    };
    let (named, unfinished) = Unfinished::create(named)?;
    Ok((named.into_temp_path(), unfinished))
}

/// Every file has a name.
#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path, _: &Path) -> io::Result<(TempPath, Unfinished)> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, Permissions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    use std::path::Path;

    /// The set-user-ID, set-group-ID and sticky bits, and the permissions.
    const MODE: u32 = 0o7777;

    /// A folder in which files can be renamed by their owners only.
    const STICKY: u32 = 0o1000;

    /// Creates a file without a name; `None` if the system cannot, or could not name it later.
    ///
    /// # Errors
    ///
    /// Those of creating a file in the folder.
    #[cfg(target_os = "linux")]
    pub(super) fn unnamed(folder: &Path, mode: u32) -> io::Result<Option<File>> {
        use std::os::unix::fs::OpenOptionsExt;

        use rustix::fs::OFlags;
        use rustix::io::Errno;

        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).mode(mode).custom_flags(OFlags::TMPFILE.bits() as i32);
        match options.open(folder) {
            Ok(file) => Ok(Path::new(&link_of(&file)).exists().then_some(file)),
            Err(error) => match Errno::from_io_error(&error) {
                // What kernels and file systems say that do not know of it.
                Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Gives a file without a name this one.
    #[cfg(target_os = "linux")]
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, linkat};

        Ok(linkat(CWD, link_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// The link by which the system knows an open file.
    #[cfg(target_os = "linux")]
    fn link_of(file: &File) -> String {
        use std::os::fd::AsRawFd;

        format!("/proc/self/fd/{}", file.as_raw_fd())
    }

    /// Checks that a new file can take the place of an old one, and that nothing else has the old
    /// one's place.
    pub(super) fn check_replaceable(new: &File, old: &File, folder: &Path) -> io::Result<()> {
        let (made, found) = (new.metadata()?, old.metadata()?);
        if found.nlink() != 1 || is_mount_point(old) {
            return Err(ErrorKind::ResourceBusy.into());
        }
        let folder = folder.metadata()?;
        let owners = [0, found.uid(), folder.uid()];
        if folder.mode() & STICKY != 0 && !owners.contains(&made.uid()) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    /// Whether another file system, or a part of one, begins with a file.
    #[cfg(target_os = "linux")]
    fn is_mount_point(file: &File) -> bool {
        use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};

        // A kernel that cannot tell lets the program find out by itself, in the end.
        statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
            .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    #[cfg(not(target_os = "linux"))]
    fn is_mount_point(_: &File) -> bool {
        false
    }

    /// Gives a new file the owner, the group, the attributes and the mode of an old one.
    pub(super) fn make_alike(new: &File, old: &File) -> io::Result<()> {
        let (made, found) = (new.metadata()?, old.metadata()?);
        if (made.uid(), made.gid()) != (found.uid(), found.gid()) {
            fchown(new, Some(found.uid()), Some(found.gid()))?;
        }
        copy_attributes(new, old)?;
        // A change of the owner, and of the lists of who has access, may have changed it.
        new.set_permissions(Permissions::from_mode(found.mode() & MODE))
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
        Ok(())
    }

    /// Gives a new file the extended attributes of an old one, among them lists of who has access.
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn copy_attributes(new: &File, old: &File) -> io::Result<()> {
        use rustix::fs::{XattrFlags, fremovexattr, fsetxattr};

        let (had, has) = (attributes(old)?, attributes(new)?);
        for (name, _) in has.iter().filter(|(name, _)| !had.iter().any(|(other, _)| other == name))
        {
            fremovexattr(new, name.as_slice())?;
        }
        for (name, value) in had.iter().filter(|attribute| !has.contains(attribute)) {
            fsetxattr(new, name.as_slice(), value, XattrFlags::empty())?;
        }
        Ok(())
    }

    /// The names and values of a file's attributes, without those that belong to what is in it and
    /// go when it is written.
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn attributes(file: &File) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        use rustix::fs::{fgetxattr, fgetxattr_query, flistxattr, flistxattr_query};
        use rustix::io::Errno;

        let bytes = match flistxattr_query(file) {
            Ok(bytes) => bytes,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut names = vec![0; bytes];
        let bytes = if bytes == 0 { 0 } else { flistxattr(file, names.as_mut_slice())? };
        let of_contents = [&b"security.capability"[..], b"security.ima", b"security.evm"];
        names[..bytes]
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty() && !of_contents.contains(name))
            .map(|name| {
                let mut value = vec![0; fgetxattr_query(file, name)?];
                let bytes = fgetxattr(file, name, value.as_mut_slice())?;
                value.truncate(bytes);
                Ok((name.to_vec(), value))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_another_process_makes_meanwhile_is_taken() {
        let all = tempfile::tempdir().unwrap();
        let (folder, target) = (all.path().join("unfinished"), all.path().join("target"));
        let make = || {
            let made = fs::write(folder.join("file"), b"1");
            // As soon as it is missed, it is there.
            let _ = fs::create_dir(&folder);
            made
        };
        in_folder(&folder, &target, make).unwrap();
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"1");
    }
}
