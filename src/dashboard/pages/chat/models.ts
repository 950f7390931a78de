import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { answersChats, useModelList, useService } from '../../api/queries.ts';
import { type TextKey, t } from '../../texts/language.ts';

type Model = Schemas['Model'];

const key = 'parley.model';

/** The service can add capabilities that this page does not know. */
const capabilities: Record<string, Extract<TextKey, `chat.models.${string}`>> = {
  tools: 'chat.models.tools',
  images: 'chat.models.images',
  json_schema: 'chat.models.structuredOutput',
  reasoning: 'chat.models.reasoning',
};

function nameOf(capability: string): string {
  const key = capabilities[capability];
  return key === undefined ? capability : t(key);
}

/** "large · tools, images · 5 replies each". Operators need not describe their models. */
export function labelOf({ capabilities: supported = [], id, units = 1 }: Model): string {
  const names = supported.map(nameOf);
  return [
    id,
    ...(names.length > 0 ? [names.join(', ')] : []),
    ...(units > 1 ? [t('chat.units', { count: units })] : []),
  ].join(' · ');
}

function remembered(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** If the operator did not describe the model, its server decides. The built-in engine does not look at images. */
const canSee = ({ capabilities: supported }: Model, isUpstream: boolean): boolean =>
  supported?.includes('images') ?? isUpstream;

export function useModels() {
  const { data } = useModelList();
  const { data: service } = useService();
  const isUpstream = service?.engine.chat === 'upstream';
  const [wanted, setWanted] = useState(remembered);
  const models = data?.data.filter(answersChats) ?? [];
  const chosen = models.find(({ id }) => id === wanted) ?? models[0];
  return {
    ids: models.map(({ id }) => id),
    choices: models.map((model) => ({ value: model.id, label: labelOf(model) })),
    chosen: chosen?.id,
    takesImages: chosen !== undefined && canSee(chosen, isUpstream),
    /** Whether there is a model to choose for images. */
    anyTakesImages: models.some((model) => canSee(model, isUpstream)),
    /** What the chosen model is for, in the operator's words. */
    description: chosen?.description,
    choose(id: string): void {
      setWanted(id);
      try {
        localStorage.setItem(key, id);
      } catch {
        // Storage is unavailable: the choice lasts until the page is closed.
      }
    },
  };
}
