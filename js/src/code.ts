// The code of the WebAssembly modules. It is in the package's scripts, in hexadecimal digits, and is
// compiled at once: no file is to be found by a bundler, fetched by a page or read with rights that a
// program may not have, and no import waits. Compressed, digits take a tenth more than the bytes.

/**
 * What a module exports; `undefined` where WebAssembly is missing, lacks vectors, is forbidden by a
 * page's policy, or has no memory: whatever the reason is, there is something else to use.
 */
export function instantiated(code: string): WebAssembly.Exports | undefined {
  const digit = (at: number): number => {
    const letter = code.charCodeAt(at);
    return (letter & 15) + 9 * (letter >> 6);
  };
  const bytes = new Uint8Array(code.length / 2);
  for (let k = 0; k < bytes.length; k++) bytes[k] = 16 * digit(2 * k) + digit(2 * k + 1);
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  } catch {
    return undefined;
  }
}
