//! The device text of every bijection, compiled as plain C++, answers as the Rust methods do.

use std::fmt::Write as _;

use crate::cplusplus::run;
use bijective_shuffle::DeviceSource;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws::every_family;

/// A bijection and the points at which it is compared.
struct Case {
    name: String,
    bijection: Box<dyn Bijection>,
    source: DeviceSource,
    points: Vec<u64>,
}

fn cases(bits: impl IntoIterator<Item = u32>) -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in bits {
        for (name, bijection) in every_family(bits, u64::from(bits)) {
            // A shuffle of blocks, a permutation with an index, a table of more than 256 points,
            // and swap-or-not on more than 2^32 are for the CPU only.
            let Some(source) = bijection.device_source() else {
                let of_cpu = ["BlockShuffle", "Permutation"].iter().any(|kind| name.contains(kind));
                let wide = name.starts_with("SwapOrNot") && bits > 32;
                assert!(of_cpu || wide || (name == "Table" && bits > 8), "{name}, {bits} bits");
                continue;
            };
            let last = bijection.last();
            let mut points = vec![0, last, last / 2, last / 3];
            points.extend((1..12_u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            for point in &mut points {
                *point = if last == u64::MAX { *point } else { *point % (last + 1) };
            }
            cases.push(Case { name: format!("{name}, {bits} bits"), bijection, source, points });
        }
    }
    cases
}

/// A C++ program that prints, for every case in turn, the values at its points, forward and
/// inverse.
fn program(cases: &[Case]) -> String {
    let mut text = String::from("#include \"prelude.cuh\"\n");
    text += "#include <cstddef>\n#include <cstdio>\n#include <cstring>\n#include <type_traits>\n";
    for case in cases {
        // Texts are guarded, so each may stand here as often as it is used.
        text += &case.source.form().text();
        text += "\n";
    }
    text += "
        template <class B, unsigned long SIZE, int COUNT>
        static void print(const unsigned char (&params)[SIZE], const unsigned long long (&points)[COUNT]) {
            static_assert(std::is_trivially_copyable<B>::value, \"copied to the device as bytes\");
            static_assert(sizeof(B) == SIZE && SIZE % 8 == 0 && alignof(B) <= 8, \"the layout that the host assumes\");
            B bijection;
            std::memcpy(&bijection, params, SIZE);
            for (unsigned long long point : points) {
                std::printf(\"%llu %llu\\n\", (unsigned long long)bijection.forward(point),
                            (unsigned long long)bijection.inverse(point));
            }
        }
        int main() {
    ";
    for Case { name, source, points, .. } in cases {
        let (form, params) = (source.form(), source.params());
        // The names that the host gives to parameters are those of the struct's members.
        let fields = form.fields().map(|(name, offset, bytes)| {
            format!(
                "static_assert(offsetof(B, {name}) == {offset} && \
                 sizeof(static_cast<B*>(nullptr)->{name}) == {bytes}, \"{name}\");\n"
            )
        });
        let points: String = points.iter().fold(String::new(), |all, x| all + &format!("{x}ull,"));
        let params: String = params.iter().fold(String::new(), |all, x| all + &format!("{x},"));
        writeln!(
            text,
            "{{ // {name}\n using B = {type_name};\n{fields}\
             const unsigned char params[] = {{{params}}};\n\
             const unsigned long long points[] = {{{points}}};\n\
             print<B>(params, points); }}",
            type_name = form.type_name(),
            fields = fields.collect::<String>(),
        )
        .unwrap();
    }
    text + "}\n"
}

fn check(bits: impl IntoIterator<Item = u32>) {
    let cases = cases(bits);
    let Some(output) = run(&program(&cases)) else {
        println!("skipped: no C++ compiler");
        return;
    };
    let mut lines = output.lines();
    for Case { name, bijection, points, .. } in &cases {
        for &point in points {
            let expected = format!("{} {}", bijection.forward(point), bijection.inverse(point));
            assert_eq!(lines.next(), Some(&*expected), "{name}, at {point}");
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn narrow_domains_agree() {
    check(1..=21);
}

#[test]
fn middling_domains_agree() {
    check(22..=43);
}

#[test]
fn wide_domains_agree() {
    check(44..=64);
}

#[test]
fn the_default_agrees_at_every_kind_of_length() {
    // `every_family` has `Standard` at powers of two; these are its exact lengths.
    for len in [1, 2, 7, 8, 9, 100, 255, 256] {
        let f = Standard::from_seed(len, 1);
        let source = f.device_source().unwrap();
        assert_eq!(source.view().family(), Some("Table"));
        let points: Vec<u64> = (0..=f.last()).collect();
        let case = Case { name: format!("{len} items"), bijection: Box::new(f), source, points };
        let expected: String = (0..=case.bijection.last())
            .map(|x| format!("{} {}\n", case.bijection.forward(x), case.bijection.inverse(x)))
            .collect();
        if let Some(output) = run(&program(&[case])) {
            assert_eq!(output, expected);
        }
    }
}
