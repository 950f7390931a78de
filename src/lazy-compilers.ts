/** Compiles a route's schemas on first use: compiling all of them takes over half of the time to build the app. */
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Validate = { (data: unknown): unknown; errors?: unknown };
type Compile<Compiled> = (route: unknown) => Compiled;

export function lazyValidators(compile: Compile<Validate>): Compile<Validate> {
  return (route) => {
    let compiled: Validate | undefined;
    const validate: Validate = (data) => {
      compiled ??= compile(route);
      const result = compiled(data);
      validate.errors = compiled.errors;
      return result;
    };
    return validate;
  };
}

/** For Fastify's `schemaController.compilersFactory.buildSerializer`. */
export function buildSerializer(externalSchemas: unknown, options: unknown) {
  const compile = (SerializerSelector() as never as (...args: unknown[]) => Compile<Compile<string>>)(
    externalSchemas,
    options,
  );
  return (route: unknown): Compile<string> => {
    let serialize: Compile<string> | undefined;
    return (data) => {
      serialize ??= compile(route);
      return serialize(data);
    };
  };
}
