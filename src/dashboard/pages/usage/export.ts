import { api, ok } from '../../api/client.ts';
import { saveFile } from '../../ui/save-file.ts';
import { type Filters, queryOf } from './filters.ts';

export const formats = ['csv', 'json'] as const;
export type Format = (typeof formats)[number];

const nameIn = (headers: Headers): string | undefined =>
  /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1];

/**
 * Saves all matching requests as a file. Uses a blob, because browsers keep large blobs on disk, and because a link
 * could not show an error of the service.
 *
 * @throws Problem
 */
export async function exportRequests(filters: Filters, format: Format): Promise<void> {
  const query = { ...queryOf(filters), format };
  const call = api.GET('/api/v1/requests/export', { params: { query }, parseAs: 'blob' });
  const file = await ok(call);
  const { response } = await call;
  saveFile(nameIn(response.headers) ?? `parley-requests.${format}`, file);
}
