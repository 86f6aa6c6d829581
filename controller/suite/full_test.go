package suite

// everything is a test file that has every key and every form of one.
const everything = `# Everything that a test file can say.
name: everything
about: A test that says all that can be said
page: /framerate.html?fast=1
measures: [fps, tearing, response]
primary: [fps.framerate, response.latency_p50]
thresholds: {fps: 3%, response.latency_p50: 12.5%}
budgets: {fps.longest_freeze: 100ms, fps.framerate: 58}
t0: launch
begin: halfway
cadence: 59.94
tolerance: auto
region: 1280x720+0+16
masks: [10x10+0+0, 20x20+5+5]
network: {profile: cable, rtt: 40ms, down: 5Mbit/s, up: 1.5Mbit, loss: 0.1%, protocol: h3, key-log: true}
sync: markers
window: 1280x720
places: screen
vitals: true
script: {policies: [calls, errors, loops], share: 20%, adapt: live, seed: 7, break: true}
profile: {native: samples, js: map, sockets: true, rate: 499, while: run, limit: 64MiB, strict: true}
repeat: 10
warmup: 1
cooldown: 2s
retries: 3
timeout: 1m30s
steps:
  - launch: browser
  - load: example.org
  - key: Control+F
  - key: {chord: Plus, hold: 1s, times: 3, every: 250ms}
  - key: dead_acute
  - key: Shift+Compose
  - text: "日本語\n"
  - text: {text: "x: y # z", every: 80ms}
  - text: |
      two
        lines
  - click: [300, 400]
  - click: {at: ["50%", 12.5], button: right, times: 1, hold: 0s}
  - double-click: [1, 2]
  - tap: [300, 400]
  - double-tap: {at: ["100%", "0%"], hold: 10ms}
  - move: [5, 6]
  - move: {from: [1, 1], to: [2, 2], duration: 300ms}
  - hover: {at: [5, 6], for: 1s}
  - drag: {from: [1, 1], via: [[2, 2], [3, "3%"]], to: [4, 4], button: middle, duration: 2s}
  - wheel: {y: 3}
  - scroll: {at: [4, 4], x: -1, y: -10, times: 20, every: 16ms}
  - swipe: {from: ["50%", "80%"], to: ["50%", "20%"], duration: 250ms}
  - pinch: {at: ["50%", "50%"], from: 100, to: 300, angle: 45, duration: 1s}
  - touch:
      fingers:
        - {path: [[1, 1], [9, 9]], duration: 1s}
        - {path: [[5, 5]], after: 100ms, duration: 500ms}
  - replay: pan-1.touch
  - replay: [pan-1.touch, {file: pan-2.touch, weight: 2.5}]
  - script: "tap 100 200 1 50\nsleep 1\n"
  - wait: {change: 640x360+0+0, timeout: 5s}
  - wait: {change: all}
  - wait: {still: 1s, optional: true}
  - wait: {colour: "#00ff00", in: 10x10+0+0}
  - wait: {color: "#0000ff"}
  - wait: {still: 500ms, in: 10x10+0+0}
  - ping:
      do: {click: [10, 10]}
      expect: {change: 100x100+0+0, timeout: 1s}
      times: 20
      every: 300ms
      spread: 0s
  - ping: {do: {key: a}, expect: {colour: "#ff0000", in: 8x8+0+0}}
  - sleep: 2s
  - mark: halfway
  - network: 3g
  - network: {rtt: 200ms, loss: 2%}
  - repeat:
      times: 3
      every: 1s
      steps:
        - &wheel {wheel: {y: 1}}
        - repeat: {times: 2, steps: [*wheel]}
`
