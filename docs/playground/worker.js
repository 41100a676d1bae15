// Runs Python beside the page, so that typing never waits for it. Every file is fetched from this folder.
const here = (path) => new URL(path, import.meta.url).href;
const fetched = self.fetch.bind(self);

// Counts what arrives, also of the files that Pyodide fetches by itself.
let loaded = 0;
self.fetch = async (...request) => {
  const response = await fetched(...request);
  if (!response.ok) throw new Error(`${response.url}: HTTP ${response.status}`);
  const count = new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.byteLength;
      postMessage({ loaded });
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(count), response);
};

const load = async () => {
  const { bytes } = await (await fetched(here("sizes.json"))).json();
  postMessage({ bytes });
  const packages = fetch(here("packages.zip")).then((response) => response.arrayBuffer());
  packages.catch(() => {}); // it is awaited below, after what may fail first
  const { loadPyodide } = await import(here("pyodide/pyodide.mjs"));
  const python = await loadPyodide({ indexURL: here("pyodide/") });
  postMessage({ stage: "Starting Python …" });
  python.unpackArchive(await packages, "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  const { answer, preset_names: names } = python.pyimport("read_reply");
  postMessage({ presets: names().toJs() });
  return answer;
};

const failed = (error) => postMessage({ failure: String(error?.message ?? error) });
const ready = load().catch(failed);

onmessage = async ({ data }) => {
  const answer = await ready;
  const began = performance.now();
  try {
    postMessage({ ...JSON.parse(answer(JSON.stringify(data))), ms: performance.now() - began });
  } catch (error) {
    failed(error);
  }
};
