/** From a page to the one before it and the one after it. */
import { html } from 'ghtml';

type Neighbour = { href: string; title: string };

/**
 * The links at the end of a page that is one of a row.
 *
 * @param label - what the row is of, such as "Guides"
 */
export const neighbourLinks = (
  label: string,
  previous: Neighbour | undefined,
  next: Neighbour | undefined,
): string => html`<nav class="neighbours" aria-label="${label}">
!${previous ? html`<a rel="prev" href="${previous.href}">← ${previous.title}</a>` : ''}
!${next ? html`<a rel="next" href="${next.href}">${next.title} →</a>` : ''}
</nav>
`;
