import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';

const parts = /`([^`]+)`|(\/docs\/[\w/#-]*\w)/g;

/** A sentence with code and links. Links open in a new tab, to keep the contents of a form. */
export function Sentence({ children: text }: { children: string }) {
  const shown: ReactNode[] = [];
  let end = 0;
  for (const { 0: whole, 1: code, 2: path, index } of text.matchAll(parts)) {
    shown.push(text.slice(end, index));
    shown.push(
      path === undefined ? (
        <code key={index}>{code}</code>
      ) : (
        <Anchor key={index} href={path} target="_blank" inherit c="inherit" underline="always">
          {path}
        </Anchor>
      ),
    );
    end = index + whole.length;
  }
  return [...shown, text.slice(end)];
}
