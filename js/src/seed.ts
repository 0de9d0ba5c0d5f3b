// Seeds and numbers as they are passed in.

import { isBytes, named, said, word } from "./given.ts";
import { wideBuffer } from "./wasm.ts";

/** A number or a bigint from 0 to 2^64 - 1, or a key of 32 bytes. */
export type Seed = number | bigint | Uint8Array;

/** A second number, which gives one order after another. The default is 0. */
export interface Options {
  readonly epoch?: number | bigint;
}

/** Checks a key of 32 bytes. */
export function key(value: unknown, what: string): Uint8Array {
  if (!isBytes(value)) {
    throw new TypeError(`${what} is ${said(value)}: it has to be a Uint8Array of 32 bytes`);
  }
  if (value.length !== 32) {
    throw new RangeError(`a key of ${value.length} bytes was given: it has to have 32`);
  }
  return value;
}

/** Writes a seed to the buffer, where the module reads it. Returns whether it is a key. */
export function writeSeed(seed: Seed, options: Options | undefined): number {
  const epoch = word(named(options, ["epoch"], "an order").epoch ?? 0, "the epoch");
  if (ArrayBuffer.isView(seed)) {
    const bytes = key(seed, "the seed");
    const buffer = wideBuffer();
    new Uint8Array(buffer.buffer, buffer.byteOffset, 32).set(bytes);
    buffer[4] = epoch;
    return 1;
  }
  const number = word(seed, "the seed");
  const buffer = wideBuffer();
  buffer[0] = number;
  buffer[4] = epoch;
  return 0;
}
