package suite

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

const head = "name: x\npage: /framerate.html\n"

func step(s string) string { return head + "steps:\n  - " + s + "\n" }

// bad has invalid test files, and their exact errors.
var bad = []struct{ name, file, want string }{
	{"empty", "", "bad.yaml: is empty: a test has at least a name and a page"},
	{"comment", "# nothing\n", "bad.yaml: is empty: a test has at least a name and a page"},
	{"list", "- a\n", "bad.yaml:1:1: a test is a list: must be keys and values"},
	{"word", "hello\n", "bad.yaml:1:1: a test is text: must be keys and values"},
	{"not YAML", "name: [x\n", "bad.yaml:1:7: not YAML: sequence end token ']' not found"},
	{"tabulator", "name: x\n\tpage: /a\n", "bad.yaml:2:1: not YAML: found character '\t' that cannot start any token"},
	{"not UTF-8", "name: x\npage: /\xff\n", "bad.yaml:2:8: the text is not UTF-8"},
	{"control character", "name: \x01x\n", `bad.yaml:1:7: control character U+0001 in the text: write "\x01"`},
	{"two documents", head + "---\nname: y\n", "bad.yaml:4:1: a second document begins here: a file has one test"},
	{"too large", head + strings.Repeat("#\n", MaxFile/2), "bad.yaml: is larger than 64 KiB: no test is"},
	{"brackets", "name: " + strings.Repeat("[", 60000), "bad.yaml:1:39: nested more than 32 deep"},
	{"braces", strings.Repeat("{a: ", 15000), "bad.yaml:1:129: nested more than 32 deep"},
	{"dashes", strings.Repeat("- ", 30000), "bad.yaml:1:65: nested more than 32 deep"},
	{"unknown key", head + "mesures: [fps]\n", `bad.yaml:3:1: a test has no key "mesures"; did you mean measures?`},
	{"unknown key, nothing near", head + "xyzzy: 1\n",
		`bad.yaml:3:1: a test has no key "xyzzy"; known: about, begin, budgets, cadence, cooldown, masks, measures, ` +
			`name, network, ` +
			`page, places, primary, profile, region, repeat, retries, script, site, steps, sync, t0, thresholds, ` +
			`timeout, tolerance, url, vitals, warmup, window`},
	{"key twice", head + "repeat: 1\nname: y\n", "bad.yaml:4:1: a test has name twice: first in line 1"},
	{"two names for one key", head + "sync: markers\nend: 20s\n",
		"bad.yaml:4:1: sync and end are the same: one of them is enough"},
	{"key that is none", head + "[a]: 1\n", "bad.yaml:3:4: not YAML: found an invalid key for this map"},
	{"key that is a number", head + "1: 1\n", "bad.yaml:3:1: 1 is not a key of a test"},
	{"merge", head + "network: {<<: {rtt: 1ms}}\n", "bad.yaml:3:11: << merges nothing here: write the keys out"},
	{"tag", head + "repeat: !!int 3\n", "bad.yaml:3:9: tag !!int: none is needed here"},
	{"alias to nothing", head + "about: *x\n", "bad.yaml:3:8: nothing above is called &x"},
	{"no name", "page: /framerate.html\n", "bad.yaml:1:1: a test lacks name"},
	{"name", "name: a b\npage: /framerate.html\n",
		`bad.yaml:1:7: name "a b": must be letters, digits, dots, dashes and underscores, at most 100`},
	{"name of a file", "name: a.yaml\npage: /framerate.html\n",
		`bad.yaml:1:7: name "a.yaml" looks like a file's: leave the ending out`},
	{"name is a number", "name: 5\npage: /framerate.html\n",
		`bad.yaml:1:7: name is a number: must be text, so write "5" in quotes`},
	{"name is nothing", "name:\npage: /framerate.html\n", "bad.yaml:1:6: name has no value"},
	{"no page", "name: x\n", "bad.yaml:1:1: a test lacks page, a path such as /framerate.html, or site or url"},
	{"page and url", head + "url: https://example.org\n", "bad.yaml:3:6: a test has page or url, not both"},
	{"page and site", head + "site: /\n", "bad.yaml:3:7: a test has page or site, not both"},
	{"site and url", "name: x\nurl: https://example.org\nsite: /\nend: 2s\n",
		"bad.yaml:2:6: a test has site or url, not both"},
	{"site without an end", "name: x\nsite: /\n",
		"bad.yaml:1:1: a test of a url or site lacks its end: {end: still 3s}, {end: event NAME} or {end: 20s}"},
	{"site, file", "name: x\nsite: dist/index.html\nend: 2s\n", `bad.yaml:2:7: site: invalid path "dist/index.html"`},
	{"site, host", "name: x\nsite: //evil.test/\nend: 2s\n", `bad.yaml:2:7: site: invalid path "//evil.test/"`},
	{"site, other host", "name: x\nsite: x.evil.com:/a\nend: 2s\n", `bad.yaml:2:7: site: invalid path "x.evil.com:/a"`},
	{"site above", "name: x\nsite: /a/../../b\nend: 2s\n", `bad.yaml:2:7: site: invalid path "/a/../../b"`},
	{"archive for a site", "name: x\nsite: /\nend: 2s\nnetwork: {replay: site.zip}\n",
		"bad.yaml:4:19: an archive is replayed for a url, and the test has none"},
	{"page that is not there", "name: x\npage: /frmerate.html\n",
		"bad.yaml:2:7: unknown page /frmerate.html; did you mean /framerate.html?"},
	{"page without a slash", "name: x\npage: framerate\n",
		`bad.yaml:2:7: page "framerate": must be a path that begins with /; did you mean /framerate.html?`},
	{"page that is a URL", "name: x\npage: https://example.org\n",
		`bad.yaml:2:7: page "https://example.org" is none of the test network's; did you mean url?`},
	{"page above", "name: x\npage: /../etc/passwd\n", `bad.yaml:2:7: page: invalid path "/../etc/passwd"`},
	{"url without a scheme", "name: x\nurl: example.org/a\nend: still 3s\n",
		`bad.yaml:2:6: url "example.org/a": has no scheme; did you mean https://example.org/a?`},
	{"url of a script", "name: x\nurl: \"javascript:alert(1)\"\nend: still 3s\n",
		`bad.yaml:2:6: url "javascript:alert(1)": must be http://, https://, file:// or about:blank`},
	{"url without an end", "name: x\nurl: https://example.org\n",
		"bad.yaml:1:1: a test of a url or site lacks its end: {end: still 3s}, {end: event NAME} or {end: 20s}"},
	{"nothing marked", "name: x\nurl: about:blank\nsync: markers\n",
		"bad.yaml:3:7: about:blank has no markers; use {end: still 3s}, {end: event NAME} or {end: 20s}"},
	{"measure", head + "measures: [fps, taering]\n",
		`bad.yaml:3:17: unknown measure "taering"; did you mean tearing?`},
	{"measure twice", head + "measures: [fps, fps]\n", "bad.yaml:3:17: measure fps is given twice"},
	{"measures", head + "measures: {fps: 1}\n", "bad.yaml:3:11: measures is a mapping: must be a list"},
	{"primary", head + "measures: fps\nprimary: tearing.torn\n",
		"bad.yaml:4:10: primary: no measure tearing here; known: fps"},
	{"threshold", head + "thresholds: {fps: 3}\n", `bad.yaml:3:19: fps: "3" has no unit; did you mean 3%?`},
	{"threshold of nothing", head + "thresholds:\n  fsp.framerate: 3%\n",
		"bad.yaml:4:18: threshold of fsp.framerate: no measure fsp here; did you mean fps?"},
	{"primary, value", head + "primary: fps.framrate\n",
		"bad.yaml:3:10: primary: fps.framrate is not a value of fps; did you mean fps.framerate?"},
	{"primary twice", head + "primary: [fps.framerate, fps.framerate]\n",
		"bad.yaml:3:26: primary: fps.framerate is given twice"},
	{"primary of six", head + "primary: [fps, fps, fps, fps, fps, fps]\n",
		"bad.yaml:3:10: primary has 6 values: at most 5"},
	{"primary, second value", head + "primary: [fps.framerate, fps.framrate]\n",
		"bad.yaml:3:26: primary: fps.framrate is not a value of fps; did you mean fps.framerate?"},
	{"primary, no such value", head + "measures: fps\nprimary: fps.nonsense\n",
		"bad.yaml:4:10: primary: fps.nonsense is not a value of fps; known: framerate, frames"},
	{"primary, value with dots", head + "primary: response.pixel.latency_p50\n",
		"bad.yaml:3:10: primary: response.pixel.latency_p50 is not a value of response; known: latency_p50"},
	{"threshold of no value", head + "thresholds:\n  fps.framerate: 3%\n  fps.nonsense: 3%\n",
		"bad.yaml:5:17: threshold of fps.nonsense: fps.nonsense is not a value of fps; known: framerate, frames"},
	{"budget of no value", head + "budgets:\n  fps.framrate: 58\n",
		"bad.yaml:4:17: budget of fps.framrate: fps.framrate is not a value of fps; did you mean fps.framerate?"},
	{"network", head + "network: {profile: cabel}\n", `bad.yaml:3:20: unknown network "cabel"; did you mean cable?`},
	{"network in short", head + "network: cabel\n", `bad.yaml:3:10: unknown network "cabel"; did you mean cable?`},
	{"network of nothing", head + "network: {}\n",
		"bad.yaml:3:10: network is empty: use a profile, rtt, down, up, loss, a protocol, or an archive to replay"},
	{"rtt", head + "network: {rtt: 40}\n", `bad.yaml:3:16: rtt: invalid duration "40"; did you mean 40s?`},
	{"rtt, unit", head + "network: {rtt: 40 msec}\n",
		`bad.yaml:3:16: rtt: invalid duration "40 msec"; did you mean 40ms?`},
	{"rate", head + "network:\n  rtt: 40ms\n  down: 5Mbps\n",
		`bad.yaml:5:9: down: invalid rate "5Mbps"; did you mean 5Mbit?`},
	{"rate of bytes", head + "network: {down: 5MB/s}\n",
		`bad.yaml:3:17: down: invalid rate "5MB/s"; did you mean 40Mbit?`},
	{"rate without a unit", head + "network: {down: 5}\n",
		`bad.yaml:3:17: down: invalid rate "5": must be a number and a unit, such as 5Mbit or 500kbit`},
	{"loss", head + "network: {loss: 0.1}\n", `bad.yaml:3:17: loss: "0.1" has no unit; did you mean 0.1%?`},
	{"archive for a page", head + "network: {replay: site.zip}\n",
		"bad.yaml:3:19: an archive is replayed for a url, and the test has none"},
	{"archive that is not there", "name: x\nurl: https://example.org\nend: 2s\nnetwork: {replay: sit.zip}\n",
		"bad.yaml:4:19: archive sit.zip does not exist; did you mean site.zip?"},
	{"archive elsewhere", "name: x\nurl: https://example.org\nend: 2s\nnetwork: {replay: ../site.zip}\n",
		`bad.yaml:4:19: archive "../site.zip": must be a file's name in or below its folder`},
	{"determinism of nothing", head + "network: {rtt: 40ms, determinism: 1}\n",
		"bad.yaml:3:35: determinism needs replay"},
	{"policy", head + "script: {policies: [calls, error]}\n",
		`bad.yaml:3:28: unknown policy "error"; did you mean errors?`},
	{"adapt", head + "script: {policies: [calls], adapt: life}\n",
		`bad.yaml:3:36: adapt "life": must be loads or live`},
	{"share", head + "script: {policies: [calls], share: 0.5%}\n", "bad.yaml:3:36: share: must be 1% to 100%"},
	{"share, too large", head + "script: {policies: [calls], share: 101%}\n",
		"bad.yaml:3:36: share: must be 1% to 100%"},
	{"share of nothing", head + "script: {policies: [errors], share: 10%}\n",
		"bad.yaml:3:20: adapt and share need the policy calls"},
	{"policy in short", head + "script: cals\n", `bad.yaml:3:9: unknown policy "cals"; did you mean calls?`},
	{"policy, nothing near", head + "script: [xyzzy]\n",
		`bad.yaml:3:10: unknown policy "xyzzy"; known: ab, calls, errors`},
	{"policy twice", head + "script: [calls, calls]\n", "bad.yaml:3:17: policy calls is given twice"},
	{"policy that is none", head + "script: [a b]\n", `bad.yaml:3:10: policy "a b": must be a name such as calls`},
	{"policies of nothing", head + "script: []\n", "bad.yaml:3:9: script is empty: name policies such as calls"},
	{"break", head + "script: {policies: [calls], break: true}\n",
		"bad.yaml:3:36: break needs the policy loops"},
	{"policy without replacements", head + "script: ab\n",
		"bad.yaml:3:9: policy ab and its replacements need each other; add ab: [{function: NAME, with: FILE}]"},
	{"replacements without their policy",
		head + "script: {policies: [calls], ab: [{function: f, with: site.zip}]}\n",
		"bad.yaml:3:33: policy ab and its replacements need each other; add ab: [{function: NAME, with: FILE}]"},
	{"replacement that is not there", head + "script: {policies: [ab], ab: [{function: f, with: faster.js}]}\n",
		"bad.yaml:3:51: replacement faster.js does not exist"},
	{"replacement elsewhere", head + "script: {policies: [ab], ab: [{function: f, with: ../f.js}]}\n",
		`bad.yaml:3:51: replacement "../f.js": must be a file's name in or below its folder`},
	{"replacement of nothing", head + "script: {policies: [ab], ab: [{with: site.zip}]}\n",
		"bad.yaml:3:31: ab lacks function"},
	{"policies missing", head + "script: {}\n", "bad.yaml:3:9: script lacks policies"},
	{"profile of nothing", head + "profile: {}\n", "bad.yaml:3:10: profile is empty: add native, js or sockets"},
	{"profile in short", head + "profile: sample\n", `bad.yaml:3:10: native "sample": must be one of samples, ` +
		"functions, imports, auto, none"},
	{"profile, js", head + "profile: {js: mop}\n", `bad.yaml:3:15: js "mop": must be one of map, trace, auto, none`},
	{"profile, map without samples", head + "profile: {native: functions, js: map}\n",
		"bad.yaml:3:34: js: map names functions of samples; add native: samples"},
	{"profile, rate of nothing", head + "profile: {sockets: true, rate: 100}\n",
		"bad.yaml:3:32: rate needs native: samples"},
	{"profile, part", head + "profile: {sockets: true, while: loading}\n",
		`bad.yaml:3:33: while "loading": must be content or run`},
	{"profile, limit", head + "profile: {sockets: true, limit: 64}\n",
		`bad.yaml:3:33: limit: invalid size "64": must be such as 256MiB or 2GiB`},
	{"policies, wrong key", head + "script: {policy: calls}\n",
		"bad.yaml:3:9: script lacks policies (and 1 more problem; eideticker suite check lists all)"},
	{"protocol", head + "network: {protocol: http/2}\n",
		`bad.yaml:3:21: protocol: "http/2" is none of http/1.1, h2 and h3; did you mean h2?`},
	{"protocol, nothing near", head + "network: {protocol: gopher}\n",
		`bad.yaml:3:21: protocol: "gopher" is none of http/1.1, h2 and h3`},
	{"protocol, empty", head + "network: {protocol: \"\"}\n",
		`bad.yaml:3:21: protocol: "" is none of http/1.1, h2 and h3`},
	{"protocol that is a list", head + "network: {protocol: [h2, h3]}\n",
		`bad.yaml:3:21: protocol is a list: must be http/1.1, h2 or h3`},
	{"protocol of a url", "name: x\nurl: https://example.org\nend: 2s\nnetwork: {protocol: h2}\n",
		"bad.yaml:4:21: protocol needs a page, a site or an archive, not a url"},
	{"protocol of a step", head + "network: cable\nsteps:\n  - network: {protocol: h2}\n",
		`bad.yaml:5:15: network has no key "protocol"; known: down, loss, profile, rtt, up`},
	{"keys of nothing", head + "network: {profile: cable, key-log: true}\n",
		"bad.yaml:3:36: key-log needs a protocol or an archive"},
	{"keys, neither", head + "network: {protocol: h2, key-log: yes please}\n",
		`bad.yaml:3:34: key-log: "yes please" is neither true nor false`},
	{"keys, a number", head + "network: {protocol: h2, key-log: 1}\n",
		`bad.yaml:3:34: key-log: "1" is neither true nor false`},
	{"loss of more than all", head + "network: {loss: 101%}\n", "bad.yaml:3:17: loss: must be at most 100%"},
	{"sync", head + "sync: marker\n",
		`bad.yaml:3:7: unknown end "marker": must be markers, still 3s, event NAME or 20s; did you mean markers?`},
	{"sync, key", head + "sync: {ends: 20s}\n",
		"bad.yaml:3:7: sync: must be markers, or {end: still 3s}, {end: event NAME} or {end: 20s}"},
	{"end", head + "end: still 3\n", `bad.yaml:3:6: still: invalid duration "3"; did you mean 3s?`},
	{"end that does not come", head + "end: 2m\n",
		"bad.yaml:3:6: limit 2m0s is not over before the run's timeout, 1m0s"},
	{"window", head + "window: 1280\n",
		`bad.yaml:3:9: window: bad size "1280": want WxH in pixels, such as 1920x1080, from 1x1 to 32768x32768`},
	{"region", head + "region: 10x10\n",
		`bad.yaml:3:9: region: bad region "10x10": want WxH+X+Y in pixels, such as 1280x720+0+0, sides up to 32768`},
	{"places", head + "places: page\n", `bad.yaml:3:9: places: "page" is neither content nor screen`},
	{"tolerance", head + "tolerance: 256\n", `bad.yaml:3:12: tolerance: "256": must be 0 to 255, or auto`},
	{"repeat", head + "repeat: 0\n", "bad.yaml:3:9: repeat is 0: must be 1 to 10000"},
	{"repeat of text", head + "repeat: \"3\"\n",
		"bad.yaml:3:9: repeat is text: must be a whole number, without quotes"},
	{"repeat of halves", head + "repeat: 1.5\n", `bad.yaml:3:9: repeat: invalid whole number "1.5"`},
	{"timeout", head + "timeout: 0s\n", "bad.yaml:3:10: timeout: must be positive"},
	{"timeout, long", head + "timeout: 25h\n", "bad.yaml:3:10: timeout: 25h: must be 0s to 24h"},
	{"steps", head + "steps: {load: a}\n", "bad.yaml:3:8: steps is a mapping: must be a list"},
	{"step of a word", step("launch"), "bad.yaml:4:5: a step is text: must be keys and values"},
	{"step of nothing", step("{}"), "bad.yaml:4:5: a step does nothing"},
	{"step that is none", step("clik: [1, 2]"), `bad.yaml:4:5: unknown step "clik"; did you mean click?`},
	{"step of another program", step("navigate: example.org"),
		`bad.yaml:4:5: unknown step "navigate"; did you mean load?`},
	{"two steps in one", step("click: [1, 2]\n    button: right"),
		"bad.yaml:5:5: a step does one thing: button is beside click; indent its keys, or begin a step with a dash"},
	{"launch", step("launch: chrome"), `bad.yaml:4:13: launch: "chrome" cannot be launched; did you mean browser?`},
	{"two launches", step("launch: browser\n  - launch: browser"),
		"bad.yaml:5:5: launch is not the first step: until then the browser runs already"},
	{"launch again and again", step("repeat: {times: 2, steps: [{launch: browser}]}"),
		"bad.yaml:4:5: the browser is launched in a repetition: repeat the test instead"},
	{"load", step("load: \"a\\nb\""), `bad.yaml:4:11: load: "a\nb": must be an address in one line of at most 8 KiB`},
	{"key", step("key: Contrl+F"), `bad.yaml:4:10: key: unknown key "Contrl"; did you mean Control?`},
	{"key, near", step("key: Control+Arrow"), `bad.yaml:4:10: key: unknown key "Arrow"; did you mean ArrowDown?`},
	{"key of a plus", step("key: Control+"),
		`bad.yaml:4:10: key: keys "Control+" end in a plus: the key itself is called Plus`},
	{"text of a number", step("text: 123"), `bad.yaml:4:11: text is a number: must be text, so write "123" in quotes`},
	{"text of yes", step("text: true"),
		`bad.yaml:4:11: text is true or false: must be text, so write "true" in quotes`},
	{"text of nothing", step(`text: ""`), "bad.yaml:4:11: text: is empty"},
	{"click", step("click: 300"),
		`bad.yaml:4:12: a point is two numbers such as [300, 400] or ["50%", "50%"], or a selector`},
	{"selector on a page", step(`click: "#buy"`),
		"bad.yaml:4:3: a selector needs a url or site, and places of the content"},
	{"selector of nothing", step(`click: " "`),
		`bad.yaml:4:12: place: invalid selector " ": must be CSS in one line of at most 1000 bytes`},
	{"click nowhere", step("click: {button: left}"), "bad.yaml:4:12: click lacks at"},
	{"click outside", step("click: [-1, 5]"), "bad.yaml:4:13: x: -1: must be 0 to 65536 pixels"},
	{"click outside, percent", step(`click: [5, "101%"]`), "bad.yaml:4:16: y: 101%: must be 0% to 100%"},
	{"button", step("click: {at: [1, 2], buton: left}"),
		`bad.yaml:4:25: click has no key "buton"; did you mean button?`},
	{"button, name", step("click: {at: [1, 2], button: rihgt}"),
		`bad.yaml:4:33: button: unknown button "rihgt"; did you mean right?`},
	{"times", step("click: {at: [1, 2], times: 0}"), "bad.yaml:4:32: times is 0: must be 1 to 10000"},
	{"wheel", step("wheel: {at: [1, 2]}"), "bad.yaml:4:12: wheel needs y (detents down) or x"},
	{"pinch", step("pinch: {at: [1, 2], from: 5, to: 5}"),
		"bad.yaml:4:38: the fingers do not move: from and to are the same distance"},
	{"pinch, half", step("pinch: {at: [1, 2], from: 5}"), "bad.yaml:4:12: pinch lacks to"},
	{"fingers", step("touch: {fingers: [" + strings.Repeat("{path: [[1, 1]]}, ", 11) + "]}"),
		"bad.yaml:4:22: 11 fingers: must be 1 to 10"},
	{"finger", step("touch: {fingers: [{path: []}]}"), "bad.yaml:4:30: a finger's path has no point"},
	{"replay", step("replay: pan-2.touch"),
		"bad.yaml:4:13: recording pan-2.touch does not exist; did you mean pan-1.touch?"},
	{"replay from elsewhere", step("replay: ../pan-1.touch"),
		`bad.yaml:4:13: recording "../pan-1.touch": must be a file's name in or below its folder`},
	{"replay of what is none", step("replay: empty.touch"),
		"bad.yaml:4:13: recording empty.touch: no finger touches anything: is it the output of getevent -lt?"},
	{"script", step(`script: "tap 1 2 1 0\nfling 3 4\n"`),
		`bad.yaml:4:13: script: line 2: unknown command "fling"; known: tap, drag, pinch, sleep, keydown and keyup`},
	{"window too small", head + "window: 5x5\n", "bad.yaml:3:9: window 5x5: must be 64x64 to 16384x16384"},
	{"region outside the window", head + "window: 800x600\nregion: 400x300+500+0\n",
		"bad.yaml:4:9: region: 400x300+500+0 is outside 800x600"},
	{"region outside any window", head + "region: 10x10+20000+0\n",
		"bad.yaml:3:9: region: 10x10+20000+0 is outside 16384x16384"},
	{"mask outside the window", head + "window: 800x600\nmasks: [1x1+0+0, 1x2+0+599]\n",
		"bad.yaml:4:18: mask: 1x2+0+599 is outside 800x600"},
	{"click on nothing", "name: x\nurl: about:blank\nend: 3s\nsteps:\n  - sleep: 1s\n" +
		"  - repeat: {times: 2, steps: [{click: [1, 2]}]}\n  - load: example.org\n",
		"bad.yaml:6:5: click acts on the rig's green page: put a load step before it, or use page or url"},
	{"replay without weight", step("replay: [{file: pan-1.touch, weight: 0}]"),
		"bad.yaml:4:42: weight is 0: must be positive"},
	{"wait", step("wait: {timeout: 5s}"), "bad.yaml:4:11: wait: must be one of change, colour and still"},
	{"wait for both", step("wait: {change: all, still: 1s}"),
		"bad.yaml:4:11: wait: must be one of change, colour and still"},
	{"wait, time alone", step("wait: 5s"),
		"bad.yaml:4:11: wait waits for the screen, such as {still: 1s} or {change: all}; a time is sleep: 2s"},
	{"wait, region", step("wait: {change: 640x360}"),
		`bad.yaml:4:20: change: bad region "640x360": want WxH+X+Y in pixels, such as 1280x720+0+0, sides up to 32768`},
	{"wait, colour in a comment", step("wait:\n      colour: #00ff00"),
		`bad.yaml:5:15: colour has no value: # begins a comment, so write "#rrggbb" in quotes`},
	{"wait, colour", step("wait: {colour: green}"),
		`bad.yaml:4:20: colour: invalid colour "green": must be one such as "#00ff00"`},
	{"wait, two colours", step(`wait: {colour: "00ff00", color: "00ff00"}`),
		"bad.yaml:4:30: colour and color are the same: one of them is enough"},
	{"wait, in", step("wait: {change: all, in: 1x1+0+0}"),
		"bad.yaml:4:29: change says itself where: in belongs to colour and still"},
	{"wait, rest", step("wait: {change: all, rest: true}"),
		"bad.yaml:4:31: rest belongs to still"},
	{"wait, longer than it may", step("wait: {still: 10s, timeout: 5s}"),
		"bad.yaml:4:19: still 10s is not over before the timeout, 5s"},
	{"ping", step("ping: {do: {sleep: 1s}, expect: {change: all}}"),
		"bad.yaml:4:16: sleep is not an input, such as key, click, tap, drag, wheel, swipe or touch"},
	{"ping for nothing", step("ping: {do: {key: a}, expect: {}}"),
		"bad.yaml:4:34: expect: must be one of change and colour"},
	{"ping, half", step("ping: {do: {key: a}}"), "bad.yaml:4:11: ping lacks expect"},
	{"sleep", step("sleep: 2 seconds"), `bad.yaml:4:12: sleep: invalid duration "2 seconds"; did you mean 2s?`},
	{"sleep back", step("sleep: -2s"), "bad.yaml:4:12: sleep: -2s: must be 0s to 24h"},
	{"line without a network", step("network: cable"),
		`bad.yaml:4:5: the test has no network to change; add network: cable beside steps`},
	{"line that is not there", head + "network: cable\nsteps:\n  - repeat: {times: 2, steps: [{network: cabel}]}\n",
		`bad.yaml:5:5: unknown network "cabel"; did you mean cable?`},
	{"line of nothing", head + "network: cable\nsteps:\n  - network: {}\n",
		`bad.yaml:5:14: network is empty: give a profile, or rtt, down, up, loss`},
	{"line further than the moon", head + "network: cable\nsteps:\n  - network: {rtt: 2m}\n",
		`bad.yaml:5:20: rtt: must be at most 1m0s`},
	{"line with an archive", head + "network: cable\nsteps:\n  - network: {replay: site.zip}\n",
		`bad.yaml:5:15: network has no key "replay"; known: down, loss, profile, rtt, up`},
	{"line that loses more than all", head + "network: cable\nsteps:\n  - network: {loss: 101%}\n",
		`bad.yaml:5:21: loss: must be at most 100%`},
	{"mark", step("mark: half way"),
		`bad.yaml:4:11: mark: event "half way": must be 1 to 64 letters, digits, dots, dashes and underscores`},
	{"repetition of nothing", step("repeat: {times: 2}"), "bad.yaml:4:13: repeat lacks steps"},
	{"repetitions in each other",
		step(strings.Repeat("repeat: {times: 2, steps: [{", 4) + "repeat: {times: 2, steps: []}" +
			strings.Repeat("}]}", 4)),
		"bad.yaml:4:125: steps are repeated within each other more than 4 deep"},
	{"steps without end", step("repeat: {times: 10000, steps: [{repeat: {times: 10000, steps: [{key: a}]}}]}"),
		"bad.yaml:4:3: a run would do more than 100000 steps"},
	{"steps of steps of themselves", head + "steps: &a [{repeat: {times: 1, steps: *a}}]\n",
		"bad.yaml:3:21: steps are repeated within each other more than 4 deep"},
	{"alias bomb", bomb(), "bad.yaml:5:168: aliases make more than 50000 values of this file"},
}

