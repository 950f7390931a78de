/** An error as a page, for somebody who opened one of the service's pages in a browser. */
import { STATUS_CODES } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { type ApiError, errorUrl } from '../errors.ts';
import { isApiPath, type Page, wantsPage } from './layout.ts';

const isHidden = ({ routeOptions }: FastifyRequest) =>
  routeOptions.schema === undefined || routeOptions.schema.hide === true;

/** Whether an error is answered with a page: what openapi.json describes always answers with its envelope. */
export const wantsErrorPage = (request: FastifyRequest): boolean =>
  wantsPage(request) && !isApiPath(request.url) && isHidden(request);

/** A sentence with `code` in it. Its words may be a client's: each is escaped. */
const sentenceHtml = (sentence: string): string =>
  sentence
    .split('`')
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
    .join('');

/**
 * The page about an error: what happened, and where its explanation is.
 *
 * @param message - the error's own, without what must not be repeated
 */
export const errorPage = ({ code, statusCode }: ApiError, message: string): Page => {
  const title = STATUS_CODES[statusCode] ?? 'Error';
  return {
    title: `${title} · Parley`,
    description: 'This page cannot be displayed.',
    main: html`<h1>${title}</h1>
<p>!${sentenceHtml(message)}</p>
<p><a href="${errorUrl('', code)}">About this error</a></p>
`,
  };
};
