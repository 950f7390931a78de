/** Search: contract sections 1 and 8. */
import { Type } from '@sinclair/typebox';
import { ref } from './common.ts';

const query = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'The search query, without special syntax.',
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
        description: 'The maximum number of results.',
        examples: [10],
      }),
    ),
  },
  { $id: 'SearchRequest', additionalProperties: false, description: 'The search request.' },
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
      description: 'The URL of the page.',
      examples: ['http://localhost:3000/docs/guides/keys#create-an-api-key'],
    }),
    snippet: Type.String({
      maxLength: 4000,
      description: 'The matching passage, as plain text.',
      examples: ['Open Your API and press Create key.'],
    }),
    score: Type.Number({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'The relevance: higher is better, and only comparable within one response.',
      examples: [0.42],
    }),
  },
  { $id: 'SearchResult', additionalProperties: false, description: 'A search result.' },
);

export const SearchResponse = Type.Object(
  {
    query,
    results: Type.Array(ref(SearchResult), { maxItems: 20, description: 'The results, best match first.' }),
  },
  { $id: 'SearchResponse', additionalProperties: false, description: 'The search results.' },
);
