/** The title of a conversation. The dashboard uses this module too. */

const TITLE_CHARACTERS = 80;

/** Returns the title of a conversation that begins with this message. */
export function titleOf(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim();
  if (line === '') return 'Untitled';
  const characters = [...line];
  return characters.length <= TITLE_CHARACTERS
    ? line
    : `${characters
        .slice(0, TITLE_CHARACTERS - 1)
        .join('')
        .trimEnd()}…`;
}
