// A user's program: compiled by `tsc --strict` against the packed package, and run with WebAssembly
// and without.

import { Ids, type Index, Permutation, Sampler, sample, shuffle, unshuffle } from "bijective-shuffle";
import { WebGpuError, WebGpuShuffler } from "bijective-shuffle/webgpu";
import vectors from "bijective-shuffle/vectors/07-walk.json" with { type: "json" };

const words: string[] = shuffle(["zero", "one", "two", "three"], 42);
const floats: Float64Array = unshuffle(shuffle(new Float64Array(9), 1), 1);

const narrow = Permutation.walk(10, 42);
const number: number | undefined = narrow.at(0);
const wide = Permutation.walk(10n ** 15n, 42n, { epoch: 3 });
const big: bigint | undefined = wide.at(-1);
const items: number[] = [...new Permutation(10, 42)];
const places: Index<number>[] = [...narrow.shard(0, 2)];
const back: bigint | undefined = wide.inverted().at(big ?? 0n);

const sampler = new Sampler({ length: 10, seed: 42, ranks: 3, batch: 2, tail: "pad" });
const batches: number[][] = [...sampler];
sampler.free();
const drawn: string[] = sample(words, 2, 7);
const id: string = new Ids(new Uint8Array(32), { bits: 32 }).toText(1001);

// @ts-expect-error A seed is no text.
const refused = () => shuffle([1, 2], "42");
// @ts-expect-error A map of ids takes a key, and no seed.
const guessed = () => new Ids(42);
const list: readonly number[] = [1, 2];
// @ts-expect-error What is readonly cannot be shuffled in place.
const frozen = () => shuffle(list, 42);

const texts = [items, number, batches, places.length, drawn.length, id.length, floats.length];
const said = JSON.stringify(texts);
const expected = "[[4,0,6,9,1,7,5,3,8,2],4,[[4,9],[5,2]],5,2,7,9]";
if (said !== expected || back !== 10n ** 15n - 1n || [refused, guessed, frozen].length !== 3) {
  throw new Error(`${said} should be ${expected}`);
}

// The vectors are in the package.
let passed = 0;
for (const { length, seed, places, items: expected } of vectors.cases.places) {
  if (!/^[0-9]{1,19}$/.test(seed)) continue;
  const p = Permutation.walk(BigInt(length), BigInt(seed));
  const found = places.map((place) => p.at(BigInt(place)));
  if (found.join() !== expected.map(BigInt).join()) throw new Error(`${found} are not ${expected}`);
  passed++;
}
if (passed === 0) throw new Error("there are no vectors");

// Node has no GPU, and says so; a program with one compiles.
const onGpu = (device: GPUDevice, buffer: GPUBuffer, encoder: GPUCommandEncoder): void => {
  const gpu = new WebGpuShuffler(device);
  gpu.shuffle(buffer, 1000, 16, 42n, { epoch: 3, encoder });
  gpu.unshuffle(buffer, 1000, 16, 42);
};
const none = await WebGpuShuffler.open().catch((error: unknown) => error);
if (!(none instanceof WebGpuError && none.reason === "no-gpu") || typeof onGpu !== "function") {
  throw new Error(`${none} should say that there is no GPU`);
}
const engine = "WebAssembly" in globalThis ? "WebAssembly" : "plain JavaScript";
console.log(`a user's program has the right values by ${engine}`);
