/** The fields of a schema as table rows. Nested fields are named by their path, such as `messages[].content`. */
import { resolved } from './api-document.ts';

type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  format?: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
};

export type Field = {
  path: string;
  type: string;
  isRequired: boolean;
  about: string;
  /** One sentence, or empty. */
  bounds: string;
};

/** Deeper fields show only their type. openapi.json has the complete schema. */
const DEEPEST = 3;
const MAX_ENUM_VALUES = 12;
/** Larger bounds are omitted, because they exist only for completeness. */
const OBVIOUS = 1_000_000;

type Inside = { depth: number; names: readonly string[] };

const nameOf = ({ $ref = '' }: Schema): string => $ref.split('/').at(-1) ?? '';

const typesOf = ({ type = [] }: Schema): readonly string[] => (typeof type === 'string' ? [type] : type);

const literal = (value: unknown): string => `\`${JSON.stringify(value)}\``;

const plural: Record<string, string> = {
  string: 'strings',
  object: 'objects',
  integer: 'integers',
  number: 'numbers',
  array: 'arrays',
};

/** The alternatives of a schema, except for null. */
function choicesOf(document: object, schema: Schema): Schema[] {
  const whole = resolved(document, schema);
  const all = whole.anyOf ?? whole.oneOf;
  return all === undefined
    ? [whole]
    : all.filter((one) => resolved(document, one).type !== 'null').flatMap((one) => choicesOf(document, one));
}

const mayBeNull = (document: object, schema: Schema): boolean => {
  const whole = resolved(document, schema);
  return (
    typesOf(whole).includes('null') ||
    [...(whole.anyOf ?? []), ...(whole.oneOf ?? [])].some((one) => mayBeNull(document, one))
  );
};

function typeText(document: object, schema: Schema): string {
  const { const: only, enum: values, format, items } = schema;
  if (only !== undefined) return literal(only);
  if (values !== undefined && values.length <= MAX_ENUM_VALUES)
    return values
      .filter((value) => value !== null)
      .map(literal)
      .join(', ');
  const names = typesOf(schema)
    .filter((name) => name !== 'null')
    .map((name) => {
      if (name !== 'array' || items === undefined)
        return format === undefined || /^(int|float|double)/.test(format) ? name : `${name} (${format})`;
      const choices = choicesOf(document, items);
      const [only] = choices;
      if (choices.length === 1 && only?.enum !== undefined) return `array of ${typeText(document, only)}`;
      const inner = [...new Set(choices.flatMap(typesOf))].filter((one) => one !== 'null');
      return `array of ${inner.map((one) => plural[one] ?? one).join(' or ') || 'values'}`;
    });
  return names.join(' or ') || (schema.properties ? 'object' : 'any value');
}

const range = (least: number | undefined, most: number | undefined, of: string): string[] => {
  const [from, to] = [least && least > 0 ? least : undefined, most && most < OBVIOUS ? most : undefined];
  const text = (value: number) => value.toLocaleString('en');
  if (from !== undefined && to !== undefined)
    return [from === to ? `${text(from)}${of}` : `${text(from)} to ${text(to)}${of}`];
  if (from !== undefined) return [`at least ${text(from)}${of}`];
  return to === undefined ? [] : [`at most ${text(to)}${of}`];
};

/** The bounds and the default. Omits the bounds if the description contains numbers, or the type implies them. */
function boundsOf(schema: Schema, description: string): string {
  const { const: only, default: standard, enum: values, format } = schema;
  const says = /\d/.test(description) || values !== undefined || only !== undefined || format !== undefined;
  const facts = [
    ...(says ? [] : range(schema.minLength, schema.maxLength, ' characters')),
    ...(says ? [] : range(schema.minItems, schema.maxItems, ' items')),
    ...(says ? [] : range(schema.minimum, schema.maximum, '')),
    ...(standard === undefined ? [] : [`default ${literal(standard)}`]),
  ].join('; ');
  return facts === '' ? '' : `${facts.charAt(0).toUpperCase()}${facts.slice(1)}.`;
}

/** The value of `type`, `role`, or `event` that identifies a variant, or else the name of the component. */
function variantName(document: object, schema: Schema, given: Schema): string {
  for (const key of ['type', 'role', 'event']) {
    const property = schema.properties?.[key];
    const { const: only, enum: values } = property ? resolved(document, property) : {};
    const value = only ?? (values?.length === 1 ? values[0] : undefined);
    if (typeof value === 'string') return value;
  }
  return nameOf(given);
}

/** The fields below `path`: those of an object, of objects in an array, and of each variant. */
function below(document: object, schema: Schema, path: string, inside: Inside): Field[] {
  if (inside.depth > DEEPEST) return [];
  const whole = resolved(document, schema);
  const variants = whole.anyOf ?? whole.oneOf;
  if (variants !== undefined) {
    const objects = variants.filter((one) => resolved(document, one).type !== 'null');
    return objects.flatMap((one) => {
      const inner = resolved(document, one);
      const isOneOfMany = objects.length > 1 && inner.properties !== undefined;
      const name = isOneOfMany ? variantName(document, inner, one) : '';
      return below(document, one, name === '' ? path : `${path}<${name}>`, inside);
    });
  }
  if (whole.items !== undefined) return below(document, whole.items, `${path}[]`, inside);
  const name = nameOf(schema);
  if (whole.properties === undefined || inside.names.includes(name)) return [];
  const names = name === '' ? inside.names : [...inside.names, name];
  return Object.entries(whole.properties).flatMap(([key, property]) =>
    fieldRows(document, property, {
      path: path === '' ? key : `${path}.${key}`,
      isRequired: whole.required?.includes(key) ?? false,
      inside: { depth: inside.depth + 1, names },
    }),
  );
}

type FieldContext = { path: string; isRequired: boolean; inside: Inside };

function fieldRows(document: object, property: Schema, { inside, isRequired, path }: FieldContext): Field[] {
  const whole = resolved(document, property);
  const choices = choicesOf(document, property);
  const types = [...new Set(choices.map((choice) => typeText(document, choice)))];
  const type = `${types.join(' or ')}${mayBeNull(document, property) ? ' or null' : ''}`;
  const about = property.description ?? whole.description ?? '';
  const [only] = choices;
  const bounds = choices.length === 1 && only !== undefined ? boundsOf(only, about) : '';
  return [{ path, type, isRequired, about, bounds }, ...below(document, property, path, inside)];
}

/** All fields of a body, or of the events of a stream. */
export const fieldsOf = (document: object, schema: object): Field[] =>
  below(document, schema as Schema, '', { depth: 0, names: [] });

/** The row of a parameter. */
export function parameterField(
  document: object,
  parameter: { name: string; required?: boolean; description?: string; schema: object },
): Field {
  const schema = parameter.schema as Schema;
  const [row] = fieldRows(
    document,
    { ...resolved(document, schema), ...(parameter.description && { description: parameter.description }) },
    { path: parameter.name, isRequired: parameter.required ?? false, inside: { depth: DEEPEST, names: [] } },
  );
  if (row === undefined) throw new Error(`The parameter ${parameter.name} has no schema.`);
  return row;
}
