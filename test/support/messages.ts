/** Requests of the Messages API. */

/** A user message. */
export const user = (content: unknown) => ({ role: 'user', content });

/** A request body. `fields` override its fields. */
export const askMessage = (fields: object = {}) => ({
  model: 'parley-builtin',
  max_tokens: 1000,
  messages: [user('How do I create a key?')],
  ...fields,
});
