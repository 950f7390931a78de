/** A sentence of the service as people read it: code as code, and paths of the guides as links. */
import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';

const parts = /`([^`]+)`|(\/docs\/[\w/#-]*\w)/g;

/** A guide opens beside the page: what was filled in here stays. */
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
