import { html } from 'ghtml';

type Neighbor = { href: string; title: string };

/** Links to the previous and next page of a series, named by `label`, such as "Guides". */
export const neighborLinks = (
  label: string,
  previous: Neighbor | undefined,
  next: Neighbor | undefined,
): string => html`<nav class="neighbors" aria-label="${label}">
!${previous ? html`<a rel="prev" href="${previous.href}">← ${previous.title}</a>` : ''}
!${next ? html`<a rel="next" href="${next.href}">${next.title} →</a>` : ''}
</nav>
`;
