// Before the first paint: the colours that the person chose; without a choice those of the system hold.
(() => {
  try {
    const chosen = localStorage.getItem("pincite.theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is forbidden: the system's colours it is.
  }
})();
