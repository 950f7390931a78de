/** A TeX formula, rendered as MathML. */
import { useEffect, useRef, useState } from 'react';
import classes from './formula.module.css';

export function Formula({ isBlock, tex }: { isBlock: boolean; tex: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const [drawn, setDrawn] = useState('');
  useEffect(() => {
    let isCurrent = true;
    const draw = ({ default: katex }: typeof import('katex')) => {
      if (!isCurrent || place.current === null) return;
      katex.render(tex, place.current, { displayMode: isBlock, output: 'mathml' });
      setDrawn(tex);
    };
    // An invalid formula remains as text.
    import('katex').then(draw).catch(() => {});
    return () => {
      isCurrent = false;
    };
  }, [isBlock, tex]);
  const isDrawn = drawn === tex;
  return (
    <span className={isBlock ? classes.block : undefined}>
      <span ref={place} hidden={!isDrawn} />
      {!isDrawn && <code>{tex}</code>}
    </span>
  );
}
