/**
 * Rewrites equivalent schemas to one form, so that the breaking-change check compares the values that they accept, and
 * not their notation.
 */

const annotations = new Set(['description', 'title', 'example', 'examples']);
const objectKeywords = new Set(['type', 'properties', 'required', 'additionalProperties']);

/**
 * A copy of the document with references to schemas resolved. An `allOf` of objects becomes one object, and an `anyOf`
 * of one simple type and null becomes a list of types.
 */
export function canonical(document) {
  const resolved = new Map();
  const schemaAt = (reference) => {
    const known = resolved.get(reference);
    if (known !== undefined) return known;
    // A placeholder, so that a schema that contains itself keeps the reference.
    resolved.set(reference, { $ref: reference });
    const schema = rewritten(
      reference
        .slice(2)
        .split('/')
        .reduce((inner, name) => inner[name], document),
    );
    resolved.set(reference, schema);
    return schema;
  };
  function rewritten(value) {
    if (Array.isArray(value)) return value.map(rewritten);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...rest } = value;
    const copy = Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, rewritten(inner)]));
    if ($ref?.startsWith('#/components/schemas/')) return { ...schemaAt($ref), ...copy };
    if ($ref !== undefined) return value;
    if (Array.isArray(copy.allOf)) return flattened(copy) ?? copy;
    return Array.isArray(copy.anyOf) ? (nullable(copy) ?? copy) : copy;
  }
  return rewritten(document);
}

/** One object that replaces the objects of an `allOf`. Undefined if no single object accepts the same values. */
function flattened({ allOf, ...outside }) {
  const parts = [...allOf, outside];
  const properties = {};
  for (const part of parts) {
    if (Object.keys(part).some((key) => !objectKeywords.has(key) && !annotations.has(key))) return undefined;
    if (part.type !== undefined && part.type !== 'object') return undefined;
    for (const [name, schema] of Object.entries(part.properties ?? {})) {
      const both = name in properties ? intersection(properties[name], schema) : schema;
      if (both === undefined) return undefined;
      properties[name] = both;
    }
  }
  const closed = parts.filter(({ additionalProperties }) => additionalProperties === false);
  if (closed.some((part) => Object.keys(properties).some((name) => !(name in (part.properties ?? {})))))
    return undefined;
  return {
    ...Object.fromEntries(Object.entries(outside).filter(([key]) => annotations.has(key))),
    type: 'object',
    properties,
    required: [...new Set(parts.flatMap(({ required = [] }) => required))],
    ...(closed.length > 0 && { additionalProperties: false }),
  };
}

/** A schema for the values that both accept. Undefined if they differ in more than their values and texts. */
function intersection(first, second) {
  const both = { ...first, ...second };
  if (first.enum && second.enum) both.enum = second.enum.filter((value) => first.enum.includes(value));
  const differing = Object.keys(first).filter(
    (key) =>
      key !== 'enum' &&
      !annotations.has(key) &&
      key in second &&
      JSON.stringify(first[key]) !== JSON.stringify(second[key]),
  );
  return differing.length === 0 ? both : undefined;
}

/** One schema with two types that replaces the `anyOf` of a simple type and null. Undefined for any other `anyOf`. */
function nullable({ anyOf, ...outside }) {
  const [one, ...others] = anyOf.filter(({ type }) => type !== 'null');
  const isNullable = others.length === 0 && anyOf.length === 2 && typeof one?.type === 'string';
  if (!isNullable || ['array', 'object'].includes(one.type) || one.const !== undefined) return undefined;
  return {
    ...one,
    ...outside,
    type: [one.type, 'null'],
    ...(one.enum !== undefined && { enum: [...one.enum, null] }),
  };
}
