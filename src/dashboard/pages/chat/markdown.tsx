/** The Markdown of a reply. External images are shown as links. */
import { Anchor } from '@mantine/core';
import { type ComponentProps, isValidElement, memo, type ReactNode } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import remend from 'remend';
import { CopyButton } from '../../ui/copy-button.tsx';
import classes from './markdown.module.css';
import { blocksOf } from './markdown-blocks.ts';

const plugins = [remarkGfm];

function Code({ children }: { children?: ReactNode }) {
  const { className = '', children: content = '' } = isValidElement<ComponentProps<'code'>>(children)
    ? children.props
    : {};
  const code = String(content).replace(/\n$/, '');
  const language = /language-(\S+)/.exec(className)?.[1] ?? 'Code';
  return (
    <div className={classes.code}>
      <div className={classes.head}>
        <span>{language}</span>
        <CopyButton text={code} what="code" size="compact-xs" variant="subtle" color="gray" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  );
}

const heading = (level: 3 | 4 | 5) => {
  const Tag = `h${level}` as const;
  return ({ children }: { children?: ReactNode }) => <Tag>{children}</Tag>;
};

const components: Components = {
  pre: ({ children }) => <Code>{children}</Code>,
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
      {alt || 'Image'}
    </Anchor>
  ),
  h1: heading(3),
  h2: heading(3),
  h3: heading(4),
  h4: heading(5),
  h5: heading(5),
  h6: heading(5),
};

const Block = memo(({ text }: { text: string }) => (
  <Markdown remarkPlugins={plugins} components={components}>
    {text}
  </Markdown>
));

type Props = { text: string; isUnderWay?: boolean };

export const Answer = memo(function Answer({ isUnderWay = false, text }: Props) {
  const blocks = blocksOf(text);
  return (
    <div className={classes.answer}>
      {blocks.map((block, index) => (
        <Block
          key={index}
          text={isUnderWay && index === blocks.length - 1 ? remend(block, { linkMode: 'text-only' }) : block}
        />
      ))}
    </div>
  );
});
