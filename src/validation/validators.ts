/** Two validators: bodies keep their types, but everything that arrives as text is coerced. Contract section 6. */
import AjvCompiler from '@fastify/ajv-compiler';
import type { Static } from '@sinclair/typebox';
import type { FastifySchemaValidationError } from 'fastify';
import { documentedPattern, extensible } from '../../schemas/common.ts';
import type { ErrorDetail } from '../../schemas/errors.ts';
import { lazyValidators, once } from './lazy-compilers.ts';

const shared = {
  removeAdditional: false,
  useDefaults: true,
  allErrors: false,
  allowUnionTypes: true,
  // `make check` validates every schema as part of openapi.json. Repeating that takes half of the startup time.
  validateSchema: false,
} as const;
type BuildCompiler = ReturnType<typeof AjvCompiler>;
type ExternalSchemas = Parameters<BuildCompiler>[0];

type Ajv = { removeKeyword(name: string): Ajv; addKeyword(definition: object | string): Ajv };
type LengthError = { keyword: string; message: string; params: { limit: number } };
type LengthCheck = { (limit: number, text: string): boolean; errors?: LengthError[] };

const amount = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** Replaces Ajv's messages, such as "must NOT have fewer than 8 characters". */
const sizeMessages = {
  minLength: (limit: number) => `must have at least ${amount(limit, 'character', 'characters')}`,
  maxLength: (limit: number) => `must have at most ${amount(limit, 'character', 'characters')}`,
  minItems: (limit: number) => `must have at least ${amount(limit, 'entry', 'entries')}`,
  maxItems: (limit: number) => `must have at most ${amount(limit, 'entry', 'entries')}`,
};

/** Counts characters as JSON Schema does, but only if the UTF-16 length does not decide. */
function lengthKeyword(keyword: 'minLength' | 'maxLength') {
  const isMost = keyword === 'maxLength';
  const fits = (limit: number, text: string): boolean => {
    const { length } = text;
    if (isMost ? length <= limit : length >= 2 * limit) return true;
    if (isMost ? length > 2 * limit : length < limit) return false;
    let characters = 0;
    for (const _ of text) characters++;
    return isMost ? characters <= limit : characters >= limit;
  };
  const validate: LengthCheck = (limit, text) => {
    if (fits(limit, text)) return true;
    validate.errors = [{ keyword, message: sizeMessages[keyword](limit), params: { limit } }];
    return false;
  };
  return { keyword, type: 'string', schemaType: 'number', errors: true, validate };
}

/** Ajv's own keywords iterate over every string twice, so 20 MiB would block the event loop. Contract section 6. */
function onCreate(ajv: Ajv): void {
  for (const keyword of ['minLength', 'maxLength'] as const)
    ajv.removeKeyword(keyword).addKeyword(lengthKeyword(keyword));
  for (const annotation of Object.keys({ ...extensible, ...documentedPattern(/./) }))
    ajv.addKeyword(annotation);
}

/** For Fastify's option `schemaController.compilersFactory.buildValidator`. */
export function buildValidator(externalSchemas: ExternalSchemas) {
  const build = AjvCompiler() as BuildCompiler;
  const builder = (coerceTypes: false | 'array') =>
    once(() => build(externalSchemas, { customOptions: { ...shared, coerceTypes }, onCreate } as never));
  const strict = builder(false);
  const coercing = builder('array');
  return lazyValidators((route) =>
    ((route as { httpPart?: string }).httpPart === 'body' ? strict : coercing)()(route as never),
  );
}

type Validate = { (data: unknown): boolean; errors?: FastifySchemaValidationError[] | null };

/** Compiles on first use, because most services have no file to check. */
const validatorOf = (schema: object, options: object): (() => Validate) =>
  once(() => {
    const compile = AjvCompiler()({}, {
      customOptions: { ...shared, ...options, coerceTypes: false },
    } as never) as unknown as (route: { schema: object }) => Validate;
    return compile({ schema });
  });

/** Checks data that does not arrive over HTTP. The function returns the first fault, or null. */
export function checkerOf(schema: object): (data: unknown) => string | null {
  const validator = validatorOf(schema, {});
  return (data) => {
    const validate = validator();
    if (validate(data)) return null;
    const [first] = validationDetails(validate.errors ?? []);
    if (first === undefined) return 'it is not valid';
    return `${first.path === '/' ? 'it' : first.path} ${first.message}`;
  };
}

