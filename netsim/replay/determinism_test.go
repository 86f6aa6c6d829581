package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestAllowScript(t *testing.T) {
	for _, tc := range []struct{ policy, want string }{
		{"", ""},
		{"img-src 'self'", "img-src 'self'"},
		{"script-src 'self'", "script-src 'self' HASH"},
		{"Script-Src 'self'; img-src *", "Script-Src 'self' HASH; img-src *"},
		{"script-src 'none'", "script-src HASH"},
		{"script-src", "script-src HASH"},
		{"script-src 'unsafe-inline' https:", "script-src 'unsafe-inline' https:"},
		{"script-src 'unsafe-inline' 'nonce-abc'", "script-src 'unsafe-inline' 'nonce-abc' HASH"},
		{"script-src 'unsafe-inline' 'strict-dynamic' 'nonce-abc'",
			"script-src 'unsafe-inline' 'strict-dynamic' 'nonce-abc' HASH"},
		{"script-src 'unsafe-inline' 'SHA256-abc='", "script-src 'unsafe-inline' 'SHA256-abc=' HASH"},
		{"default-src 'self'; img-src *", "default-src 'self'; img-src *; script-src 'self' HASH"},
		{"default-src 'none';", "default-src 'none'; script-src HASH"},
		{"default-src 'self'; script-src 'none'", "default-src 'self'; script-src HASH"},
		{"script-src 'self'; script-src-elem a.test", "script-src 'self'; script-src-elem a.test HASH"},
		{"script-src a.test; script-src b.test", "script-src a.test HASH; script-src b.test"},
		{"script-src a.test, default-src b.test", "script-src a.test HASH, default-src b.test; script-src b.test HASH"},
		{"script-src a.test HASH", "script-src a.test HASH"},
		{"style-src 'self';\tscript-src\t'self'", "style-src 'self'; script-src 'self' HASH"},
	} {
		if got := allowScript(tc.policy, "HASH"); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.policy, got, tc.want)
		}
	}
}

func TestInject(t *testing.T) {
	for _, tc := range []struct{ document, want string }{
		{"", "@"},
		{"<p>", "@<p>"},
		{"<!doctype html><html><head><title>x</title>", "<!doctype html><html><head>@<title>x</title>"},
		{"<!DOCTYPE HTML>\n<HTML lang='a>b'>\n<HEAD class=\"x>y\"><script>",
			"<!DOCTYPE HTML>\n<HTML lang='a>b'>\n<HEAD class=\"x>y\">@<script>"},
		{"<!doctype html><script>", "<!doctype html>@<script>"},
		{"<!doctype html><html><body>", "<!doctype html><html>@<body>"},
		{"<html><header>x</header>", "<html>@<header>x</header>"},
		{"<html><!-- <head> --><head><meta>", "<html><!-- <head> --><head>@<meta>"},
		{"<!--><script>", "<!-->@<script>"},
		{"<!-- a --!><head><script>", "<!-- a --!><head>@<script>"},
		{"<!-- never ends", "@<!-- never ends"},
		{"<?xml version='1.0'?><html><head>", "<?xml version='1.0'?><html><head>@"},
		{"\xef\xbb\xbf<!doctype html><head>", "\xef\xbb\xbf<!doctype html><head>@"},
		{"text first <head>", "@text first <head>"},
		{"<html data-a=b'><head>", "<html data-a=b'><head>@"},
		{"<html", "@<html"},
		{"<!doctype html><meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">",
			"<!doctype html>@<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">"},
	} {
		got, ok := inject([]byte(tc.document), []byte("@"))
		if !ok || string(got) != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.document, got, tc.want)
		}
	}
	for _, document := range []string{"\xff\xfe<\x00h\x00", "\xfe\xff\x00<", "<\x00h\x00t\x00m\x00l\x00"} {
		if got, ok := inject([]byte(document), []byte("@")); ok || string(got) != document {
			t.Errorf("%q in UTF-16 becomes %q", document, got)
		}
	}
}

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
		one("GET", "http://a.test/br", 200, string(must(packAs([]byte(document), []string{"br"}))), "Content-Type",
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
			plain, err := unpack(g.body, []string{g.header.Get("Content-Encoding")}, 1<<20)
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

func TestCodings(t *testing.T) {
	text := []byte(strings.Repeat("packed and unpacked ", 500))
	for _, all := range [][]string{nil, {"gzip"}, {"br"}, {"zstd"}, {"deflate"}, {"gzip", "br"}} {
		packed, err := packAs(text, all)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := unpack(packed, all, int64(len(text)))
		if err != nil || !bytes.Equal(plain, text) {
			t.Errorf("%v: %d bytes, %v", all, len(plain), err)
		}
		if len(all) == 0 {
			continue
		}
		if len(packed) >= len(text) {
			t.Errorf("%v: %d bytes of %d", all, len(packed), len(text))
		}
		if _, err := unpack(packed, all, int64(len(text))-1); err == nil {
			t.Errorf("%v: more came out than may", all)
		}
	}
	if plain, err := unpack(deflated(text), []string{"deflate"}, 1<<20); err != nil || !bytes.Equal(plain, text) {
		t.Errorf("deflate without a head: %v", err)
	}
	for _, applied := range [][]string{{"compress"}, {"gzip", "gzip", "gzip", "gzip", "gzip"}} {
		if _, err := unpack(text, applied, 1<<20); err == nil {
			t.Errorf("%v was unpacked", applied)
		}
	}
}

func FuzzInject(f *testing.F) {
	for _, s := range []string{"", "<!doctype html><html a='>'><head b=\">\">", "<!--><head>",
		"\xef\xbb\xbf<?x?><html>", "<!-- --!><html><HEAD/>", "<html a = '"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		const element = "<script>1</script>"
		got, ok := inject(document, []byte(element))
		if !ok {
			if !bytes.Equal(got, document) {
				t.Fatal("changed all the same")
			}
			return
		}
		at := headBegins(document)
		if len(got) != len(document)+len(element) || !bytes.Equal(got[:at], document[:at]) ||
			!bytes.Equal(got[at+len(element):], document[at:]) {
			t.Fatalf("%q becomes %q", document, got)
		}
		// No script stands before it, unless in a comment, a tag or a declaration.
		before := got[:at]
		if i := bytes.Index(bytes.ToLower(before), []byte("<script")); i >= 0 &&
			!bytes.Contains(before[:i], []byte("<!")) && !bytes.Contains(before[:i], []byte("<?")) &&
			!bytes.ContainsAny(before[:i], "'\"") && !bytes.Contains(before[:i], []byte("<h")) &&
			!bytes.Contains(before[:i], []byte("<H")) {
			t.Fatalf("%q: a script before the element", got)
		}
	})
}

func FuzzAllowScript(f *testing.F) {
	for _, s := range []string{"script-src 'self'", "default-src 'none'; img-src *",
		"script-src 'unsafe-inline' 'nonce-a', default-src a", ";;,;", "script-src-elem\t'none'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, policy string) {
		once := allowScript(policy, "'sha256-x'")
		if twice := allowScript(once, "'sha256-x'"); twice != once {
			t.Fatalf("%q becomes %q, and then %q", policy, once, twice)
		}
		if len(once) > 3*len(policy)+100*(1+strings.Count(policy, ",")) {
			t.Fatalf("%q becomes %q", policy, once)
		}
	})
}
