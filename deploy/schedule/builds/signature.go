package builds

import (
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// signature reads a public key of Ed25519 (RFC 8032) from a PEM file, as openssl pkey -pubout
// writes it. The returned function checks the signature of a line's text [line.signed].
func signature(keyFile string) (func(line) error, error) {
	f, err := os.Open(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close() // was only read
	raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, fmt.Errorf("read key: %s has no PEM block PUBLIC KEY", keyFile)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", keyFile, err)
	}
	key, is := parsed.(ed25519.PublicKey)
	if !is {
		return nil, fmt.Errorf("read key: %s has another key than one of Ed25519", keyFile)
	}
	return func(l line) error {
		switch {
		case l.SHA256 == "":
			return errors.New("sha256 is missing; it is signed")
		case len(l.Signature) == 0:
			return errors.New("signature is missing; the feed has a key")
		case !ed25519.Verify(key, l.signed(), l.Signature):
			return errors.New("the signature is not one of the feed's key for this seq, build, revision and sha256")
		}
		return nil
	}, nil
}

// signed is the text whose signature a line has. It has seq, build, revision and sha256 with a
// space between and "-" for one that is absent. A line feed ends it. Its number and names keep a
// build from passing for another.
func (l line) signed() []byte {
	return fmt.Appendf(nil, "%d %s %s %s\n", l.Seq, cmp.Or(l.Build, "-"), cmp.Or(l.Revision, "-"), l.SHA256)
}
