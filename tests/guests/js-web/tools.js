// On StarlingMonkey: the scenarios that a guest in every language plays alike, and the example `links`.

import { defineTools } from "./cofferdam/index.js";
import { links } from "./links.js";
import { scenarios } from "./scenarios.js";

export const handler = defineTools({ ...scenarios, ...links });
