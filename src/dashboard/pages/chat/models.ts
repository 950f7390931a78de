import type { Schemas } from '../../api/client.ts';
import { answersChats, useModelList, useService } from '../../api/queries.ts';
import { type TextKey, t } from '../../texts/language.ts';
import { chooseModel, useChoice, useStandard } from './model-choices.ts';

type Model = Schemas['Model'];

/** The service can add capabilities that this page does not know. */
const capabilities: Record<
  string,
  Exclude<Extract<TextKey, `chat.models.${string}`>, 'chat.models.context'>
> = {
  tools: 'chat.models.tools',
  images: 'chat.models.images',
  json_schema: 'chat.models.structuredOutput',
  reasoning: 'chat.models.reasoning',
};

function nameOf(capability: string): string {
  const key = capabilities[capability];
  return key === undefined ? capability : t(key);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' · ');

/** "tools, images · 5 replies each". Operators need not describe their models. */
const offerOf = ({ capabilities: supported = [], units = 1 }: Model, isPriced: boolean): string =>
  joined([supported.map(nameOf).join(', '), isPriced ? t('chat.units', { count: units }) : '']);

/** What a model is for, in the operator's words, and its context. */
function purposeOf({ context_window: context, description }: Model): string {
  return [
    ...(description === undefined ? [] : [description]),
    ...(context === undefined ? [] : [t('chat.models.context', { count: context })]),
  ].join(' ');
}

/** If the operator did not describe the model, its server decides. The built-in engine does not look at images. */
const canSee = ({ capabilities: supported }: Model, isUpstream: boolean): boolean =>
  supported?.includes('images') ?? isUpstream;

/**
 * @param conversationId - undefined for a new conversation
 * @param lastModel - the model of its last answer
 */
export function useModels(conversationId: string | undefined, lastModel: string | undefined) {
  const { data } = useModelList();
  const { data: service } = useService();
  const isUpstream = service?.engine.chat === 'upstream';
  const choice = useChoice(conversationId ?? '');
  const standard = useStandard();
  const wanted = conversationId === undefined ? [standard] : [choice, lastModel, standard];
  const models = data?.data.filter(answersChats) ?? [];
  // Those that are still served.
  const [chosen] = [...wanted.flatMap((name) => models.filter(({ id }) => id === name)), ...models];
  const isPriced = models.some(({ units = 1 }) => units > 1);
  return {
    ids: models.map(({ id }) => id),
    choices: models.map((model) => ({
      value: model.id,
      // What the only model offers is in the details, which are below it.
      label: models.length > 1 ? joined([model.id, offerOf(model, isPriced)]) : model.id,
    })),
    chosen: chosen?.id,
    /** Whom a message is for. */
    addressee: isUpstream && chosen ? chosen.id : 'Parley',
    takesImages: chosen !== undefined && canSee(chosen, isUpstream),
    /** Whether there is a model to choose for images. */
    anyTakesImages: models.some((model) => canSee(model, isUpstream)),
    /** Of the chosen model. What it offers comes first, because a long description is cut off. */
    details: chosen ? joined([offerOf(chosen, isPriced), purposeOf(chosen)]) : '',
    choose(id: string): void {
      chooseModel(conversationId ?? '', id);
    },
  };
}
