// The program where there is a console.

import { results } from "./program.js";

console.log(results());
