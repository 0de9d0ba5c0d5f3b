//! The vectors of the specification of `bijective-shuffle`, as JSON, for implementations in other
//! languages.
//!
//! Each constant is the text of a file, which has the cases of a chapter of the specification,
//! `docs/specification.md`. The README says what form they have, and [`SCHEMA`] describes it.
//!
//! # Examples
//!
//! ```
//! for (name, json) in bijective_shuffle_vectors::CHAPTERS {
//!     assert!(json.contains(&format!("\"chapter\": \"{name}\"")));
//! }
//! ```

#![no_std]

/// The version of the specification to which the vectors belong, as in each file.
pub const SPECIFICATION: &str = "1";

/// The JSON Schema of the chapters.
pub const SCHEMA: &str = include_str!("../data/schema.json");

macro_rules! chapters {
    ($($constant:ident $name:literal: $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $constant: &str = include_str!(concat!("../data/", $name, ".json"));
        )*

        /// All chapters in order: the name of each, and its text.
        pub const CHAPTERS: &[(&str, &str)] = &[$(($name, $constant)),*];
    };
}

chapters! {
    WORDS "01-words": "Numbers, seeds as text, digests and checksums.";
    PHILOX "02-philox": "The block function Philox4x32-10.";
    KEYS "03-keys": "Key streams: domains, epochs, children.";
    DRAWS "04-draws": "Exact draws, which up to 256 items take.";
    FAMILIES "05-families": "Families of bijections, at single points.";
    COMPACTION "06-compaction": "Compaction, and the order of a plain seed.";
    WALK "07-walk": "Cycle walking, and the order with random access.";
    PERMUTATIONS "08-permutations": "Rows, inverses, shards, cursors.";
    BLOCKS "09-blocks": "Shuffles of blocks.";
    SAMPLER "10-sampler": "Batches of ranks, and states.";
    GENERATORS "11-generators": "Streams of random numbers.";
}
