// The entry point that Streamlit loads. It calls the default function at every run of the page, with the same parent
// element. The page's view is used only the first time and after the annotator had left; other views come through the
// workbench's own route.

import { createDesk } from "./desk.js";
import { speak } from "./language.js";
import { postTo } from "./network.js";
import { createSurface } from "./surface.js";
import { prepare } from "./texts/formatting.js";

/** @import { Reason } from "./desk.js" */
/** @import { Surface } from "./surface.js" */
/** @import { Component, View } from "./types.js" */
/** @typedef {{ view: string, showing: string | null, language: string }} Data the view as JSON, and the language of the page */

const REPEAT_MS = 3000; // Streamlit drops an event while its websocket is down

/**
 * What Streamlit calls at every run of a page: mounts a component at the first call with a parent element, and passes
 * later ones on. Streamlit also calls the clean-up of a call that a later one has replaced, so only the last one closes.
 * @template Input, Event
 * @param {(component: Component<Input, Event>) => { again: (data: Input) => void, close: () => void }} mount
 * @returns {(component: Component<Input, Event>) => () => void}
 */
export function mountedOnce(mount) {
  /** @type {WeakMap<HTMLElement, ReturnType<typeof mount> & { calls: number }>} */
  const mounted = new WeakMap();
  return (component) => {
    const { parentElement, data } = component;
    const present = mounted.get(parentElement);
    present?.again(data);
    const bench = present ?? { ...mount(component), calls: 0 };
    mounted.set(parentElement, bench);
    const call = (bench.calls += 1);
    return () => {
      if (bench.calls !== call) return;
      bench.close();
      mounted.delete(parentElement);
    };
  };
}

/** @param {Component<Data, Reason>} component */
function mount({ parentElement, data, setTriggerValue }) {
  /** @type {View} */
  const first = JSON.parse(data.view);
  let latest = data.view;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let leaving;
  /** @type {Surface | undefined} */
  let surface;
  /** The view on the page, or the one that appears when its modules are loaded. @type {View | null} */
  let shown = null;
  /** @param {View} view */
  function draw(view) {
    if (shown !== view) return;
    if (surface) surface.update(view);
    else surface = createSurface(parentElement, view, (action) => desk.act(action));
  }
  const stay = () => {
    clearInterval(leaving);
    leaving = undefined;
  };
  const desk = createDesk({
    post: postTo(first.routes.act),
    show(view) {
      shown = view;
      const loading = prepare(view);
      if (loading) loading.then(() => draw(view));
      else draw(view);
    },
    leave(why) {
      stay();
      setTriggerValue("left", why);
      leaving = setInterval(() => setTriggerValue("left", why), REPEAT_MS);
    },
  });
  desk.open(first, data.showing);
  return {
    /**
     * Called at another run of the page, which may have found an item after all, or may only have changed the theme. An
     * earlier item that the annotator is leaving does not count as found.
     * @param {Data} data
     */
    again({ view, showing }) {
      const isNew = latest !== view && !showing;
      latest = view;
      if (!isNew || !leaving) return desk.redraw();
      stay();
      desk.open(JSON.parse(view));
    },

    close() {
      stay();
      shown = null;
      surface?.close();
    },
  };
}

/** @param {Component<Data, Reason>} component */
export default async function speakAndMount(component) {
  await speak(component.data.language);
  return workbench(component);
}

/** Mounts the workbench in the current language. */
export const workbench = mountedOnce(mount);
