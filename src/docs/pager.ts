import { html } from 'ghtml';

type Neighbour = { href: string; title: string };

/** Links to the previous and next page of a series, named by `label`, such as "Guides". */
export const neighbourLinks = (
  label: string,
  previous: Neighbour | undefined,
  next: Neighbour | undefined,
): string => html`<nav class="neighbours" aria-label="${label}">
!${previous ? html`<a rel="prev" href="${previous.href}">← ${previous.title}</a>` : ''}
!${next ? html`<a rel="next" href="${next.href}">${next.title} →</a>` : ''}
</nav>
`;
