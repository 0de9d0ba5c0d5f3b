// Seeded shuffles and pseudo-random permutations, the same in every language.

import { isStarted } from "./code.ts";
import { ROOM, start, startWith } from "./wasm.ts";

if (!(await isStarted(start, new URL("./bijective_shuffle.wasm", import.meta.url)))) {
  const { plain } = await import("./plain.js");
  startWith(plain(ROOM));
}

export * from "./library.ts";
