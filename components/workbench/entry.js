// What Streamlit loads. It calls the default function at every run of the page with the same parent element; the page's
// view counts the first time and when the annotator had left, for else the next views come by the workbench's own route.

import { Desk } from "./desk.js";
import { postTo } from "./network.js";
import workbench from "./workbench.js";

const AGAIN = 3000; // Streamlit drops an event while its websocket is down
const mounted = new WeakMap();

function mount({ parentElement, data, setTriggerValue }) {
  const view = JSON.parse(data.view);
  const bench = { seen: data.view, leaving: null, calls: 0 };
  const stay = () => {
    clearInterval(bench.leaving);
    bench.leaving = null;
  };
  bench.desk = new Desk({
    post: postTo(view.routes.act),
    show: (next) => {
      bench.drop = workbench({ parentElement, data: next, setTriggerValue: (_, action) => bench.desk.act(action) });
    },
    leave: (why) => {
      stay();
      setTriggerValue("left", why);
      bench.leaving = setInterval(() => setTriggerValue("left", why), AGAIN);
    },
  });
  bench.open = (next, showing) => {
    stay();
    bench.desk.open(next, showing);
  };
  bench.close = () => {
    stay();
    bench.drop();
    mounted.delete(parentElement);
  };
  bench.open(view, data.showing);
  return bench;
}

/**
 * Another run of the page: it may have found an item after all, or only the theme may be another. The item that she
 * went back to and is leaving is no find.
 */
function again(bench, { view, showing }) {
  const news = bench.seen !== view && !showing;
  bench.seen = view;
  if (news && bench.leaving) bench.open(JSON.parse(view), null);
  else bench.desk.show(bench.desk.view);
}

export default function entry(component) {
  const { parentElement } = component;
  const before = mounted.get(parentElement);
  const bench = before ?? mount(component);
  if (before) again(before, component.data);
  else mounted.set(parentElement, bench);
  const call = (bench.calls += 1);
  // Streamlit cleans up after a call that another one has overtaken, too
  return () => {
    if (bench.calls === call) bench.close();
  };
}
