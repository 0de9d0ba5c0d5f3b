//! What a second implementation gives: `vectors/make_designs.py` beside this folder.

use bijective_shuffle::Seed;
use bijective_shuffle_resample::{Design, Error};
use serde_json::Value;

fn number(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
        None => value.as_u64().unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// The design of a tree in the vectors.
fn design(tree: &Value) -> Result<Design, Error> {
    let flag = |at: usize| tree[at].as_bool().unwrap();
    let all = |trees: &Value| -> Result<Vec<_>, _> {
        trees.as_array().unwrap().iter().map(design).collect()
    };
    match tree[0].as_str().unwrap() {
        "fixed" => Design::fixed(number(&tree[1])),
        "free" => Design::free(number(&tree[1])),
        "derangements" => Design::derangements(number(&tree[1])),
        "groups" => Design::groups(&numbers(&tree[1])),
        "series" => Design::series(number(&tree[1]), flag(2)),
        "grid" => Design::grid(number(&tree[1]), number(&tree[2]), flag(3)),
        "pairs" => Design::pairs(number(&tree[1])),
        "with_signs" => design(&tree[1])?.with_signs(),
        "with_one_sign" => design(&tree[1])?.with_one_sign(),
        "blocks" => Design::blocks(all(&tree[1])?),
        "exchange" => Design::exchange(all(&tree[1])?),
        "plots" => Design::plots(design(&tree[1])?, design(&tree[2])?),
        "plots_alike" => Design::plots_alike(design(&tree[1])?, design(&tree[2])?),
        "on_rows" => design(&tree[2])?.on_rows(&numbers(&tree[1])),
        other => panic!("{other} is no design"),
    }
}

/// FNV-1a of 64-bit words.
fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[test]
fn arrangements_are_the_golden_ones() {
    let entries: Vec<Value> =
        serde_json::from_str(include_str!("../vectors/designs.json")).unwrap();
    assert!(entries.len() > 60);
    for entry in entries {
        let design = design(&entry["design"]).unwrap();
        let seed: Seed = entry["seed"].as_str().unwrap().parse().unwrap();
        let arrangement = design.get(number(&entry["k"]), seed).unwrap();
        let order = arrangement.order().to_vec();
        let signs = arrangement.signs().map_or(vec![1; order.len()], <[i8]>::to_vec);
        if entry["order"].is_array() {
            assert_eq!(order, numbers(&entry["order"]), "{entry}");
            let expected: Vec<_> =
                entry["signs"].as_array().unwrap().iter().map(Value::as_i64).collect();
            assert!(signs.iter().map(|&sign| Some(i64::from(sign))).eq(expected), "{entry}");
        } else {
            assert_eq!(digest(order), number(&entry["order_digest"]), "{entry}");
            let signs = signs.into_iter().map(|sign| i64::from(sign) as u64);
            assert_eq!(digest(signs), number(&entry["signs_digest"]), "{entry}");
        }
    }
}
