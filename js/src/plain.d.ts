// js/plain, which the build makes one file of.

import type { Exports } from "./start.ts";

export function plain(room: number): Exports;
