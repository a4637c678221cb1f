export const katex: { render(tex: string, element: HTMLElement, options: Record<string, unknown>): void };
