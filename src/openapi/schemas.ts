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

/**
 * The type of fields that may be anything, such as those that a schema allows without naming them. One generator takes `true` and `{}` for text, which no
 * other field fits. Without `additionalProperties`, most generators forbid such fields.
 */
const JsonValue = { description: 'Any JSON value.', allOf: [{}] };

function withTypedFields(schema: Schema): Schema {
  if (schema.additionalProperties !== true) return schema;
  return { ...schema, additionalProperties: { $ref: '#/components/schemas/JsonValue' } };
}

/** The mark lets the pattern pass the breaking-change check. */
function withPattern(schema: Schema): Schema {
  const { 'x-documented-pattern': pattern, ...rest } = schema;
  return pattern === undefined ? schema : { ...rest, pattern, 'x-always-enforced': true };
}

/** A field that may be anything has only texts. */
function withType(schema: Schema): Schema {
  const isField = typeof schema.description === 'string';
  const hasTextsOnly = Object.keys(schema).every((key) => key === 'description' || key === 'examples');
  return isField && hasTextsOnly ? { $ref: '#/components/schemas/JsonValue', ...schema } : schema;
}

/** Keywords with values, not schemas. */
const valueKeywords = new Set(['examples', 'default', 'const', 'enum']);

function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isValue = valueKeywords.has(name) && (Array.isArray(inner) || typeof inner !== 'object');
      return [name, isValue ? inner : rewritten(inner)];
    }),
  );
  return withType(withPattern(withTypedFields(withoutNullInEnum(copy))));
}

/** The document's schemas, by name. */
export const documented = <T extends object>(schemas: T): T & { JsonValue: Schema } => ({
  ...(rewritten(schemas) as T),
  JsonValue,
});
