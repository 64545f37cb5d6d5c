// Pages opened from a disk may not start workers. The search is then run in a hidden frame, which
// looks to both sides like the worker it stands for.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.onload = () => {
        this.inside = this.frame.contentWindow;
        for (const data of this.waiting) this.postMessage(data);
      };
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      this.frame.srcdoc =
        `<script>var post = window.postMessage.bind(window);` +
        `var postMessage = (data) => parent.postMessage(data, "*");</` +
        `script><script src="${url}"></` + `script>`;
      document.addEventListener("DOMContentLoaded", () => document.body.append(this.frame));
      if (document.body) document.body.append(this.frame);
    }

    postMessage(data) {
      if (this.inside) this.inside.post(data, "*");
      else this.waiting.push(data);
    }
  };
}
