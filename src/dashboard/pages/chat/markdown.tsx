/** Renders the Markdown of a reply. Shows external images as links. */

import { Anchor } from '@mantine/core';
import { type ComponentProps, isValidElement, memo, type ReactNode } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import remarkMath from 'remark-math';
import remend from 'remend';
import { t } from '../../texts/language.ts';
import { Code, Growing } from './code.tsx';
import { Formula } from './formula.tsx';
import classes from './markdown.module.css';
import { blocksOf } from './markdown-blocks.ts';
import { withMathMarks } from './math-marks.ts';

const plugins: ComponentProps<typeof Markdown>['remarkPlugins'] = [
  remarkGfm,
  [remarkMath, { singleDollarTextMath: false }],
];

function CodeOf({ children }: { children?: ReactNode }) {
  const { className = '', children: content = '' } = isValidElement<ComponentProps<'code'>>(children)
    ? children.props
    : {};
  const language = /language-(\S+)/.exec(className)?.[1];
  // A block formula, marked with `$$` or as code.
  if (language === 'math') return <Formula tex={String(content)} isBlock />;
  return <Code code={String(content).replace(/\n$/, '')} language={language} />;
}

const heading = (level: 3 | 4 | 5) => {
  const Tag = `h${level}` as const;
  return ({ children }: { children?: ReactNode }) => <Tag>{children}</Tag>;
};

const components: Components = {
  pre: ({ children }) => <CodeOf>{children}</CodeOf>,
  code: ({ children, className }) =>
    className?.includes('math-inline') ? (
      <Formula tex={String(children)} isBlock={false} />
    ) : (
      <code className={className}>{children}</code>
    ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <div className={classes.table} tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  a: ({ children, href }) => (
    <Anchor href={href} target="_blank" rel="noreferrer" underline="always" inherit>
      {children}
    </Anchor>
  ),
  img: ({ alt, src }) => (
    <Anchor
      href={typeof src === 'string' ? src : ''}
      target="_blank"
      rel="noreferrer"
      underline="always"
      inherit
    >
      {alt || t('chat.message.image')}
    </Anchor>
  ),
  h1: heading(3),
  h2: heading(3),
  h3: heading(4),
  h4: heading(5),
  h5: heading(5),
  h6: heading(5),
};

const Block = memo(({ isGrowing, text }: { isGrowing: boolean; text: string }) => (
  <Growing value={isGrowing}>
    <Markdown remarkPlugins={plugins} components={components}>
      {isGrowing ? remend(text, { linkMode: 'text-only' }) : withMathMarks(text)}
    </Markdown>
  </Growing>
));

type Props = { text: string; isUnderWay?: boolean };

export const Answer = memo(function Answer({ isUnderWay = false, text }: Props) {
  const blocks = blocksOf(text);
  return (
    <div className={classes.answer}>
      {blocks.map((block, index) => (
        <Block key={index} isGrowing={isUnderWay && index === blocks.length - 1} text={block} />
      ))}
    </div>
  );
});
