package replay

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/internal/body"
)

func TestScriptIsWhatItsHashSays(t *testing.T) {
	d := Determinism{Seed: 5, Clock: created}
	element, hash := d.script()
	text := strings.TrimSuffix(strings.TrimPrefix(string(element), "<script>"), "</script>")
	sum := sha256.Sum256([]byte(text))
	if hash != "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'" || strings.Contains(text, "<") &&
		strings.Contains(text, "</script") {
		t.Errorf("%s", hash)
	}
	for _, c := range []byte(text) {
		if c >= 0x80 {
			t.Fatal("the script is not in ASCII, and documents are in any letters")
		}
	}
	other := Determinism{Seed: 6, Clock: created}
	if _, h := other.script(); h == hash {
		t.Error("another seed, and the same script")
	}
}

// TestScriptRuns looks at the page's clock and chance, in Node.js, which has no page: what it needs
// of one is given to it.
func TestScriptRuns(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("node is not installed")
	}
	run := func(seed uint64) string {
		d := Determinism{Seed: seed, Clock: time.UnixMilli(1_700_000_000_000), Crypto: true}
		element, _ := d.script()
		text := strings.TrimSuffix(strings.TrimPrefix(string(element), "<script>"), "</script>")
		cmd := exec.CommandContext(t.Context(), node, "-e", `
globalThis.self = globalThis;
let frame = 0;
globalThis.requestAnimationFrame = (f) => setImmediate(() => f(frame += 7.3));
globalThis.document = {currentScript: {remove() { console.log('gone'); }}};
`+text+`;
const show = (...v) => console.log(JSON.stringify(v));
show(Date.now(), new Date().getTime(), new Date(5).getTime(), new Date(2020, 1, 2).getFullYear(), typeof Date(),
  Date.UTC(2020, 0), Date.name, Date.length);
class Later extends Date { x() { return this.getTime() > 0; } }
show(new Date() instanceof Date, new Date().constructor === Date, new Later().x());
show(performance.now(), performance.timeOrigin, Math.random(), Math.random(),
  [...crypto.getRandomValues(new Uint8Array(8))]);
requestAnimationFrame((a) => requestAnimationFrame((b) => {
  show('frame', Math.abs(b - a - 1000 / 60) < 0.2);
  let n = 0;
  const from = performance.now(), every = setInterval(() => {
    if (++n < 3) { return; }
    clearInterval(every);
    show('interval', performance.now() - from >= 15);
    const before = performance.now(); // begun now, so that it is told second however late both are
    const passed = () => performance.now() - before;
    setTimeout((x) => show('timer', x, passed() >= 50 && passed() < 51), 50, 'given');
  }, 5);
}));
`)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	first := run(1)
	for _, want := range []string{"gone\n", "[1700000000000,1700000000000,5,2020,\"string\",1577836800000,\"Date\",7]",
		"[true,true,true]", `["frame",true]`, `["interval",true]`, `["timer","given",true]`} {
		if !strings.Contains(first, want) {
			t.Errorf("%s is not in:\n%s", want, first)
		}
	}
	if again := run(1); again != first {
		t.Errorf("the same seed:\n%s\nand\n%s", first, again)
	}
	if other := run(2); other == first {
		t.Error("another seed, and the same chance")
	}
}

// TestReplayInjects into documents, and nothing else.
func TestReplayInjects(t *testing.T) {
	document := "<!doctype html><html><head><script nonce=x>1</script></head></html>"
	script := "console.log('<head>')"
	frag := "<html><head></head></html>"
	a := archiveOf(
		one("GET", "http://a.test/", 200, document, "Content-Type", "text/html; charset=utf-8", "Content-Length", "66",
			"Content-Security-Policy", "script-src 'nonce-x'", "Content-Security-Policy-Report-Only",
			"default-src 'none'", "Repr-Digest", "sha-256=:x:"),
		one("GET", "http://a.test/gz", 200, string(gzipped([]byte(document))), "Content-Type", "text/html",
			"Content-Encoding", "gzip"),
		one("GET", "http://a.test/br", 200, string(must(body.Pack([]byte(document), []string{"br"}))), "Content-Type",
			"text/html", "Content-Encoding", "br"),
		one("GET", "http://a.test/a.js", 200, script, "Content-Type", "text/javascript"),
		one("GET", "http://a.test/bad", 200, "no gzip", "Content-Type", "text/html", "Content-Encoding", "gzip"),
		one("GET", "http://a.test/frag", 200, frag, "Content-Type", "text/html"),
	)
	r, c := replayed(t, a, ReplayerOptions{Determinism: &Determinism{Seed: 3}})
	element, hash := (&Determinism{Seed: 3, Clock: created}).script()
	want := strings.Replace(document, "<head>", "<head>"+string(element), 1)
	for range 2 { // the second is the one that was kept
		g := get(t, c, "GET", "http://a.test/", "")
		if string(g.body) != want || g.header.Get("Content-Security-Policy") != "script-src 'nonce-x' "+hash ||
			g.header.Get("Content-Security-Policy-Report-Only") != "default-src 'none'; script-src "+hash {
			t.Errorf("%s\n%v", g.body, g.header)
		}
		if g.header.Get("Repr-Digest") != "" {
			t.Error("a digest that is not true any more")
		}
		for address, take := range map[string]string{"gz": "gzip", "br": "gzip, br"} {
			g := get(t, c, "GET", "http://a.test/"+address, "", "Accept-Encoding", take, "Sec-Fetch-Dest", "document")
			plain, err := body.Unpack(g.body, []string{g.header.Get("Content-Encoding")}, 1<<20)
			if err != nil || string(plain) != want {
				t.Errorf("%s: %v %q", address, err, plain)
			}
		}
	}
	if g := get(t, c, "GET", "http://a.test/br", "", "Accept-Encoding", "gzip"); g.header.Get(
		"Content-Encoding") != "gzip" {
		t.Errorf("br for who takes gzip: %v", g.header)
	}
	if g := get(t, c, "GET", "http://a.test/br", ""); string(g.body) != want {
		t.Errorf("br for who takes nothing: %q", g.body)
	}
	if g := get(t, c, "GET", "http://a.test/a.js", ""); string(g.body) != script {
		t.Errorf("a script becomes %q", g.body)
	}
	if g := get(t, c, "GET", "http://a.test/frag", "", "Sec-Fetch-Dest", "empty"); string(g.body) != frag {
		t.Errorf("what a script fetches becomes %q", g.body)
	}
	if g := get(t, c, "GET", "http://a.test/bad", "", "Accept-Encoding", "gzip"); string(g.body) != "no gzip" {
		t.Errorf("what cannot be unpacked becomes %q", g.body)
	}
	if f := r.Fidelity(); len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "/bad is sent as it was recorded") {
		t.Errorf("%q", f.Notes)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
