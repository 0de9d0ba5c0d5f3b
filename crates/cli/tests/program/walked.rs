//! Folders with links, pipes and other things in them, names that say what is not written, and what
//! is left of runs that are killed.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::folder::{Folder, numbered, one_line, program, sorted_lines, unprivileged};

#[test]
fn a_folder_that_may_not_be_read_is_named() {
    let folder = Folder::new();
    let Some(start) = unprivileged(&folder) else { return };
    fs::create_dir_all(folder.path("data/private")).unwrap();
    folder.write("data/a", b"1\n");
    folder.write("data/private/b", b"2\n");
    let line = ["--seed", "1", "--recursive", "data"];
    // All folders of a run are read, or none.
    let set_mode = |mode| {
        fs::set_permissions(folder.path("data/private"), fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o755);
    let whole = folder.finish(start().args(line), b"");
    assert_eq!((whole.code, sorted_lines(&whole.stdout).len()), (0, 2), "{}", whole.stderr);
    set_mode(0o000);
    let refused = folder.finish(start().args(line), b"");
    set_mode(0o755);
    assert_eq!((refused.code, refused.stdout), (1, Vec::new()));
    let complaint = one_line(&refused.stderr);
    assert!(complaint.starts_with("bshuf: data/private: Permission denied"), "{complaint}");
}

#[test]
fn links_in_folders_neither_go_round_nor_repeat_records() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("data/more")).unwrap();
    folder.write("data/a", b"1\n2\n");
    folder.write("data/more/b", b"3\n");
    for name in ["data/one", "data/other"] {
        symlink(".", folder.path(name)).unwrap();
    }
    symlink("../a", folder.path("data/more/again")).unwrap();
    let count = ["--worker", "0/1", "--stage", "count", "--output-dir", "out"];
    let shards = ["--output-dir", "shards", "--shards", "2"];
    for options in [&[][..], &shards, &count] {
        let options = [&["--seed", "1", "--recursive"], options, &["data"]].concat();
        let written = folder.output(&options, b"");
        assert!(written.is_empty() || sorted_lines(&written) == [b"1\n", b"2\n", b"3\n"]);
    }
    // A folder with an index is looked through too.
    symlink(".", folder.path("shards/here")).unwrap();
    assert_eq!(folder.output(&["--undo", "shards"], b""), b"1\n2\n3\n");
    fs::create_dir(folder.path("elsewhere")).unwrap();
    folder.write("elsewhere/c", b"4\n");
    symlink("../elsewhere", folder.path("data/link")).unwrap();
    let complaint = folder.complaint(&["--recursive", "data"], b"");
    let start = "bshuf: data/link: is a link to a folder that is not read";
    assert!(complaint.starts_with(start), "{complaint}");
    let all = folder.output(&["--recursive", "data", "data/link"], b"");
    assert_eq!(sorted_lines(&all), [b"1\n", b"2\n", b"3\n", b"4\n"]);
}

#[test]
fn pipes_in_a_folder_are_refused_before_they_are_opened() {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/a", b"1\n");
    let mkfifo = |name| Command::new("mkfifo").arg(folder.path(name)).status().unwrap();
    assert!(mkfifo("data/pipe").success());
    for options in [&["data"][..], &["--recursive", "--output-dir", "out", "data"]] {
        let complaint = folder.complaint(options, b"");
        assert_eq!(
            complaint,
            "bshuf: data/pipe: is a pipe in a folder, not a file: name it to read it"
        );
    }
    assert!(mkfifo("x.parquet").success());
    let complaint = folder.complaint(&["x.parquet", "-o", "y.parquet"], b"");
    assert!(complaint.ends_with("must be a regular file") || complaint.contains("`tables`"));
}

