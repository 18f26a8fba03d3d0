// Tells clients that listen what changed. Only for a component whose world has `changes`: it is not
// part of `index.js`.

import * as host from "cofferdam:tool/changes@0.1.0";

/** What the resource with this URI holds changed. */
export const resourceUpdated = (uri) => host.resourceUpdated(uri);

/** A list of this component changed: `tools`, `prompts` or `resources`. */
export const listChanged = (what) => host.listChanged(what);
