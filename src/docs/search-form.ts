import { html } from 'ghtml';

export const SEARCH_PATH = '/docs/search';
/** Length in characters. */
export const MAX_QUERY_LENGTH = 200;

type Field = {
  query?: string;
  /** Whether the field has the focus when the page opens. */
  hasFocus?: boolean;
  placeholder?: string;
  /** HTML after the field. */
  after?: string;
};

export const searchForm = ({
  after = '\n<button>Search</button>',
  hasFocus = false,
  placeholder = 'Guides, operations, errors',
  query = '',
}: Field = {}): string => html`<form class="search" action="${SEARCH_PATH}" role="search">
<input type="search" name="q" value="${query}" maxlength="${MAX_QUERY_LENGTH}" aria-label="Search guides, operations, and errors" placeholder="${placeholder}" required!${hasFocus ? ' autofocus' : ''}>!${after}
</form>
`;
