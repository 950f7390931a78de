/** Compiles schemas on first use. Compiling those of all routes would take over half of the time to build the app. */
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Validate = { (data: unknown): unknown; errors?: unknown };
type Compile<Compiled> = (route: unknown) => Compiled;

/** Calls `make` on the first call, and returns the same value later. */
export function once<Made extends object>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

export function lazyValidators(compile: Compile<Validate>): Compile<Validate> {
  return (route) => {
    const compiled = once(() => compile(route));
    const validate: Validate = (data) => {
      const check = compiled();
      const result = check(data);
      validate.errors = check.errors;
      return result;
    };
    return validate;
  };
}

/** For Fastify's option `schemaController.compilersFactory.buildSerializer`. */
export function buildSerializer(externalSchemas: unknown, options: unknown) {
  const compile = (SerializerSelector() as never as (...args: unknown[]) => Compile<Compile<string>>)(
    externalSchemas,
    options,
  );
  return (route: unknown): Compile<string> => {
    const serialize = once(() => compile(route));
    return (data) => serialize()(data);
  };
}
