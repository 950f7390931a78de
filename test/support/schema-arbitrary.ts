/** Random values that match a schema of the document, or almost do: fast-check's arbitraries from JSON schemas. */
import fc, { type Arbitrary } from 'fast-check';
import { type Json, type OpenApi, resolved } from './response-checker.ts';

type Schema = Json & {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean;
  format?: string;
  pattern?: string;
} & Partial<Record<'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems', number>>;

/** The maximum length of texts and lists. Other tests cover longer ones. */
const LONGEST = 60;
const MOST = 4;

/** Values that have a meaning for the service, by the name of their field. */
export type Hints = Record<string, Arbitrary<unknown>>;

/** Text that JSON and Postgres can store, without NUL and lone surrogates. Those are in `oddity`. */
const text = (minLength: number, maxLength: number) =>
  fc
    .oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength, maxLength }) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength, maxLength }) },
    )
    .map((value) => value.replaceAll('\u0000', ' '))
    .filter((value) => value.length >= minLength && value.length <= maxLength);

function stringOf({ format, maxLength = LONGEST, minLength = 0, pattern }: Schema): Arbitrary<string> {
  if (format === 'uuid') return fc.uuid({ version: 7 });
  if (format === 'email') return fc.uuid().map((id) => `${id}@example.com`);
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (pattern !== undefined)
    return fc
      .stringMatching(new RegExp(pattern))
      .filter((value) => value.length >= minLength && value.length <= maxLength);
  return text(minLength, Math.max(minLength, Math.min(maxLength, LONGEST)));
}

/** Numbers in the range of the schema, with the minimum more often than at random. */
function numberOf({ maximum = 1_000_000, minimum = 0, type }: Schema): Arbitrary<number> {
  const within =
    type === 'number'
      ? fc.double({ min: minimum, max: maximum, noNaN: true })
      : fc.integer({ min: minimum, max: Math.min(maximum, minimum + 1_000_000) });
  return fc.oneof({ weight: 4, arbitrary: within }, { weight: 1, arbitrary: fc.constant(minimum) });
}

function objectOf(document: OpenApi, schema: Schema, hints: Hints): Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const hint = hints[name];
      const plain = valid(document, field, hints);
      return [
        name,
        hint === undefined
          ? plain
          : fc.oneof({ weight: 4, arbitrary: hint }, { weight: 1, arbitrary: plain }),
      ];
    }),
  );
  return fc.record(fields, { requiredKeys: schema.required ?? [], noNullPrototype: true });
}

/**
 * Values that match a schema.
 *
 * @param hints - values to use most of the time for the fields with these names
 */
export function valid(document: OpenApi, given: Schema, hints: Hints = {}): Arbitrary<unknown> {
  const schema = resolved<Schema>(document, given as { $ref: string });
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return fc.oneof(...alternatives.map((one) => valid(document, one, hints)));
  if (Array.isArray(schema.type))
    return fc.oneof(...schema.type.map((type) => valid(document, { ...schema, type }, hints)));
  switch (schema.type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'string':
      return stringOf(schema);
    case 'array': {
      const { items = {}, maxItems = MOST, minItems = 0, uniqueItems } = schema;
      const lengths = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, MOST)) };
      const entries = valid(document, items, hints);
      return uniqueItems ? fc.uniqueArray(entries, lengths) : fc.array(entries, lengths);
    }
    case 'object':
      return objectOf(document, schema, hints);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Values that most schemas reject. */
const oddity = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e308,
    '',
    ' ',
    [],
    {},
    '\u0000',
    'a\u0000b',
    '\ud800',
    'x\udc00',
    '%00',
    '%2500',
    '\u202e',
    'x'.repeat(5000),
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Bodies with one possible mistake: a missing field, an extra field, or a different value. */
export const damaged = (body: Arbitrary<unknown>): Arbitrary<unknown> =>
  fc
    .tuple(
      body,
      fc.constantFrom('remove', 'add', 'replace', 'whole'),
      fc.nat(),
      fc.string({ minLength: 1 }),
      oddity,
    )
    .map(([value, how, at, name, odd]) => {
      if (how === 'whole' || typeof value !== 'object' || value === null || Array.isArray(value)) return odd;
      const fields = Object.entries(value);
      const index = fields.length === 0 ? 0 : at % fields.length;
      if (how === 'add') return Object.fromEntries([...fields, [name, odd]]);
      if (how === 'remove') return Object.fromEntries(fields.toSpliced(index, 1));
      return Object.fromEntries(fields.map(([field, inner], n) => [field, n === index ? odd : inner]));
    });
