/** Navigation beside a page, on wide screens: the list that contains the page, and the page's headings. */
import { html } from 'ghtml';

type Link = { href: string; title: string };
export type LinkGroup = { name: string; links: readonly Link[] };

/**
 * The list beside the page.
 *
 * @param label - names the list, such as "Guides"
 * @param current - the path of the page
 */
export const sideList = (
  label: string,
  groups: readonly LinkGroup[],
  current: string,
): string => html`<div class="side">
<nav aria-label="${label}"><ul>
!${groups.map(
  ({ links, name }) => html`<li><p class="name">${name}</p><ul>
!${links.map(
    ({ href, title }) =>
      html`<li><a href="${href}"!${href === current ? ' aria-current="page"' : ''}>${title}</a></li>
`,
  )}</ul></li>
`,
)}</ul></nav>
</div>
`;

const headings = (sections: readonly { anchor: string; heading: string }[]) =>
  html`<ul>!${sections.map(({ anchor, heading }) => html`<li><a href="#${anchor}">${heading}</a></li>`)}</ul>`;

type Sections = Parameters<typeof headings>[0];

/** The headings, beside the page. */
export const outline = (sections: Sections): string => html`<nav class="outline" aria-label="On this page">
<p class="name">On this page</p>
!${headings(sections)}
</nav>
`;

/** The headings, collapsed within the page, for narrow screens. */
export const contents = (
  sections: Sections,
): string => html`<nav class="contents" aria-label="On this page"><details>
<summary>On this page</summary>
!${headings(sections)}
</details></nav>
`;
