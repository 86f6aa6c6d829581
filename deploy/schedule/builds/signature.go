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
	key, err := readKey[ed25519.PublicKey](keyFile, "PUBLIC KEY", x509.ParsePKIXPublicKey)
	if err != nil {
		return nil, err
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

// signer reads a private key of Ed25519 as openssl genpkey writes it. The returned function signs a
// line's text.
func signer(keyFile string) (func(*line), error) {
	key, err := readKey[ed25519.PrivateKey](keyFile, "PRIVATE KEY", x509.ParsePKCS8PrivateKey)
	return func(l *line) { l.Signature = ed25519.Sign(key, l.signed()) }, err
}

// readKey reads a key of Ed25519 from a PEM file.
func readKey[K any](file, kind string, parse func([]byte) (any, error)) (key K, err error) {
	f, err := os.Open(file)
	if err != nil {
		return key, fmt.Errorf("read key: %w", err)
	}
	defer f.Close() // was only read
	raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return key, fmt.Errorf("read key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != kind {
		return key, fmt.Errorf("read key: %s has no PEM block %s", file, kind)
	}
	parsed, err := parse(block.Bytes)
	if err != nil {
		return key, fmt.Errorf("read key %s: %w", file, err)
	}
	key, is := parsed.(K)
	if !is {
		return key, fmt.Errorf("read key: %s has another key than one of Ed25519", file)
	}
	return key, nil
}

// signed is the text whose signature a line has. It has seq, build, revision and sha256 with a
// space between and "-" for one that is absent. A line feed ends it. Its number and names keep a
// build from passing for another.
func (l line) signed() []byte {
	return fmt.Appendf(nil, "%d %s %s %s\n", l.Seq, cmp.Or(l.Build, "-"), cmp.Or(l.Revision, "-"), l.SHA256)
}
