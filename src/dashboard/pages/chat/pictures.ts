/** Images attached to messages: scaled down to fit a request, and kept in this tab until they are sent. */
import { api, ok } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { perConversation } from './per-conversation.ts';

export const MAX_IMAGES = 8;
const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
export const acceptedTypes = types.join(',');

/** Larger files are not decoded, because that takes memory. */
const MAX_BYTES = 50 * 1024 * 1024;
/** Length of a `data:` URL: eight fit into a message of 4 MiB. */
const MAX_CHARACTERS = 500_000;
/** Models scale larger images down. */
const MAX_PIXELS = 1568;
const attempts = [
  { side: MAX_PIXELS, quality: 0.85 },
  { side: MAX_PIXELS, quality: 0.65 },
  { side: 1024, quality: 0.7 },
  { side: 768, quality: 0.6 },
];

export type Refusal = 'wrongType' | 'tooLarge' | 'tooMany';

const readAsUrl = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

function drawn(image: ImageBitmap, side: number, quality: number): string {
  const scale = Math.min(1, side / Math.max(image.width, image.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const context = canvas.getContext('2d');
  if (context === null) return '';
  // JPEG has no transparency, so transparent areas would be black.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/jpeg', quality);
}

/** Converts the file to a `data:` URL, and scales it down if it is large. */
async function urlOf(file: File): Promise<string | Refusal> {
  if (!types.includes(file.type)) return 'wrongType';
  if (file.size > MAX_BYTES) return 'tooLarge';
  let image: ImageBitmap;
  try {
    image = await createImageBitmap(file);
  } catch {
    return 'wrongType';
  }
  try {
    if (file.size * (4 / 3) < MAX_CHARACTERS - 100 && Math.max(image.width, image.height) <= MAX_PIXELS)
      return await readAsUrl(file);
    for (const { quality, side } of attempts) {
      const url = drawn(image, side, quality);
      if (url.startsWith('data:image/jpeg') && url.length <= MAX_CHARACTERS) return url;
    }
    return 'tooLarge';
  } catch {
    return 'wrongType';
  } finally {
    image.close();
  }
}

const none: readonly string[] = [];
// Not kept across reloads, because the tab's storage is too small.
const attached = perConversation<readonly string[]>();

/** @param conversationId - '' for a new conversation */
export const setPictures = (conversationId: string, urls: readonly string[]): void =>
  attached.set(conversationId, urls.length === 0 ? undefined : urls);

const picturesOf = (conversationId: string) => attached.of(conversationId) ?? none;

export const usePictures = (conversationId: string): readonly string[] =>
  attached.useRead(() => picturesOf(conversationId));

export const movePictures = attached.move;

/** Attaches files until one fails. Resolves to the error of that file, or null. */
export async function attach(
  conversationId: string,
  files: readonly File[],
): Promise<{ refusal: Refusal; name: string } | null> {
  for (const file of files) {
    const { name } = file;
    if (picturesOf(conversationId).length >= MAX_IMAGES) return { refusal: 'tooMany', name };
    const url = await urlOf(file);
    if (url === 'wrongType' || url === 'tooLarge' || url === 'tooMany') return { refusal: url, name };
    const before = picturesOf(conversationId);
    if (before.length >= MAX_IMAGES) return { refusal: 'tooMany', name };
    setPictures(conversationId, [...before, url]);
  }
  return null;
}

/** The images of a stored message. */
export const storedPictures = (conversationId: string, messageId: string) => ({
  queryKey: ['pictures', conversationId, messageId],
  queryFn: async () => {
    const { data } = await ok(
      api.GET('/api/v1/conversations/{id}/images', {
        params: { path: { id: conversationId }, query: { message_id: messageId } },
      }),
    );
    return data.map(({ url }) => url);
  },
  // Stored images never change.
  staleTime: Number.POSITIVE_INFINITY,
});

export const readPictures = (conversationId: string, messageId: string): Promise<string[]> =>
  queryClient.fetchQuery(storedPictures(conversationId, messageId));