// bomb is steps that would be 40^4 if they were written out.
func bomb() string {
	ten := func(name string) string { return "[" + strings.Repeat("*"+name+", ", 40) + "]" }
	return head + "steps:\n" +
		"  - &a {key: a}\n" +
		"  - &b {repeat: {times: 1, steps: " + ten("a") + "}}\n" +
		"  - &c {repeat: {times: 1, steps: " + ten("b") + "}}\n" +
		"  - &d {repeat: {times: 1, steps: " + ten("c") + "}}\n" +
		"  - &e {repeat: {times: 1, steps: " + ten("d") + "}}\n"
}

// known is what the files of tests are held against.
func known() Known {
	return Known{
		Pages: []string{"/framerate.html", "/load.html"}, Measures: []string{"fps", "tearing", "response"},
		Values:   map[string][]string{"fps": {"frames", "framerate"}, "tearing": {"torn"}, "response": {"latency_p50"}},
		Networks: []string{"cable", "dsl"}, Policies: []string{"calls", "errors", "ab"},
		Dir: fstest.MapFS{"site.zip": {}, "pan-1.touch": {}, "empty.touch": {Data: []byte("what is this\n")}},
	}
}

func TestBadFiles(t *testing.T) {
	for _, tc := range bad {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("bad.yaml", []byte(tc.file), known())
			if err == nil || err.Error() != tc.want {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestAllProblems: a file's problems are reported at once, in their order, without those that only
// follow from another one.
func TestAllProblems(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"keys, types and names": {"name: a b\npage: /frmerate.html\nmesures: [fps]\nprimary: [fps.framrate, fsp]\n" +
			"repeat: often\nnetwork: cabel\nsteps:\n  - click: [1, x]\n  - clack: 1\n" +
			"  - wait: {still: 1s, colour: \"#123\"}\n",
			`bad.yaml:1:7: name "a b": must be letters, digits, dots, dashes and underscores, at most 100
bad.yaml:2:7: unknown page /frmerate.html; did you mean /framerate.html?
bad.yaml:3:1: a test has no key "mesures"; did you mean measures?
bad.yaml:5:9: repeat: invalid whole number "often"
bad.yaml:6:10: unknown network "cabel"; did you mean cable?
bad.yaml:8:16: y: invalid place "x": must be pixels such as 300, or a percentage such as "50%"
bad.yaml:9:5: unknown step "clack"; did you mean click?
bad.yaml:10:31: colour: invalid colour "#123": must be one such as "#00ff00"`},
		"a misspelt key is not missing": {"nmae: x\npgae: /framerate.html\n",
			`bad.yaml:1:1: a test has no key "nmae"; did you mean name?
bad.yaml:2:1: a test has no key "pgae"; did you mean page?`},
		"lists": {head + "measures: [fsp, fps, taering]\nmasks: [1x1+20000+0, 1x1+0+20000]\n",
			`bad.yaml:3:12: unknown measure "fsp"; did you mean fps?
bad.yaml:3:22: unknown measure "taering"; did you mean tearing?
bad.yaml:4:9: mask: 1x1+20000+0 is outside 16384x16384
bad.yaml:4:22: mask: 1x1+0+20000 is outside 16384x16384`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("bad.yaml", []byte(tc.file), known())
			var got []string
			for _, one := range Parts(err) {
				got = append(got, one.Error())
			}
			if all := strings.Join(got, "\n"); all != tc.want {
				t.Errorf("%s\nwant\n%s", all, tc.want)
			}
		})
	}
	_, err := Parse("bad.yaml", []byte(head+"steps:\n"+strings.Repeat("  - x: 1\n", 5000)), known())
	if n := len(Parts(err)); n != maxErrors {
		t.Errorf("%d problems are reported, want %d", n, maxErrors)
	}
	_, many := Parse("bad.yaml", []byte(head+"measures: ["+strings.Repeat("fpss, ", 5000)+"fps]\n"), known())
	if n := len(Parts(many)); n != maxErrors {
		t.Errorf("%d problems of one list are reported, want %d", n, maxErrors)
	}
	if said := err.Error(); !strings.HasPrefix(said, "bad.yaml:4:5: unknown step") ||
		!strings.HasSuffix(said, "(and 49 more problems; eideticker suite check lists all)") {
		t.Error(err)
	}
}

// TestWhatGoesSomewhereMayClick: keys go to an address as well as a load step does.
func TestWhatGoesSomewhereMayClick(t *testing.T) {
	for _, before := range []string{"load: example.org", "key: Control+L"} {
		if _, err := Parse("good.yaml", []byte("name: x\nurl: about:blank\nend: 3s\nsteps:\n  - "+before+
			"\n  - click: [1, 2]\n"), known()); err != nil {
			t.Error(err)
		}
	}
}

// TestIrregularFiles: to open a pipe is to wait for whoever writes into it, so it is not opened.
func TestIrregularFiles(t *testing.T) {
	fsys := fstest.MapFS{"pipe.yaml": {Data: []byte(head), Mode: fs.ModeNamedPipe}}
	if _, err := Read(fsys, "pipe.yaml", known()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}
