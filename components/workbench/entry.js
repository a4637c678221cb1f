// What Streamlit loads. It calls the default function at every run of the page with the same parent element; the page's
// view counts only the first time, for from then on the next views come by the workbench's own route.

import { Desk } from "./desk.js";
import { postTo } from "./network.js";
import workbench from "./workbench.js";

const mounted = new WeakMap();

function mount({ parentElement, data, setTriggerValue }) {
  const view = JSON.parse(data.view);
  const bench = {};
  const desk = new Desk({
    post: postTo(view.routes.act),
    show: (next) => {
      bench.close = workbench({ parentElement, data: next, setTriggerValue: (_, action) => desk.act(action) });
    },
    leave: (why) => setTriggerValue("left", why),
  });
  desk.open(view);
  return { desk, bench };
}

export default function entry(component) {
  const { parentElement } = component;
  const before = mounted.get(parentElement);
  if (before) before.desk.show(before.desk.view); // the theme may be another
  else mounted.set(parentElement, mount(component));
  return () => {
    mounted.get(parentElement)?.bench.close();
    mounted.delete(parentElement);
  };
}
