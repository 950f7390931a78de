/** The models of the built-in engines. Guides and examples name them. */
import type { Static } from '@sinclair/typebox';
import type { Model } from '../../schemas/models.ts';

export const builtinModel: Static<typeof Model> = {
  id: 'parley-builtin',
  object: 'model',
  created: 1_795_132_800,
  owned_by: 'parley',
};

export const builtinEmbeddingModel = 'parley-builtin-embeddings';
