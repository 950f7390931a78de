/** One observer for all elements: the browser does work for each observer in every frame, also while somebody types. */

const waiting = new Map<Element, () => void>();

const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    const onSeen = waiting.get(target);
    stopWaiting(target);
    onSeen?.();
  }
});

function stopWaiting(element: Element): void {
  waiting.delete(element);
  observer.unobserve(element);
}

/** Calls back the first time that an element is on the screen. Returns what stops waiting for that. */
export function onceSeen(element: Element, onSeen: () => void): () => void {
  waiting.set(element, onSeen);
  observer.observe(element);
  return () => stopWaiting(element);
}
