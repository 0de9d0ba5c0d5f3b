// Seeded shuffles and pseudo-random permutations, the same in every language.

import { ROOM, start, startWith } from "./wasm.ts";

const file = new URL("./bijective_shuffle.wasm", import.meta.url);

/** The module's code, from the file beside this one. */
async function code(): Promise<BufferSource> {
  if (file.protocol === "file:") {
    // Node, Deno and Bun; browsers do not fetch files.
    const { readFile } = await import("node:fs/promises");
    return readFile(file);
  }
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file.href} cannot be fetched: ${response.status}`);
  return response.arrayBuffer();
}

/** Whether the module can be had: not in every engine, nor under every policy of a page. */
async function isStarted(): Promise<boolean> {
  if (typeof WebAssembly !== "object") return false;
  try {
    await start(await code());
    return true;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return false;
    throw error;
  }
}

if (!(await isStarted())) {
  const { plain } = await import("./plain.js");
  startWith(plain(ROOM));
}

export * from "./library.ts";
