/// <reference lib="esnext.disposable" preserve="true" />
// Ids that do not show their order.

import { named, said, string } from "./given.ts";
import { Permutation } from "./permutation.ts";
import { type Options, key as checkKey } from "./seed.ts";

/** Digits without letters that are taken for others. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * A keyed map of all numbers of 32 or 53 bits to each other: it turns 0, 1, 2 .. into ids that do
 * not show their order, without a table and without collisions, and back.
 *
 * This hides numbers from a glance, not from an attacker, who may predict ids after seeing enough
 * of them. Where that matters, use a cipher for format-preserving encryption.
 */
export class Ids {
  readonly #map: Permutation;
  readonly #digits: number;
  readonly #bits: number;

  /**
   * Take 32 random bytes as the key, `crypto.getRandomValues(new Uint8Array(32))`, and keep them.
   * A number is refused: whoever tries all that people choose would find it.
   */
  constructor(key: Uint8Array, options?: Options & { readonly bits?: 32 | 53 }) {
    const { bits = 53, epoch = 0 } = named(options, ["bits", "epoch"], "a map of ids");
    if (bits !== 32 && bits !== 53) {
      throw new RangeError(`ids of ${said(bits)} bits were asked for: they have 32 or 53`);
    }
    this.#bits = bits;
    this.#map = Permutation.walk<number>(2 ** bits, checkKey(key, "the key of ids"), { epoch });
    this.#digits = Math.ceil(bits / 5);
  }

  /** The id of a number. */
  encode(number: number): number {
    return this.#map.at(this.#inside(number))!;
  }

  /** The number of an id. */
  decode(id: number): number {
    return this.#map.positionOf(this.#inside(id))!;
  }

  /** The id of a number, as 7 or 11 digits and small letters. */
  toText(number: number): string {
    let [rest, text] = [this.encode(number), ""];
    for (let k = 0; k < this.#digits; k++) {
      text = DIGITS[rest % 32]! + text;
      rest = Math.floor(rest / 32);
    }
    return text;
  }

  /** The number of an id's text. Every other text is a RangeError. */
  fromText(text: string): number {
    let id = 0;
    for (const letter of string(text, "the text of an id")) {
      const digit = DIGITS.indexOf(letter);
      if (digit < 0) throw new RangeError(`"${text}" is no id: it has the letter "${letter}"`);
      id = id * 32 + digit;
    }
    if (text.length !== this.#digits || id >= 2 ** this.#bits) {
      throw new RangeError(`"${text}" is no id of ${this.#bits} bits`);
    }
    return this.decode(id);
  }

  /**
   * Gives back the memory that the map takes in the module, which is otherwise given back some time
   * after the map has gone. It cannot be used afterwards.
   */
  free(): void {
    this.#map.free();
  }

  /** `using ids = ..` frees the map. */
  [Symbol.dispose](): void {
    this.free();
  }

  #inside(number: number): number {
    if (typeof number !== "number") {
      throw new TypeError(`${said(number)} was given: a number has to be`);
    }
    if (Number.isInteger(number) && number >= 0 && number < 2 ** this.#bits) return number;
    throw new RangeError(`${number} is not an integer from 0 to 2^${this.#bits} - 1`);
  }
}
