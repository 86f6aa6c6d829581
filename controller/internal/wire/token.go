package wire

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"runtime"
	"strings"
)

// Token is the secret that rig and agent share. The empty one is none.
type Token string

// minToken and maxToken bound a token's length, in bytes.
const (
	minToken = 16
	maxToken = 1024
)

// TokenVariable is the environment variable that has a token where no file is named.
const TokenVariable = "EIDETICKER_INPUT_TOKEN"

// ReadToken returns the token of a file, or of the environment if file is "": none if that is not
// set either.
func ReadToken(file string) (Token, error) {
	if file == "" {
		s, ok := os.LookupEnv(TokenVariable)
		if !ok {
			return "", nil
		}
		t, err := parseToken(s)
		if err != nil {
			return "", fmt.Errorf("token in $%s: %w", TokenVariable, err)
		}
		return t, nil
	}
	t, err := tokenOf(file)
	if err != nil {
		return "", fmt.Errorf("token file %s: %w", file, err)
	}
	return t, nil
}

func tokenOf(file string) (Token, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", errors.Unwrap(err)
	}
	if st.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" { // whose modes say nothing
		return "", fmt.Errorf("every user of this machine can use it: chmod 600 it")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+3))
	if err != nil {
		return "", errors.Unwrap(err)
	}
	return parseToken(string(b))
}

// parseToken takes the white space away that editors leave.
func parseToken(s string) (Token, error) {
	s = strings.TrimSpace(s)
	if len(s) < minToken || len(s) > maxToken {
		return "", fmt.Errorf("a token has from %d to %d characters: openssl rand -hex 32 makes one", minToken,
			maxToken)
	}
	return Token(s), nil
}

// The sides of a connection.
const (
	AgentSide = "agent"
	RigSide   = "rig"
)

// stretch is how many iterations make a key of a token, so that guesses cost as many.
const stretch = 1 << 12

// Config returns the TLS of one side. Token and protocol give the key of its certificate, and the
// key that it demands of the other side.
func (t Token) Config(protocol, mine, theirs string) (*tls.Config, error) {
	root, err := pbkdf2.Key(sha256.New, string(t), []byte(protocol), stretch, sha256.Size)
	if err != nil {
		return nil, err
	}
	own, err := sideKey(root, mine)
	if err != nil {
		return nil, err
	}
	peer, err := sideKey(root, theirs)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)} // nobody looks at its dates: a board may have no clock
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: own}},
		ClientAuth:   tls.RequireAnyClientCert, InsecureSkipVerify: true, // instead:
		VerifyConnection: func(s tls.ConnectionState) error {
			if key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok || !key.Equal(peer.Public()) {
				return ErrToken
			}
			return nil
		},
		SessionTicketsDisabled: true,
	}, nil
}

func sideKey(root []byte, side string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Expand(sha256.New, root, side, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
