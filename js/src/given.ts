// What is passed in, checked: a wrong type is a TypeError, a wrong value a RangeError. Nothing is
// converted, so a text is no number, and no option is passed over.

/** A value as an error's text has it. */
export function said(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}..` : value);
    case "bigint":
      return `${value}n`;
    case "object":
      return value === null ? "null" : Object.prototype.toString.call(value);
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    default:
      return String(value);
  }
}

/** Checks that a value is a number or a BigInt, of any value. */
export function numeric(value: unknown, what: string): number | bigint {
  if (typeof value === "number" || typeof value === "bigint") return value;
  throw new TypeError(`${what} is ${said(value)}: it has to be a number or a BigInt`);
}

/** Checks an integer from 0 to `2^64 - 1`, or to 2^53 if it is a number. */
export function word(value: unknown, what: string): bigint {
  const number = numeric(value, what);
  if (typeof number === "bigint") {
    if (number >= 0n && number < 1n << 64n) return number;
  } else if (Number.isInteger(number) && number >= 0 && number <= 2 ** 53) {
    return BigInt(number);
  }
  throw new RangeError(
    `${what} is ${number}: it has to be an integer from 0 to 2^53, or a BigInt below 2^64`,
  );
}

/** Checks that a value is a number that is an integer, of at least some other. */
export function integer(value: unknown, least: number, what: string): number {
  if (typeof value !== "number") {
    throw new TypeError(`${what} is ${said(value)}: it has to be a number`);
  }
  if (Number.isInteger(value) && value >= least) return value;
  throw new RangeError(`${what} is ${value}: it has to be an integer of at least ${least}`);
}

/** Checks a text. */
export function string(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${what} is ${said(value)}: it has to be a string`);
}

/** Checks the names of options: one that is not known would be passed over. */
export function named<T extends object>(options: T | undefined, names: readonly string[], of: string): T {
  if (typeof options !== "object" || options === null) {
    if (options === undefined) return {} as T;
    throw new TypeError(`the options of ${of} are ${said(options)}: they have to be an object`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`${of} has no option "${name}": it takes ${names.join(", ")}`);
    }
  }
  return options;
}

/** Whether a value is an array of bytes, also of another window or context. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";
}
