/**
 * Writes the schemas of `openapi.json` in forms that generators compile. They accept the same values as the schemas that
 * validate requests, whose messages depend on their form.
 */

type Schema = { [keyword: string]: unknown };

/** An `enum` with `null` becomes an `anyOf`: generators of validators do not compile the former. */
function withoutNullInEnum(schema: Schema): Schema {
  const { enum: values, type, ...rest } = schema;
  if (!Array.isArray(values) || !values.includes(null) || !Array.isArray(type)) return schema;
  const [of] = type.filter((one) => one !== 'null');
  return { anyOf: [{ type: of, enum: values.filter((value) => value !== null) }, { type: 'null' }], ...rest };
}

/** A copy of a schema for the document. */
export function documented<T>(value: T): T {
  if (Array.isArray(value)) return value.map(documented) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, documented(inner)]));
  return withoutNullInEnum(copy) as T;
}
