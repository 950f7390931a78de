// Runs in a page after it loads, in the scope of Playwright's selector engine `engine`.
const all = (selector) => engine.querySelectorAll(engine.parseSelector(selector), document);
const one = (selector) => engine.querySelector(engine.parseSelector(selector), document, true);
const is = (element, state) => engine.elementState(element, state).matches;

globalThis.parleyWalk = {
  count: (selector) => all(selector).length,

  hasState(selector, state) {
    const element = one(selector);
    if (state === 'attached') return element !== undefined;
    if (state === 'detached') return element === undefined;
    if (element === undefined) return state === 'hidden';
    return is(element, state);
  },

  /** Returns the element if it has these states, or else a sentence that says which state is missing. */
  async ready(selector, states, isCentered) {
    const element = one(selector);
    if (element === undefined) return 'There is no such element.';
    if (isCentered) element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const problem = await engine.checkElementStates(element, states);
    if (problem !== undefined) return `The element is not ${problem.missingState ?? 'in the page'}.`;
    return element;
  },

  /** Focuses an element and selects all of its text, so that typing replaces it. */
  select(selector) {
    engine.selectText(one(selector));
  },

  focus(selector) {
    engine.focusNode(one(selector));
  },

  /** Calls a function with the element. */
  call: (selector, action) => action(one(selector)),
};
