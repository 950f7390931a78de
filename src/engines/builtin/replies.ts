/** The replies of the built-in chat engine, as deterministic Markdown. Contract section 8. */
import type { SectionEntry } from '../../docs/search-entries.ts';
import type { Hit } from '../../docs/search-index.ts';
import { excerpt } from './excerpt.ts';
import { titleOf } from './search.ts';

/** Lowest score of a section that the reply quotes. Down to `NAMED_SCORE`, the reply only links to it. */
const QUOTED_SCORE = 0.2;
const NAMED_SCORE = 0.1;
const SEE_ALSO = 3;

const NO_MODEL = 'No language model is configured on this service';

/** Example questions that the guides answer. */
export const sampleQuestions = [
  'How do I create an API key?',
  'What happens when I exceed my quota?',
  'How do I use the OpenAI Python client?',
  'Which plans are available, and what do they cost?',
] as const;

const list = (lines: readonly string[]) => lines.map((line) => `- ${line}`).join('\n');

const whatToAsk = (publicUrl: string) =>
  `Ask about the service itself, for example:\n\n${list(sampleQuestions)}\n\nAll guides are at ${publicUrl}/docs/guides.`;

/** Short messages that are not questions about the service, and how replies to them begin. */
const smallTalk: readonly (readonly [RegExp, string])[] = [
  [
    /^(hi|hello|hey|hallo|howdy|greetings|good (morning|afternoon|evening|day))( (there|parley|world|all|everyone))?$/,
    'Hello!',
  ],
  [
    /^(thanks|thank you|thx|cheers|great|ok|okay|nice|cool|perfect)( (so|very) much| a lot| parley)?$/,
    'You are welcome.',
  ],
  [/^(bye|goodbye|good bye|see you|good night)( parley)?$/, 'Goodbye.'],
  [/^(hi |hello |hey )?how are you( today| doing)*$/, 'The service is running.'],
  [
    /^(say )?(this is )?(just )?(an? )?(test|testing|ping|hello world)( message| one two three| 1 2 3| 123)?$/,
    'It works: your message arrived.',
  ],
  [
    /^((who|what) are you|what can you do( for me)?|what (can|do) you (know|answer)|what can i ask( you)?|help( me)?)?$/,
    'I am the built-in engine of Parley.',
  ],
];

function smallTalkReply(question: string): string | undefined {
  if (question.length > 60) return undefined;
  const words =
    question
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? '';
  return smallTalk.find(([pattern]) => pattern.test(words))?.[1];
}

const linkTo = ({ entry }: Hit<SectionEntry>, publicUrl: string) =>
  `[${titleOf(entry)}](${publicUrl}${entry.href})`;

export const SECTIONS_WANTED = SEE_ALSO + 1;

/** Creates the reply to a message from its search results, best first. Links begin with `publicUrl`. */
export function replyTo(question: string, hits: readonly Hit<SectionEntry>[], publicUrl: string): string {
  const opening = smallTalkReply(question);
  if (opening !== undefined)
    return `${opening} ${NO_MODEL}, so replies come from the guides. ${whatToAsk(publicUrl)}`;

  const [best, ...others] = hits.filter((hit) => hit.score >= NAMED_SCORE);
  if (best === undefined) {
    return [
      `${NO_MODEL}, and its guides, which are in English, do not cover this question. To answer it, the operator must connect a language model.`,
      whatToAsk(publicUrl),
    ].join('\n\n');
  }
  if (best.score < QUOTED_SCORE) {
    const nearest = [best, ...others].slice(0, SEE_ALSO).map((hit) => linkTo(hit, publicUrl));
    return [
      `${NO_MODEL}, and none of its guides answers this directly. The closest sections are:`,
      list(nearest),
      whatToAsk(publicUrl),
    ].join('\n\n');
  }

  const { markdown, isCut } = excerpt(best.entry, question, publicUrl);
  const related = others.filter((hit) => hit.score >= best.score / 3).slice(0, SEE_ALSO);
  return [
    `${NO_MODEL}, so this reply comes from the guides.`,
    `**${linkTo(best, publicUrl)}**`,
    markdown,
    ...(isCut ? [`[More in the guide](${publicUrl}${best.entry.href})`] : []),
    ...(related.length > 0 ? [`See also:\n\n${list(related.map((hit) => linkTo(hit, publicUrl)))}`] : []),
  ].join('\n\n');
}
