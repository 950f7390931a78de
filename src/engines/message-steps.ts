/**
 * The order of reasoning, texts, and calls in a message of the assistant. Chat completions cannot say it, so it is kept beside
 * the message while the message is translated from one API to another. Contract sections 14 and 15.
 */
import { objectsIn } from './text-details.ts';
import { type JsonObject, stringIn } from './upstream/json.ts';

const stepsByMessage = new WeakMap<JsonObject, JsonObject[]>();

/** Adds what follows in a message: a part of it, in the members of a message or of a delta. */
export function addStep(message: JsonObject, step: JsonObject): void {
  const steps = stepsByMessage.get(message);
  if (steps === undefined) stepsByMessage.set(message, [step]);
  else steps.push(step);
}

/** The parts of a message in order. The message itself if its order is not known. */
export const stepsOf = (message: JsonObject): readonly JsonObject[] =>
  stepsByMessage.get(message) ?? [message];

/** A message of all its steps. Texts follow each other; what was thought is in paragraphs. */
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
