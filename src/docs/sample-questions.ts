/**
 * Questions in samples, and the replies that they show. Guides and examples ask about Parley, because the built-in
 * engine replies from the guides. A language model would invent a reply, so samples then use the dashboard's questions.
 */

const question = 'Write a haiku about the sea.';
const next = 'Write another one.';
const beginning = 'Waves fold into foam, ';
const end = 'the shore forgets each footprint, the moon calls them back.';
const answer = beginning + end;

const forModels = new Map([
  ['How do I change my plan?', question],
  ['How do I create a key?', question],
  ['How do I create an API key?', question],
  ['How do I revoke a key?', question],
  ['What is a scope?', question],
  ['What is an API key?', question],
  ['What is the daily quota?', question],
  ['What is the quota?', question],
  ['Which plans are there?', question],
  ['Which scopes can a key have?', question],
  ['And how do I revoke it?', next],
  ['And how many keys can I have?', next],
  ['How do I choose one?', next],
  ['Open "Your API" and press Create key.', answer],
  ['Open "Your API" in the dashboard and press Create key.', answer],
  ['Open ', 'Waves '],
  ['The quota resets daily at 00:00 UTC.', answer],
  ['The quota resets daily ', beginning],
  ['at 00:00 UTC.', end],
]);

/** Translates a question or reply of a sample for a language model. Returns other texts unchanged. */
export const forLanguageModel = (text: string): string => forModels.get(text) ?? text;

/** A string in a guide's code. The new texts need no escapes in any language. */
const quoted = /(?<=(['"]))[^'"\n]+(?=\1)/g;

export const guideForLanguageModel = (markdown: string): string => markdown.replace(quoted, forLanguageModel);
