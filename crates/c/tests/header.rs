//! The committed header is what cbindgen writes from the sources. `UPDATE_HEADER=1` writes it.

use std::path::Path;
use std::{env, fs};

#[test]
fn header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    // In the order in which a reader wants them.
    for source in ["status", "threads", "items", "permutation", "bijection", "sampler", "generator"]
    {
        builder = builder.with_src(folder.join(format!("src/{source}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = folder.join("include/bijective_shuffle.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap();
    assert!(
        committed == text,
        "the header is not that of the sources: run UPDATE_HEADER=1 cargo test -p \
         bijective-shuffle-c --test header"
    );
}
