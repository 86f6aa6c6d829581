package remote

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Token is the secret that rig and agent share. The empty one is none.
type Token string

// MinToken and MaxToken bound a token's length, in bytes.
const (
	MinToken = 16
	MaxToken = 1024
)

// TokenVariable is the environment variable that has a token where no file is named.
const TokenVariable = "EIDETICKER_INPUT_TOKEN"

// ReadToken returns the token of a file, or of the environment if file is "": none if that is not set either.
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
	b, err := io.ReadAll(io.LimitReader(f, MaxToken+3))
	if err != nil {
		return "", errors.Unwrap(err)
	}
	return parseToken(string(b))
}

// parseToken takes the white space away that editors leave.
func parseToken(s string) (Token, error) {
	s = strings.TrimSpace(s)
	if len(s) < MinToken || len(s) > MaxToken {
		return "", fmt.Errorf("a token has from %d to %d characters: openssl rand -hex 32 makes one", MinToken, MaxToken)
	}
	return Token(s), nil
}

// nonceSize is how many random bytes each side gives.
const nonceSize = 32

// derive makes a key, or a proof, for one use.
func (t Token) derive(use string, agent, controller []byte) []byte {
	h := hmac.New(sha256.New, []byte(t))
	h.Write([]byte(protocol + " 1 " + use + "\x00"))
	h.Write(agent)
	h.Write(controller)
	return h.Sum(nil)
}
