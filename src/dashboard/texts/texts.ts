import type en from './en.ts';

type Translated<T> = { readonly [Key in keyof T]: T[Key] extends string ? string : Translated<T[Key]> };

/** What every language has: the same keys as English. */
export type Texts = Translated<typeof en>;
