// Keeps the site of one build for the next visit, with a network or without.
const OURS = `tfgpu-doctor ${registration.scope} `;
const CACHE = OURS + "VERSION";
const FILES = ["FILES"]; // scripts/build_site names them

// "no-cache" asks the host whether a file is still the same: what a browser kept of an earlier build must not get in here.
addEventListener("install", (event) => event.waitUntil(
  caches.open(CACHE).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "no-cache" }))))));
addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith(OURS) && name !== CACHE) await caches.delete(name);
  await clients.claim();
})()));
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith(caches.open(CACHE).then((cache) => cache.match(request, { ignoreSearch: true })).then((kept) => kept || fetch(request)));
});
