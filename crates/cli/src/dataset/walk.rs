//! [`walk`]: the files of folders.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::index::ShardIndex;
use super::records::RecordForm;
use crate::files::NamedError;

/// The files that were found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Walked {
    /// The files, in their order.
    pub files: Vec<PathBuf>,
    /// The index of the folder, if it is the only path.
    pub index: Option<ShardIndex>,
    /// What the records are, if the folders' indexes say it.
    pub form: Option<RecordForm>,
    /// Whether there was a folder.
    pub has_folders: bool,
}

/// What [`walk`] does with folders in folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subfolders {
    /// They are walked too.
    Walk,
    /// They are an error.
    Refuse,
}

/// Replaces each folder by the files in it, in the order of their names, byte by byte. What is not
/// a folder stays as it is, be it there or not.
///
/// The shards of a folder that has an index come in the order of the index. Files whose names
/// begin with `.` or `_` are left out, as by programs that write them beside data.
///
/// Links:
///
/// * A path may be a link to a folder.
/// * A link to a folder, in a folder, is not followed. The files behind it are read if that
///   folder is in one of the paths, and otherwise the link is an error, so that none of its
///   files is missed in silence.
/// * A link to a file, in a folder, is read unless another name in the folders stands for the
///   same file, so that its records come once. The names that are no links are preferred, and
///   then the first one.
/// * Each hard link of a file is a file.
///
/// # Errors
///
/// Each is a [`NamedError`]: those of reading folders; that there are folders in one, and they
/// are not to be looked through; that there is anything else than files, such as a pipe; that
/// a folder has no files; that it does not have the shards of its index, or others too; that
/// the indexes of two say that their records are of different kinds; and a link to a folder
/// that is not read.
pub fn walk(paths: &[PathBuf], subfolders: Subfolders) -> io::Result<Walked> {
    let mut walked = Walked::default();
    let mut links = Links::default();
    for path in paths {
        if path.as_os_str() == "-" || !path.is_dir() {
            walked.files.push(path.clone());
            continue;
        }
        walked.has_folders = true;
        let index = ShardIndex::read(path)?;
        let subfolders = if index.is_some() { Subfolders::Walk } else { subfolders };
        let (mut files, mut own) = (Vec::new(), Links::default());
        add(path, subfolders, &mut files, &mut own, &mut walked)?;
        if let Some(index) = index {
            let is_on_the_way = |link: &PathBuf| {
                index.shards.iter().any(|shard| path.join(&shard.name).starts_with(link))
            };
            own.to_folders.retain(|link| !is_on_the_way(link));
            // Each shard is read, whatever it is a link to.
            own.to_files.clear();
            files = index.check(path, files)?;
            walked.index = (paths.len() == 1).then_some(index);
        }
        if files.is_empty() {
            return Err(NamedError::io(path.display(), "is a folder without files to read"));
        }
        links.to_folders.append(&mut own.to_folders);
        let before = walked.files.len();
        links.to_files.extend(own.to_files.into_iter().map(|number| before + number));
        walked.files.append(&mut files);
    }
    check_folders(paths, &links.to_folders)?;
    if !links.to_files.is_empty() {
        walked.files = once_each(walked.files, &links.to_files)?;
    }
    Ok(walked)
}

/// Adds the files of a folder, and the links among them.
fn add(
    folder: &Path,
    subfolders: Subfolders,
    files: &mut Vec<PathBuf>,
    links: &mut Links,
    walked: &mut Walked,
) -> io::Result<()> {
    let entries = || {
        let entries = fs::read_dir(folder)?.map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?))
        });
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    };
    for (name, kind) in entries().map_err(|error: io::Error| named(folder, error))? {
        let path = folder.join(&name);
        if is_left_out(&name) {
            continue;
        }
        if name == ShardIndex::FILE
            && let Some(index) = ShardIndex::read(folder)?
        {
            if walked.form.is_some() && walked.form != index.form {
                let why = "has records of another kind, or another number of header lines, \
                           than the folder before";
                return Err(NamedError::io(folder.display(), why));
            }
            walked.form = index.form;
            continue;
        }
        let is_link = kind.is_symlink();
        let found = if is_link { metadata(&path)?.file_type() } else { kind };
        if found.is_dir() && subfolders == Subfolders::Refuse {
            let why = "is a folder in a folder: give --recursive";
            return Err(NamedError::io(path.display(), why));
        } else if found.is_dir() && is_link {
            links.to_folders.push(path);
        } else if found.is_dir() {
            add(&path, subfolders, files, links, walked)?;
        } else if found.is_file() {
            if is_link {
                links.to_files.insert(files.len());
            }
            files.push(path);
        } else {
            let why = format!("is {} in a folder, not a file: name it to read it", what(found));
            return Err(NamedError::io(path.display(), why));
        }
    }
    Ok(())
}

