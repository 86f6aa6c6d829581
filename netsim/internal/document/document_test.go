package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
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
		if got := AllowScript(tc.policy, "HASH"); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.policy, got, tc.want)
		}
	}
}

func TestAllowAttributeAndTypes(t *testing.T) {
	for _, tc := range []struct{ policy, want string }{
		{"script-src 'unsafe-hashes' 'OLD'", "script-src 'unsafe-hashes' 'OLD' HASH"},
		{"script-src-attr 'OLD'; script-src 'OLD'", "script-src-attr 'OLD' HASH; script-src 'OLD'"},
		{"script-src-elem 'OLD'", "script-src-elem 'OLD'"},
		{"default-src 'OLD'", "default-src 'OLD'; script-src 'OLD' HASH"},
		{"script-src 'self'", "script-src 'self'"},
		{"trusted-types a b", "trusted-types a b NAME"},
		{"trusted-types 'none'", "trusted-types NAME"},
		{"trusted-types", "trusted-types NAME"},
		{"trusted-types *", "trusted-types *"},
		{"require-trusted-types-for 'script'", "require-trusted-types-for 'script'"},
	} {
		var changes Changes
		changes.Add(true, "HASH", "'OTHER'", "'OLD'")
		changes.Add(true, "HASH", "'OLD'")
		if got := AllowTypes(changes.Allow(tc.policy), "NAME"); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.policy, got, tc.want)
		}
	}
}

// TestManyChanges: the time is in proportion to the scripts, and each has its hash once.
func TestManyChanges(t *testing.T) {
	var changes Changes
	var field, want strings.Builder
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&field, " 'old%d'", i)
		fmt.Fprintf(&want, " 'new%d'", i)
		changes.Add(false, fmt.Sprintf("'new%d'", i), fmt.Sprintf("'old%d'", i))
	}
	policy := "script-src-elem" + field.String()
	got := policy
	for range 3 { // the second and third add nothing
		got = changes.Allow(got)
	}
	if got != policy+want.String() {
		t.Errorf("%d bytes become %d bytes", len(policy), len(got))
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
		got, ok := Inject([]byte(tc.document), []byte("@"))
		if !ok || string(got) != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.document, got, tc.want)
		}
	}
	for _, document := range []string{"\xff\xfe<\x00h\x00", "\xfe\xff\x00<", "<\x00h\x00t\x00m\x00l\x00"} {
		if got, ok := Inject([]byte(document), []byte("@")); ok || string(got) != document {
			t.Errorf("%q in UTF-16 becomes %q", document, got)
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
		got, ok := Inject(document, []byte(element))
		if !ok {
			if !bytes.Equal(got, document) {
				t.Fatal("changed all the same")
			}
			return
		}
		at := HeadBegins(document)
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
		once := AllowScript(policy, "'sha256-x'")
		if twice := AllowScript(once, "'sha256-x'"); twice != once {
			t.Fatalf("%q becomes %q, and then %q", policy, once, twice)
		}
		if len(once) > 3*len(policy)+100*(1+strings.Count(policy, ",")) {
			t.Fatalf("%q becomes %q", policy, once)
		}
	})
}
