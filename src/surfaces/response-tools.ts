/** Tools of the Responses API, as functions that any model can call. Contract section 14. */
import { flatName } from '../engines/tool-names.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';

/** A tool as the client named it. */
type Called = { name: string; namespace: string | undefined; isCustom: boolean };

/** Models fill in this one field of a custom tool, whose input is free text. */
const customInput = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The offered tools. Those that the service would have to run itself are left out. */
export class ResponseTools {
  /** As chat completions take them. */
  readonly functions: JsonObject[] = [];
  /** Those that the model was offered, as the client sent them. */
  readonly offered: readonly JsonObject[];
  readonly #called = new Map<string, Called>();

  constructor(tools: readonly unknown[]) {
    this.offered = this.#addAll(tools, undefined);
  }

  /** How the client named the tool that the model calls. */
  called = (flat: string): Called =>
    this.#called.get(flat) ?? { name: flat, namespace: undefined, isCustom: false };

  /** Returns the tools that can be offered. */
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

  /** `tool_choice` as chat completions take it; undefined lets the model decide. */
  choice(choice: unknown): unknown {
    if (this.allowed(choice).length === 0) return undefined;
    if (typeof choice === 'string') return choice;
    if (isAllowedTools(choice)) return choice.mode === 'required' ? 'required' : undefined;
    const name = isObject(choice) ? flatNameOf(choice) : '';
    return this.#called.has(name) ? { type: 'function', function: { name } } : undefined;
  }

  /** `tool_choice` as an upstream of the same API takes it, without the tools that it is not offered. */
  passedChoice(choice: unknown): unknown {
    if (!isAllowedTools(choice)) return this.choice(choice) === undefined ? undefined : choice;
    if (this.functions.length === 0) return undefined;
    const tools = listed(choice).filter((tool) => this.#called.has(flatNameOf(tool)));
    return tools.length === 0 ? 'none' : { ...choice, tools };
  }
}

/** A choice among some of the tools. The model is shown the others, too, which keeps its prompt cache. */
const isAllowedTools = (choice: unknown): choice is JsonObject =>
  isObject(choice) && choice.type === 'allowed_tools';

const listed = ({ tools }: JsonObject): JsonObject[] =>
  Array.isArray(tools) ? (tools as unknown[]).filter(isObject) : [];

/** Of a tool that a choice names. Empty if it has no name. */
const flatNameOf = ({ name, namespace }: JsonObject): string =>
  typeof name === 'string' ? flatName(name, textOf(namespace)) : '';

/** Of a custom tool call: the text in the arguments that the model filled in. */
export function customInputOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && typeof value.input === 'string') return value.input;
  } catch {
    // The model did not write JSON: what it wrote is the input.
  }
  return text;
}
