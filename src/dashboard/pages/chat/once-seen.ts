/** One observer for all elements: browsers do work for each observer in every frame, even while the user types. */

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

/** Calls `onSeen` when an element is first on the screen. Returns a function that cancels it. */
export function onceSeen(element: Element, onSeen: () => void): () => void {
  waiting.set(element, onSeen);
  observer.observe(element);
  return () => stopWaiting(element);
}
