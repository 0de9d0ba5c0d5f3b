/// <reference lib="esnext.disposable" preserve="true" />
// Ids that do not show their order.

import { named, said, string } from "./given.ts";
import { Permutation } from "./permutation.ts";
import { type Options, key as checkKey } from "./seed.ts";

/** Digits and letters, without those that are easily confused. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * The check digit of digits, by Damm's scheme over the field of 32 elements: they are the
 * coefficients of a polynomial modulo x^5 + x^2 + 1, and the sum is multiplied by x after each. That
 * of digits with their check digit behind them is 0.
 */
function checkDigit(digits: Iterable<number>): number {
  let sum = 0;
  for (const digit of digits) {
    sum = (sum ^ digit) << 1;
    if (sum >= 32) sum ^= 0b100101;
  }
  return sum;
}

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
  readonly #isChecked: boolean;

  /**
   * Take 32 random bytes as the key, `crypto.getRandomValues(new Uint8Array(32))`, and keep them.
   * A number is refused: an attacker who tries all numbers that people choose would find it.
   *
   * With `check`, texts have one letter more, the last. It finds every error of one letter, and every
   * two letters that are exchanged. Without it nearly every typing error is the text of another
   * number. Numbers have the same ids with and without it.
   */
  constructor(
    key: Uint8Array,
    options?: Options & { readonly bits?: 32 | 53; readonly check?: boolean },
  ) {
    const given = named(options, ["bits", "epoch", "check"], "a map of ids");
    const { bits = 53, epoch = 0, check = false } = given;
    if (bits !== 32 && bits !== 53) {
      throw new RangeError(`ids of ${said(bits)} bits were asked for: they have 32 or 53`);
    }
    if (typeof check !== "boolean") {
      throw new TypeError(`${said(check)} was given as check: it is true or false`);
    }
    this.#bits = bits;
    this.#isChecked = check;
    this.#map = Permutation.walk<number>(2 ** bits, checkKey(key, "the key of ids"), { epoch });
    this.#digits = Math.ceil(bits / 5);
  }

  /** The id of a number. */
  encode(number: number): number {
    return this.#map.at(this.#inside(number))!;
  }

  /** The number of an id. */
  decode(id: number): number {
    return this.#map.position(this.#inside(id))!;
  }

  /** The id of a number, as 7 or 11 digits and small letters, and perhaps the one that checks them. */
  toText(number: number): string {
    let rest = this.encode(number);
    const digits: number[] = [];
    for (let k = 0; k < this.#digits; k++) {
      digits.unshift(rest % 32);
      rest = Math.floor(rest / 32);
    }
    if (this.#isChecked) digits.push(checkDigit(digits));
    return digits.map((digit) => DIGITS[digit]).join("");
  }

  /** The number of an id's text. Every other text is a RangeError. */
  fromText(text: string): number {
    const digits = Array.from(string(text, "the text of an id"), (letter) => {
      const digit = DIGITS.indexOf(letter);
      if (digit < 0) throw new RangeError(`"${text}" is no id: it has the letter "${letter}"`);
      return digit;
    });
    const letters = this.#digits + (this.#isChecked ? 1 : 0);
    if (digits.length !== letters) {
      throw new RangeError(`"${text}" is no id: it has ${digits.length} letters, and not ${letters}`);
    }
    if (this.#isChecked && checkDigit(digits) !== 0) {
      throw new RangeError(`"${text}" is no id: its last letter does not fit those before it`);
    }
    const id = digits.slice(0, this.#digits).reduce((id, digit) => id * 32 + digit, 0);
    if (id >= 2 ** this.#bits) throw new RangeError(`"${text}" is no id of ${this.#bits} bits`);
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
