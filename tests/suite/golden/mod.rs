//! Stable values: the library gives every value of the vectors, which a second implementation wrote
//! (`crates/vectors/make`). They are a promise: a change is a major version.
//!
//! A group of cases that is known only here or only there fails, and so does a field that a test
//! does not ask for.

mod case;
mod generators;
mod orders;
mod samplers;
mod words;

use bijective_shuffle_vectors as vectors;

use case::{Case, Group, chapter};

const OTHERS: &str = include_str!("../../../crates/vectors/others.json");

/// What a test does with a case.
type Check = fn(&Case);

/// Runs the checks of some groups of a chapter, by their names, for each case.
fn check(json: &str, name: &str, checks: &[(&str, Check)]) {
    for &(group, check) in checks {
        let Group { cases, .. } =
            chapter(json, name).into_iter().find(|g| g.name == group).unwrap();
        for case in cases {
            let case = Case::new(&format!("{name}: {group}"), case);
            check(&case);
            case.assert_all_read();
        }
    }
}

#[test]
fn every_file_is_a_chapter() {
    let mut files: Vec<String> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/vectors/data"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
    files.sort();
    let mut chapters: Vec<String> =
        vectors::CHAPTERS.iter().map(|(name, _)| format!("{name}.json")).collect();
    chapters.push("schema.json".into());
    assert_eq!(files, chapters);
}

#[test]
fn families_without_a_chapter_are_stable() {
    check(OTHERS, "others", &[("families", orders::families)]);
}

#[test]
fn every_family_has_vectors() {
    let texts = [vectors::COMPACTION, OTHERS];
    for (name, _) in orders::all_families() {
        let field = format!("\"family\": \"{name}\"");
        // Chapter 7 has whole walks, each of this family.
        let has_vectors = name.starts_with("CycleWalk") || texts.iter().any(|t| t.contains(&field));
        assert!(has_vectors, "{name} has no vectors");
    }
}

macro_rules! chapters {
    ($($test:ident: $constant:ident $name:literal { $($group:literal => $check:path),* $(,)? })*) => {
        $(
            #[test]
            fn $test() {
                check(vectors::$constant, $name, &[$(($group, $check)),*]);
            }
        )*

        /// Each chapter and group that a test checks.
        const CHECKED: &[(&str, &str)] = &[$($(($name, $group)),*),*];
    };
}

#[test]
fn every_group_is_checked_and_every_checked_group_is_there() {
    let groups = |(name, json): &(&'static str, &str)| {
        chapter(json, name).into_iter().map(|group| (*name, group.name)).collect::<Vec<_>>()
    };
    let others = [("others", OTHERS)];
    let mut there: Vec<(&str, String)> =
        vectors::CHAPTERS.iter().chain(&others).flat_map(groups).collect();
    let mut checked: Vec<_> = CHECKED
        .iter()
        .chain(&[("others", "families")])
        .map(|&(name, group)| (name, group.to_owned()))
        .collect();
    there.sort();
    checked.sort();
    assert_eq!(there, checked);
}

chapters! {
    words_are_those_of_the_library: WORDS "01-words" {
        "bits" => words::bits,
        "products" => words::products,
        "odd_inverses" => words::odd_inverses,
        "seeds" => words::seeds,
        "refused_seeds" => words::refused_seeds,
        "digests" => words::digests,
        "checks" => words::checks,
    }
    blocks_of_philox_are_those_of_the_library: PHILOX "02-philox" {
        "blocks" => words::philox,
    }
    keys_are_those_of_the_library: KEYS "03-keys" {
        "domains" => words::domains,
        "streams" => words::streams,
        "children" => words::children,
    }
    draws_are_those_of_the_library: DRAWS "04-draws" {
        "batches" => words::batches,
        "permutations" => orders::draws,
    }
    families_are_those_of_the_library: FAMILIES "05-families" {
        "chains" => orders::chains,
        "points" => orders::points,
    }
    compactions_are_those_of_the_library: COMPACTION "06-compaction" {
        "lists" => orders::lists,
        "families" => orders::families,
        "keyed" => orders::keyed,
        "standard" => orders::standard,
    }
    walks_are_those_of_the_library: WALK "07-walk" {
        "walked_chains" => orders::walked_chains,
        "permutations" => orders::walks,
        "places" => orders::places,
    }
    views_are_those_of_the_library: PERMUTATIONS "08-permutations" {
        "rows" => orders::rows,
        "inverses" => orders::inverses,
        "shards" => orders::shards,
        "samples" => orders::samples,
        "ends" => orders::ends,
        "cursors" => orders::cursors,
        "refused_cursors" => orders::refused_cursors,
    }
    shuffles_of_blocks_are_those_of_the_library: BLOCKS "09-blocks" {
        "reading" => orders::reading,
        "permutations" => orders::blocks,
        "points" => orders::points_of_blocks,
    }
    samplers_are_those_of_the_library: SAMPLER "10-sampler" {
        "epochs" => samplers::epochs,
        "resumes" => samplers::resumes,
        "refused_states" => samplers::refused_states,
    }
    generators_are_those_of_the_library: GENERATORS "11-generators" {
        "starts" => generators::starts,
        "numbers" => generators::numbers,
        "bytes" => generators::bytes,
        "scaled" => generators::scaled,
        "different" => generators::different,
        "leapfrog" => generators::leapfrog,
    }
}
