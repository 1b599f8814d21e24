"use strict";
// A small viewer of triangles: orbit, pan, zoom, parts to show and hide, a cross-section, configurations of a robot.
// It reads the JSON that each element of class "viewer" contains and needs nothing else.
(() => {
  const VERTEX = `#version 300 es
    in vec3 position; in vec4 color;
    uniform mat4 model, camera;
    out vec3 world; out vec4 tint;
    void main() {
      vec4 placed = model * vec4(position, 1.0);
      world = placed.xyz; tint = color; gl_Position = camera * placed;
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    in vec3 world; in vec4 tint;
    uniform vec4 cut; uniform vec3 eye;
    out vec4 result;
    void main() {
      if (dot(vec4(world, 1.0), cut) > 0.0) discard;
      vec3 normal = normalize(cross(dFdx(world), dFdy(world)));
      vec3 view = normalize(eye - world);
      float facing = abs(dot(normal, view));
      float above = 0.5 + 0.5 * abs(normal.z);
      result = vec4(tint.rgb * (0.35 + 0.45 * facing + 0.20 * above), tint.a);
    }`;

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const surfaces = new Map(); // by name: viewers of a page share the meshes of their robot
  const content = (host) => JSON.parse(host.querySelector("script[type='application/json']").textContent);

  function spread(colors, count) { // one colour for all vertices, where only one is given
    if (colors.length !== 4) return colors;
    const all = new Uint8Array(4 * count);
    for (let k = 0; k < count; k++) all.set(colors, 4 * k);
    return all;
  }

  const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

  function product(a, b) { // of 4x4 matrices, columns one after another
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++)
      for (let r = 0; r < 4; r++)
        for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return out;
  }

  function element(tag, parent, properties = {}) {
    const node = Object.assign(document.createElement(tag), properties);
    parent.appendChild(node);
    return node;
  }

  class Viewer {
    constructor(host) {
      this.host = host;
      this.data = content(host);
      this.canvas = element("canvas", host);
      this.gl = this.canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
      if (!this.gl) {
        this.canvas.remove();
        element("p", host, { textContent: "This browser has no WebGL 2: the three-dimensional view is not shown." });
        return;
      }
      this.configuration = 0; this.cutAxis = 3; this.cutAt = 1.0; this.cutSide = 1;
      this.build();
      this.frame();
      this.tools();
      this.listen();
      this.resized = new ResizeObserver(() => this.draw());
      this.resized.observe(host);
      this.draw();
    }

    close() {
      if (!this.gl) return;
      this.resized.disconnect();
      const release = this.gl.getExtension("WEBGL_lose_context");
      if (release) release.loseContext();
      this.host.querySelectorAll("canvas, .viewer-tools, .viewer-hint").forEach((node) => node.remove());
    }

    build() {
      const gl = this.gl, program = gl.createProgram();
      for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, source); gl.compileShader(shader); gl.attachShader(program, shader);
      }
      gl.bindAttribLocation(program, 0, "position"); gl.bindAttribLocation(program, 1, "color");
      gl.linkProgram(program); gl.useProgram(program);
      this.place = Object.fromEntries(["model", "camera", "cut", "eye"].map((n) => [n, gl.getUniformLocation(program, n)]));
      gl.enable(gl.DEPTH_TEST);
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      this.configurations = this.data.configurations.map((p) => ({ ...p, poses: floats(p.poses) }));
      for (const group of this.data.groups) {
        group.visible = true;
        for (const mesh of group.meshes) {
          mesh.vao = gl.createVertexArray(); gl.bindVertexArray(mesh.vao);
          const surface = surfaces.get(mesh.key);
          mesh.points = floats(surface.positions);
          gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
          gl.bufferData(gl.ARRAY_BUFFER, mesh.points, gl.STATIC_DRAW);
          gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
          mesh.colorBuffer = gl.createBuffer();
          gl.bindBuffer(gl.ARRAY_BUFFER, mesh.colorBuffer);
          gl.bufferData(gl.ARRAY_BUFFER, spread(bytes(mesh.colors), mesh.points.length / 3), gl.STATIC_DRAW);
          gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
          const indices = new Uint32Array(bytes(surface.indices).buffer);
          gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
          gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
          mesh.count = indices.length;
        }
      }
    }

    model(mesh) {
      if (mesh.link < 0 || !this.configurations.length) return IDENTITY;
      return this.configurations[this.configuration].poses.subarray(16 * mesh.link, 16 * mesh.link + 16);
    }

    frame() { // bounds of everything, and a camera that sees it
      const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      for (const group of this.data.groups) for (const mesh of group.meshes) {
        const m = this.model(mesh), p = mesh.points;
        for (let i = 0; i < p.length; i += 3) for (let r = 0; r < 3; r++) {
          const x = m[r] * p[i] + m[4 + r] * p[i + 1] + m[8 + r] * p[i + 2] + m[12 + r];
          if (x < low[r]) low[r] = x;
          if (x > high[r]) high[r] = x;
        }
      }
      this.low = low; this.high = high;
      this.center = low.map((x, k) => 0.5 * (x + high[k]));
      this.size = Math.max(0.1, Math.hypot(...low.map((x, k) => high[k] - x)));
      this.distance = 1.2 * this.size; this.azimuth = this.data.azimuth; this.elevation = 0.45;
    }

    tools() {
      const box = element("div", this.host, { className: "viewer-tools" });
      for (const group of this.data.groups) {
        const label = element("label", box);
        const check = element("input", label, { type: "checkbox", checked: true });
        label.append(" " + group.name);
        check.onchange = () => { group.visible = check.checked; this.draw(); };
      }
      const variants = new Set(this.data.groups.flatMap((g) => g.meshes.flatMap((m) => Object.keys(m.variants))));
      let choose = () => {};
      if (variants.size) {
        const select = element("select", element("label", box, { textContent: "solver " }));
        for (const name of variants) element("option", select, { value: name, textContent: name });
        select.onchange = () => { this.recolor(select.value); choose(select.value); };
        this.recolor(select.value);
      }
      if (this.configurations.length > 1) {
        const label = element("label", box, { textContent: "configuration " });
        const slider = element("input", label, { type: "range", min: 0 });
        const shown = element("output", box);
        let own = [];
        const show = () => {
          if (!own.length) { shown.textContent = "no configuration"; return; }
          this.configuration = own[+slider.value];
          shown.textContent = this.configurations[this.configuration].label;
          this.draw();
        };
        choose = (variant) => { // the configurations of one variant, and those of none
          own = [...this.configurations.keys()].filter((k) => ["", variant].includes(this.configurations[k].variant));
          slider.max = Math.max(0, own.length - 1); slider.value = 0; slider.disabled = own.length < 2;
          show();
        };
        slider.oninput = show;
        choose([...variants][0]);
      }
      const select = element("select", element("label", box, { textContent: "cut " }));
      ["none", "x", "y", "z"].forEach((name, k) => element("option", select, { value: (k + 3) % 4, textContent: name }));
      const slider = element("input", element("label", box), { type: "range", min: 0, max: 1, step: 0.002, value: 0.5, disabled: true });
      const flip = element("label", box);
      const side = element("input", flip, { type: "checkbox", disabled: true });
      flip.append(" other half");
      const open = () => { this.cutAxis = +select.value; slider.disabled = side.disabled = this.cutAxis === 3; this.cutAt = +slider.value; this.draw(); };
      select.onchange = open;
      if (this.data.cut) { select.value = "xyz".indexOf(this.data.cut); side.checked = true; this.cutSide = -1; open(); }
      slider.oninput = () => { this.cutAt = +slider.value; this.draw(); };
      side.onchange = () => { this.cutSide = side.checked ? -1 : 1; this.draw(); };
      element("div", this.host, { className: "viewer-hint", textContent: "drag: turn   shift-drag: move   wheel: zoom" });
    }

    recolor(variant) {
      const gl = this.gl;
      for (const group of this.data.groups) for (const mesh of group.meshes) {
        if (!(variant in mesh.variants)) continue;
        gl.bindBuffer(gl.ARRAY_BUFFER, mesh.colorBuffer);
        gl.bufferData(gl.ARRAY_BUFFER, bytes(mesh.variants[variant]), gl.STATIC_DRAW);
      }
      this.draw();
    }

    listen() {
      let last = null;
      this.canvas.onpointerdown = (e) => { last = [e.clientX, e.clientY]; this.canvas.setPointerCapture(e.pointerId); };
      this.canvas.onpointerup = () => { last = null; };
      this.canvas.onpointermove = (e) => {
        if (!last) return;
        const dx = e.clientX - last[0], dy = e.clientY - last[1];
        last = [e.clientX, e.clientY];
        if (e.shiftKey || e.buttons === 2) {
          const step = this.distance / this.canvas.clientHeight, [right, up] = this.axes();
          for (let k = 0; k < 3; k++) this.center[k] += step * (-dx * right[k] + dy * up[k]);
        } else {
          this.azimuth -= 0.008 * dx;
          this.elevation = Math.max(-1.55, Math.min(1.55, this.elevation + 0.008 * dy));
        }
        this.draw();
      };
      this.canvas.oncontextmenu = (e) => e.preventDefault();
      this.canvas.addEventListener("wheel", (e) => {
        e.preventDefault();
        this.distance *= Math.exp(0.001 * e.deltaY);
        this.draw();
      }, { passive: false });
    }

    axes() { // right, up and backward of the camera, in the world
      const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
      return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
    }

    draw() {
      const gl = this.gl, ratio = window.devicePixelRatio || 1;
      const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
      const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
      if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
      gl.viewport(0, 0, width, height);
      gl.clearColor(0.969, 0.973, 0.98, 1); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const [right, up, back] = this.axes();
      const eye = this.center.map((c, k) => c + this.distance * back[k]);
      const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
      const view = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
        -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
      const near = 0.01 * this.distance, far = this.distance + 4 * this.size, f = 1 / Math.tan(0.35);
      const lens = new Float32Array([f * height / width, 0, 0, 0, 0, f, 0, 0, 0, 0, -(far + near) / (far - near), -1,
        0, 0, -2 * far * near / (far - near), 0]);
      gl.uniformMatrix4fv(this.place.camera, false, product(lens, view));
      gl.uniform3fv(this.place.eye, eye);
      const cut = [0, 0, 0, -1];
      if (this.cutAxis < 3) {
        cut[this.cutAxis] = this.cutSide;
        cut[3] = -this.cutSide * (this.low[this.cutAxis] + this.cutAt * (this.high[this.cutAxis] - this.low[this.cutAxis]));
      }
      gl.uniform4fv(this.place.cut, cut);
      for (const group of this.data.groups) {
        if (!group.visible) continue;
        for (const mesh of group.meshes) {
          gl.uniformMatrix4fv(this.place.model, false, this.model(mesh));
          gl.bindVertexArray(mesh.vao);
          gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
        }
      }
    }
  }

  // Browsers keep some sixteen WebGL contexts at a time: a viewer lives only while it is near the window.
  const start = () => {
    const hosts = document.querySelectorAll(".viewer");
    for (const host of hosts)
      for (const group of content(host).groups)
        for (const mesh of group.meshes) if (mesh.positions) surfaces.set(mesh.key, mesh);
    const live = new Map();
    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting && !live.has(target)) live.set(target, new Viewer(target));
        if (!isIntersecting && live.has(target)) { live.get(target).close(); live.delete(target); }
      }
    }, { rootMargin: "300px" });
    hosts.forEach((host) => watch.observe(host));
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
