/** Bars for UTC days, with a line for the limit. Drawn at the element's pixel size, so that text does not scale. */

import { useElementSize } from '@mantine/hooks';
import type { PointerEvent } from 'react';
import { perLanguage, t } from '../texts/language.ts';
import classes from './daily-bars.module.css';
import { compactCount } from './numbers.ts';

export type Bar = { day: string; count: number };

type Props = {
  bars: readonly Bar[];
  limit: number | null;
  selected: string;
  onSelect: (day: string) => void;
  label: string;
};

const HEIGHT = 220;
const TOP = 18;
const BOTTOM = 24;
const RIGHT = 6;
const LABEL_WIDTH = 68;
/** Widths of characters on the scale. The widest letter is 4 px wider than a digit. */
const CHARACTER_WIDTH = 7.5;
const WIDEST_LETTER = 4;
const AXIS_GAP = 8;
/** Minimum width of the marker below the selected bar, which may be only 2 pixels wide. */
const MIN_MARKER_PX = 8;
/** Scaling to a limit far above all bars would make them invisible, so the limit is drawn above the scale. */
const MAX_HEADROOM = 4;
const ABOVE_SCALE = 4;
/** Room above the drawing, so that the limit's text does not cover the axis or the bars. */
const LIMIT_ROOM = 16;

const days = (options: Intl.DateTimeFormatOptions) =>
  perLanguage((language) => new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' }));

const short = days({ day: 'numeric', month: 'short' });
const whole = days({ dateStyle: 'medium' });
const startOf = (day: string) => new Date(`${day}T00:00:00Z`);

/** A day without the year. */
export const shortDay = (day: string): string => short().format(startOf(day));
export const utcDay = (day: string): string => whole().format(startOf(day));

/** Rounds up to 2, 4, 6, 10, 20 …, whose halves are whole numbers. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 4, 6, 10].find((step) => step * power >= value) ?? 10) * power;
}

export function isLimitToScale(bars: readonly Bar[], limit: number): boolean {
  const most = Math.max(...bars.map(({ count }) => count), 0);
  return most === 0 || limit <= most * MAX_HEADROOM;
}

export function DailyBars({ bars, label, limit, onSelect, selected }: Props) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  return (
    <div ref={ref} className={classes.chart}>
      {width > 0 && (
        <Drawing
          bars={bars}
          label={label}
          limit={limit}
          onSelect={onSelect}
          selected={selected}
          width={width}
        />
      )}
    </div>
  );
}

function Drawing({ bars, label, limit, onSelect, selected, width }: Props & { width: number }) {
  const isToScale = limit === null || isLimitToScale(bars, limit);
  const top = roundUp(Math.max(...bars.map(({ count }) => count), isToScale ? (limit ?? 0) : 0, 2));
  const ceiling = isToScale ? TOP : TOP + LIMIT_ROOM;
  const room = HEIGHT - ceiling - BOTTOM;
  const y = (count: number) => ceiling + room * (1 - count / top);
  const scale = [0, top / 2, top].map((count) => ({ count, text: compactCount(count) }));
  const axis = Math.max(...scale.map(({ text }) => text.length)) * CHARACTER_WIDTH + WIDEST_LETTER + AXIS_GAP;
  const slot = (width - axis - RIGHT) / bars.length;
  const bar = Math.max(2, Math.min(48, slot * 0.68));
  const marker = Math.max(MIN_MARKER_PX, bar + 4);
  const limitY = limit === null || !isToScale ? ABOVE_SCALE : y(limit);
  const every = Math.max(1, Math.ceil(LABEL_WIDTH / slot));

  const select = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const x = clientX - currentTarget.getBoundingClientRect().left - axis;
    const index = Math.max(0, Math.min(bars.length - 1, Math.floor(x / slot)));
    onSelect(bars[index]?.day ?? selected);
  };

  return (
    <svg
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={label}
      // The buttons below the chart do the same.
      onPointerDown={select}
      onPointerMove={select}
    >
      {scale.map(({ count, text }) => (
        <g key={count}>
          <line x1={axis} x2={width} y1={y(count)} y2={y(count)} className={classes.grid} />
          <text x={axis - AXIS_GAP} y={y(count) + 4} textAnchor="end" className={classes.text}>
            {text}
          </text>
        </g>
      ))}
      {bars.map(({ count, day }, index) => {
        const left = axis + slot * index;
        // Labels start at today and go back, as many as fit.
        const isDated = (bars.length - 1 - index) % every === 0;
        const isLast = index === bars.length - 1;
        return (
          <g key={day}>
            {count > 0 && (
              <rect
                x={left + (slot - bar) / 2}
                y={Math.min(y(count), y(0) - 2)}
                width={bar}
                height={Math.max(2, y(0) - y(count))}
                rx={Math.min(3, bar / 3)}
                className={day === selected ? classes.selected : classes.bar}
              />
            )}
            {day === selected && (
              <rect
                x={left + (slot - marker) / 2}
                y={y(0) + 1}
                width={marker}
                height={3}
                className={classes.selected}
              />
            )}
            {isDated && left + slot / 2 > LABEL_WIDTH / 2 && (
              <text
                x={isLast ? width - 2 : left + slot / 2}
                y={HEIGHT - 6}
                textAnchor={isLast ? 'end' : 'middle'}
                className={classes.text}
              >
                {shortDay(day)}
              </text>
            )}
          </g>
        );
      })}
      {limit !== null && (
        <>
          <line x1={axis} x2={width} y1={limitY} y2={limitY} className={classes.limit} />
          <text x={axis + 4} y={isToScale ? limitY - 5 : limitY + 14} className={classes.limitText}>
            {t(isToScale ? 'ui.chart.limit' : 'ui.chart.limitAbove', { limit: compactCount(limit) })}
          </text>
        </>
      )}
    </svg>
  );
}
