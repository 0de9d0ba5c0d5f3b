//! Reading chapters and cases.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bijective_shuffle::Seed;
use serde_json::Value;

/// The cases of one kind.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) cases: Vec<Value>,
}

/// The groups of a chapter, whose name and version must be right.
pub(super) fn chapter(json: &str, name: &str) -> Vec<Group> {
    let file: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(file["chapter"], name);
    assert_eq!(file["specification"], bijective_shuffle_vectors::SPECIFICATION);
    let groups = file["cases"].as_object().expect("groups").iter();
    groups
        .map(|(name, cases)| {
            let cases = cases.as_array().expect("a list").clone();
            assert!(!cases.is_empty(), "{name} is empty");
            Group { name: name.clone(), cases }
        })
        .collect()
}

/// A case, which remembers what was read of it.
pub(super) struct Case {
    pub(super) what: String,
    value: Value,
    read: RefCell<BTreeSet<String>>,
}

impl Case {
    pub(super) fn new(group: &str, value: Value) -> Self {
        let what = format!("{group}: {value:.300}");
        Self { what, value, read: RefCell::default() }
    }

    pub(super) fn assert_all_read(&self) {
        let read = self.read.borrow();
        for name in self.value.as_object().expect("fields").keys() {
            assert!(read.contains(name), "{name} was not compared in {}", self.what);
        }
    }

    fn field(&self, name: &str) -> &Value {
        self.read.borrow_mut().insert(name.to_owned());
        self.value.get(name).unwrap_or_else(|| panic!("no {name} in {}", self.what))
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.field(name).as_str().unwrap_or_else(|| panic!("{name} is no text: {}", self.what))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.field(name).as_bool().unwrap_or_else(|| panic!("{name} is no flag: {}", self.what))
    }

    pub(super) fn seed(&self) -> Seed {
        self.text("seed").parse().expect("a seed")
    }

    pub(super) fn word(&self, name: &str) -> u64 {
        word(self.field(name))
    }

    pub(super) fn length(&self) -> u64 {
        self.word("length")
    }

    pub(super) fn words(&self, name: &str) -> Vec<u64> {
        self.field(name).as_array().expect("a list").iter().map(word).collect()
    }

    pub(super) fn words_u32<const N: usize>(&self, name: &str) -> [u32; N] {
        let words = self.words(name).into_iter().map(|word| u32::try_from(word).unwrap());
        words.collect::<Vec<u32>>().try_into().expect("as many words")
    }

    pub(super) fn count(&self, name: &str) -> u64 {
        self.field(name).as_u64().expect("a count")
    }

    pub(super) fn counts(&self, name: &str) -> Vec<u64> {
        counts(self.field(name))
    }

    pub(super) fn lists(&self, name: &str) -> Vec<Vec<u64>> {
        self.field(name).as_array().expect("a list").iter().map(counts).collect()
    }

    /// Compares a permutation with the head and the digest.
    pub(super) fn assert_listed(&self, values: &[u64]) {
        let head = self.counts("head");
        assert!(head.len() >= values.len().min(12), "{}", self.what);
        assert_eq!(values[..head.len()], head, "{}", self.what);
        assert_eq!(digest(values), self.word("digest"), "{}", self.what);
    }
}

fn word(value: &Value) -> u64 {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).expect("a word");
    u64::from_str_radix(digits, 16).expect("hexadecimal digits")
}

fn counts(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().map(|x| x.as_u64().expect("a count")).collect()
}

/// FNV-1a with 64 bits over the words' bytes, low byte first.
pub(super) fn digest(values: &[u64]) -> u64 {
    values.iter().flat_map(|value| value.to_le_bytes()).fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
