//! What a second implementation gives: `vectors/make_vectors.py` beside this folder.

use bijective_shuffle::Seed;
use bijective_shuffle_loaders::{
    BatchOptions, Batches, Lengths, Mixture, NodeBlocks, Packed, Source, Splits, StreamOrder,
    StreamShuffle, Weighted, integer_weights, weighted_sample,
};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/loaders.json")).unwrap()
}

fn number(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
        None => value.as_u64().unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn seed(value: &Value) -> Seed {
    value["seed"].as_str().unwrap().parse().unwrap()
}

fn entries<'a>(vectors: &'a Value, chapter: &str) -> &'a [Value] {
    let entries = vectors[chapter].as_array().unwrap();
    assert!(entries.len() > 2, "{chapter}");
    entries
}

/// The weights that an entry names.
fn weights(vectors: &Value, entry: &Value) -> Vec<u64> {
    let named = entries(vectors, "weights").iter().find(|named| named["name"] == entry["weights"]);
    numbers(&named.unwrap()["weights"])
}

fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[test]
fn whole_weights_are_the_golden_ones() {
    for entry in entries(&vectors(), "integers") {
        let weights: Vec<f64> =
            entry["weights"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert_eq!(integer_weights(&weights).unwrap(), numbers(&entry["integers"]), "{entry}");
    }
}

#[test]
fn tables_are_the_golden_ones() {
    let vectors = vectors();
    for entry in entries(&vectors, "tables") {
        let draws = Weighted::new(weights(&vectors, entry), 0).unwrap();
        let head: Vec<_> = entry["head"].as_array().unwrap().iter().map(numbers).collect();
        assert!(draws.table().chunks(2).zip(&head).all(|(entry, head)| entry == head));
        assert_eq!(
            digest(draws.table().iter().copied()),
            number(&entry["digest"]),
            "{}",
            entry["weights"]
        );
    }
}

#[test]
fn draws_are_the_golden_ones() {
    let vectors = vectors();
    for entry in entries(&vectors, "draws") {
        let draws = Weighted::new(weights(&vectors, entry), seed(entry)).unwrap();
        let (places, items) = (numbers(&entry["places"]), numbers(&entry["items"]));
        assert!(places.iter().zip(&items).all(|(&p, &item)| draws.get(p) == item));
        let mut found = vec![0; places.len()];
        draws.get_many(&places, &mut found).unwrap();
        assert_eq!(found, items);
        let mut first = vec![0; 300];
        draws.fill(0, &mut first).unwrap();
        assert_eq!(digest(first.iter().copied()), number(&entry["digest"]));
        assert_eq!(draws.fingerprint(), number(&entry["fingerprint"]));

        // A batch of that epoch is the same draws.
        let epoch = draws.seed().epoch();
        let mut batches = Batches::new(draws, Some(300), BatchOptions::new(300)).unwrap();
        batches.set_epoch(epoch).unwrap();
        let mut batch = Vec::new();
        batches.next_batch(&mut batch).unwrap();
        assert_eq!(batch, first);
    }
}

#[test]
fn samples_are_the_golden_ones() {
    let vectors = vectors();
    for entry in entries(&vectors, "samples") {
        let (weights, items) = (weights(&vectors, entry), numbers(&entry["items"]));
        assert_eq!(weighted_sample(&weights, items.len(), seed(entry)).unwrap(), items);
    }
}

#[test]
fn mixtures_are_the_golden_ones() {
    for entry in entries(&vectors(), "mixtures") {
        let lengths = numbers(&entry["lengths"]);
        let (mut mixture, mut sets) = (None, 0);
        for change in entry["changes"].as_array().unwrap() {
            let weights = numbers(&change["weights"]);
            let added = &lengths[sets..weights.len()];
            sets = weights.len();
            match &mut mixture {
                None => mixture = Some(Mixture::new(added, &weights, seed(entry)).unwrap()),
                Some(mixture) => mixture.change(number(&change["from"]), &weights, added).unwrap(),
            }
        }
        let mixture = mixture.unwrap();
        let words = |items: &[(usize, u64)]| -> Vec<u64> {
            items.iter().flat_map(|&(set, item)| [set as u64, item]).collect()
        };
        let mut items = [(0, 0); 1000];
        mixture.get_many(&Vec::from_iter(0..1000), &mut items).unwrap();
        let head: Vec<_> = entry["head"].as_array().unwrap().iter().flat_map(numbers).collect();
        assert_eq!(words(&items[..12]), head, "{entry}");
        assert_eq!(digest(words(&items)), number(&entry["digest"]));
        assert!((0..).zip(&items).all(|(place, &item)| mixture.get(place) == item));
        assert_eq!(mixture.fingerprint(), number(&entry["fingerprint"]));
        assert_eq!(mixture.to_string(), entry["text"]);
    }
}

fn lengths(entry: &Value) -> Vec<u32> {
    numbers(&entry["lengths"]).into_iter().map(|length| length as u32).collect()
}

/// Lists of lists of numbers.
fn nested(value: &Value) -> Vec<Vec<u64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

#[test]
fn packed_documents_are_the_golden_ones() {
    for entry in entries(&vectors(), "packed") {
        let [length, overlap] = ["length", "overlap"].map(|name| number(&entry[name]));
        let packed = Packed::new(lengths(entry), length, overlap, seed(entry)).unwrap();
        let sequence = |place| -> Vec<Vec<u64>> {
            let pieces = packed.get(place).unwrap();
            pieces.iter().map(|piece| vec![piece.document, piece.from, piece.to]).collect()
        };
        let sequences: Vec<_> = (0..packed.len()).map(sequence).collect();
        let head: Vec<_> = entry["head"].as_array().unwrap().iter().map(nested).collect();
        assert_eq!(sequences[..head.len()], head);
        let words = sequences.into_iter().flatten().flatten();
        assert_eq!(digest(words), number(&entry["digest"]), "{entry}");
        assert_eq!(packed.fingerprint(), number(&entry["fingerprint"]));
    }
}

#[test]
fn batches_by_length_are_the_golden_ones() {
    for entry in entries(&vectors(), "lengths") {
        let [most, window] = ["max_tokens", "window"].map(|name| number(&entry[name]));
        let own = Lengths::new(lengths(entry), most, window as usize, seed(entry)).unwrap();
        let batches: Vec<_> =
            (0..own.batch_count().unwrap()).map(|place| own.get(place).unwrap()).collect();
        let head = nested(&entry["head"]);
        assert_eq!(batches[..head.len()], head);
        let words =
            batches.into_iter().flat_map(|batch| [vec![batch.len() as u64], batch].concat());
        assert_eq!(digest(words), number(&entry["digest"]), "{entry}");
        assert_eq!(own.fingerprint(), number(&entry["fingerprint"]));
    }
}

#[test]
fn streams_are_the_golden_ones() {
    for entry in entries(&vectors(), "streams") {
        let [items, size, step] = ["items", "size", "step"].map(|name| number(&entry[name]));
        let order = StreamOrder::new(size, seed(entry)).unwrap();
        let all: Vec<u64> = StreamShuffle::new(0..items, order).collect();
        assert_eq!(all[..10], numbers(&entry["head"]));
        assert_eq!(digest(all), number(&entry["digest"]), "{entry}");
        let mut stream = StreamShuffle::new(0..items, order);
        stream.nth(step as usize - 1).unwrap();
        assert_eq!(stream.buffer(), numbers(&entry["buffer"]));
        assert_eq!(order.buffered(&stream.state()).unwrap(), stream.buffer());
    }
}

#[test]
fn splits_are_the_golden_ones() {
    for entry in entries(&vectors(), "splits") {
        let splits = Splits::new(&numbers(&entry["shares"]), seed(entry)).unwrap();
        let mut parts = vec![0; 1000];
        splits.fill(number(&entry["stratum"]), 0, &mut parts).unwrap();
        let parts: Vec<u64> = parts.into_iter().map(u64::from).collect();
        assert_eq!(parts[..20], numbers(&entry["head"]));
        assert_eq!(digest(parts), number(&entry["digest"]), "{entry}");
        for (id, part) in entry["ids"].as_object().unwrap() {
            assert_eq!(u64::from(splits.part_of_id(id.as_bytes())), number(part));
        }
    }
}

#[test]
fn dealt_parts_are_the_golden_ones() {
    for entry in entries(&vectors(), "dealt") {
        let splits = Splits::new(&numbers(&entry["shares"]), seed(entry)).unwrap();
        let parts = splits.deal(&numbers(&entry["counts"])).unwrap();
        let parts: Vec<u64> = parts.into_iter().map(u64::from).collect();
        assert_eq!(parts, numbers(&entry["parts"]), "{entry}");
    }
}

#[test]
fn blocks_of_nodes() {
    for entry in entries(&vectors(), "nodes") {
        let [blocks, nodes] = ["blocks", "nodes"].map(|name| number(&entry[name]));
        let kept = entry["kept"].as_f64().unwrap();
        let seed = seed(entry);
        let own = NodeBlocks::new(blocks, kept, seed).unwrap();
        let of_node = |node| own.of_node(seed.epoch(), node, nodes).unwrap();
        assert_eq!((0..nodes).map(of_node).collect::<Vec<_>>(), nested(&entry["of_node"]));
    }
}
