/**
 * Rewrites the schemas of `openapi.json` in forms that generators compile. They accept the same values as the schemas
 * that validate requests. Those keep their form, because error messages depend on it.
 */

type Schema = { [keyword: string]: unknown };

/** Turns an `enum` with `null` into an `anyOf`, because validator generators do not compile the former. */
function withoutNullInEnum(schema: Schema): Schema {
  const { enum: values, type, ...rest } = schema;
  if (!Array.isArray(values) || !values.includes(null) || !Array.isArray(type)) return schema;
  const [of] = type.filter((one) => one !== 'null');
  return { anyOf: [{ type: of, enum: values.filter((value) => value !== null) }, { type: 'null' }], ...rest };
}

/**
 * The type of fields with any value, such as fields that a schema allows but does not name. One generator reads `true`
 * and `{}` as text, which fits no other field. Without `additionalProperties`, most generators forbid such fields.
 */
const JsonValue = { description: 'Any JSON value.', allOf: [{}] };

function withTypedFields(schema: Schema): Schema {
  if (schema.additionalProperties !== true) return schema;
  return { ...schema, additionalProperties: { $ref: '#/components/schemas/JsonValue' } };
}

/** The `x-always-enforced` mark lets the pattern pass the breaking-change check. */
function withPattern(schema: Schema): Schema {
  const { 'x-documented-pattern': pattern, ...rest } = schema;
  return pattern === undefined ? schema : { ...rest, pattern, 'x-always-enforced': true };
}

/** A field with any value has only `description` and `examples`. */
function withType(schema: Schema): Schema {
  const isField = typeof schema.description === 'string';
  const hasTextsOnly = Object.keys(schema).every((key) => key === 'description' || key === 'examples');
  return isField && hasTextsOnly ? { $ref: '#/components/schemas/JsonValue', ...schema } : schema;
}

/** Keywords that contain values instead of schemas. */
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

export const documented = <T extends object>(schemas: T): T & { JsonValue: Schema } => ({
  ...(rewritten(schemas) as T),
  JsonValue,
});
