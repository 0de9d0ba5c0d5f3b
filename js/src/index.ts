// Seeded shuffles and pseudo-random permutations, the same in every language.

import { start } from "./wasm.ts";

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

await start(await code());

export * from "./library.ts";
