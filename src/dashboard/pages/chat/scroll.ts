import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import classes from './chat.module.css';

const NEAR_PX = 80;
const AT_PX = 2;
/** The share of the view that a long question may occupy. */
const QUESTION_SHARE = 0.5;

/** What the view follows while the page grows. `free`: nothing, because the reader has scrolled elsewhere. */
type ScrollPosition = 'question' | 'end' | 'free';

const distance = () => {
  const { clientHeight, scrollHeight, scrollTop } = document.documentElement;
  return scrollHeight - clientHeight - scrollTop;
};

type Measured = {
  /** The scroll position with the last question, or the end of a long question, at the top of the view. */
  questionY: number;
  /** The height that the reply needs so that the page can scroll to `questionY`. */
  room: number;
};

function measure(log: HTMLElement | null, dock: HTMLElement | null): Measured | undefined {
  const question = [...(log?.children ?? [])].findLast((one) =>
    one.classList.contains(classes.question ?? ''),
  );
  if (log === null || dock === null || question === undefined) return undefined;
  const { bottom, height, top } = question.getBoundingClientRect();
  const viewTop = Number.parseFloat(getComputedStyle(question).scrollMarginTop);
  const viewHeight = dock.getBoundingClientRect().top - viewTop;
  const shown = Math.min(height, viewHeight * QUESTION_SHARE);
  const answerTop = question.nextElementSibling?.getBoundingClientRect().top ?? bottom;
  const below = Number.parseFloat(getComputedStyle(log).paddingBottom);
  return {
    questionY: window.scrollY + top - viewTop + height - shown,
    room: Math.max(0, Math.ceil(viewHeight - shown - (answerTop - bottom) - below)),
  };
}

/**
 * Tracks the reader's position. After sending or opening, the last question stays at the top while the reply grows
 * below it. After the arrow button, or at the end, the view follows the end. Elsewhere, nothing moves the page.
 */
export function useReading(
  content: RefObject<HTMLElement | null>,
  dock: RefObject<HTMLElement | null>,
): {
  isAway: boolean;
  toEnd: () => void;
  /** Call it after sending a question. Reserves room below the question. */
  toQuestion: () => void;
  /** Call it after opening a conversation. */
  toOpened: () => void;
} {
  const [isAway, setIsAway] = useState(false);
  const place = useRef<ScrollPosition>('question');
  const hasRoom = useRef(false);
  const lastY = useRef(0);

  const keep = useCallback(() => {
    const { questionY } = measure(content.current, dock.current) ?? {};
    if (place.current === 'end') window.scrollTo(0, document.documentElement.scrollHeight);
    else if (place.current === 'question' && questionY !== undefined) window.scrollTo(0, questionY);
    lastY.current = window.scrollY;
    setIsAway(distance() >= NEAR_PX);
  }, [content, dock]);

  const reserve = useCallback(() => {
    const room = hasRoom.current ? measure(content.current, dock.current)?.room : undefined;
    content.current?.style.setProperty('--room', `${room ?? 0}px`);
  }, [content, dock]);

  const goTo = useCallback(
    (next: ScrollPosition, withRoom: boolean) => {
      place.current = next;
      hasRoom.current = withRoom;
      reserve();
      keep();
    },
    [keep, reserve],
  );
  const toEnd = useCallback(() => goTo('end', hasRoom.current), [goTo]);
  const toQuestion = useCallback(() => goTo('question', true), [goTo]);
  const toOpened = useCallback(() => goTo('question', false), [goTo]);

  useEffect(() => {
    const onScroll = () => {
      const away = distance();
      const moved = window.scrollY - lastY.current;
      lastY.current = window.scrollY;
      const isNear = away < NEAR_PX;
      // Shrinking content also moves the page up, but the page remains at its end.
      if (moved < 0 && away > 1) place.current = 'free';
      else if (moved > 0 && isNear) place.current = isAtQuestion() ? 'question' : 'end';
      else if (moved > 0 && place.current === 'question') place.current = 'free';
      setIsAway(!isNear && place.current !== 'end');
    };
    const isAtQuestion = () => {
      const { questionY } = measure(content.current, dock.current) ?? {};
      return questionY !== undefined && Math.abs(window.scrollY - questionY) <= AT_PX;
    };
    let request = 0;
    // Not within the observer, which would have to report the log's new height in the same frame.
    const onResize = () => {
      cancelAnimationFrame(request);
      request = requestAnimationFrame(() => {
        reserve();
        keep();
      });
    };
    const observer = new ResizeObserver(() => {
      keep();
      if (hasRoom.current) onResize();
    });
    for (const { current } of [content, dock]) if (current) observer.observe(current);
    addEventListener('resize', onResize);
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      cancelAnimationFrame(request);
      removeEventListener('resize', onResize);
      removeEventListener('scroll', onScroll);
      observer.disconnect();
    };
  }, [content, dock, keep, reserve]);

  return { isAway, toEnd, toQuestion, toOpened };
}