/** Like `checkerOf`, but returns every fault. A fault names its field, such as `` `targets/0/weight` ``. */
export function faultsOf(schema: object): (data: unknown) => string[] {
  const validator = validatorOf(schema, { allErrors: true });
  return (data) => {
    const validate = validator();
    if (validate(data)) return [];
    return validationDetails(validate.errors ?? []).map(({ message, path }) => {
      const field = path.slice(1);
      return field === '' ? `it ${message}` : `\`${field}\` ${message}`;
    });
  };
}

/** The list positions in a path, such as [3, 0] for `/input/3/0`. */
const positionsIn = (path: string): number[] =>
  path.split('/').filter(Boolean).map(Number).filter(Number.isInteger);

const byPosition = (one: string, other: string): number => {
  const [these, those] = [positionsIn(one), positionsIn(other)];
  const at = these.findIndex((position, index) => position !== those[index]);
  return at < 0 ? those.length - these.length : (those[at] ?? -1) - (these[at] ?? -1);
};

/**
 * Among alternatives, the client most likely meant the one whose types fit, or fit furthest into a list. Its error
 * comes first.
 */
function likeliestFirst(
  errors: readonly FastifySchemaValidationError[],
): readonly FastifySchemaValidationError[] {
  const ofNames = errors.filter(({ keyword }) => keyword === 'propertyNames');
  if (ofNames.length > 0) return ofNames;
  const ofAlternatives = errors.filter(({ keyword }) => keyword !== 'anyOf');
  if (ofAlternatives.length === errors.length || ofAlternatives.length === 0) return errors;
  const rank = ({ keyword }: FastifySchemaValidationError) => (keyword === 'type' ? 1 : 0);
  return ofAlternatives.toSorted(
    (one, other) => rank(one) - rank(other) || byPosition(one.instancePath, other.instancePath),
  );
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'a boolean',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

const formatNames: Readonly<Record<string, string>> = {
  date: 'a date, such as 2026-11-20',
  'date-time': 'an RFC 3339 time, such as 2026-11-20T13:45:12Z',
  email: 'a valid email address',
  uuid: 'a UUID',
};

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

const expectedType = (types: unknown): string =>
  alternatives.format([types].flat().map((type) => typeNames[String(type)] ?? String(type)));

const expectedPattern = (pattern: unknown): string =>
  pattern === '\\S' ? 'must not be blank' : `must match the regular expression ${pattern}`;

/** Plain replacements for Ajv's messages, by keyword. */
const plainMessages: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  additionalProperties: () => 'is not a known field',
  required: () => 'is required',
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).map(String).join(', ')}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  type: ({ type }) => `must be ${expectedType(type)}`,
  format: ({ format }) => `must be ${formatNames[String(format)] ?? `a valid ${format}`}`,
  pattern: ({ pattern }) => expectedPattern(pattern),
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  uniqueItems: () => 'must not have duplicate entries',
  minProperties: ({ limit }) => `must have at least ${amount(Number(limit), 'field', 'fields')}`,
  maxProperties: ({ limit }) => `must have at most ${amount(Number(limit), 'field', 'fields')}`,
  anyOf: () => 'does not match any of the allowed forms',
  propertyNames: ({ propertyName }) =>
    `has a field name that is too long: ${String(propertyName).slice(0, 100)}`,
  ...Object.fromEntries(
    Object.entries(sizeMessages).map(([keyword, message]) => [
      keyword,
      ({ limit }: Record<string, unknown>) => message(Number(limit)),
    ]),
  ),
};

export function validationDetails(
  errors: readonly FastifySchemaValidationError[],
): Static<typeof ErrorDetail>[] {
  return likeliestFirst(errors)
    .slice(0, 100)
    .map(({ instancePath, keyword, message, params }) => {
      const member = params.additionalProperty ?? params.missingProperty;
      const path =
        member === undefined ? instancePath || '/' : `${instancePath}/${String(member).slice(0, 100)}`;
      return { path, message: plainMessages[keyword]?.(params) ?? message ?? 'is not valid' };
    });
}
