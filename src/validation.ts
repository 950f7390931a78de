/** Two validators: bodies are taken as they are, everything that arrives as text is coerced. Contract section 6. */
import AjvCompiler from '@fastify/ajv-compiler';
import type { Static } from '@sinclair/typebox';
import type { FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../schemas/errors.ts';

const shared = {
  removeAdditional: false,
  useDefaults: true,
  allErrors: false,
  allowUnionTypes: true,
  // `make check` validates every schema as part of openapi.json; doing it again takes half of the time to start.
  validateSchema: false,
} as const;
type BuildCompiler = ReturnType<typeof AjvCompiler>;
type ExternalSchemas = Parameters<BuildCompiler>[0];

/** For Fastify's `schemaController.compilersFactory.buildValidator`. */
export function buildValidator(externalSchemas: ExternalSchemas) {
  const build = AjvCompiler() as BuildCompiler;
  const strict = build(externalSchemas, { customOptions: { ...shared, coerceTypes: false } } as never);
  const coercing = build(externalSchemas, { customOptions: { ...shared, coerceTypes: 'array' } } as never);
  return (route: { httpPart?: string }) => (route.httpPart === 'body' ? strict : coercing)(route as never);
}

/**
 * A check for data that does not come by HTTP, such as an operator's file.
 *
 * @returns a function that says what is wrong, or null
 */
export function checkerOf(schema: object): (data: unknown) => string | null {
  const compile = AjvCompiler()({}, {
    customOptions: { ...shared, coerceTypes: false },
  } as never) as unknown as (route: { schema: object }) => {
    (data: unknown): boolean;
    errors?: FastifySchemaValidationError[] | null;
  };
  const validate = compile({ schema });
  return (data) => {
    if (validate(data)) return null;
    const [first] = validationDetails(validate.errors ?? []);
    return first === undefined ? 'it is not valid' : `${first.path} ${first.message}`;
  };
}

/** What validation found, in the words of the envelope. */
export function validationDetails(
  errors: readonly FastifySchemaValidationError[],
): Static<typeof ErrorDetail>[] {
  return errors.slice(0, 100).map(({ instancePath, keyword, message, params }) => {
    const member = params.additionalProperty ?? params.missingProperty;
    const path =
      member === undefined ? instancePath || '/' : `${instancePath}/${String(member).slice(0, 100)}`;
    if (keyword === 'additionalProperties') return { path, message: 'is not a known field' };
    if (keyword === 'required') return { path, message: 'is required' };
    if (keyword === 'enum')
      return {
        path,
        message: `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}`,
      };
    if (keyword === 'maxItems') {
      const limit = Number(params.limit);
      return { path, message: `must have at most ${limit} entries: entry ${limit + 1} is one too many` };
    }
    return { path, message: message ?? 'is not valid' };
  });
}
