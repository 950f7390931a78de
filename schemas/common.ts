/** Schema helpers that several resources share. Pure TypeBox, independent of Fastify and the database. */
import { type SchemaOptions, type Static, type TSchema, Type } from '@sinclair/typebox';

/** References a named component, so that `openapi.json` and code generators use its name. */
export const ref = <T extends TSchema>(schema: T, options: SchemaOptions = {}) =>
  Type.Unsafe<Static<T>>({ $ref: `${schema.$id}#`, ...options });

/** A fixed set of strings as a single `enum`. A union of literals gives poor documentation and error messages. */
export const stringEnum = <const T extends readonly string[]>(values: T, options: SchemaOptions = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, examples: [values[0]], ...options });

/**
 * Marks an enum that can gain values, or a list in responses that can grow with such an enum. Clients must expect both
 * changes, and the breaking-change check allows them.
 */
export const extensible = { 'x-extensible': true } as const;

/**
 * A pattern for `openapi.json` only. The service checks the value itself, with a better message. The pattern must
 * accept every value that the service accepts. `test/openapi/patterns.test.ts` compares both.
 */
export const documentedPattern = (pattern: RegExp) =>
  ({ 'x-documented-pattern': pattern.source.replaceAll('\\/', '/') }) as const;

export const stringConst = <const T extends string>(value: T, options: SchemaOptions = {}) =>
  Type.Unsafe<T>({ type: 'string', const: value, examples: [value], ...options });

/** The schema's type or `null`. Named components become `anyOf`, everything else a list of types. */
export const nullable = <T extends TSchema>(schema: T, options: SchemaOptions = {}) => {
  const { $ref, type, enum: values } = schema as TSchema & { $ref?: string; type?: string; enum?: unknown[] };
  if ($ref !== undefined) {
    return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }], ...options });
  }
  const allowed = values === undefined ? {} : { enum: [...values, null] };
  return Type.Unsafe<Static<T> | null>({ ...schema, ...allowed, type: [type, 'null'], ...options });
};

export const Uuid = (description: string) =>
  Type.String({
    format: 'uuid',
    minLength: 36,
    maxLength: 36,
    description,
    examples: ['01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f'],
  });

export const Timestamp = (description: string) =>
  Type.String({ format: 'date-time', maxLength: 30, description, examples: ['2026-11-20T13:45:12.345Z'] });

export const Day = (description: string) =>
  Type.String({ format: 'date', minLength: 10, maxLength: 10, description, examples: ['2026-11-20'] });

/** A non-negative integer that JavaScript clients can represent exactly. */
export const Count = (description: string, examples: number[] = [12]) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, format: 'int64', description, examples });

export const Cursor = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: '^[A-Za-z0-9_-]+$',
  description: 'The `next_cursor` of the previous page. Treat it as opaque.',
  examples: ['MjAyNi0xMS0yMFQxMzo0NToxMi4zNDVafDAxOTMyZjVlLTdjMWEtN2IzZS05ZDJmLTNhNWI3YzlkMWUwZg'],
});

export const NextCursor = nullable(Cursor, {
  description: 'Pass it as `cursor` for the next page; null on the last page.',
  examples: [null],
});

export const limitTo = (maximum: number, standard: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum,
      default: standard,
      format: 'int32',
      description: 'The maximum number of items.',
      examples: [standard],
    }),
  );

export const idParams = (description: string) =>
  Type.Object({ id: Uuid(description) }, { additionalProperties: false });

export const NoContent = Type.Null({ description: 'Success, without a body.' });

/** Formats a number as 300,000. `toLocaleString` would load locale data, which takes a tenth of the startup time. */
export const withCommas = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');
