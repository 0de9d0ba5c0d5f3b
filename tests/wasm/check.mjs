// Compares what the crate gives in WebAssembly with the golden values: node check.mjs MODULE VECTORS

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [module, vectors] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const wasm = instance.exports;

let compared = 0;
for (const entry of JSON.parse(readFileSync(vectors))) {
    // Seeds of 32 bytes are left out.
    if (entry.seed === undefined) continue;
    const given = [entry.len, BigInt(entry.seed), BigInt(entry.epoch)];
    const expected = BigInt("0x" + entry.fnv1a64_le);
    for (const hash of [wasm.hash_of_shuffled, wasm.hash_of_permutation]) {
        assert.equal(BigInt.asUintN(64, hash(...given)), expected, JSON.stringify(entry));
    }
    compared += 1;
}
assert(compared >= 200, `only ${compared} golden values`);

for (const len of [1, 1000, 65_537, (1 << 20) + 1, 3 << 20]) {
    assert(wasm.engines_agree(len), `${len} items`);
}
assert(wasm.gpu_is_refused(), "the GPU should be refused");
console.log(`${compared} golden values, and the engines agree.`);
