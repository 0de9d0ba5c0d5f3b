// Seeded shuffles and pseudo-random permutations, the same in every language.

export { type TypedArray, shuffle, unshuffle } from "./arrays.ts";
export { Ids } from "./ids.ts";
export { type Index, Permutation, Places, sample } from "./permutation.ts";
export { Sampler, type SamplerOptions, type Tail } from "./sampler.ts";
export { type Options, type Seed } from "./seed.ts";
