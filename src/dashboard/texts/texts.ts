import type en from './en.ts';

type Translated<T> = { readonly [Key in keyof T]: T[Key] extends string ? string : Translated<T[Key]> };

/** The texts of a language, with the same keys as English. */
export type Texts = Translated<typeof en>;
