/** Decides which fields reach the engine. Others could change the model or multiply replies. Contract section 7. */
import { ApiError } from '../errors.ts';

const own = ['model', 'messages', 'n', 'stream', 'stream_options'];

const openai = [
  ...['temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'seed', 'stop'],
  ...['logprobs', 'top_logprobs', 'max_tokens', 'max_completion_tokens', 'prediction'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call'],
  ...['response_format', 'modalities', 'audio', 'reasoning_effort', 'verbosity'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'safety_identifier', 'user'],
];

const vllm = [
  ...['top_k', 'min_p', 'repetition_penalty', 'length_penalty', 'min_tokens', 'ignore_eos'],
  ...['stop_token_ids', 'include_stop_str_in_output', 'bad_words', 'allowed_token_ids'],
  ...['skip_special_tokens', 'spaces_between_special_tokens', 'truncate_prompt_tokens'],
  ...['chat_template_kwargs', 'add_generation_prompt', 'continue_final_message', 'echo'],
  ...['include_reasoning', 'thinking_token_budget', 'cache_salt', 'return_tokens_as_token_ids'],
  ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'structured_outputs'],
];

/** Fields that could change the model, provider, or price, or multiply replies. `CHAT_FIELDS` cannot allow them. */
const never = [
  ...['models', 'provider', 'best_of', 'service_tier', 'fallbacks', 'route'],
  ...['api_base', 'api_key', 'base_url'],
];

/** In UTF-16 units: twice the longest listed name, because variants of a letter can take two units. */
const MAX_VARIANT_LENGTH = 128;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** The most fields of a body, because each is folded. */
const MAX_FIELDS = 1000;
const MAX_ADDED = 100;
const HEADER_LENGTH = 500;

/** Ignores case. Upstreams that do the same read `ſ` as an S and the Kelvin sign as a K. */
const folded = (name: string) => name.normalize('NFKC').toUpperCase().toLowerCase();

/** Parses `CHAT_FIELDS`. Throws an Error whose message completes a sentence that begins with the variable's name. */
export function parseChatFields(value: string | undefined): readonly string[] {
  const names = (value ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length > MAX_ADDED) throw new Error(`must list at most ${MAX_ADDED} names.`);
  const known = new Map([...own, ...openai, ...vllm].map((name) => [folded(name), name]));
  for (const name of names) {
    if (!NAME.test(name) || name === '__proto__')
      throw new Error(`must list field names such as mirostat,grammar, not "${name}".`);
    if (never.includes(folded(name)))
      throw new Error(
        `must not list ${name}: clients could use it to choose another model, provider, or price.`,
      );
    const other = known.get(folded(name));
    if (other !== undefined && other !== name)
      throw new Error(`must not list ${name}: it differs from ${other} only in case.`);
    known.set(folded(name), name);
  }
  return [...new Set(names)];
}

const known: ReadonlySet<string> = new Set([...own, ...openai, ...vllm]);

/** Whether Parley sends a field to every upstream. */
export const isKnownField = (name: string): boolean => known.has(name);

export class CompletionFields {
  readonly #names: ReadonlySet<string>;
  /** The known names by their folded form. */
  readonly #listed: ReadonlyMap<string, string>;

  /** @param added - the names in `CHAT_FIELDS` */
  constructor(added: readonly string[]) {
    this.#names = new Set([...own, ...openai, ...vllm, ...added]);
    this.#listed = new Map([...this.#names].map((name) => [folded(name), name]));
  }

  /** @throws ApiError `invalidRequest` if a field differs from a known one only in case */
  check(body: object): void {
    const names = Object.keys(body);
    if (names.length > MAX_FIELDS)
      throw new ApiError('invalidRequest', {
        message: `The body has more than ${MAX_FIELDS.toLocaleString('en')} fields. Send only those that the model needs.`,
      });
    for (const name of names) {
      // Skip long names, because folding can make a name 18 times as long.
      if (name.length > MAX_VARIANT_LENGTH || this.#names.has(name)) continue;
      const listed = this.#listed.get(folded(name));
      if (listed === undefined) continue;
      throw new ApiError('invalidRequest', {
        message: `A field in the body differs from \`${listed}\` only in case. Use \`${listed}\`.`,
        param: listed,
        reason: 'unknown_parameter',
      });
    }
  }

  passed<Body extends object>(body: Body): Body {
    return Object.fromEntries(Object.entries(body).filter(([name]) => this.#names.has(name))) as Body;
  }

  /** The value of `X-Parley-Ignored-Fields`: all other fields. */
  ignored = (body: object): string => ignoredFields(body, this.#names);
}

/** Lists the fields of a body that are not `known`, as many as fit into a header. */
export function ignoredFields(body: object, known: ReadonlySet<string>): string {
  let value = '';
  for (const name of Object.keys(body)) {
    if (known.has(name) || !NAME.test(name)) continue;
    const longer = value === '' ? name : `${value}, ${name}`;
    if (longer.length > HEADER_LENGTH) break;
    value = longer;
  }
  return value;
}
