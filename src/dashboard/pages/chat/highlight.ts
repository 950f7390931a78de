/** Highlights code. Loaded with the first code block on the screen. */
import { toJsxRuntime } from 'hast-util-to-jsx-runtime';
import { common, createLowlight } from 'lowlight';
import type { ReactElement } from 'react';
import { Fragment, jsx, jsxs } from 'react/jsx-runtime';

const lowlight = createLowlight(common);

/** @returns undefined for an unknown language */
export const highlighted = (code: string, language: string): ReactElement | undefined =>
  lowlight.registered(language)
    ? toJsxRuntime(lowlight.highlight(language, code), { Fragment, jsx, jsxs })
    : undefined;