/// Checks that the folders behind links are in those that are read.
fn check_folders(paths: &[PathBuf], links: &[PathBuf]) -> io::Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let folders: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for link in links {
        let target = link.canonicalize().map_err(|error| named(link, error))?;
        let is_read = folders.iter().any(|folder| {
            target.strip_prefix(folder).is_ok_and(|way| !way.iter().any(is_left_out))
        });
        if !is_read {
            let why = "is a link to a folder that is not read, and such links are followed \
                       only if they are named: name it too, or list the files for --files0-from";
            return Err(NamedError::io(link.display(), why));
        }
    }
    Ok(())
}

/// The links in folders.
#[derive(Default)]
struct Links {
    to_folders: Vec<PathBuf>,
    /// Their numbers among the files. One that is named too is there twice.
    to_files: HashSet<usize>,
}

/// The files without the links to others of them.
fn once_each(files: Vec<PathBuf>, links: &HashSet<usize>) -> io::Result<Vec<PathBuf>> {
    let mut seen = HashSet::new();
    // What is named may be missing, and that is for its reader to say.
    for (number, path) in files.iter().enumerate() {
        if !links.contains(&number) {
            seen.extend(identity(path).ok());
        }
    }
    let mut once = Vec::new();
    for (number, path) in files.into_iter().enumerate() {
        if !links.contains(&number)
            || seen.insert(identity(&path).map_err(|error| named(&path, error))?)
        {
            once.push(path);
        }
    }
    Ok(once)
}

/// The device of a file, and its number there.
#[cfg(unix)]
pub(crate) type FileIdentity = (u64, u64);

/// Where the links to a file lead.
#[cfg(not(unix))]
pub(crate) type FileIdentity = PathBuf;

/// What two paths have in common if they stand for one file.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    use std::os::unix::fs::MetadataExt;

    let found = path.metadata()?;
    Ok((found.dev(), found.ino()))
}

/// What two paths have in common if they stand for one file.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    path.canonicalize()
}

/// Whether a name is one that programs write beside data.
fn is_left_out(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes(), [b'.' | b'_', ..])
}

fn metadata(path: &Path) -> io::Result<Metadata> {
    path.metadata().map_err(|error| named(path, error))
}

fn named(path: &Path, error: io::Error) -> io::Error {
    NamedError::io(path.display(), error)
}

