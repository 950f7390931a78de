/**
 * The built-in image engine: an abstract picture that depends only on the prompt and its index. With 16 colors at 4
 * bits per pixel, drawing takes under 10 ms. The JavaScript encoder makes bytes independent of zlib. Contract section
 * 8.
 */
import { createHash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { encode } from 'fast-png';
import { ApiError } from '../../errors.ts';
import { noteCalled } from '../progress.ts';
import type { ImageEngine } from '../types.ts';

const COLORS = 16;
const SHAPES = 14;
/** Higher levels take several times as long. */
const COMPRESSION = 3;
const DEFAULT_SIZE = [1024, 1024] as const;

type Random = () => number;

/** Deterministic numbers from 0 to 1, from the SHA-256 hash of the text. Rehashes when the bytes run out. */
function randomFrom(text: string): Random {
  let bytes = createHash('sha256').update(text).digest();
  let position = 0;
  return () => {
    if (position + 4 > bytes.length) {
      bytes = createHash('sha256').update(bytes).digest();
      position = 0;
    }
    const number = bytes.readUInt32BE(position);
    position += 4;
    return number / 2 ** 32;
  };
}

function rgb(hue: number, saturation: number, lightness: number): number[] {
  const channel = (offset: number) => {
    const place = (offset + hue * 12) % 12;
    const amount = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(255 * (lightness - amount * Math.max(-1, Math.min(place - 3, 9 - place, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

function palette(random: Random): number[][] {
  const hues = [random(), random()];
  return Array.from({ length: COLORS }, (_, index) => {
    const lightness = 0.15 + (0.75 * (index >> 1)) / (COLORS / 2 - 1);
    return rgb(((hues[index % 2] ?? 0) + 0.06 * random()) % 1, 0.45 + 0.4 * random(), lightness);
  });
}

/** Each byte holds two pixels. Shapes begin and end at even pixels, which is not visible. */
class Canvas {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint8Array((width * height) / 2);
  }

  row(y: number, from: number, to: number, color: number): void {
    const left = Math.max(0, Math.ceil(from / 2));
    const right = Math.min(this.width / 2, Math.floor(to / 2));
    const start = (y * this.width) / 2;
    if (left < right) this.pixels.fill((color << 4) | color, start + left, start + right);
  }

  disc(x: number, y: number, radius: number, color: number): void {
    const last = Math.min(this.height - 1, Math.floor(y + radius));
    for (let at = Math.max(0, Math.ceil(y - radius)); at <= last; at += 1) {
      const half = Math.sqrt(radius ** 2 - (at - y) ** 2);
      this.row(at, x - half, x + half, color);
    }
  }

  band(x: number, width: number, slant: number, color: number): void {
    for (let at = 0; at < this.height; at += 1) this.row(at, x + slant * at, x + slant * at + width, color);
  }
}

function draw(text: string, width: number, height: number): Uint8Array {
  const random = randomFrom(text);
  const colors = palette(random);
  const canvas = new Canvas(width, height);
  const color = () => Math.floor(random() * COLORS);
  const [upper, lower] = [color(), color()];
  const horizon = height * (0.35 + 0.4 * random());
  for (let y = 0; y < height; y += 1) canvas.row(y, 0, width, y < horizon ? upper : lower);
  for (let shape = 0; shape < SHAPES; shape += 1) {
    const size = Math.min(width, height) * (0.05 + 0.3 * random() ** 2);
    const [x, y] = [random() * width, random() * height];
    if (random() < 0.65) canvas.disc(x, y, size, color());
    else canvas.band(x, size / 2, random() * 2 - 1, color());
  }
  return encode(
    {
      width,
      height,
      depth: 4,
      channels: 1,
      data: canvas.pixels,
      palette: colors as [number, number, number][],
    },
    { zlib: { level: COMPRESSION } },
  );
}

export function builtinImages(): ImageEngine {
  return {
    kind: 'builtin',
    async generate({ n, output_format: format, prompt, size }, signal) {
      if (format && format !== 'png') {
        throw new ApiError('invalidRequest', {
          message: 'The built-in engine supports only `png`.',
          param: 'output_format',
          reason: 'unsupported_value',
        });
      }
      noteCalled(signal);
      const [width = DEFAULT_SIZE[0], height = DEFAULT_SIZE[1]] =
        size && size !== 'auto' ? size.split('x').map(Number) : DEFAULT_SIZE;
      const images: { b64_json: string }[] = [];
      for (let index = 0; index < (n ?? 1); index += 1) {
        await letOthersRun();
        signal.throwIfAborted();
        images.push({ b64_json: Buffer.from(draw(`${index} ${prompt}`, width, height)).toString('base64') });
      }
      return images;
    },
  };
}
