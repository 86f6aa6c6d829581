package builds

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// anyLines reads an index without a key.
func anyLines(raw []byte) ([]api.Build, error) {
	return parseLines(raw, func(line) error { return nil })
}

func writeKey(t *testing.T, path string, key any) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSignatures: a feed with a key takes only lines that the key has signed. A signature is for
// one number, name, revision and content.
//
// Fault: An index of builds has a line without the signature of the feed's key
func TestSignatures(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir, at := t.TempDir(), newClock()
	index, key := filepath.Join(dir, "builds.jsonl"), filepath.Join(dir, "key.pem")
	c := open(t, dir, at, config.Feed{Kind: config.FeedLines, URL: index, Key: key}, 0)
	good := line{Seq: 812, Build: "nightly", Revision: "4f2c", URL: "812.zip", SHA256: strings.Repeat("9c", 32)}
	text := "812 nightly 4f2c " + good.SHA256 + "\n" // as the documentation describes it
	good.Signature = ed25519.Sign(private, []byte(text))
	other := func(change func(*line)) line {
		l := good
		change(&l)
		return l
	}
	bare := line{Seq: 813, URL: "813.zip", SHA256: strings.Repeat("9d", 32)}
	bare.Signature = ed25519.Sign(private, []byte("813 - - "+bare.SHA256+"\n"))
	const wrong = "feed f: line 1: the signature is not one of the feed's key for this seq, build, revision and sha256"
	check := func(name string, l line, want string) {
		t.Helper()
		at.pass()
		raw, err := json.Marshal(l)
		if err == nil {
			err = os.WriteFile(index, append(raw, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := builds(t, c); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	check("no key", good, "feed f: read key: open "+key)
	writeKey(t, key, public)
	check("signed", good, "812 nightly usable")
	check("another number", other(func(l *line) { l.Seq = 900 }), wrong)
	check("another name", other(func(l *line) { l.Build = "v100" }), wrong)
	check("another revision", other(func(l *line) { l.Revision = "4f2d" }), wrong)
	check("another content", other(func(l *line) { l.SHA256 = strings.Repeat("9d", 32) }), wrong)
	check("a changed signature", other(func(l *line) { l.Signature = make([]byte, 64) }), wrong)
	check("no signature", other(func(l *line) { l.Signature = nil }),
		"feed f: line 1: signature is missing; the feed has a key")
	check("no hash", other(func(l *line) { l.SHA256 = "" }), "feed f: line 1: sha256 is missing; it is signed")
	check("neither build nor revision", bare, "812 nightly gone, 813 813 usable")

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, key, &ec.PublicKey)
	check("a key of another kind", good, "feed f: read key: "+key+" has another key than one of Ed25519")
	if err := os.WriteFile(key, []byte("ssh-ed25519 AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another file", good, "feed f: read key: "+key+" has no PEM block PUBLIC KEY")
}