/// What something is called that is neither a file nor a folder.
fn what(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;

        if found.is_fifo() {
            return "a pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_block_device() || found.is_char_device() {
            return "a device";
        }
    }
    #[cfg(not(unix))]
    let _ = found;
    "something else"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_walked_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("b/c")).unwrap();
        for name in ["b/2", "b/10", "b/c/1", "b/_SUCCESS", "b/.hidden", "a"] {
            fs::write(path(name), name).unwrap();
        }
        let said = |subfolders, paths: &[PathBuf]| walk(paths, subfolders).unwrap_err().to_string();
        let complaint = said(Subfolders::Refuse, &[path("b")]);
        assert!(
            complaint.ends_with("b/c: is a folder in a folder: give --recursive"),
            "{complaint}"
        );
        let walked = walk(&[path("b"), path("a"), PathBuf::from("-")], Subfolders::Walk).unwrap();
        let expected = ["b/10", "b/2", "b/c/1", "a"].map(path);
        assert_eq!(walked.files[..4], expected);
        assert_eq!(walked.files.len(), 5);
        fs::create_dir(path("empty")).unwrap();
        assert!(
            said(Subfolders::Walk, &[path("empty")]).ends_with("is a folder without files to read")
        );
    }

    /// A folder `a` of files `1` and `2`, and a folder `a/in` of a file `3`.
    #[cfg(unix)]
    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/in")).unwrap();
        for name in ["a/1", "a/2", "a/in/3"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        folder
    }

    /// What is found in the folders, or the complaint, both without the path before.
    #[cfg(unix)]
    fn found(folder: &tempfile::TempDir, paths: &[&str]) -> Result<Vec<String>, String> {
        let before = format!("{}/", folder.path().display());
        let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
        let own = |path: &PathBuf| path.to_str().unwrap().replace(&before, "");
        let walked = walk(&paths, Subfolders::Walk)
            .map_err(|error| error.to_string().replace(&before, ""))?;
        Ok(walked.files.iter().map(own).collect())
    }

    #[test]
    #[cfg(unix)]
    fn links_to_folders_are_not_followed_and_none_of_their_files_is_missed() {
        use std::os::unix::fs::symlink;

        let folder = tree();
        let path = |name: &str| folder.path().join(name);
        let all = ["a/1", "a/2", "a/in/3"].map(String::from).to_vec();
        // Circles, and a chain in which each folder has two ways to the next.
        symlink(".", path("a/x")).unwrap();
        symlink(".", path("a/y")).unwrap();
        symlink("../..", path("a/in/up")).unwrap();
        assert_eq!(found(&folder, &["a", "a/in"]).unwrap_err(), said_of_link("a/in/up"));
        fs::remove_file(path("a/in/up")).unwrap();
        for depth in 0..40 {
            let (outer, inner) = (format!("a/deep{depth}"), format!("../deep{}", depth + 1));
            fs::create_dir(path(&outer)).unwrap();
            for name in ["one", "other"] {
                symlink(&inner, path(&format!("{outer}/{name}"))).unwrap();
            }
        }
        fs::create_dir(path("a/deep40")).unwrap();
        assert_eq!(found(&folder, &["a"]), Ok(all.clone()));
        // One that is named is followed.
        symlink("a", path("named")).unwrap();
        let named = all.iter().map(|name| name.replacen('a', "named", 1)).collect();
        assert_eq!(found(&folder, &["named"]), Ok(named));
        // Elsewhere, or where nothing is read.
        fs::create_dir(path("b")).unwrap();
        fs::write(path("b/4"), "4").unwrap();
        symlink("../b", path("a/z")).unwrap();
        assert_eq!(found(&folder, &["a"]), Err(said_of_link("a/z")));
        assert_eq!(found(&folder, &["b", "a"]), Ok([vec!["b/4".to_owned()], all].concat()));
        fs::rename(path("b"), path("a/_b")).unwrap();
        fs::remove_file(path("a/z")).unwrap();
        symlink("_b", path("a/z")).unwrap();
        assert_eq!(found(&folder, &["a"]), Err(said_of_link("a/z")));
    }

    #[cfg(unix)]
    fn said_of_link(name: &str) -> String {
        format!(
            "{name}: is a link to a folder that is not read, and such links are followed only if \
             they are named: name it too, or list the files for --files0-from"
        )
    }

    #[test]
    #[cfg(unix)]
    fn links_to_files_do_not_repeat_them() {
        use std::os::unix::fs::symlink;

        let folder = tree();
        let path = |name: &str| folder.path().join(name);
        symlink("in/3", path("a/0")).unwrap();
        symlink("../2", path("a/in/3b")).unwrap();
        fs::write(path("outside"), "5").unwrap();
        symlink("../outside", path("a/5")).unwrap();
        symlink("5", path("a/6")).unwrap();
        let all = ["a/1", "a/2", "a/5", "a/in/3"].map(String::from);
        assert_eq!(found(&folder, &["a"]).as_deref(), Ok(&all[..]));
        // Each hard link is a file, and so is each path that is named.
        fs::hard_link(path("a/1"), path("a/in/1")).unwrap();
        let twice = ["outside", "a/1", "a/2", "a/in/1", "a/in/3", "a/0"].map(String::from);
        assert_eq!(found(&folder, &["outside", "a", "a/0"]).as_deref(), Ok(&twice[..]));
        // One that leads nowhere is an error.
        symlink("nothing", path("a/7")).unwrap();
        let complaint = found(&folder, &["a"]).unwrap_err();
        assert!(complaint.starts_with("a/7: No such file"), "{complaint}");
    }

    #[test]
    #[cfg(unix)]
    fn sockets_and_pipes_in_a_folder_are_named() {
        use std::os::unix::net::UnixListener;

        let folder = tree();
        let path = |name: &str| folder.path().join(name);
        let refused = |name: &str, what: &str| {
            let why = format!("{name}: is {what} in a folder, not a file: name it to read it");
            assert_eq!(found(&folder, &["a"]), Err(why));
            fs::remove_file(path(name)).unwrap();
        };
        for name in ["a/in/pipe", "a/index.json"] {
            let made = std::process::Command::new("mkfifo").arg(path(name)).status();
            assert!(made.unwrap().success());
            refused(name, "a pipe");
        }
        let socket = UnixListener::bind(path("a/in/socket")).unwrap();
        refused("a/in/socket", "a socket");
        drop(socket);
        std::os::unix::fs::symlink("/dev/null", path("a/null")).unwrap();
        refused("a/null", "a device");
    }
}
