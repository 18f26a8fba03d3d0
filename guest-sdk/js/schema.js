// JSON schemas of arguments, forms and results, which are written as the fields that an object has.

/**
 * The schema of an object with these fields. A field is there unless it has a `default` or says
 * `optional: true`, which is left out. What is a schema of an object already stays as it is.
 */
export function object(fields = {}) {
  if (fields.type === "object") return fields;
  const properties = {};
  const required = [];
  for (const [name, { optional = false, ...schema }] of Object.entries(fields)) {
    properties[name] = schema;
    if (!optional && schema.default === undefined) required.push(name);
  }
  const schema = { type: "object", properties };
  return required.length > 0 ? { ...schema, required } : schema;
}

/** The values that the schema gives to fields that were left out. */
export function withDefaults({ properties = {} }, value) {
  const filled = { ...value };
  for (const [name, schema] of Object.entries(properties)) {
    if (filled[name] === undefined && schema?.default !== undefined) filled[name] = schema.default;
  }
  return filled;
}
