import { EmbeddingList, EmbeddingRequest } from '../embeddings.ts';
import { ImageList, ImageRequest } from '../images.ts';
import { Model, ModelList } from '../models.ts';
import { SearchRequest, SearchResponse } from '../search.ts';
import { example, type OperationExamples } from './example.ts';

const model = {
  id: 'parley-builtin',
  object: 'model',
  created: 1795132800,
  owned_by: 'parley',
} as const;

export const toolExamples: Record<string, OperationExamples> = {
  createImage: {
    requests: {
      picture: example(ImageRequest, 'One image', { prompt: 'A lighthouse at dusk' }),
      small: example(ImageRequest, 'Two small images', {
        prompt: 'A lighthouse at dusk',
        n: 2,
        size: '256x256',
      }),
    },
    responses: {
      picture: example(ImageList, 'One image (data truncated)', {
        created: 1795182312,
        data: [{ b64_json: 'iVBORw0KGgoAAAANSUhEUgAAAQAAAAEABAMAAACuXLVVAAAA' }],
      }),
    },
  },
  search: {
    requests: {
      words: example(SearchRequest, 'A few words', { query: 'create a key' }),
      best: example(SearchRequest, 'The best result only', { query: 'create a key', limit: 1 }),
    },
    responses: {
      results: example(SearchResponse, 'One result', {
        query: 'create a key',
        results: [
          {
            title: 'API keys: Create an API key',
            url: 'http://localhost:3000/docs/guides/keys#create-an-api-key',
            snippet:
              'To create (make, generate) an API key, sign in, then send a name and at least one scope.',
            score: 0.87,
          },
        ],
      }),
    },
  },
  createEmbeddings: {
    requests: {
      texts: example(EmbeddingRequest, 'Two texts', {
        input: ['How can I create a key?', 'Where are my invoices?'],
      }),
      short: example(EmbeddingRequest, 'One short vector, in Base64', {
        input: 'How can I create a key?',
        dimensions: 64,
        encoding_format: 'base64',
      }),
    },
    responses: {
      vectors: example(EmbeddingList, 'One vector (truncated)', {
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.2425356, 0, -0.1212678, 0.3638034] }],
        model: 'parley-builtin-embeddings',
        usage: { prompt_tokens: 6, total_tokens: 6 },
      }),
    },
  },
  listModels: {
    responses: { builtin: example(ModelList, 'One model', { object: 'list', data: [model] }) },
  },
  getModel: { responses: { builtin: example(Model, 'The model', model) } },
};
