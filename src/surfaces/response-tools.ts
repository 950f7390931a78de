/** Tools of the Responses API, as functions that any model can call. Contract section 14. */
import { flatName } from '../domain/tool-names.ts';
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
  readonly offered: JsonObject[] = [];
  readonly #called = new Map<string, Called>();

  constructor(tools: readonly unknown[]) {
    for (const tool of tools) if (isObject(tool) && this.#add(tool, undefined)) this.offered.push(tool);
  }

  /** How the client named the tool that the model calls. */
  called = (flat: string): Called =>
    this.#called.get(flat) ?? { name: flat, namespace: undefined, isCustom: false };

  #add(tool: JsonObject, namespace: string | undefined): boolean {
    const { description, name, parameters, strict, tools, type } = tool;
    if (typeof name !== 'string') return false;
    if (type === 'namespace' && namespace === undefined && Array.isArray(tools))
      return tools.filter((one) => isObject(one) && this.#add(one, name)).length > 0;
    const isCustom = type === 'custom';
    if (type !== 'function' && !isCustom) return false;
    const flat = flatName(name, namespace);
    if (this.#called.has(flat)) return false;
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
    return true;
  }

  /** `tool_choice` as chat completions take it; undefined lets the model decide. */
  choice(choice: unknown): unknown {
    if (this.functions.length === 0) return undefined;
    if (typeof choice === 'string') return choice;
    if (!isObject(choice)) return undefined;
    const { mode, name, namespace, type } = choice;
    if (type === 'allowed_tools') return mode === 'required' ? 'required' : undefined;
    const flat = typeof name === 'string' ? flatName(name, textOf(namespace)) : '';
    return this.#called.has(flat) ? { type: 'function', function: { name: flat } } : undefined;
  }
}

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
