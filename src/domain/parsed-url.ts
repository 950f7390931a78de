/**
 * Parses a URL; undefined if the text is not one. In Node.js 20, `URL.canParse` rejects texts with letters such as `ü`
 * once V8 has optimized its caller. It therefore must not decide about input.
 */
export function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
