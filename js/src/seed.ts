// Seeds and numbers as they are passed in.

import { wideBuffer } from "./wasm.ts";

/** A number or a bigint from 0 to 2^64 - 1, or a key of 32 bytes. */
export type Seed = number | bigint | Uint8Array;

/** A second number, for one order after another: 0 unless it is given. */
export interface Options {
  readonly epoch?: number | bigint;
}

/** Checks an integer from 0 to `2^64 - 1`, or to 2^53 if it is a number. */
export function word(value: number | bigint, what: string): bigint {
  if (typeof value === "bigint") {
    if (value >= 0n && value < 1n << 64n) return value;
  } else if (Number.isInteger(value) && value >= 0 && value <= 2 ** 53) {
    return BigInt(value);
  }
  throw new RangeError(
    `${what} is ${value}: it has to be an integer from 0 to 2^53, or a BigInt below 2^64`,
  );
}

/** Writes a seed to the buffer, where the module reads it. Returns whether it is a key. */
export function writeSeed(seed: Seed, options: Options | undefined): number {
  const epoch = word(options?.epoch ?? 0, "the epoch");
  if (seed instanceof Uint8Array) {
    if (seed.length !== 32) {
      throw new RangeError(`a key of ${seed.length} bytes was given: it has to have 32`);
    }
    const buffer = wideBuffer();
    new Uint8Array(buffer.buffer, buffer.byteOffset, 32).set(seed);
    buffer[4] = epoch;
    return 1;
  }
  const number = word(seed, "the seed");
  const buffer = wideBuffer();
  buffer[0] = number;
  buffer[4] = epoch;
  return 0;
}