#[test]
fn outputs_are_what_their_names_say_or_are_refused() {
    let folder = Folder::new();
    folder.write("text", b"1\n2\n");
    folder.write("x.npy", b"no array");
    fs::create_dir(folder.path("out")).unwrap();
    let names = [
        ("x.xz", "compressed by xz"),
        ("x.csv.Z", "compressed by compress"),
        ("x.br", "compressed by brotli"),
        ("x.zip", "compressed by zip"),
        ("x.7z", "compressed by 7z"),
        ("x.lzma", "compressed by lzma"),
        ("x.parquet", "a Parquet file"),
        ("x.feather", "an Arrow file"),
        ("y.npy", "a NumPy array"),
    ];
    for (name, what) in names {
        for input in [&["text"][..], &["-e", "a"], &["-i", "1-3"], &["--record", "2", "text"]] {
            let complaint = folder.complaint(&[&["-o", name], input].concat(), b"");
            let start = format!("bshuf: {name}: its name says that it is {what}");
            assert!(complaint.starts_with(&start), "{complaint}");
        }
        folder.write(name, b"1\n2\n");
        if !name.starts_with("y") && !what.ends_with("file") {
            let complaint = folder.complaint(&["--together", "-o", "out", name], b"");
            let start = format!("bshuf: out/{name}: its name says that it is {what}");
            assert!(complaint.starts_with(&start), "{complaint}");
        }
    }
    // A name may be what it is if --compress says so.
    folder.output(&["--compress", "none", "-o", "x.xz", "text"], b"");
    assert_eq!(folder.read("x.xz").len(), 4);
    // The name of the folder says nothing, and the name of a file in it does.
    fs::create_dir(folder.path("out.gz")).unwrap();
    folder.write("text.gz", b"1\n2\n");
    folder.output(&["--together", "-o", "out.gz", "text", "text.gz"], b"");
    assert_eq!(folder.read("out.gz/text").len(), 4);
    assert!(folder.read("out.gz/text.gz").starts_with(b"\x1F\x8B"));
    // Nor do shards have the end of a compression that they lack.
    folder.output(&["--output-dir", "shards", "x.xz"], b"");
    assert!(folder.path("shards/part-00000-of-00001.txt").exists());
}

