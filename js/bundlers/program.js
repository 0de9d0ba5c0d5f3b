// A user's program, which every bundler and engine gets as it is: it compares all entries of the
// package with the short ones of the specification's vectors, which are in `vectors.js`.

import { Ids, Permutation, Sampler, sample, shuffle, unshuffle } from "bijective-shuffle";
import { WebGpuError, WebGpuShuffler } from "bijective-shuffle/webgpu";

import { compaction, samples, walks } from "./vectors.js";

/** A device that does nothing, by which it is found whether the second module is there. */
const device = { lost: new Promise(() => {}), features: new Set() };

/** Checks all, and says how many values there were, and what gave them. */
export function results() {
  let checks = 0;
  const equal = (ours, theirs) => {
    if (String(ours) !== String(theirs)) throw new Error(`${ours} should be ${theirs}`);
    checks += 1;
  };
  // The import has started nothing, so this sees whether the first call starts a module.
  let modules = 0;
  const { WebAssembly } = globalThis;
  const Instance = WebAssembly?.Instance;
  if (Instance !== undefined) {
    WebAssembly.Instance = function (...given) {
      modules += 1;
      return new Instance(...given);
    };
  }
  for (const { length, seed, head } of compaction) {
    const p = new Permutation(Number(length), BigInt(seed));
    equal(p.slice(0, head.length), head);
    const list = Array.from(p, (_, k) => k);
    equal(shuffle(list, BigInt(seed)).slice(0, head.length), head);
    equal(unshuffle(list, BigInt(seed)).every((item, k) => item === k), true);
  }
  for (const { length, seed, places, items } of walks) {
    const p = Permutation.walk(BigInt(length), BigInt(seed));
    equal(places.map((place) => p.at(BigInt(place))), items.map(BigInt));
    equal(items.map((item) => p.position(BigInt(item))), places.map(BigInt));
  }
  for (const { length, seed, count, items } of samples) {
    equal(sample(BigInt(length), count, BigInt(seed)), items.map(BigInt));
  }
  const batches = [...new Sampler({ length: 10, seed: 42, ranks: 3, batch: 2 })];
  equal(batches, [[4, 9], [5, 2]]);
  const ids = new Ids(new Uint8Array(32));
  equal(ids.fromText(ids.toText(1001)), 1001);
  if (Instance !== undefined) WebAssembly.Instance = Instance;
  let reason = "none";
  try {
    new WebGpuShuffler(device);
  } catch (error) {
    reason = error instanceof WebGpuError ? error.reason : error;
  }
  equal(reason, modules > 0 ? "none" : "no-webassembly");
  return `passed ${checks} checks by ${modules > 0 ? "WebAssembly" : "plain JavaScript"}`;
}
