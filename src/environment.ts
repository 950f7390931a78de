/** Reads single environment variables. Each reader throws ConfigError with one line for the operator. */

/** A variable is invalid. The message is the one line that the operator sees. */
export class ConfigError extends Error {
  readonly variable: string;

  constructor(variable: string, takes: string) {
    super(`${variable} ${takes}`);
    this.name = 'ConfigError';
    this.variable = variable;
  }
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Undefined if the variable is unset or empty. */
export const text = (env: Env, name: string): string | undefined => {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
};

export function integer<F extends number | undefined>(
  env: Env,
  name: string,
  fallback: F,
  minimum: number,
  maximum: number,
): number | F {
  const value = text(env, name);
  if (value === undefined) return fallback;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < minimum || number > maximum) {
    throw new ConfigError(name, `must be a whole number from ${minimum} to ${maximum}, not "${value}".`);
  }
  return number;
}

export function oneOf<const T extends readonly string[]>(
  env: Env,
  name: string,
  values: T,
  fallback: T[number],
): T[number] {
  const value = text(env, name);
  if (value === undefined) return fallback;
  if (!values.includes(value))
    throw new ConfigError(
      name,
      `must be ${new Intl.ListFormat('en', { type: 'disjunction' }).format(values)}, not "${value}".`,
    );
  return value;
}

/** For values with their own syntax. The parser's error completes a line that begins with the variable's name. */
export function parsed<T>(env: Env, name: string, parse: (value: string | undefined) => T): T {
  try {
    return parse(text(env, name));
  } catch (error) {
    throw new ConfigError(name, (error as Error).message);
  }
}
