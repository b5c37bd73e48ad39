// Caches the site of one build for the next visit, which then also works without a network.
const OURS = `tfgpu-doctor ${registration.scope} `;
const CACHE = OURS + "VERSION";
const FILES = ["FILES"]; // scripts/build_site fills in the list

// "no-cache" asks the server whether a file has changed, so that no browser-cached file of an earlier build is stored here.
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