/// Kills as soon as anything is there, which is the journal, and at any moment after that.
#[test]
fn nothing_of_a_run_that_was_killed_stays_in_a_folder_that_is_finished() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    for k in 0..200 {
        folder.write(&format!("in/{k}"), numbered(20));
    }
    let arguments = ["-q", "--seed", "1", "--resume", "--output-dir", "out", "--shards", "9", "in"];
    let is_begun = || fs::read_dir(folder.path("out")).is_ok_and(|mut all| all.next().is_some());
    for round in 0..8 {
        for _ in 0..=round % 2 {
            // The keys of hashes are random.
            let drawn = RandomState::new().hash_one(round) % 50_000;
            let delay = Duration::from_micros(if round < 4 { 0 } else { drawn });
            let mut child = folder.spawn(Command::new(program()).args(arguments));
            while child.try_wait().unwrap().is_none() && !is_begun() {}
            thread::sleep(delay);
            println!("killed after {delay:?}");
            let _ = child.kill();
            child.wait().unwrap();
        }
        // A shard that is not as it was written is written again.
        let damaged = folder.path("out/part-00000-of-00009.txt");
        if damaged.exists() {
            fs::write(damaged, b"x").unwrap();
        }
        let outcome = folder.run(&arguments, b"");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        let names = fs::read_dir(folder.path("out")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let others: Vec<_> = names.filter(|name| name.starts_with('.')).collect();
        assert_eq!(others, Vec::<String>::new());
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn blocks_filled_up_with_zeros_are_read_and_garbage_is_not() {
    let folder = Folder::new();
    let text = numbered(1000);
    for (codec, name, is_filled_up) in
        [("gzip", "x.gz", true), ("bzip2", "x.bz2", true), ("zstd", "x.zst", false)]
    {
        folder.output(&["-o", name], &text);
        let file = folder.read(name);
        folder.write("padded", [&file[..], &[0; 10_240]].concat());
        folder.write("more", [&file[..], b"and more"].concat());
        let complaint = folder.complaint(&["more"], b"");
        assert!(complaint.starts_with("bshuf: more: has trailing garbage: after its "));
        assert!(complaint.contains(&format!("`{codec} -dc FILE | bshuf`")), "{complaint}");
        let outcome = folder.run(&["padded"], b"");
        if is_filled_up {
            assert!(sorted_lines(&outcome.stdout) == sorted_lines(&text), "{codec}");
        } else {
            assert!(one_line(&outcome.stderr).contains("has trailing garbage"), "{codec}");
        }
    }
}

/// The next run would read it too, and have all records twice.
#[test]
fn outputs_are_no_files_of_folders_that_are_read() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("q/below")).unwrap();
    folder.write("q/a", numbered(5));
    folder.write("q/below/b", numbered(4));
    folder.write("outside", numbered(1));
    symlink("q", folder.path("link")).unwrap();
    symlink("q/new", folder.path("dangling")).unwrap();
    symlink("../../outside", folder.path("q/below/c")).unwrap();
    fs::hard_link(folder.path("q/a"), folder.path("hard")).unwrap();
    let within = "is in the folder q, which is read: name one outside of it";
    let is = |file: &str| format!("is the file {file} of a folder that is read: name another file");
    for (output, why) in [
        ("q/all", within.to_owned()),
        ("q/a", within.to_owned()),
        ("q/below/all", within.to_owned()),
        ("q/_left_out", within.to_owned()),
        ("q/all.gz", within.to_owned()),
        ("link/all", within.to_owned()),
        ("link/../q/all", within.to_owned()),
        ("dangling", within.to_owned()),
        ("outside", is("q/below/c")),
        ("hard", is("q/a")),
    ] {
        for options in [&["--recursive", "q"][..], &["--recursive", "outside", "q"]] {
            if output == "outside" && options.contains(&"outside") {
                continue;
            }
            let complaint = folder.complaint(&[&["-o", output], options].concat(), b"");
            assert_eq!(complaint, format!("bshuf: {output}: {why}"), "{options:?}");
        }
        let complaint = folder.run(&["--recursive", "-o", output, "--files0-from", "-"], b"q\0");
        assert_eq!(one_line(&complaint.stderr), format!("bshuf: {output}: {why}"));
    }
    // Standard output as well, which the shell has opened.
    let mut command = Command::new("sh");
    command.args(["-c", r#""$0" -q --recursive q >> q/below/b"#]).arg(program());
    let outcome = folder.finish(&mut command, b"");
    let expected = format!("bshuf: standard output: {}", is("q/below/b"));
    assert_eq!((outcome.code, one_line(&outcome.stderr)), (1, expected));
    assert_eq!((folder.read("q/a"), folder.read("q/below/b")), (numbered(5), numbered(4)));
    // What is named itself may be replaced, and so may all that there is.
    folder.output(&["--seed", "1", "-o", "q/a", "q/a"], b"");
    folder.output(&["--seed", "1", "-o", "q/below/new", "q/a"], b"");
    fs::remove_file(folder.path("q/below/new")).unwrap();
    fs::remove_file(folder.path("q/below/c")).unwrap();
    folder.output(&["--seed", "1", "-o", "q/below/b", "q/below"], b"");
    assert_eq!(sorted_lines(&folder.read("q/a")).concat(), numbered(5));
    assert_eq!(sorted_lines(&folder.read("q/below/b")).concat(), numbered(4));
    // Temporary files have no names, and a neighbour is none of the folder's files.
    folder.output(&["--recursive", "--memory", "1M", "--temp", "q", "-o", "qq", "q"], b"");
    assert_eq!(folder.read("qq").len(), folder.read("q/a").len() + folder.read("q/below/b").len());
}
