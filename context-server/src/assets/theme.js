// Runs before the page is drawn, so that the colours do not change under the eyes.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("context-theme"); } catch { /* storage is off */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
