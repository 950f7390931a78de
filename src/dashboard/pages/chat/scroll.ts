import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

const NEAR_PX = 80;

const distance = () => {
  const { clientHeight, scrollHeight, scrollTop } = document.documentElement;
  return scrollHeight - clientHeight - scrollTop;
};

export function useFollowing(content: RefObject<HTMLElement | null>): {
  isAway: boolean;
  toEnd: () => void;
} {
  const [isAway, setIsAway] = useState(false);
  const isFollowing = useRef(true);

  const toEnd = useCallback(() => {
    isFollowing.current = true;
    window.scrollTo(0, document.documentElement.scrollHeight);
    setIsAway(false);
  }, []);

  useEffect(() => {
    let last = window.scrollY;
    const onScroll = () => {
      const away = distance();
      const isNear = away < NEAR_PX;
      // New content moves the end away. Only scrolling up stops following, however little.
      if (window.scrollY < last && away > 1) isFollowing.current = false;
      else if (isNear) isFollowing.current = true;
      last = window.scrollY;
      setIsAway(!isNear && !isFollowing.current);
    };
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) window.scrollTo(0, document.documentElement.scrollHeight);
      else setIsAway(distance() >= NEAR_PX);
    });
    if (content.current) observer.observe(content.current);
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      removeEventListener('scroll', onScroll);
      observer.disconnect();
    };
  }, [content]);

  return { isAway, toEnd };
}
