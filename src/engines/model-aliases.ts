/** `CHAT_MODEL_ALIASES`: alternative model names, for clients that require certain names. Contract section 13. */

export type ModelAliases = {
  /** Names without an asterisk, mapped to models. */
  readonly exact: ReadonlyMap<string, string>;
  /** Prefixes of names, the longest first. */
  readonly beginnings: readonly (readonly [beginning: string, model: string])[];
};

const MAX_NAME_LENGTH = 200;
const MAX_ALIASES = 1000;

const isName = (name: string) => name !== '' && name.length <= MAX_NAME_LENGTH && !/[\p{Cc}=*]/u.test(name);
const beginningOf = (name: string) => (name.endsWith('*') ? name.slice(0, -1) : undefined);

/** Parses `name=model, beginning*=model`. An error's message follows the variable's name. */
export function parseModelAliases(value: string | undefined): ModelAliases {
  const entries = value === undefined ? [] : value.split(',').map((entry) => entry.trim());
  if (entries.length > MAX_ALIASES) throw new Error(`must list at most ${MAX_ALIASES} aliases.`);
  const aliases = new Map<string, string>();
  for (const entry of entries) {
    const [name = '', model = '', ...more] = entry.split('=').map((part) => part.trim());
    const isPattern = name === '*' || isName(beginningOf(name) ?? name);
    if (more.length > 0 || !isPattern || !isName(model))
      throw new Error(
        `must list aliases such as claude-*=llama3.2,fast=gpt-5-mini; "${entry}" is not one. Names can have at most ${MAX_NAME_LENGTH} characters, and an asterisk can only end an alias.`,
      );
    if (aliases.has(name)) throw new Error(`lists the alias "${name}" twice.`);
    aliases.set(name, model);
  }
  const all = [...aliases];
  return {
    exact: new Map(all.filter(([name]) => beginningOf(name) === undefined)),
    beginnings: all
      .flatMap(([name, model]) => {
        const beginning = beginningOf(name);
        return beginning === undefined ? [] : [[beginning, model] as const];
      })
      .sort(([one], [other]) => other.length - one.length),
  };
}

/** The model behind an alias, or undefined if the name is not an alias. An exact name wins, then the longest prefix. */
export const aliased = ({ beginnings, exact }: ModelAliases, name: string): string | undefined =>
  exact.get(name) ?? beginnings.find(([beginning]) => name.startsWith(beginning))?.[1];
