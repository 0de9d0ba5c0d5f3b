// Other packages of npm beside this one, as a table: node peers.mjs [ITEMS]
//
// First `npm ci && npm run build` in js, `npm ci` here, and in the repository `cargo build
// --release -p bijective-shuffle-studies`. Each package shuffles a plain array and, where it takes
// one, a Float64Array, of 10^6 items or the number that is given: the median of seven runs after
// two that are dropped, in nanoseconds an item. Then `quality judge` tests 10,000 orders of 100
// items, of seeds that follow each other, or calls where there are no seeds: a smallest corrected
// p-value below 0.001 is a finding. Last come two figures of this package alone: 10^7 items of a
// Float64Array beside the usual loop over `Math.random`, and single places.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { createShuffle, shuffle as fast } from "fast-shuffle";
import knuth from "knuth-shuffle-seeded";
import lodash from "lodash.shuffle";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { uniformInt } from "pure-rand/distribution/uniformInt";

import * as ours from "../dist/index.js";

/** The loop that pure-rand's pages show for a shuffle, which it has no function for. */
function pure(array, seed) {
  const random = xoroshiro128plus(seed);
  for (let k = array.length - 1; k > 0; k--) {
    const other = uniformInt(random, 0, k);
    [array[k], array[other]] = [array[other], array[k]];
  }
  return array;
}

const peers = {
  "bijective-shuffle": { call: ours.shuffle, typed: true, seeded: true, undo: "yes", places: "yes" },
  "fast-shuffle": { call: (a, seed) => createShuffle(seed)(a), seeded: true },
  "fast-shuffle, no seed": { call: (a) => fast(a) },
  "knuth-shuffle-seeded": { call: knuth, seeded: true },
  "lodash.shuffle, no seed": { call: (a) => lodash(a) },
  "pure-rand, by a loop": { call: pure, typed: true, seeded: true },
};

const count = Number(process.argv[2] ?? 1e6);

function nanoseconds(call, items, count = items.length) {
  const times = [];
  for (let run = 0; run < 9; run++) {
    const began = performance.now();
    call(items, run);
    times.push(performance.now() - began);
  }
  return ((times.slice(2).sort((a, b) => a - b)[3] * 1e6) / count).toFixed(1);
}

const QUALITY = fileURLToPath(new URL("../../target/release/quality", import.meta.url));

/** The verdict on the orders of a package, and the smallest p-value that it rests on. */
function judged(call) {
  const [draws, length] = [10_000, 100];
  const input = new Uint32Array(draws * length);
  for (let seed = 0; seed < draws; seed++) {
    input.set(call([...Array(length).keys()], seed), seed * length);
  }
  const options = ["judge", "-", "--length", `${length}`, "--binary", "32"];
  const { status, stdout, stderr, error } = spawnSync(QUALITY, options, { input, encoding: "utf8" });
  if (error || status > 1) throw error ?? new Error(stderr);
  const tests = stdout.split("\n").map((line) => line.split("|")).filter((row) => row.length === 5);
  const values = tests.map((row) => Number(row[3].replaceAll("*", ""))).filter((p) => !isNaN(p));
  return `${status === 0 ? "passed" : "failed"}, ${Math.min(...values)}`;
}

console.log(`| | array, ns | Float64Array, ns | seed | undo | any place | judged |`);
console.log("| --- | ---: | ---: | --- | --- | --- | --- |");
for (const [name, { call, typed, seeded, undo = "no", places = "no" }] of Object.entries(peers)) {
  const plain = nanoseconds(call, Array.from({ length: count }, (_, k) => k + 0.5));
  const floats = typed ? nanoseconds(call, Float64Array.from({ length: count }, (_, k) => k)) : "";
  const columns = [name, plain, floats, seeded ? "yes" : "no", undo, places, judged(call)];
  console.log(`| ${columns.join(" | ")} |`);
}

function fisherYates(array) {
  for (let k = array.length - 1; k > 0; k--) {
    const other = Math.floor(Math.random() * (k + 1));
    [array[k], array[other]] = [array[other], array[k]];
  }
}

const long = Float64Array.from({ length: 1e7 }, (_, k) => k);
const [module, loop] = [(array, seed) => ours.shuffle(array, seed), fisherYates].map((call) => Number(nanoseconds(call, long)));
console.log(`\n10^7 of a Float64Array: ${module} ns an item, by a Fisher-Yates loop ${loop} ns`);
const walk = ours.Permutation.walk(1e12, 42);
const look = (places) => {
  let sum = 0;
  for (let place = 0; place < places.length; place++) sum += walk.at(place * 7919);
  if (sum === 0) throw new Error("these are no items");
};
console.log(`Permutation.at of 10^12 items: ${nanoseconds(look, long.subarray(0, 1e6))} ns`);
