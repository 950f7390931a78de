/** Where the focus goes when what had it is gone: not out of the page. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
}
