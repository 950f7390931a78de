/** The replies of the built-in chat engine, as deterministic Markdown. Contract section 8. */
import { type Guide, guideUrl } from '../../docs/guides.ts';
import type { PassageHit } from '../../store/passages.ts';
import { excerpt } from './excerpt.ts';
import { titleOf } from './search.ts';

/** From this score, a passage is quoted. Between the two scores, it is only named. */
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

/** Short messages that are not questions for the guides, and how replies to them begin. */
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

const sectionOf = (guides: readonly Guide[], { guide, anchor }: PassageHit) =>
  guides.find(({ slug }) => slug === guide)?.sections.find((section) => section.anchor === anchor);

const linkTo = (hit: PassageHit, publicUrl: string) =>
  `[${titleOf(hit)}](${guideUrl(publicUrl, hit.guide, hit.anchor)})`;

export const PASSAGES_WANTED = SEE_ALSO + 1;

/** Replies to a message, given the search results for it, best first. Links begin with `publicUrl`. */
export function replyTo(
  question: string,
  hits: readonly PassageHit[],
  guides: readonly Guide[],
  publicUrl: string,
): string {
  const opening = smallTalkReply(question);
  if (opening !== undefined)
    return `${opening} ${NO_MODEL}, so answers come from the guides. ${whatToAsk(publicUrl)}`;

  const [best, ...others] = hits.filter((hit) => hit.score >= NAMED_SCORE);
  const section = best && sectionOf(guides, best);
  if (best === undefined || section === undefined) {
    return [
      `${NO_MODEL}, and its guides do not cover this question. To answer it, the operator must connect a language model.`,
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

  const { markdown, isCut } = excerpt(section, best.guide, question, publicUrl);
  const related = others.filter((hit) => hit.score >= best.score / 3).slice(0, SEE_ALSO);
  return [
    `${NO_MODEL}, so this answer comes from the guides.`,
    `**${linkTo(best, publicUrl)}**`,
    markdown,
    ...(isCut ? [`[More in the guide](${guideUrl(publicUrl, best.guide, best.anchor)})`] : []),
    ...(related.length > 0 ? [`See also:\n\n${list(related.map((hit) => linkTo(hit, publicUrl)))}`] : []),
  ].join('\n\n');
}
