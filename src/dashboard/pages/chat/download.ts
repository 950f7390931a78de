/** Saves a conversation as a file, with all stored messages, oldest first. */

import { api, ok, type Schemas } from '../../api/client.ts';
import { t } from '../../texts/language.ts';
import { saveFile } from '../../ui/save-file.ts';
import { exactTime } from '../../ui/when.tsx';
import { messagesOf } from './conversation.ts';
import { readPictures } from './pictures.ts';

type Conversation = Schemas['Conversation'];

export const formats = {
  md: { label: 'Markdown', type: 'text/markdown' },
  json: { label: 'JSON', type: 'application/json' },
} as const;
export type Format = keyof typeof formats;

/** The most messages that the API returns at once. */
const PAGE = 500;

type Message = Schemas['Message'];
/** A message with the content of its images. */
type Saved = Omit<Message, 'images'> & { images?: { type: string; size: number; url: string }[] };
type SavedConversation = Omit<Conversation, 'messages'> & { messages: Saved[] };

async function withImages(id: string, { images, ...message }: Message): Promise<Saved> {
  if (images === undefined) return message;
  const urls = await readPictures(id, message.id);
  return { ...message, images: images.map((image, index) => ({ ...image, url: urls[index] ?? '' })) };
}

async function wholeConversation(id: string): Promise<SavedConversation> {
  const pages: Conversation[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Conversation = await ok(
      api.GET('/api/v1/conversations/{id}', {
        params: { path: { id }, query: { limit: PAGE, ...(cursor !== '' && { cursor }) } },
      }),
    );
    pages.push(page);
    cursor = page.next_cursor;
  }
  const messages: Saved[] = [];
  for (const message of messagesOf(pages)) messages.push(await withImages(id, message));
  return { ...(pages[0] as Conversation), messages, next_cursor: null };
}

const speakerOf = ({ model, role }: Pick<Message, 'model' | 'role'>): string =>
  role === 'user' ? t('chat.download.you') : (model ?? t('chat.download.assistant'));

const imagesOf = ({ images = [] }: Saved): string[] =>
  images.map(
    ({ url }, index) => `![${t('chat.pictures.alt', { number: index + 1, count: images.length })}](${url})`,
  );

function markdownOf({ created_at: at, instructions, messages, title }: SavedConversation): string {
  const parts = messages.map((message) =>
    [`## ${speakerOf(message)}`, ...imagesOf(message), message.content].join('\n\n'),
  );
  const head = [`# ${title}`, t('chat.download.started', { at: exactTime(at) })];
  if (instructions !== null) head.push(`## ${t('chat.edit.instructions')}\n\n${instructions}`);
  return `${[...head, ...parts].join('\n\n')}\n`;
}

function jsonOf({ next_cursor: _cursor, ...conversation }: SavedConversation): string {
  return `${JSON.stringify(conversation, null, 2)}\n`;
}

/** Keeps only letters and digits of any script, which every file system accepts. */
const fileNameOf = (title: string): string =>
  title
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60) || t('chat.download.fileName');

/** Reads the conversation and saves it as a file. Throws Problem. */
export async function download(id: string, format: Format): Promise<void> {
  const conversation = await wholeConversation(id);
  const text = format === 'md' ? markdownOf(conversation) : jsonOf(conversation);
  saveFile(`${fileNameOf(conversation.title)}.${format}`, new Blob([text], { type: formats[format].type }));
}
