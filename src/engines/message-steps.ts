/**
 * The order of reasoning, texts, and calls in an assistant message. Chat completions cannot express this order, so
 * Parley stores it beside the message while translating between APIs. Contract sections 14 and 15.
 */
import { objectsIn } from './text-details.ts';
import { type JsonObject, stringIn } from './upstream/json.ts';

const stepsByMessage = new WeakMap<JsonObject, JsonObject[]>();

/** Appends the next step to a message. A step has the members of a message or of a delta. */
export function addStep(message: JsonObject, step: JsonObject): void {
  const steps = stepsByMessage.get(message);
  if (steps === undefined) stepsByMessage.set(message, [step]);
  else steps.push(step);
}

/** The steps of a message in order. If the order is unknown, the message itself is the only step. */
export const stepsOf = (message: JsonObject): readonly JsonObject[] =>
  stepsByMessage.get(message) ?? [message];

/** Combines steps into one message. Texts are concatenated, and pieces of reasoning become paragraphs. */
export function messageOf(steps: readonly JsonObject[]): JsonObject {
  const textsIn = (field: string) => steps.map((step) => stringIn(step[field])).filter((text) => text !== '');
  const listIn = (field: string) => steps.flatMap((step) => objectsIn(step[field]));
  const content = textsIn('content').join('');
  const refusal = textsIn('refusal').join('');
  const reasoning = textsIn('reasoning_content').join('\n\n');
  const calls = listIn('tool_calls');
  const others = ['reasoning_details', 'annotations', 'citations'].map(
    (field) => [field, listIn(field)] as const,
  );
  const message: JsonObject = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(refusal !== '' && { refusal }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...Object.fromEntries(others.filter(([, list]) => list.length > 0)),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  for (const step of steps) addStep(message, step);
  return message;
}
