/** Writes streams of OpenAI's Responses API. Contract section 14. */
import type { ResponseEventType } from '../../schemas/response-events.ts';
import { responsesAnnotation } from '../engines/text-details.ts';
import type { JsonObject } from '../engines/upstream/json.ts';
import type { AnswerBlock } from './answer-blocks.ts';
import {
  begunResponse,
  emptyItem,
  emptyPart,
  endedResponse,
  type ResponseContext,
  wantsSummary,
  wholeItem,
  wholePart,
} from './response-answer.ts';
import type { SurfaceWriter } from './surface-script.ts';

/** The events for a block's text. Without `added` and `partDone`, they belong to the item itself. */
type TextEvents = {
  added?: ResponseEventType;
  delta: ResponseEventType;
  done: ResponseEventType;
  partDone?: ResponseEventType;
  /** The member of the `done` event that holds the whole text. */
  whole: 'text' | 'refusal' | 'arguments' | 'input';
};

const part = { added: 'response.content_part.added', partDone: 'response.content_part.done' } as const;
const textEvents = {
  text: { ...part, delta: 'response.output_text.delta', done: 'response.output_text.done', whole: 'text' },
  refusal: { ...part, delta: 'response.refusal.delta', done: 'response.refusal.done', whole: 'refusal' },
  reasoning: {
    ...part,
    delta: 'response.reasoning_text.delta',
    done: 'response.reasoning_text.done',
    whole: 'text',
  },
  summary: {
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    partDone: 'response.reasoning_summary_part.done',
    whole: 'text',
  },
  function: {
    delta: 'response.function_call_arguments.delta',
    done: 'response.function_call_arguments.done',
    whole: 'arguments',
  },
  custom: {
    delta: 'response.custom_tool_call_input.delta',
    done: 'response.custom_tool_call_input.done',
    whole: 'input',
  },
} as const satisfies Record<string, TextEvents>;

/** Some models only send the seal of their reasoning. */
const isEmptyReasoning = ({ kind, text }: AnswerBlock) => kind === 'reasoning' && text === '';

export function responseWriter(context: ResponseContext): SurfaceWriter {
  const isSummary = wantsSummary(context.body);
  let sequence = 0;
  const event = (type: ResponseEventType, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...data })}\n\n`;

  const eventsOf = ({ kind, name }: AnswerBlock): TextEvents => {
    if (kind === 'tool') return context.tools.called(name).isCustom ? textEvents.custom : textEvents.function;
    return textEvents[kind === 'reasoning' && isSummary ? 'summary' : kind];
  };
  const placeOf = (block: AnswerBlock, { added }: TextEvents) => ({
    item_id: emptyItem(context, block).id,
    output_index: block.index,
    ...(added !== undefined && {
      [block.kind === 'reasoning' && isSummary ? 'summary_index' : 'content_index']: 0,
    }),
  });
  const tokensOf = ({ kind }: AnswerBlock, logprobs: readonly JsonObject[]) =>
    kind === 'text' ? { logprobs } : {};

  return {
    start() {
      const response = begunResponse(context);
      return event('response.created', { response }) + event('response.in_progress', { response });
    },
    open(block) {
      const events = eventsOf(block);
      const item = emptyItem(context, block);
      const opened = event('response.output_item.added', { output_index: block.index, item });
      if (events.added === undefined || isEmptyReasoning(block)) return opened;
      return opened + event(events.added, { ...placeOf(block, events), part: emptyPart(block, isSummary) });
    },
    delta(block, delta, logprobs) {
      const events = eventsOf(block);
      // The arguments are JSON around the input, which is readable only as a whole.
      if (events === textEvents.custom) return '';
      return event(events.delta, { ...placeOf(block, events), delta, ...tokensOf(block, logprobs) });
    },
    annotate(block, annotation) {
      const { annotations = [], start = 0 } = block.notes ?? {};
      return event('response.output_text.annotation.added', {
        ...placeOf(block, textEvents.text),
        annotation_index: annotations.indexOf(annotation),
        annotation: responsesAnnotation(annotation, start),
      });
    },
    close(block) {
      const events = eventsOf(block);
      const place = placeOf(block, events);
      const item = wholeItem(context, block);
      const { input = '' } = item;
      const whole = { text: block.text, refusal: block.text, arguments: item.arguments, input }[events.whole];
      const done = () => event('response.output_item.done', { output_index: block.index, item });
      if (isEmptyReasoning(block)) return done();
      return [
        events === textEvents.custom && input !== '' ? event(events.delta, { ...place, delta: input }) : '',
        event(events.done, {
          ...place,
          [events.whole]: whole,
          ...(events === textEvents.function && { name: item.name }),
          ...tokensOf(block, block.notes?.logprobs ?? []),
        }),
        events.partDone === undefined
          ? ''
          : event(events.partDone, { ...place, part: wholePart(block, isSummary) }),
        done(),
      ].join('');
    },
    end(blocks, tokens) {
      const response = endedResponse(context, blocks, tokens);
      return event(response.status === 'completed' ? 'response.completed' : 'response.incomplete', {
        response,
      });
    },
    error({ error }) {
      const { code, message, param } = error;
      const response = { ...begunResponse(context), status: 'failed', error: { code, message } };
      // Clients read one of these two events.
      return event('response.failed', { response }) + event('error', { code, message, param, error });
    },
  };
}
