/** Translates tools of the Responses API to functions that any model can call. Contract section 14. */
import { flatName } from '../engines/tool-names.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';

/** The client's names for a tool. */
type Called = { name: string; namespace: string | undefined; isCustom: boolean };

/** The schema of a custom tool's arguments. The model writes the tool's free-text input into this one field. */
const customInput = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The offered tools. Omits tools that Parley would have to run itself. */
export class ResponseTools {
  /** The tools in the format of chat completions. */
  readonly functions: JsonObject[] = [];
  /** The tools that the model is offered, as the client sent them. */
  readonly offered: readonly JsonObject[];
  readonly #called = new Map<string, Called>();

  constructor(tools: readonly unknown[]) {
    this.offered = this.#addAll(tools, undefined);
  }

  /** Returns the client's names for the tool that the model calls. */
  called = (flat: string): Called =>
    this.#called.get(flat) ?? { name: flat, namespace: undefined, isCustom: false };

  /** Adds tools. Returns those that can be offered. */
  #addAll(tools: readonly unknown[], namespace: string | undefined): JsonObject[] {
    return tools.flatMap((tool) => (isObject(tool) ? this.#add(tool, namespace) : []));
  }

  #add(tool: JsonObject, namespace: string | undefined): JsonObject[] {
    const { description, name, parameters, strict, tools, type } = tool;
    if (typeof name !== 'string') return [];
    if (type === 'namespace' && namespace === undefined && Array.isArray(tools)) {
      const offered = this.#addAll(tools, name);
      return offered.length > 0 ? [{ ...tool, tools: offered }] : [];
    }
    const isCustom = type === 'custom';
    const flat = flatName(name, namespace);
    if ((type !== 'function' && !isCustom) || this.#called.has(flat)) return [];
    this.#called.set(flat, { name, namespace, isCustom });
    this.functions.push({
      type: 'function',
      function: {
        name: flat,
        ...(textOf(description) !== undefined && { description }),
        parameters: isCustom ? customInput : (parameters ?? { type: 'object', properties: {} }),
        ...(typeof strict === 'boolean' && !isCustom && { strict }),
      },
    });
    return [tool];
  }

  /** The functions that `tool_choice` allows: all, unless it lists them. */
  allowed(choice: unknown): readonly JsonObject[] {
    if (!isAllowedTools(choice)) return this.functions;
    const names = new Set(listed(choice).map(flatNameOf));
    return this.functions.filter((tool) => names.has((tool.function as { name: string }).name));
  }

  /** `tool_choice` in the format of chat completions. If undefined, the model decides. */
  choice(choice: unknown): unknown {
    if (this.allowed(choice).length === 0) return undefined;
    if (typeof choice === 'string') return choice;
    if (isAllowedTools(choice)) return choice.mode === 'required' ? 'required' : undefined;
    const name = isObject(choice) ? flatNameOf(choice) : '';
    return this.#called.has(name) ? { type: 'function', function: { name } } : undefined;
  }

  /** `tool_choice` for an upstream of the same API, without tools that are not offered. */
  passedChoice(choice: unknown): unknown {
    if (!isAllowedTools(choice)) return this.choice(choice) === undefined ? undefined : choice;
    if (this.functions.length === 0) return undefined;
    const tools = listed(choice).filter((tool) => this.#called.has(flatNameOf(tool)));
    return tools.length === 0 ? 'none' : { ...choice, tools };
  }
}

/** A choice among some of the tools. The model also sees the others, which keeps its prompt cache valid. */
const isAllowedTools = (choice: unknown): choice is JsonObject =>
  isObject(choice) && choice.type === 'allowed_tools';

const listed = ({ tools }: JsonObject): JsonObject[] =>
  Array.isArray(tools) ? (tools as unknown[]).filter(isObject) : [];

/** The flat name of a tool in a choice. Empty if it has no name. */
const flatNameOf = ({ name, namespace }: JsonObject): string =>
  typeof name === 'string' ? flatName(name, textOf(namespace)) : '';

/** The input of a custom tool call: the text in the arguments that the model wrote. */
export function customInputOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && typeof value.input === 'string') return value.input;
  } catch {
    // The model did not write JSON, so its text is the input.
  }
  return text;
}
