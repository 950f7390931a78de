/** A code block of a reply. It is highlighted when it is complete and has been on the screen. */

import { createContext, type ReactElement, useContext, useEffect, useRef, useState } from 'react';
import { t } from '../../texts/language.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import classes from './code.module.css';
import { onceSeen } from './once-seen.ts';

/** Whether the reply's last block is still growing. Highlighting its code would start again with every word. */
export const Growing = createContext(false);

/** Length in characters. Highlighting longer code would block the page for too long. */
const MAX_COLORED_LENGTH = 30_000;

type Colored = { code: string; element: ReactElement | undefined };

export function Code({ code, language }: { code: string; language: string | undefined }) {
  const isGrowing = useContext(Growing);
  const ref = useRef<HTMLDivElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    if (ref.current) return onceSeen(ref.current, () => setIsSeen(true));
  }, []);
  const [colored, setColored] = useState<Colored>();
  const isDone = colored?.code === code;
  const isWanted =
    isSeen && !isGrowing && !isDone && language !== undefined && code.length <= MAX_COLORED_LENGTH;
  useEffect(() => {
    if (!isWanted) return;
    let isCurrent = true;
    const show = ({ highlighted }: typeof import('./highlight.ts')) => {
      if (isCurrent) setColored({ code, element: highlighted(code, language) });
    };
    // If loading fails, the code remains plain.
    import('./highlight.ts').then(show, () => {});
    return () => {
      isCurrent = false;
    };
  }, [code, isWanted, language]);
  return (
    <div className={classes.block} ref={ref}>
      <div className={classes.head}>
        <span>{language ?? t('chat.code.title')}</span>
        <CopyButton text={code} what={t('chat.code.copy')} size="compact-xs" variant="subtle" color="gray" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>
        <code>{(isDone && colored.element) || code}</code>
      </pre>
    </div>
  );
}
