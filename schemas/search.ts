/** Search: contract sections 1 and 8. */
import { Type } from '@sinclair/typebox';
import { ref } from './common.ts';

const query = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'What to look for; every character is taken literally.',
  examples: ['create a key'],
});

export const SearchRequest = Type.Object(
  {
    query,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 20,
        default: 10,
        format: 'int32',
        description: 'How many results at most.',
        examples: [10],
      }),
    ),
  },
  { $id: 'SearchRequest', additionalProperties: false, description: 'What to look for.' },
);

export const SearchResult = Type.Object(
  {
    title: Type.String({
      maxLength: 1000,
      description: "The page's title.",
      examples: ['Keys: Create an API key'],
    }),
    url: Type.String({
      format: 'uri',
      maxLength: 4000,
      description: 'Where it is.',
      examples: ['http://localhost:3000/docs/guides/keys#create-an-api-key'],
    }),
    snippet: Type.String({
      maxLength: 4000,
      description: 'The passage that matches, as plain text.',
      examples: ['Open "Your API" and press Create key.'],
    }),
    score: Type.Number({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'How well it matches; higher is better, comparable within one answer.',
      examples: [0.42],
    }),
  },
  { $id: 'SearchResult', additionalProperties: false, description: 'One result.' },
);

export const SearchResponse = Type.Object(
  { query, results: Type.Array(ref(SearchResult), { maxItems: 20, description: 'Best first.' }) },
  { $id: 'SearchResponse', additionalProperties: false, description: 'What was found.' },
);
