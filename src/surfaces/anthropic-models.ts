/** Models in the format of Anthropic's API. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type { AnthropicModelQuery } from '../../schemas/models.ts';
import type { Model } from '../engines/types.ts';
import { ApiError } from '../errors.ts';

export type AnthropicModel = { type: 'model'; id: string; display_name: string; created_at: string };
export type AnthropicModelPage = {
  data: AnthropicModel[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
};

/** The end of the year 9999 in Unix seconds. RFC 3339 has no later years. */
const LAST_SECOND = 253_402_300_799;
const DEFAULT_LIMIT = 20;

/** `created_at` is the Unix epoch if the upstream does not know the date, or uses other units. */
export const anthropicModel = ({ created, id }: Model): AnthropicModel => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(created <= LAST_SECOND ? created * 1000 : 0).toISOString(),
});

function indexOfModel(models: readonly Model[], id: string, param: 'after_id' | 'before_id'): number {
  const place = models.findIndex((model) => model.id === id);
  if (place < 0)
    throw new ApiError('invalidRequest', {
      message: `In the query, \`${param}\` is not the ID of a listed model.`,
      param,
    });
  return place;
}

/** A page after or before a model. `has_more` is whether more models exist in that direction. */
export function anthropicModelPage(
  models: readonly Model[],
  { after_id: after, before_id: before, limit = DEFAULT_LIMIT }: Static<typeof AnthropicModelQuery>,
): AnthropicModelPage {
  if (after !== undefined && before !== undefined)
    throw new ApiError('invalidRequest', {
      message: 'Send `after_id` or `before_id`, not both.',
      param: 'before_id',
    });
  const end = before === undefined ? undefined : indexOfModel(models, before, 'before_id');
  const start =
    end === undefined
      ? after === undefined
        ? 0
        : indexOfModel(models, after, 'after_id') + 1
      : Math.max(0, end - limit);
  const data = models.slice(start, end ?? start + limit).map(anthropicModel);
  return {
    data,
    has_more: end === undefined ? start + data.length < models.length : start > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
